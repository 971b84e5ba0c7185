#!/usr/bin/env python3
"""train_transformer.py TRANSFORMER_NORMS TEXT [STEPS [SEEDS]]: the causal character model of `transformer_norms --large --arms LN` trained by gradus
and by PyTorch with the same settings (2 pre-norm layers of 128, 4 heads, GELU, windows of 64, batch 32, Adam 1e-3, a tenth warm-up, then a
cosine to 0, clip 1), one thread each, in turn, for each seed. A line a run: who, seed, test loss over the last tenth of the text, steps,
seconds of training. Initial weights and windows are of one distribution, not the same draws."""
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
from torch import nn

SIZE, HEADS, LAYERS, T, B, LR = 128, 4, 2, 64, 32, 1e-3


class Model(nn.Module):
    def __init__(self, letters):
        super().__init__()
        self.token, self.position = nn.Embedding(letters, SIZE), nn.Embedding(T, SIZE)
        self.body = nn.ModuleList(nn.TransformerEncoderLayer(SIZE, HEADS, 4 * SIZE, 0.0, "gelu", batch_first=True, norm_first=True) for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(SIZE), nn.Linear(SIZE, letters)
        self.later = nn.Transformer.generate_square_subsequent_mask(T)

    def forward(self, ids):
        x = self.token(ids) + self.position.weight
        for layer in self.body:
            x = layer(x, src_mask=self.later, is_causal=True)
        return self.head(self.norm(x))


def pytorch(text, steps, seed):
    torch.manual_seed(seed)
    letters = sorted(set(text))
    number = {c: i for i, c in enumerate(letters)}
    ids = torch.tensor([number[c] for c in text])
    train, test = ids[:len(ids) - len(ids) // 10], ids[len(ids) - len(ids) // 10:]
    model = Model(len(letters))
    adam = torch.optim.Adam(model.parameters(), lr=LR)
    warm, seconds = steps // 10, 0
    cross = lambda z, y: F.cross_entropy(z.view(-1, len(letters)), y.reshape(-1))
    for step in range(steps):
        begin = time.perf_counter()
        for group in adam.param_groups:
            group["lr"] = LR * ((step + 1) / warm if step < warm else (1 + math.cos(math.pi * (step - warm) / (steps - warm))) / 2)
        at = torch.randint(0, len(train) - T, (B,))
        w = torch.stack([train[a:a + T + 1] for a in at])
        loss = cross(model(w[:, :-1]), w[:, 1:])
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        adam.step()
        seconds += time.perf_counter() - begin
    model.train()  # no dropout: the same numbers, by the path that trained
    n, total = (len(test) - 1) // T, 0
    with torch.no_grad():
        for a in range(0, n, B):
            w = torch.stack([test[k * T:k * T + T + 1] for k in range(a, min(a + B, n))])
            total += cross(model(w[:, :-1]), w[:, 1:]).item() * len(w)
    return total / n, seconds


def gradus(program, text, steps, seed):
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as log:
        subprocess.run([program, "--large", "--data", text, "--arms", "LN", "--steps", str(steps), "--sample", "0", "--seed", str(seed), "--threads", "1",
                        "--eval-every", str(steps), "--quiet", "--log", log.name], check=True, stdout=subprocess.DEVNULL)
        arm = [r for r in map(json.loads, open(log.name)) if r.get("kind", r.get("record")) == "arm" or "fingerprint" in r][-1]
    return arm["test_loss"], arm["seconds"]


def main():
    program, path = sys.argv[1:3]
    steps, seeds = int(sys.argv[3]) if len(sys.argv) > 3 else 1500, int(sys.argv[4]) if len(sys.argv) > 4 else 3
    torch.set_num_threads(1)
    text = open(os.path.join(path, "tinyshakespeare.txt") if os.path.isdir(path) else path, encoding="latin-1").read()
    for seed in range(1, seeds + 1):
        for who, (loss, seconds) in (("gradus", gradus(program, path, steps, seed)), ("PyTorch", pytorch(text, steps, seed))):
            print(f"{who:8} seed {seed}  test loss {loss:.4f}  steps {steps}  seconds {seconds:.1f}", flush=True)


main()
