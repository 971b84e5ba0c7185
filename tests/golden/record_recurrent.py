#!/usr/bin/env python3
"""Records tests/golden/recurrent.safetensors: GRU, RNN and LSTM layers of PyTorch in float64, with lengths by packed sequences, and the
LayerNorm GRU and RNN and the BatchNorm LSTM written from the equations of their papers (Ba, Kiros, Hinton 2016: supplementary material, and
section 3.1; Cooijmans et al. 2016). For a case NAME: NAME/w/PARAMETER and buffers, NAME/x, NAME/h0, NAME/lengths, NAME/y, NAME/h, and NAME/d/..
the gradients of sum(y cy) + sum(h ch).   tests/test_recurrent_parity.c reads it.       python3 tests/golden/record_recurrent.py"""
import pathlib
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from safetensors.torch import save_file

torch.set_default_dtype(torch.float64)
torch.manual_seed(1603)
T, B, I, H = 5, 6, 3, 7
LENGTHS = [5, 2, 3, 1, 4, 5]
out = {}


def draw(*shape):
    return (torch.rand(shape) * 2 - 1).float().double()


class Cell(nn.Module):
    """One layer, one direction: the parameters have gradus's names."""

    def __init__(self, gates, **sizes):
        super().__init__()
        self.weight_ih_l0, self.weight_hh_l0 = nn.Parameter(draw(gates * H, I)), nn.Parameter(draw(gates * H, H))
        self.bias_l0 = nn.Parameter(draw(gates * H))
        for name, (size, shift) in sizes.items():
            self.add_module(name, nn.Module())
            norm = getattr(self, name)
            norm.weight = nn.Parameter(draw(size) / 4 + 1)
            if shift:
                norm.bias = nn.Parameter(draw(size) / 4)

    def forward(self, x, h0):
        h, y, self.c = h0[0], [], torch.zeros_like(h0[0])
        for t in range(T):
            h = self.step(x[t] @ self.weight_ih_l0.T, h @ self.weight_hh_l0.T, h, t)
            y.append(h)
        return torch.stack(y), h[None]


def ln(z, norm, first, last):
    return nn.functional.layer_norm(z[:, first:last], (last - first,), norm.weight[first:last], norm.bias[first:last])


class LayerNormGRU(Cell):
    def __init__(self):
        super().__init__(3, ln_ih_l0=(3 * H, True), ln_hh_l0=(3 * H, True))

    def step(self, wx, wh, h, t):
        rz = torch.sigmoid(ln(wh, self.ln_hh_l0, 0, 2 * H) + ln(wx, self.ln_ih_l0, 0, 2 * H) + self.bias_l0[:2 * H])
        r, z = rz.chunk(2, 1)
        n = torch.tanh(ln(wx, self.ln_ih_l0, 2 * H, 3 * H) + self.bias_l0[2 * H:] + r * ln(wh, self.ln_hh_l0, 2 * H, 3 * H))
        return (1 - z) * n + z * h


class LayerNormRNN(Cell):
    def __init__(self):
        super().__init__(1, ln_sum_l0=(H, True))

    def step(self, wx, wh, h, t):
        return torch.tanh(ln(wx + wh, self.ln_sum_l0, 0, H) + self.bias_l0)


class BatchNormLSTM(Cell):
    def __init__(self):
        super().__init__(4, bn_ih_l0=(4 * H, False), bn_hh_l0=(4 * H, False), bn_c_l0=(H, True))
        for name in ("bn_ih_l0", "bn_hh_l0", "bn_c_l0"):
            norm = getattr(self, name)
            norm.register_buffer("running_mean", torch.zeros(T, norm.weight.shape[0]))
            norm.register_buffer("running_var", torch.ones(T, norm.weight.shape[0]))

    def norm(self, z, norm, t):
        bias = norm.bias if hasattr(norm, "bias") else None
        return nn.functional.batch_norm(z, norm.running_mean[t], norm.running_var[t], norm.weight, bias, True, 0.1, 1e-5)

    def step(self, wx, wh, h, t):
        i, f, g, o = (self.norm(wh, self.bn_hh_l0, t) + self.norm(wx, self.bn_ih_l0, t) + self.bias_l0).chunk(4, 1)
        self.c = torch.sigmoid(f) * self.c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(self.norm(self.c, self.bn_c_l0, t))


def record(name, net, directions=1, layers=1, lengths=None):
    for p in net.parameters():
        p.data = p.data.float().double()
    x, h0 = draw(T, B, I).requires_grad_(), draw(layers * directions, B, H).requires_grad_()
    out.update({f"{name}/w/{k}": v.clone() for k, v in net.state_dict().items()} | {f"{name}/x": x.detach().clone(), f"{name}/h0": h0.detach().clone()})
    start = (h0, torch.zeros_like(h0)) if isinstance(net, nn.LSTM) else h0
    if lengths:
        out[f"{name}/lengths"] = torch.tensor(lengths)
        y, h = net(pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False), start)
        y, _ = pad_packed_sequence(y, total_length=T)
    else:
        y, h = net(x, start)
    h = h[0] if isinstance(h, tuple) else h
    cy, ch = draw(*y.shape), draw(*h.shape)
    ((y * cy).sum() + (h * ch).sum()).backward()
    out.update({f"{name}/y": y.detach().clone(), f"{name}/h": h.detach().clone(), f"{name}/cy": cy, f"{name}/ch": ch})
    out.update({f"{name}/d/x": x.grad, f"{name}/d/h0": h0.grad} | {f"{name}/d/{k}": p.grad for k, p in net.named_parameters()})
    out.update({f"{name}/after/{k}": v.clone() for k, v in net.named_buffers()})


record("gru", nn.GRU(I, H))
record("gru2", nn.GRU(I, H, 2, bidirectional=True), 2, 2, LENGTHS)
record("rnn", nn.RNN(I, H, nonlinearity="relu"))
record("rnn2", nn.RNN(I, H, 2, bidirectional=True), 2, 2, LENGTHS)
record("lstm2", nn.LSTM(I, H, 2, bidirectional=True), 2, 2, LENGTHS)
record("ln_gru", LayerNormGRU())
record("ln_rnn", LayerNormRNN())
record("bn_lstm", BatchNormLSTM())
path = pathlib.Path(__file__).parent / "recurrent.safetensors"
save_file({k: v.contiguous() for k, v in out.items()}, str(path), metadata={"source": f"torch {torch.__version__}, float64"})
print(path, len(out), "tensors", path.stat().st_size, "bytes")
