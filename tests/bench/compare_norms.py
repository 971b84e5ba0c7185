#!/usr/bin/env python3
"""compare_norms.py NORMS_BENCH [PART_OF_A_NAME]: compares the times of norms_bench with PyTorch's on one thread, in microseconds.

A line has the norm, the shape, gradus forward, PyTorch forward, their ratio; the same for forward and backward. Above 1 gradus is
faster."""
import subprocess
import sys
import time

import torch
import torch.nn.functional as F


def channel(x, g, b):
    return F.layer_norm(x.permute(0, 2, 3, 1), (x.shape[1],), g, b).permute(0, 3, 1, 2).contiguous()


CASES = {
    "batch": lambda x, g, b: F.batch_norm(x, None, None, g, b, True),
    "batch_last": lambda x, g, b: F.batch_norm(x.flatten(0, -2), None, None, g, b, True).view_as(x),
    "group": lambda x, g, b: F.group_norm(x, 8, g, b), "group_1": lambda x, g, b: F.group_norm(x, 1, g, b),
    "instance": lambda x, g, b: F.instance_norm(x, None, None, g, b), "channel": channel,
    "layer": lambda x, g, b: F.layer_norm(x, x.shape[-1:], g, b), "rms": lambda x, g, b: F.rms_norm(x, x.shape[-1:], g, 1e-5),
}


def measure(f, shape, channels):
    n = torch.Size(shape).numel()
    x = ((torch.arange(n) * 7919 % 65536).float() / 32768).view(shape).requires_grad_()
    dy = ((torch.arange(n) * 104729 % 65536).float() / 65536).view(shape)
    gamma, beta = torch.ones(channels, requires_grad=True), torch.zeros(channels, requires_grad=True)
    best = [1.0, 1.0]
    for back in (0, 1):
        end, step = time.perf_counter() + 0.15, 0
        while step < 20 or time.perf_counter() < end:
            x.grad = gamma.grad = beta.grad = None
            start = time.perf_counter()
            y = f(x, gamma, beta)
            if back:
                y.backward(dy)
            best[back] = min(best[back], time.perf_counter() - start)
            step += 1
    return [b * 1e6 for b in best]


torch.set_num_threads(1)
print(f"{'':28} {'forward':>9} {'PyTorch':>9} {'ratio':>6}   {'and back':>9} {'PyTorch':>9} {'ratio':>6}")
for line in subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True).stdout.splitlines():
    name, shape, forward, both = line.split()
    forward, both, sizes = float(forward), float(both), [int(s) for s in shape.split("x")]
    theirs = measure(CASES[name], sizes, sizes[-1 if name in ("batch_last", "layer", "rms") else 1])
    print(f"{name:12} {shape:15} {forward:9.1f} {theirs[0]:9.1f} {theirs[0] / forward:6.2f}   {both:9.1f} {theirs[1]:9.1f} {theirs[1] / both:6.2f}")
