"""The LayerNorm LSTM of Ba, Kiros, Hinton 2016 in PyTorch, written from the equations of the paper's supplementary material:

    (f, i, o, g) = LN(W_h h; alpha_1, beta_1) + LN(W_x x; alpha_2, beta_2) + b
    c = sigmoid(f) c + sigmoid(i) tanh(g)
    h = sigmoid(o) tanh(LN(c; alpha_3, beta_3))

with the gates in PyTorch's order i, f, g, o. The names are those of a gradus file, so load_state_dict(strict=True) accepts it without changes."""
import torch
from torch import nn


class LayerNormLSTM(nn.Module):
    def __init__(self, features, hidden, eps=1e-5):
        super().__init__()
        self.hidden, gates = hidden, 4 * hidden
        self.weight_ih_l0 = nn.Parameter(torch.empty(gates, features))
        self.weight_hh_l0 = nn.Parameter(torch.empty(gates, hidden))
        self.bias_l0 = nn.Parameter(torch.empty(gates))
        for name, size in (("ln_ih_l0", gates), ("ln_hh_l0", gates), ("ln_c_l0", hidden)):
            self.add_module(name, nn.LayerNorm(size, eps=eps))
        for p in (self.weight_ih_l0, self.weight_hh_l0, self.bias_l0):
            nn.init.uniform_(p, -hidden**-0.5, hidden**-0.5)

    def forward(self, x):  # x [B, T, features] -> the last h [B, hidden]
        h = c = x.new_zeros(x.shape[0], self.hidden)
        for x_t in x.unbind(1):
            gates = self.ln_hh_l0(h @ self.weight_hh_l0.T) + self.ln_ih_l0(x_t @ self.weight_ih_l0.T) + self.bias_l0
            i, f, g, o = gates.chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * self.ln_c_l0(c).tanh()
        return h


class RowReader(nn.Module):
    """The network of examples/seq_mnist_lstm: an image's rows are the time steps, the last state is classified."""

    def __init__(self, features=28, hidden=128, classes=10):
        super().__init__()
        self.lstm = LayerNormLSTM(features, hidden)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc(self.lstm(x))
