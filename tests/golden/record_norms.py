#!/usr/bin/env python3
"""Records tests/golden/norms.safetensors: PyTorch's norm modules in float64, two training steps and one evaluation. Inputs, weights and
cotangents are exact in float32. tests/test_norms_parity.c reads the file. For a module NAME:
    NAME/start/KEY   its state_dict, weights and buffers drawn; NAME/end/KEY after the two steps
    NAME/xI dyI yI dxI, I = 0, 1 in training, 2 in evaluation; NAME/gI/KEY the gradients of the parameters
    NAME/lengths, NAME/mask where padding is left out: PyTorch's module runs on the gathered real positions
Needs torch 2.13, numpy, safetensors:  python3 tests/golden/record_norms.py"""
import pathlib
import torch
from torch import nn
from safetensors.torch import save_file

torch.manual_seed(20162)
out = {}


def draw(*shape, low=-2.0, high=2.0):
    return (torch.rand(shape, dtype=torch.float32) * (high - low) + low).double()


def keep(name, x):
    x = x.detach().clone().contiguous()
    out[name] = x.float() if x.dtype == torch.float64 and torch.equal(x.float().double(), x) else x  # smaller, and exact


def record(name, module, shape, real=None, last=False):
    """real: a 0/1 tensor of x's shape without its channel axis; last: the channels are x's last axis, PyTorch's second."""
    module = module.double()
    with torch.no_grad():
        for key, p in module.state_dict().items():
            if p.dtype == torch.float64:
                p.copy_(draw(*p.shape, low=0.5, high=2) if key == "running_var" else draw(*p.shape, low=-1.5, high=1.5))
    for key, p in module.state_dict().items():
        keep(f"{name}/start/{key}", p)
    for i in range(3):
        module.train(i < 2)
        module.zero_grad()
        x, dy = draw(*shape, low=-3, high=4).requires_grad_(), draw(*shape, low=-1, high=1)
        if real is not None:
            channels_last = x if last else x.movedim(1, -1)
            y = torch.zeros_like(channels_last)
            y[real > 0] = module(channels_last[real > 0])
            y = y if last else y.movedim(-1, 1)
        elif last:
            y = module(x.movedim(-1, 1)).movedim(1, -1)
        else:
            y = module(x)
        y.backward(dy)
        for what, value in dict(x=x, dy=dy, y=y, dx=x.grad).items():
            keep(f"{name}/{what}{i}", value)
        for key, p in module.named_parameters():
            keep(f"{name}/g{i}/{key}", p.grad)
        if i == 1:
            for key, p in module.state_dict().items():
                keep(f"{name}/end/{key}", p)


class ChannelNorm(nn.Module):
    """LayerNorm over the channels of [N, C, H, W] at each position, as in ConvNeXt."""

    def __init__(self, channels):
        super().__init__()
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.weight, self.bias = self.norm.weight, self.norm.bias
        self.norm.weight = self.norm.bias = None

    def forward(self, x):
        return nn.functional.layer_norm(x.permute(0, 2, 3, 1), self.weight.shape, self.weight, self.bias, 1e-6).permute(0, 3, 1, 2)


record("batch_1d", nn.BatchNorm1d(5), (7, 5))
record("batch_1d_wide", nn.BatchNorm1d(70), (3, 70))
record("batch_1d_length", nn.BatchNorm1d(5), (4, 5, 9))
record("batch_2d", nn.BatchNorm2d(3), (4, 3, 5, 4))
record("batch_average", nn.BatchNorm2d(3, momentum=None), (4, 3, 5, 4))
record("batch_momentum", nn.BatchNorm1d(5, momentum=0.3, eps=1e-2), (7, 5))
record("batch_no_running", nn.BatchNorm1d(5, track_running_stats=False), (7, 5))
record("batch_no_affine", nn.BatchNorm2d(3, affine=False), (4, 3, 5, 4))
record("batch_last", nn.BatchNorm1d(6), (4, 9, 6), last=True)
lengths = torch.tensor([5, 0, 9, 1])
real = (torch.arange(9) < lengths[:, None]).double()
out["batch_lengths/lengths"] = out["batch_lengths_last/lengths"] = lengths
record("batch_lengths", nn.BatchNorm1d(5), (4, 5, 9), real)
record("batch_lengths_last", nn.BatchNorm1d(5), (4, 9, 5), real, last=True)
out["batch_mask/mask"] = mask = (torch.rand(4, 5, 4) < 0.6).double()
record("batch_mask", nn.BatchNorm1d(3), (4, 3, 5, 4), mask)
record("group", nn.GroupNorm(3, 6), (4, 6, 5, 3))
record("group_rows", nn.GroupNorm(2, 8), (4, 8))
record("group_one", nn.GroupNorm(1, 6, eps=1e-3), (2, 6, 7))
record("group_each", nn.GroupNorm(6, 6), (2, 6, 7))
record("group_no_affine", nn.GroupNorm(3, 6, affine=False), (4, 6, 5))
record("instance_1d", nn.InstanceNorm1d(5), (4, 5, 9))
record("instance_2d", nn.InstanceNorm2d(3, affine=True), (2, 3, 5, 4))
record("instance_last", nn.InstanceNorm1d(5, affine=True), (4, 9, 5), last=True)
record("rms", nn.RMSNorm(33), (5, 33))
record("rms_2d", nn.RMSNorm((3, 5), eps=1e-3), (4, 3, 5))
record("rms_no_affine", nn.RMSNorm(16, elementwise_affine=False), (2, 3, 16))
record("channel", ChannelNorm(6), (2, 6, 4, 3))

path = pathlib.Path(__file__).parent / "norms.safetensors"
save_file({k: v.contiguous().clone() for k, v in out.items()}, str(path), metadata={"source": f"torch {torch.__version__}, float64"})
print(path, len(out), "tensors", path.stat().st_size, "bytes")
