"""torch_models.py: the networks of tests/bench/models.c in PyTorch, with the same names of parameters."""
import math

import torch
import torch.nn.functional as F
from torch import nn

CLASSES, LETTERS, BATCH_NORM, LAYER_NORM, GROUP_NORM = 10, 65, 1, 2, 3


class Cell(nn.Module):
    """An LSTM written out, with the layer norms of Ba, Kiros, Hinton 2016, eq. 20-22, or without norms. hoisted: the products with x, and their
    norm, for all time steps at once. A TorchScript compiles it as it stands."""

    def __init__(self, inputs: int, hidden: int, norm: bool, hoisted: bool):
        super().__init__()
        bound = 1 / math.sqrt(hidden)
        new = lambda *shape: nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))
        self.hidden, self.hoisted = hidden, hoisted
        self.weight_ih_l0, self.weight_hh_l0 = new(4 * hidden, inputs), new(4 * hidden, hidden)
        if norm:
            self.bias_l0 = new(4 * hidden)
            self.ln_ih_l0, self.ln_hh_l0, self.ln_c_l0 = nn.LayerNorm(4 * hidden), nn.LayerNorm(4 * hidden), nn.LayerNorm(hidden)
        else:
            self.bias_ih_l0, self.bias_hh_l0 = new(4 * hidden), new(4 * hidden)
        self.norm = norm

    def forward(self, x):
        h = x.new_zeros(x.shape[0], self.hidden)
        c = h
        steps = x.unbind(1)
        if self.hoisted:
            steps = self.from_input(x.transpose(0, 1).contiguous()).unbind(0)
        for step in steps:
            if self.hoisted:
                a = step + self.from_state(h)
            else:
                a = self.from_input(step) + self.from_state(h)
            i, f, g, o = a.chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(self.of_cell(c))
        return h

    def from_input(self, x):
        if self.norm:
            return self.ln_ih_l0(F.linear(x, self.weight_ih_l0)) + self.bias_l0
        return F.linear(x, self.weight_ih_l0, self.bias_ih_l0)

    def from_state(self, h):
        if self.norm:
            return self.ln_hh_l0(F.linear(h, self.weight_hh_l0))
        return F.linear(h, self.weight_hh_l0, self.bias_hh_l0)

    def of_cell(self, c):
        return self.ln_c_l0(c) if self.norm else c


class ScriptCell(Cell):
    """For TorchScript, which compiles both branches of a condition: with norms, hoisted."""

    def forward(self, x):
        h = x.new_zeros(x.shape[0], self.hidden)
        c = h
        steps = self.ln_ih_l0(F.linear(x.transpose(0, 1).contiguous(), self.weight_ih_l0)) + self.bias_l0
        for step in steps.unbind(0):
            a = step + self.ln_hh_l0(F.linear(h, self.weight_hh_l0))
            i, f, g, o = a.chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(self.ln_c_l0(c))
        return h


class Classifier(nn.Module):
    def __init__(self, rnn, hidden):
        super().__init__()
        self.rnn, self.fc = rnn, nn.Linear(hidden, CLASSES)

    def forward(self, x):
        return self.fc(self.rnn(x))


class ModuleClassifier(Classifier):
    """For nn.LSTM, nn.GRU and nn.RNN: of the last hidden state."""

    def forward(self, x):
        state = self.rnn(x)[1]
        return self.fc((state[0] if isinstance(state, tuple) else state)[-1])


def recurrent(p, form):
    """form: module, stepwise, hoisted or script."""
    sizes = p["in"], p["hidden"]
    if form == "module":
        layer = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[p["kind"]](*sizes, batch_first=True)
        return ModuleClassifier(layer, p["hidden"])
    return Classifier((ScriptCell if form == "script" else Cell)(*sizes, bool(p["norm"]), form != "stepwise"), p["hidden"])


def mlp(p):
    layers, size = [], p["in"]
    norms = {BATCH_NORM: nn.BatchNorm1d, LAYER_NORM: nn.LayerNorm}
    for _ in range(p["layers"]):
        layers += [nn.Linear(size, p["width"]), *([norms[p["norm"]](p["width"])] if p["norm"] else []), nn.ReLU()]
        size = p["width"]
    return nn.Sequential(*layers, nn.Linear(size, CLASSES))


def cnn(p):
    layers, size, side = [], 1, 28
    for k, out in enumerate((p["first"], p["second"])):
        side += 2 * p["padding"] - 2
        layers.append(nn.Conv2d(size, out, 3, padding=p["padding"]))
        layers += {0: [], BATCH_NORM: [nn.BatchNorm2d(out)], LAYER_NORM: [nn.LayerNorm([out, side, side])], GROUP_NORM: [nn.GroupNorm(8, out)]}[p["norm"]]
        layers.append(nn.ReLU())
        if p["padding"] or k:
            layers.append(nn.MaxPool2d(2))
            side //= 2
        size = out
    layers += [nn.Flatten(), nn.Linear(size * side * side, 128), nn.ReLU(), nn.Linear(128, CLASSES)]
    return nn.Sequential(*layers)


class Layer(nn.Module):
    """A pre-norm layer of a causal Transformer; fused: by scaled_dot_product_attention."""

    def __init__(self, size, heads, fused):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(size, heads, batch_first=True)  # for its parameters
        self.linear1, self.linear2 = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.heads, self.fused = heads, fused

    def attend(self, x):
        B, T, size = x.shape
        qkv = F.linear(x, self.self_attn.in_proj_weight, self.self_attn.in_proj_bias)
        q, k, v = (part.view(B, T, self.heads, -1).transpose(1, 2) for part in qkv.split(size, 2))
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            later = torch.ones(T, T, dtype=torch.bool).triu(1)
            y = (q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])).masked_fill(later, -math.inf).softmax(-1) @ v
        return self.self_attn.out_proj(y.transpose(1, 2).reshape(B, T, size))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, p, form):
        """form: fused, plain or module (nn.TransformerEncoderLayer)."""
        super().__init__()
        size, heads = p["size"], p["heads"]
        self.token, self.position = nn.Embedding(LETTERS, size), nn.Embedding(p["time"], size)
        make = {"module": lambda: nn.TransformerEncoderLayer(size, heads, 4 * size, 0.0, "gelu", batch_first=True, norm_first=True)}
        layers = nn.ModuleList(make.get(form, lambda: Layer(size, heads, form == "fused"))() for _ in range(p["layers"]))
        self.body = nn.ModuleDict({"layers": layers, "norm": nn.LayerNorm(size)})
        self.head = nn.Linear(size, LETTERS)
        self.later = nn.Transformer.generate_square_subsequent_mask(p["time"]) if form == "module" else None

    def forward(self, ids):
        x = self.token(ids) + self.position.weight
        for layer in self.body["layers"]:
            x = layer(x) if self.later is None else layer(x, src_mask=self.later, is_causal=True)
        return self.head(self.body["norm"](x)).flatten(0, 1)
