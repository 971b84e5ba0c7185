#!/usr/bin/env python3
"""Compares training steps of recurrent classifiers with PyTorch: the same weights, data, optimizer and clipping, one thread each.

usage: compare_lstm.py [--rounds 7] [--seconds 0.5] [--threads 1] [--only gru] BENCH      BENCH: the built tests/bench/lstm_bench

In each round both sides run one after the other, and they take turns at going first. The ratio is computed within a round, and its
median over the rounds counts, so that noise of the machine affects both sides. The losses after 10 steps from the same weights must
agree, so that a fast wrong answer cannot win. Needs torch and safetensors. Exit 1 when a ratio is below its goal or the losses differ."""
import argparse, json, os, statistics, subprocess, sys, tempfile, time
import torch, torch.nn as nn, torch.nn.functional as F
from safetensors.torch import load_file

T, I, H, CLASSES = 28, 28, 128, 10
# workload: kind, norm, batch, the smallest allowed ratio PyTorch / gradus
WORKLOADS = {
    'lnlstm_b64': ('lstm', 'layer', 64, 1.3), 'lstm_b64': ('lstm', 'none', 64, 0.8), 'lnlstm_b8': ('lstm', 'layer', 8, None),
    'lnlstm_b1': ('lstm', 'layer', 1, 10), 'lstm_b1': ('lstm', 'none', 1, None),
    'gru_b64': ('gru', 'none', 64, 1.0), 'gru_b1': ('gru', 'none', 1, 1.0),
    'rnn_b64': ('rnn', 'none', 64, None), 'rnn_b1': ('rnn', 'none', 1, None),
}


class LNLSTM(nn.Module):
    """The cell of Ba, Kiros, Hinton 2016, eq. 20-22, written out in eager mode, one step after the other."""
    def __init__(self):
        super().__init__()
        p = lambda *shape: nn.Parameter(torch.zeros(*shape))
        self.weight_ih_l0, self.weight_hh_l0, self.bias_l0 = p(4 * H, I), p(4 * H, H), p(4 * H)
        self.ln_ih_l0, self.ln_hh_l0, self.ln_c_l0 = nn.LayerNorm(4 * H), nn.LayerNorm(4 * H), nn.LayerNorm(H)

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], H)
        for t in range(T):
            a = self.ln_ih_l0(F.linear(x[:, t], self.weight_ih_l0)) + self.ln_hh_l0(F.linear(h, self.weight_hh_l0)) + self.bias_l0
            i, f, g, o = a.chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(self.ln_c_l0(c))
        return h


class Classifier(nn.Module):
    def __init__(self, kind, norm):
        super().__init__()
        layer = {'lstm': nn.LSTM, 'gru': nn.GRU, 'rnn': nn.RNN}[kind]
        self.lstm = LNLSTM() if norm == 'layer' else layer(I, H, batch_first=True)
        self.fc = nn.Linear(H, CLASSES)

    def forward(self, x):
        y = self.lstm(x)
        if not isinstance(y, torch.Tensor): y = (y[1][0] if isinstance(y[1], tuple) else y[1])[-1]
        return self.fc(y)


def torch_step(kind, norm, batch, weights):
    net = Classifier(kind, norm)
    net.load_state_dict(load_file(weights), strict=True)
    adam = torch.optim.Adam(net.parameters(), lr=1e-3)
    x = ((torch.arange(batch * T * I) + 1) ** 2 % 1009 / 1009).reshape(batch, T, I).float()
    y = torch.arange(batch) * 7 % CLASSES

    def step():
        adam.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        adam.step()
        return loss.detach()
    return step


def run_torch(args, step):
    clock = time.process_time if args.threads == 1 else time.perf_counter    # as the bench has it
    times, end = [], clock() + args.seconds
    while len(times) < 5 or clock() < end:
        begin = clock()
        step()
        times.append(clock() - begin)
    return 1e6 * min(times)


def run_gradus(args, kind, norm, batch, *more):
    command = [args.bench, '--kind', kind, '--norm', norm, '--batch', str(batch), '--threads', str(args.threads), '--seconds', str(args.seconds), *more]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('--rounds', type=int, default=7)
    ap.add_argument('--seconds', type=float, default=0.5)
    ap.add_argument('--threads', type=int, default=1)
    ap.add_argument('--only', help='workloads whose names begin so')
    ap.add_argument('bench')
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    good = True
    print(f'PyTorch {torch.__version__}, {args.threads} thread(s): fastest step of each side; '
          f'median [least, most] of the ratios of {args.rounds} rounds')
    for name, (kind, norm, batch, goal) in WORKLOADS.items():
        if args.only and not name.startswith(args.only): continue
        with tempfile.TemporaryDirectory() as folder:
            weights = os.path.join(folder, 'first.safetensors')
            loss = run_gradus(args, kind, norm, batch, '--save', weights)['loss10']
            step = torch_step(kind, norm, batch, weights)
        other = float([step() for _ in range(10)][-1])
        ours, theirs = [], []
        for r in range(args.rounds):
            for side in ((0, 1), (1, 0))[r % 2]:
                if side == 0: ours.append(run_gradus(args, kind, norm, batch)['us_min'])
                else: theirs.append(run_torch(args, step))
        ratios = [b / a for a, b in zip(ours, theirs)]
        ratio, same = statistics.median(ratios), abs(loss - other) <= 1e-4 * abs(other)
        passed = same and (goal is None or ratio >= goal)
        good &= passed
        print(f'{name:11s} gradus {min(ours):9.1f} us   PyTorch {min(theirs):9.1f} us   '
              f'ratio {ratio:6.2f} [{min(ratios):.2f}, {max(ratios):.2f}]'
              f'   goal {goal or "-":>4}   loss {loss:.6f} and {other:.6f}   {"passed" if passed else "FAILED"}', flush=True)
    sys.exit(0 if good else 1)


if __name__ == '__main__':
    main()
