"""Writes tests/fuzz/corpus: the first files of the fuzz targets: small files, and files that once revealed defects.
Run: python3 tests/fuzz/make_corpus.py        (needs nothing; the same bytes every time)"""
import json
import os
import struct

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def put(target, name, content):
    os.makedirs(os.path.join(here, target), exist_ok=True)
    with open(os.path.join(here, target, name), "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())


def tensors(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


# ---- safetensors ----
with open(os.path.join(os.path.dirname(here), "..", "golden", "types.safetensors"), "rb") as f:
    put("safetensors", "types", f.read())
put("safetensors", "empty", b"")
put("safetensors", "nothing", tensors({}))
put("safetensors", "one", tensors({"x": entry("F32", [2], 0, 8)}, b"\0" * 8))
put("safetensors", "notes", tensors({"__metadata__": {"format": "pt", "a": "\u00e9\u2713\U0001f600"}, "x": entry("F64", [], 0, 8)}, b"\1" * 8))
put("safetensors", "escapes", tensors(rb'{"\u0041\n\"\\\ud83d\ude00":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}', b"\2" * 8))
put("safetensors", "lone_surrogate", tensors(rb'{"\ud800":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}', b"\2" * 8))
put("safetensors", "control_characters", tensors({"\x1b[31mred\x07": entry("F32", [3], 0, 8)}, b"\0" * 8))
put("safetensors", "rank_8", tensors({"x": entry("BF16", [1, 1, 1, 2, 1, 1, 1, 2], 0, 8)}, b"\0" * 8))
put("safetensors", "rank_9", tensors({"x": entry("F16", [1] * 9, 0, 2)}, b"\0" * 2))
put("safetensors", "overflow", tensors({"x": entry("F32", [1 << 62, 4], 0, 0)}))
put("safetensors", "huge_times_zero", tensors({"x": entry("F32", [1 << 63, 1 << 63, 0], 0, 0)}))
put("safetensors", "hole", tensors({"x": entry("F32", [1], 0, 4), "y": entry("F32", [1], 8, 12)}, b"\0" * 12))
put("safetensors", "overlap", tensors({"x": entry("F32", [2], 0, 8), "y": entry("F32", [2], 4, 12)}, b"\0" * 12))
put("safetensors", "twice", tensors(b'{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}', b"\0" * 8))
put("safetensors", "deep", tensors(b'{"x":' + b"[" * 200 + b"]" * 200 + b"}"))
put("safetensors", "long_header", tensors({}, length=1 << 63))
put("safetensors", "nul_in_name", tensors(rb'{"a\u0000b":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}', b"\0" * 4))


# ---- npy ----
def npy(header, data=b"", version=(1, 0), length=None):
    n = len(header) if length is None else length
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version[0] == 1 else "<I", n) + header.encode() + data


put("npy", "floats", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", b"\0" * 24))
put("npy", "doubles", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }     \n", b"\1" * 16))
put("npy", "ints", npy("{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }\n", b"\2" * 12, (2, 0)))
put("npy", "longs", npy("{'descr': '<i8', 'fortran_order': False, 'shape': (), }\n", b"\1\0\0\0\0\0\0\0"))
put("npy", "rank_8", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1)}", b"\0" * 4))
put("npy", "rank_9", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1)}", b"\0" * 4))
put("npy", "objects", npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", b"\x80\4N."))
put("npy", "fortran", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", b"\0" * 24))
put("npy", "overflow", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693953,)}", b"\0" * 8))
put("npy", "huge_times_zero", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775808, 4, 0)}"))
put("npy", "no_end", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2", length=52))
put("npy", "long_header", npy("{}", b"", (2, 0), 1 << 31))
put("npy", "empty", b"")


# ---- IDX: images and labels, plain ----
def idx(rank, sizes, data, magic=0x800):
    return struct.pack(">I", magic + rank) + b"".join(struct.pack(">I", n) for n in sizes) + data


put("idx", "labels", idx(1, [10], bytes(range(10))))
put("idx", "label_10", idx(1, [3], b"\0\1\n"))
put("idx", "image", idx(3, [1, 28, 28], bytes(i % 251 for i in range(784))))
put("idx", "other_size", idx(3, [1, 27, 28], b"\0" * 756))
put("idx", "none", idx(1, [0], b""))
put("idx", "more_than_there_is", idx(3, [0xffffffff, 28, 28], b"\0" * 784))
put("idx", "goes_on", idx(1, [2], b"\1\2\3"))
put("idx", "other_type", idx(1, [4], b"\0" * 4, magic=0xd00))
put("idx", "cut", idx(1, [4], b"")[:6])
put("idx", "empty", b"")

# ---- names: a hundred lines are needed ----
put("names", "short", "".join("%c\n" % (97 + i % 26) for i in range(100)))
put("names", "mixed", "".join("ab%s\n" % ("xyz" * (i % 9)) for i in range(104)))
put("names", "longest", "a" * 30 + "\n" + "b\n" * 99)
put("names", "too_long", "a" * 31 + "\n" + "b\n" * 99)
put("names", "longer_than_the_buffer", "a" * 300 + "\n" + "b\n" * 99)
put("names", "carriage_returns", "ann\r\n" * 100)
put("names", "any_bytes", b"".join(bytes([1 + i % 9, 128 + i]) + b"\n" for i in range(100)))
put("names", "nul", b"a\0b\n" + b"c\n" * 99)
put("names", "no_last_newline", "a\n" * 99 + "b")
put("names", "few", "a\n" * 99)

# ---- text: a tenth of it must hold more than a window ----
put("text", "words", "the old king sees a ship.\n" * 8)
put("text", "shortest", "0123456789" * 5)
put("text", "too_short", "0123456789" * 4)
put("text", "one_letter", "a" * 60)
put("text", "all_bytes", bytes(range(256)))
put("text", "empty", b"")

# ---- runs.jsonl ----
one = '{"figure": "loss", "name": "mlp/LN/42", "shape": [3], "values": [2.3, -1.9e-05, null]}\n'
done = '{"figure": "loss", "done": {"settings": "quick, \\"a\\" \\u00e9", "seconds": 41.2, "program": "deep_dive 0.1.0", "cpu": "x", "threads": 2, "hash": "0123456789abcdef"}}\n'
put("runs", "array", one)
put("runs", "done", one + done)
put("runs", "scalar", '{"figure": "a", "name": "b", "shape": [], "values": [1]}\n')
put("runs", "nothing_in_it", '{"figure": "a", "name": "b", "shape": [0], "values": []}\n')
put("runs", "rank_8", '{"figure": "a", "name": "b", "shape": [1, 1, 1, 2, 1, 1, 1, 1], "values": [1, 2]}\n')
put("runs", "rank_9", '{"figure": "a", "name": "b", "shape": [1, 1, 1, 1, 1, 1, 1, 1, 1], "values": [1]}\n')
put("runs", "more_than_there_is", '{"figure": "a", "name": "b", "shape": [1000000, 1000000], "values": [1]}\n')
put("runs", "overflow", '{"figure": "a", "name": "b", "shape": [1099511627775, 1099511627775, 16777216], "values": [1]}\n')
put("runs", "numbers", '{"figure": "a", "name": "b", "shape": [4], "values": [1e999, 0x10, nan, +1]}\n')
put("runs", "surrogates", '{"figure": "\\ud83d\\ude00", "name": "\\ud83d", "shape": [], "values": [1]}\n')
put("runs", "escape_over_lines", '{"figure": "\\u\n\n11\\u\n\n11\\u\n\n11"\n')
put("runs", "nul", one.encode() + b"\0" + one.encode())
put("runs", "no_newline", one[:-1])
put("runs", "empty", b"")
