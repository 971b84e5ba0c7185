#!/usr/bin/env python3
"""compare_transformer.py TRANSFORMER_BENCH [BATCH [T [DROPOUT]]]: compares its times with PyTorch's, with 1 thread and with 2, in
milliseconds.

The model is that of transformer_bench, once from nn.TransformerEncoderLayer and once written out with scaled_dot_product_attention; the
times are the fastest of several seconds, gradus and PyTorch in turn. The ratio is PyTorch's faster time over gradus's; above 1 gradus is
faster."""
import subprocess
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

SIZE, HEADS, LAYERS, V, SECONDS = 128, 4, 2, 65, 3


class Block(nn.Module):
    def __init__(self, drop):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(SIZE), nn.LayerNorm(SIZE)
        self.qkv, self.out = nn.Linear(SIZE, 3 * SIZE), nn.Linear(SIZE, SIZE)
        self.linear1, self.linear2 = nn.Linear(SIZE, 4 * SIZE), nn.Linear(4 * SIZE, SIZE)
        self.drop = drop

    def forward(self, x):
        B, T, _ = x.shape
        q, k, v = (h.view(B, T, HEADS, -1).transpose(1, 2) for h in self.qkv(self.norm1(x)).split(SIZE, 2))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.drop)
        x = x + F.dropout(self.out(a.transpose(1, 2).reshape(B, T, SIZE)), self.drop)
        return x + F.dropout(self.linear2(F.dropout(F.gelu(self.linear1(self.norm2(x))), self.drop)), self.drop)


class Model(nn.Module):
    def __init__(self, T, drop, modules):
        super().__init__()
        self.token, self.position = nn.Embedding(V, SIZE), nn.Embedding(T, SIZE)
        layer = nn.TransformerEncoderLayer(SIZE, HEADS, 4 * SIZE, drop, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.ModuleList([layer if modules and i == 0 else type(layer)(SIZE, HEADS, 4 * SIZE, drop, "gelu", batch_first=True, norm_first=True)
                                     if modules else Block(drop) for i in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(SIZE), nn.Linear(SIZE, V)
        self.later = nn.Transformer.generate_square_subsequent_mask(T) if modules else None

    def forward(self, ids):
        x = self.token(ids) + self.position.weight
        for layer in self.layers:
            x = layer(x) if self.later is None else layer(x, src_mask=self.later, is_causal=True)
        return self.head(self.norm(x))


def measure(model, B, T):
    adam = torch.optim.Adam(model.parameters(), fused=True)
    ids = (torch.arange(2 * B * T) * 7919 % V).view(2, B, T)
    best, start = [1e9] * 3, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        begin = time.perf_counter()
        loss = F.cross_entropy(model(ids[0]).view(B * T, V), ids[1].reshape(B * T))
        forward = time.perf_counter()
        adam.zero_grad()
        loss.backward()
        back = time.perf_counter()
        adam.step()
        took = forward - begin, back - begin, time.perf_counter() - begin
        best = [min(a, b) for a, b in zip(best, took)]
    return [b * 1e3 for b in best]


def main():
    bench, B, T, drop = sys.argv[1], *[float(a) for a in sys.argv[2:] + [32, 64, 0][len(sys.argv) - 2:]]
    B, T = int(B), int(T)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        rows = {}
        for turn in range(2):
            ours = subprocess.run([bench, str(B), str(T), str(threads), str(SECONDS), str(drop)], check=True, capture_output=True, text=True).stdout
            for name, new in (("gradus", [float(x) for x in ours.split()]), ("written out", measure(Model(T, drop, False), B, T)),
                              ("nn.TransformerEncoderLayer", measure(Model(T, drop, True), B, T))):
                rows[name] = [min(a, b) for a, b in zip(rows.get(name, new), new)]
        print(f"batch {B}, T {T}, dropout {drop:g}, threads {threads}     forward   and back   and Adam")
        for name, times in rows.items():
            print(f"    {name:28}" + "".join(f"{x:11.2f}" for x in times))
        ours, *theirs = rows.values()
        print(f"    {'ratio':28}" + "".join(f"{min(a) / b:11.2f}" for b, a in zip(ours, zip(*theirs))))


main()
