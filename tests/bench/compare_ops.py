#!/usr/bin/env python3
"""compare_ops.py OPS_BENCH [PART_OF_A_NAME]: compares the times of ops_bench with PyTorch's on one thread, in nanoseconds per element.

A line has the name, gradus forward, PyTorch forward, their ratio; the same for forward and backward. Above 1 gradus is faster."""
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

ROWS, COLUMNS = 512, 128
N = ROWS * COLUMNS
inf = float("inf")
CASES = {
    "neg": torch.neg, "abs": torch.abs, "square": torch.square, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "exp": torch.exp, "log": torch.log,
    "erf": torch.erf, "sin": torch.sin, "cos": torch.cos, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "softplus": F.softplus, "silu": F.silu,
    "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "relu": F.relu, "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "scale": lambda x: x * 0.3, "add_scalar": lambda x: x + 0.3, "sign": torch.sign, "floor": torch.floor, "ceil": torch.ceil,
    "round": torch.round, "log1p": torch.log1p, "expm1": torch.expm1, "tan": torch.tan, "mish": F.mish, "selu": F.selu,
    "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish, "hardtanh": lambda x: F.hardtanh(x, -1, 0.5),
    "elu": lambda x: F.elu(x, 0.7), "clamp": lambda x: torch.clamp(x, -9, 0.5), "add": lambda x: x + x, "sub": lambda x: x - x,
    "mul": lambda x: x * x, "div": lambda x: x / x, "maximum": lambda x: torch.maximum(x, x), "minimum": lambda x: torch.minimum(x, x),
    "pow": lambda x: torch.pow(x, x), "eq": lambda x: (x == x).float(), "ne": lambda x: (x != x).float(), "lt": lambda x: (x < x).float(),
    "le": lambda x: (x <= x).float(), "gt": lambda x: (x > x).float(), "ge": lambda x: (x >= x).float(), "mul_scalar": lambda x: x * 0.5,
    "sum": torch.sum, "sum_rows": lambda x: x.sum(1), "sum_columns": lambda x: x.sum(0), "mean_rows": lambda x: x.mean(1),
    "var_rows": lambda x: x.var(1), "max_rows": lambda x: x.amax(1), "max_columns": lambda x: x.amax(0), "prod_rows": lambda x: x.prod(1),
    "logsumexp_rows": lambda x: x.logsumexp(1), "vector_norm_rows": lambda x: torch.linalg.vector_norm(x, 2, 1),
    "transpose": lambda x: x.t().contiguous(), "permute_102": lambda x: x.view(16, 32, COLUMNS).permute(1, 0, 2).contiguous(),
    "flip": lambda x: x.flip(1), "narrow": lambda x: x.narrow(1, 32, 64).contiguous(), "cat": lambda x: torch.cat([x, x], 1),
    "softmax_rows": lambda x: x.softmax(1), "softmax_columns": lambda x: x.softmax(0), "log_softmax_rows": lambda x: x.log_softmax(1),
}
WITH_MORE = {
    "mul_row": lambda x, row, column: x * row, "mul_column": lambda x, row, column: x * column,
    "where": lambda x, row, column: torch.where(x > 1, x, row),
}


def measure(f):
    values = 0.5 + 1.5 * ((torch.arange(N) * 7919) % N).float() / N
    x = values.view(ROWS, COLUMNS).clone().requires_grad_()
    row, column = values[:COLUMNS].clone().requires_grad_(), values[:ROWS].view(ROWS, 1).clone().requires_grad_()
    arguments = (x, row, column) if f in WITH_MORE.values() else (x,)
    best = [1.0, 1.0]
    for back in (0, 1):
        dy = torch.full_like(f(*arguments), 0.5)
        for _ in range(300):
            for leaf in (x, row, column):
                leaf.grad = None
            start = time.perf_counter()
            y = f(*arguments)
            if back and y.requires_grad:
                y.backward(dy)
            best[back] = min(best[back], time.perf_counter() - start)
    return [b * 1e9 / N for b in best]


torch.set_num_threads(1)
print(f"{'':16} {'forward':>8} {'PyTorch':>8} {'ratio':>6}   {'and back':>8} {'PyTorch':>8} {'ratio':>6}")
for line in subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True).stdout.splitlines():
    name, forward, both = line.split()
    forward, both = float(forward), float(both)
    theirs = measure({**CASES, **WITH_MORE}[name])
    print(f"{name:16} {forward:8.3f} {theirs[0]:8.3f} {theirs[0] / forward:6.2f}   {both:8.3f} {theirs[1]:8.3f} {theirs[1] / both:6.2f}")
