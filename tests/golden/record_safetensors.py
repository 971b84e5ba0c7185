"""Records types.safetensors: one tensor of each type that is read, written by the Python package.
Run: python tests/golden/record_safetensors.py        (needs torch, safetensors)"""
import os
import torch
from safetensors.torch import save_file

here = os.path.dirname(os.path.abspath(__file__))
values = torch.tensor([[0.0, -0.0, 1.0], [-2.5, 65504.0, 6e-8]], dtype=torch.float64)
tensors = {
    "f64": values, "f32": values.float(), "f16": values.half(), "bf16": values.bfloat16(),
    "i64": torch.tensor([1, -2, 1 << 40]), "i32": torch.tensor([7, -8], dtype=torch.int32),
    "f16.special": torch.tensor([float("inf"), float("-inf"), float("nan"), 2.0 ** -24, -(2.0 ** -14)], dtype=torch.float16),
    "bf16.special": torch.tensor([float("inf"), float("-inf"), float("nan"), 2.0 ** -133, 3.3895e38], dtype=torch.bfloat16),
    "scalar": torch.tensor(3.5), "empty": torch.zeros(0, 4), "näme \"quoted\"": torch.ones(2, 1, 2),
}
save_file(tensors, os.path.join(here, "types.safetensors"), metadata={"written by": "the Python package \u2713"})
