"""openblas.py: matrix products by OpenBLAS: that of NumPy's wheel, or the system's."""
import ctypes
import ctypes.util
import glob
import os

import numpy as np

ROWS, PLAIN, TURNED = 101, 111, 112  # CblasRowMajor, CblasNoTrans, CblasTrans


def find():
    """The function cblas_sgemm and its integer type, or None."""
    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    system = ctypes.util.find_library("openblas")
    for path in glob.glob(folder + "/libscipy_openblas*") + ([system] if system else []):
        library = ctypes.CDLL(path)
        for name, integer in (("scipy_cblas_sgemm64_", ctypes.c_int64), ("scipy_cblas_sgemm", ctypes.c_int), ("cblas_sgemm", ctypes.c_int)):
            if hasattr(library, name):
                gemm, pointer, real = getattr(library, name), ctypes.c_void_p, ctypes.c_float
                gemm.restype = None
                gemm.argtypes = [ctypes.c_int] * 3 + [integer] * 3 + [real, pointer, integer, pointer, integer, real, pointer, integer]
                return gemm
    return None


def product(gemm, a, ta, b, tb, c):
    """A call without arguments that computes c = a b, with a or b transposed."""
    (M, N), K = c.shape, a.shape[0] if ta else a.shape[1]
    arguments = (ROWS, TURNED if ta else PLAIN, TURNED if tb else PLAIN, M, N, K, 1.0, a.ctypes.data, a.shape[1], b.ctypes.data, b.shape[1], 0.0,
                 c.ctypes.data, N)
    return lambda: gemm(*arguments)


class Run:
    """The product, and after a backward da = dy b^T and db = a^T dy."""

    def __init__(self, gemm, a, b, dy):
        self.y, self.kept = np.empty((a.shape[0], b.shape[1]), a.dtype), (a, b, dy)
        self.calls, self.found = [product(gemm, a, False, b, False, self.y)], []
        if dy is not None:
            da, db = np.empty_like(a), np.empty_like(b)
            self.calls += [product(gemm, dy, False, b, True, da), product(gemm, a, True, dy, False, db)]
            self.found = [da, db]

    def __call__(self):
        for call in self.calls:
            call()
        return self.y

    def gradients(self):
        return self.found


def peers(cell):
    gemm = find() if cell["kind"] == "matmul" else None
    if not gemm:
        return {}
    return {"OpenBLAS": lambda dy, inputs: Run(gemm, *(values for _, values in inputs), dy)}
