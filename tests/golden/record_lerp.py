"""Records lerp.h: torch.lerp in float and in double, for tests/test_module_copy.c.
Run: python tests/golden/record_lerp.py        (needs torch)"""
import math
import os
import torch

here = os.path.dirname(os.path.abspath(__file__))
start = torch.tensor([1.1, -2.3, 1e-29, 1e30, math.inf], dtype=torch.float64)
end = torch.tensor([3.7, 5.9, 2e-29, -1e30, 1.0], dtype=torch.float64)


def number(v, suffix):
    if math.isnan(v):
        return "NAN"
    return "HUGE_VAL" + suffix.upper() if math.isinf(v) else v.hex() + suffix


with open(os.path.join(here, "lerp.h"), "w") as out:
    print(f"/* tests/golden/lerp.h - weight, and torch.lerp of PyTorch {torch.__version__} in float and in double: see record_lerp.py. */", file=out)
    for weight in (0.001, 0.3, 0.5, 0.75, 0.999):
        rows = [", ".join(number(v, s) for v in torch.lerp(start.to(d), end.to(d), weight).tolist()) for d, s in ((torch.float32, "f"), (torch.float64, ""))]
        print(f"{{ {weight}, {{ {rows[0]} }},\n  {{ {rows[1]} }} }},", file=out)
