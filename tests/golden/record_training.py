#!/usr/bin/env python3
"""Records tests/golden/training.safetensors: three training steps (forward, cross-entropy, backward, clip by global norm, Adam) of the LayerNorm LSTM
of ln_lstm.py and of a plain nn.LSTM, in float64: the weights at the start, the batches, the loss and the gradient's norm of each step, and the
weights at the end. tests/test_parity.c repeats them.       python3 tests/golden/record_training.py"""
import pathlib
import torch
from torch import nn
from safetensors.torch import save_file
from ln_lstm import RowReader

FEATURES, HIDDEN, CLASSES, STEPS, BATCH, TIME = 5, 9, 4, 3, 6, 7
torch.set_default_dtype(torch.float64)


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(FEATURES, HIDDEN, num_layers=2, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * HIDDEN, CLASSES)

    def forward(self, x):
        return self.fc(self.lstm(x)[0][:, -1])


def record(name, net, out):
    torch.manual_seed(7)
    for p in net.parameters():
        p.data = (torch.rand(p.shape) - 0.5).float().double() if p.dim() > 1 else (p.data + 0.2 * torch.rand(p.shape)).float().double()
    adam = torch.optim.Adam(net.parameters(), lr=0.02)
    x = (torch.rand(STEPS, BATCH, TIME, FEATURES) * 2 - 1).float().double()
    y = torch.randint(0, CLASSES, (STEPS, BATCH))
    out |= {f"{name}/start/{k}": v.clone() for k, v in net.state_dict().items()} | {f"{name}/x": x, f"{name}/labels": y}
    loss, norm = [], []
    for step in range(STEPS):
        adam.zero_grad()
        value = nn.functional.cross_entropy(net(x[step]), y[step])
        value.backward()
        norm.append(nn.utils.clip_grad_norm_(net.parameters(), 0.5).item())
        adam.step()
        loss.append(value.item())
    out |= {f"{name}/loss": torch.tensor(loss), f"{name}/norm": torch.tensor(norm)}
    out |= {f"{name}/end/{k}": v.clone() for k, v in net.state_dict().items()}


out = {}
record("layer_norm", RowReader(FEATURES, HIDDEN, CLASSES), out)
record("plain", Plain(), out)
path = pathlib.Path(__file__).parent / "training.safetensors"
save_file(out, str(path), metadata={"source": f"torch {torch.__version__}, float64"})
print(path, path.stat().st_size, "bytes; losses", out["layer_norm/loss"].tolist(), out["plain/loss"].tolist(), out["layer_norm/norm"].tolist())
