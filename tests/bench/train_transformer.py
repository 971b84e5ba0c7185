#!/usr/bin/env python3
"""train_transformer.py TRANSFORMER_NORMS TEXT [STEPS [SEEDS [same]]]: the causal character model of `transformer_norms --large --arms LN`
trained by gradus and by PyTorch with the same settings (2 pre-norm layers of 128, 4 heads, GELU, windows of 64, batch 32, Adam 1e-3, a tenth
warm-up, then a cosine to 0, clip 1), one thread each, in turn, for each seed. Each run prints a line: who, seed, test loss over the last
tenth of the text, steps, seconds of training; with two seeds or more, means at the end. Initial weights and windows have one distribution,
but are different draws. With `same`, PyTorch also trains with gradus's draws, and a line says how far its training losses are from gradus's:
the difference is rounding."""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
from torch import nn

import streams

SIZE, HEADS, LAYERS, T, B, LR = 128, 4, 2, 64, 32, 1e-3


class Model(nn.Module):
    def __init__(self, letters):
        super().__init__()
        self.token, self.position = nn.Embedding(letters, SIZE), nn.Embedding(T, SIZE)
        layers = nn.ModuleList(nn.TransformerEncoderLayer(SIZE, HEADS, 4 * SIZE, 0.0, "gelu", batch_first=True, norm_first=True) for _ in range(LAYERS))
        self.body = nn.ModuleDict({"layers": layers, "norm": nn.LayerNorm(SIZE)})  # names as in gradus
        self.head = nn.Linear(SIZE, letters)
        self.later = nn.Transformer.generate_square_subsequent_mask(T)

    def forward(self, ids):
        x = self.token(ids) + self.position.weight
        for layer in self.body["layers"]:
            x = layer(x, src_mask=self.later, is_causal=True)
        return self.head(self.body["norm"](x))


def take_weights_of_gradus(model, seed):
    """The distributions are those of the model, the draws those of gradus. The norms and the biases of attention are constants in both."""
    for name, p in model.named_parameters():
        stream = name + "/init"
        if p.min() == p.max():
            continue
        if name in ("token.weight", "position.weight"):
            value = streams.normal(seed, stream, p.shape)
        else:
            inputs = model.get_parameter(name.replace("bias", "weight")).shape[1]
            value = streams.uniform(seed, stream, p.shape, math.sqrt(6 / sum(p.shape) if "in_proj" in name else 1 / inputs))
        p.data.copy_(torch.from_numpy(value))


def pytorch(text, steps, seed, same=False):
    torch.manual_seed(seed)
    letters = sorted(set(text))
    number = {c: i for i, c in enumerate(letters)}
    ids = torch.tensor([number[c] for c in text])
    train, test = ids[:len(ids) - len(ids) // 10], ids[len(ids) - len(ids) // 10:]
    model = Model(len(letters))
    if same:
        take_weights_of_gradus(model, seed)
    adam = torch.optim.Adam(model.parameters(), lr=LR)
    warm, seconds, losses = steps // 10, 0, []
    cross = lambda z, y: F.cross_entropy(z.view(-1, len(letters)), y.reshape(-1))
    for step in range(steps):
        begin = time.perf_counter()
        for group in adam.param_groups:
            group["lr"] = LR * ((step + 1) / warm if step < warm else (1 + math.cos(math.pi * (step - warm) / (steps - warm))) / 2)
        starts = len(train) - T
        at = streams.below(seed, "train/windows", starts, B, step << 20) if same else torch.randint(0, starts, (B,))
        w = torch.stack([train[a:a + T + 1] for a in at])
        loss = cross(model(w[:, :-1]), w[:, 1:])
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        adam.step()
        seconds += time.perf_counter() - begin
        losses.append(loss.item())
    model.train()  # no dropout: the same numbers, by the path that trained
    n, total = (len(test) - 1) // T, 0
    with torch.no_grad():
        for a in range(0, n, B):
            w = torch.stack([test[k * T:k * T + T + 1] for k in range(a, min(a + B, n))])
            total += cross(model(w[:, :-1]), w[:, 1:]).item() * len(w)
    return total / n, seconds, losses


def gradus(program, text, steps, seed):
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as log:
        subprocess.run([program, "--large", "--data", text, "--arms", "LN", "--steps", str(steps), "--sample", "0", "--seed", str(seed), "--threads", "1",
                        "--eval-every", str(steps), "--quiet", "--log", log.name], check=True, stdout=subprocess.DEVNULL)
        records = [json.loads(line) for line in open(log.name)]
    arm = [r for r in records if r["kind"] == "arm"][-1]
    return arm["test_loss"], arm["seconds"], [r["loss"] for r in records if r["kind"] == "step"]


def apart(a, b, begin, end):
    return max((abs(x - y) for x, y in zip(a[begin:end], b[begin:end])), default=0)


def main():
    program, path = sys.argv[1:3]
    steps, seeds = int(sys.argv[3]) if len(sys.argv) > 3 else 1500, int(sys.argv[4]) if len(sys.argv) > 4 else 3
    torch.set_num_threads(1)
    text = open(os.path.join(path, "tinyshakespeare.txt") if os.path.isdir(path) else path, encoding="latin-1").read()
    same, reached = sys.argv[5:] == ["same"], {}

    def show(who, seed, run):
        loss, seconds, losses = run
        reached.setdefault(who, []).append(loss)
        print(f"{who:14} seed {seed}  test loss {loss:.4f}  steps {steps}  seconds {seconds:.1f}", flush=True)
        return losses

    for seed in range(1, seeds + 1):
        ours = show("gradus", seed, gradus(program, path, steps, seed))
        show("PyTorch", seed, pytorch(text, steps, seed))
        if same:
            theirs = show("PyTorch, same", seed, pytorch(text, steps, seed, True))
            parts = [(begin, min(end, steps)) for begin, end in ((0, 20), (20, 100), (100, steps)) if begin < steps]
            distances = (f"{apart(ours, theirs, begin, end):.1e} in steps {begin + 1} to {end}" for begin, end in parts)
            print("  training losses differ by at most", ", ".join(distances), flush=True)
    for who, losses in reached.items() if seeds > 1 else ():
        spread = statistics.stdev(losses)
        print(f"{who:14} mean {statistics.mean(losses):.4f}, standard error {spread / math.sqrt(seeds):.4f}, of one run {spread:.4f}")


main()
