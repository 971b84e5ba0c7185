#!/usr/bin/env python3
"""Every name in pytorch_names.txt exists in PyTorch (or in safetensors): each is looked up, with its module.

    make interchange [PYTHON=python3]         or         names.py

A line is a function of gradus, its name in PyTorch, and words about the difference. Exit 1 when a name is not there, 2 when torch or safetensors is missing."""
import importlib, pathlib, sys

try:
    import torch
    import safetensors.torch
except ImportError as missing:
    print(f"names: not run, {missing.name} is missing: pip install torch==2.13.0 numpy safetensors", file=sys.stderr)
    sys.exit(2)


def exists(name):
    parts = name.split(".")
    for n in range(len(parts), 0, -1):  # the longest part of the name that is a module; the rest are attributes
        try:
            found = importlib.import_module(".".join(parts[:n]))
        except ImportError:
            continue
        for part in parts[n:]:
            made = getattr(getattr(found, "__init__", None), "__code__", None)
            if part in getattr(found, "__annotations__", {}) or made and part in made.co_names:  # it is set in each object: Module.training
                return True
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


path = pathlib.Path(__file__).parent / "pytorch_names.txt"
pairs = [(line.split() + [""])[:2] for line in path.read_text().splitlines() if line.startswith("gr_")]
wrong = [pair for pair in pairs if not exists(pair[1])]
for ours, theirs in wrong:
    print(f"names: PyTorch {torch.__version__} has no {theirs or 'name'} for {ours}")
print(f"names: {len(pairs) - len(wrong)} of {len(pairs)} found in PyTorch {torch.__version__}")
sys.exit(bool(wrong) or not pairs)
