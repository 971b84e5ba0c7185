"""ours.py: gradus in this process. libbench.so holds the cells and their workloads; tests/bench/bench.h has the functions."""
import ctypes
import json
import os
import sys

import numpy as np

SHAPE = 8  # GR_MAX_RANK


class Shape(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int), ("dim", ctypes.c_size_t * SHAPE)]


class Array(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("ints", ctypes.c_bool), ("shape", Shape)]


class Library:
    def __init__(self, folder):
        self.lib = lib = ctypes.CDLL(os.path.join(os.path.abspath(folder), "libbench.so"))
        number, real, text, work = ctypes.c_int, ctypes.c_double, ctypes.c_char_p, ctypes.c_void_p
        for name, result, arguments in (
                ("count", number, []), ("describe", text, [number]), ("open", work, [number, number]), ("close", None, [work]),
                ("run", ctypes.c_bool, [work, ctypes.c_size_t, ctypes.POINTER(real)]), ("peak", real, [number]), ("bandwidth", real, [number, real]),
                ("of_peak", real, [work, real]), ("of_bandwidth", real, [work, real]), ("message", text, [work]), ("loss", real, [work]),
                ("real_bytes", number, []), ("version", text, []), ("wrong", text, []),
                ("look", ctypes.c_bool, [work, ctypes.c_char, number, ctypes.POINTER(Array)])):
            function = getattr(lib, "bench_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        if self.wrong():
            sys.exit(f"bench-peers: {self.wrong().decode()}")
        self.real = np.float32 if self.real_bytes() == 4 else np.float64

    def cells(self):
        """All cells: dictionaries with name, sections, kind, mode, number and the sizes."""
        cells = [json.loads(self.describe(i)) for i in range(self.count())]
        for i, cell in enumerate(cells):
            cell.update(number=i, sections=cell["sections"].split())
        return cells


class Work:
    """The workload of a cell. run() is one step; times(n) are the seconds of n of them."""

    def __init__(self, library, cell, threads):
        self.library, self.cell = library, cell
        self.work = library.open(cell["number"], threads)
        if not self.work:
            raise MemoryError("gradus: out of memory")
        self.check()

    def check(self):
        message = self.library.message(self.work)
        if message:
            raise RuntimeError("gradus: " + message.decode())

    def times(self, n):
        seconds = (ctypes.c_double * n)()
        if not self.library.run(self.work, n, seconds):
            self.check()
        return list(seconds)

    def loss_after_step(self):
        self.times(1)
        return self.library.loss(self.work)

    def arrays(self, what):
        """Copies of the arrays of a kind (see bench_look in bench.h), with their names."""
        out, found = Array(), []
        while self.library.look(self.work, what.encode(), len(found), ctypes.byref(out)):
            shape = tuple(out.shape.dim[:out.shape.rank])
            kind = np.int32 if out.ints else self.library.real
            bytes_in = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
            values = np.frombuffer(ctypes.string_at(out.data, bytes_in), kind).reshape(shape).copy()
            found.append((out.name.decode(), values))
        return found

    def limits(self, seconds):
        """Fractions of the FMA peak and of the bandwidth."""
        return self.library.of_peak(self.work, seconds), self.library.of_bandwidth(self.work, seconds)

    def close(self):
        self.library.close(self.work)
        self.work = None
