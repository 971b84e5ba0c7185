"""Records npy.h: files of numpy.save as arrays of C, for tests/test_npy.c.
Run: python tests/golden/record_npy.py        (needs numpy)"""
import io
import os
import warnings
import numpy as np
from numpy.lib import format

here = os.path.dirname(os.path.abspath(__file__))
base = np.array([[1.5, -2.0, 0.25], [3.0, 1e-3, -7.0]])
arrays = {
    "float32": base.astype("<f4"), "float64": base, "int32": np.array([[1, -2, 3]], "<i4"), "int64": np.array([5, -(1 << 31), (1 << 31) - 1]),
    "wide": np.array([0, 1 << 31]), "scalar": np.array(2.5, "<f4"), "empty": np.zeros((0, 4), "<f4"), "one_axis": np.arange(3, dtype="<f4"),
    "rank_8": np.arange(4, dtype="<f4").reshape(1, 1, 2, 1, 1, 2, 1, 1), "rank_9": np.zeros((1,) * 9, "<f4"), "large": np.zeros((1000, 12, 0), "<i4"),
    "fortran": np.asfortranarray(base), "big_endian": base.astype(">f8"), "objects": np.array([None, 1], object), "bytes": np.zeros(2, "u1"),
    "records": np.zeros(1, [("a", "<f4"), ("b", "<i4")]),
}


def saved(array, version=None):
    out = io.BytesIO()
    warnings.simplefilter("ignore")  # "Stored array in format 2.0"
    format.write_array(out, array, version)
    return out.getvalue()


with open(os.path.join(here, "npy.h"), "w") as out:
    print(f"/* tests/golden/npy.h - files of numpy.save. numpy {np.__version__} wrote them: see record_npy.py. */", file=out)
    for name, content in [(n, saved(a)) for n, a in arrays.items()] + [("version_2", saved(arrays["int32"], (2, 0)))]:
        print(f"static const unsigned char npy_{name}[] = {{", file=out)
        for i in range(0, len(content), 32):
            print("    " + " ".join(f"{b}," for b in content[i:i + 32]), file=out)
        print("};", file=out)
