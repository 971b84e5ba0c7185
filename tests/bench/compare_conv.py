#!/usr/bin/env python3
"""compare_conv.py CONV_BENCH [THREADS [PART_OF_A_NAME]]: compares its cells with PyTorch's, in turn, in milliseconds.

A line has the name, the batch, gradus forward, PyTorch forward, their ratio; the same for forward and backward (of the step: the step).
Above 1 gradus is faster."""
import subprocess
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

LAYERS = {  # C, H, O, kernel, options
    "first3x3": (1, 28, 16, 3, dict(padding=1)), "second3x3": (16, 14, 32, 3, dict(padding=1)), "first5x5": (1, 28, 16, 5, dict(padding=2)),
    "second5x5": (16, 14, 32, 5, dict(padding=2)), "wide3x3": (64, 14, 64, 3, dict(padding=1)),
    "stride2": (32, 14, 64, 3, dict(padding=1, stride=2)), "depthwise": (32, 14, 32, 3, dict(padding=1, groups=32)),
    "pointwise": (64, 14, 64, 1, {}),
}


def fastest(f):
    best, end, i = 1e9, time.perf_counter() + 0.15, 0
    while i < 12 or time.perf_counter() < end:
        start = time.perf_counter()
        f()
        best, i = min(best, time.perf_counter() - start), i + 1
    return best * 1e3


def convolution(name, n):
    C, H, O, k, options = LAYERS[name]
    x = torch.rand(n, C, H, H, requires_grad=C > 1)
    w, b = (torch.rand(s, requires_grad=True) for s in ((O, C // options.get("groups", 1), k, k), (O,)))
    dy = torch.rand_like(F.conv2d(x, w, b, **options))

    def both():
        for leaf in (x, w, b):
            leaf.grad = None
        F.conv2d(x, w, b, **options).backward(dy)

    return fastest(lambda: F.conv2d(x, w, b, **options)), fastest(both)


def step(n):
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Flatten(), nn.Linear(1568, 128), nn.ReLU(), nn.Linear(128, 10))
    adam = torch.optim.Adam(net.parameters(), fused=True)
    x, labels = torch.rand(n, 1, 28, 28), torch.zeros(n, dtype=torch.long)

    def train():
        adam.zero_grad()
        F.cross_entropy(net(x), labels).backward()
        adam.step()

    return (fastest(train),) * 2


threads = sys.argv[2] if len(sys.argv) > 2 else "1"
torch.set_num_threads(int(threads))
part = sys.argv[3] if len(sys.argv) > 3 else ""
bench = subprocess.Popen([sys.argv[1], threads, part, "--turns"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
print(f"{'':12} batch  {'forward':>8} {'PyTorch':>8} {'ratio':>6}   {'and back':>8} {'PyTorch':>8} {'ratio':>6}")
while True:
    try:
        bench.stdin.write("\n")
        bench.stdin.flush()
    except BrokenPipeError:
        break
    line = bench.stdout.readline().split()
    if not line:
        break
    name, n, ours = line[0], int(line[1]), [float(v) for v in line[2:]]
    theirs = step(n) if name == "step" else convolution(name, n)
    print(f"{name:12} {n:5}", *(f"  {a:8.3f} {b:8.3f} {b / a:6.2f}" for a, b in zip(ours, theirs)), flush=True)
