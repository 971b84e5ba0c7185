#!/usr/bin/env python3
"""Records tests/golden/conv.safetensors: convolutions over a grid of stride, padding, dilation and groups, transposed convolutions over the same
grid, pooling and interpolation, as PyTorch computes them in float64. Inputs and cotangents are exact in float32. tests/test_conv_parity.c reads the
file: a case is a key
    conv/C,O,kernel,kernel_w,stride,padding,dilation,groups,bias     or     OP/kernel,stride,padding,exclude     or     OP/out,out_w
    transpose/stride,padding,dilation,groups,output_padding,bias     or     interpolate/linear,align_corners,size,size_w,factor,factor_w
with /x, /w, /b, /y, /dy, /dx, /dw, /db behind it; x of rank 3 is one axis. Three training steps of a CNN with BatchNorm lie under cnn/.
Needs torch 2.13, safetensors:  python3 tests/golden/record_conv.py"""
import itertools
import pathlib
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn

torch.manual_seed(1989)
out = {}


def draw(*shape, low=-2.0, high=2.0):
    return (torch.rand(shape, dtype=torch.float32) * (high - low) + low).double()


def case(key, f, **inputs):
    leaves = {k: v.requires_grad_(True) for k, v in inputs.items()}
    y = f(**leaves)
    dy = draw(*y.shape, low=-1, high=1)
    grads = torch.autograd.grad(y, list(leaves.values()), dy)
    for k, v in {**leaves, "y": y, "dy": dy, **{"d" + k: g for k, g in zip(leaves, grads)}}.items():
        v = v.detach().clone().contiguous()
        out[f"{key}/{k}"] = v.float() if k in ("x", "w", "b", "dy") else v


# ---- Convolution ----
for i, (stride, padding, dilation, groups) in enumerate(itertools.product((1, 2, 3), (0, 2), (1, 2), (1, 2, 4))):
    for axes in (1, 2):
        k, kw, bias = (3, 2)[i % 2], (3, 1, 2)[i % 3], i % 4 < 3
        if axes == 1:
            kw = k
        C, O = (4, 8) if groups == 4 and i % 2 else (4, 4) if groups == 4 else (2, 4)
        x = draw(1 + i % 2, C, 6, 5) if axes == 2 else draw(1 + i % 2, C, 9)
        w = draw(O, C // groups, k, kw) if axes == 2 else draw(O, C // groups, k)
        more = dict(b=draw(O)) if bias else {}
        conv = F.conv2d if axes == 2 else F.conv1d
        case(f"conv/{C},{O},{k},{kw},{stride},{padding},{dilation},{groups},{int(bias)}" + ("" if axes == 2 else ",line"),
             lambda x, w, b=None: conv(x, w, b, stride, padding, dilation, groups), x=x, w=w, **more)

# ---- Pooling ----
for kernel, stride, padding in ((2, 2, 0), (3, 2, 1), (3, 1, 1), (2, 3, 1), (4, 2, 2)):
    for name, f, x in (("max_pool2d", F.max_pool2d, draw(1, 2, 7, 8)), ("max_pool1d", F.max_pool1d, draw(1, 2, 9))):
        case(f"{name}/{kernel},{stride},{padding},0", lambda x: f(x, kernel, stride, padding), x=x)
    for exclude in (0, 1):
        for name, f, x in (("avg_pool2d", F.avg_pool2d, draw(1, 2, 7, 8)), ("avg_pool1d", F.avg_pool1d, draw(1, 2, 9))):
            case(f"{name}/{kernel},{stride},{padding},{exclude}",
                 lambda x: f(x, kernel, stride, padding, count_include_pad=not exclude), x=x)
for h, w in ((1, 1), (3, 2), (5, 9)):
    case(f"adaptive_max_pool2d/{h},{w}", lambda x: F.adaptive_max_pool2d(x, (h, w)), x=draw(1, 2, 7, 8))
    case(f"adaptive_avg_pool2d/{h},{w}", lambda x: F.adaptive_avg_pool2d(x, (h, w)), x=draw(1, 2, 7, 8))
    case(f"adaptive_max_pool1d/{w},0", lambda x: F.adaptive_max_pool1d(x, w), x=draw(1, 2, 11))
    case(f"adaptive_avg_pool1d/{w},0", lambda x: F.adaptive_avg_pool1d(x, w), x=draw(1, 2, 11))

# ---- Three training steps ----
STEPS, BATCH = 3, 5
net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(4, 6, 3, stride=2, groups=2, bias=False), nn.ReLU(), nn.AvgPool2d(2, 1), nn.Flatten(), nn.Linear(6, 3)).double()
for p in net.parameters():
    p.data = (torch.rand(p.shape) - 0.3).float().double()
for k, v in net.state_dict().items():
    out[f"cnn/start/{k}"] = v.clone()
adam = torch.optim.Adam(net.parameters(), lr=0.01)
x, labels, losses = draw(STEPS, BATCH, 1, 10, 10), torch.randint(0, 3, (STEPS, BATCH)), []
for s in range(STEPS):
    adam.zero_grad()
    loss = F.cross_entropy(net(x[s]), labels[s])
    loss.backward()
    adam.step()
    losses.append(loss.detach())
out.update({f"cnn/end/{k}": v.clone() for k, v in net.state_dict().items()})
net.eval()
out.update({"cnn/x": x.float(), "cnn/labels": labels, "cnn/loss": torch.stack(losses), "cnn/eval": net(x[0]).detach()})

# ---- Transposed convolution ----
for i, (stride, padding, dilation, groups) in enumerate(itertools.product((1, 2, 3), (0, 1), (1, 2), (1, 2, 4))):
    two, C, O, more = i % 2, 4, (4, 8)[i // 2 % 2], (max(stride, dilation) - 1) * (i % 5 > 0)
    x, w = (draw(2, C, 3, 4), draw(C, O // groups, 3, 2)) if two else (draw(2, C, 5), draw(C, O // groups, 3))
    bias = dict(b=draw(O)) if i % 4 < 3 else {}
    conv = F.conv_transpose2d if two else F.conv_transpose1d
    case(f"transpose/{stride},{padding},{dilation},{groups},{more},{len(bias)}",
         lambda x, w, b=None: conv(x, w, b, stride, padding, more, groups, dilation), x=x, w=w, **bias)

# ---- Interpolation ----
for linear, corners in ((0, 0), (1, 0), (1, 1)):
    for h, w in ((8, 10), (2, 3), (5, 4), (7, 13), (1, 1)):
        for axes in (1, 2):
            mode = ("nearest", "linear", "nearest", "bilinear")[linear + 2 * (axes == 2)]
            x = draw(2, 2, 4, 5) if axes == 2 else draw(2, 2, 4)
            case(f"interpolate/{linear},{corners},{h},{w},0,0" + ("" if axes == 2 else ",line"),
                 lambda x: F.interpolate(x, (h, w)[:axes], mode=mode, align_corners=bool(corners) if linear else None), x=x)
    for h, w in ((2, 2), (1.6, 0.5), (2.7, 3.3)):
        for axes in (1, 2):
            mode = ("nearest", "linear", "nearest", "bilinear")[linear + 2 * (axes == 2)]
            x = draw(2, 2, 4, 5) if axes == 2 else draw(2, 2, 4)
            case(f"interpolate/{linear},{corners},0,0,{h},{w}" + ("" if axes == 2 else ",line"),
                 lambda x: F.interpolate(x, scale_factor=(float(h), float(w))[:axes], mode=mode, align_corners=bool(corners) if linear else None), x=x)

# ---- A decoder: its state_dict is what PyTorch writes ----
net = nn.Sequential(nn.ConvTranspose2d(3, 4, 4, stride=2, padding=1, bias=False), nn.ReLU(), nn.Upsample(scale_factor=2, mode="bilinear"),
                    nn.ConvTranspose2d(4, 2, (3, 2), groups=2, stride=2, output_padding=1)).double()
net.load_state_dict({k: v.float().double() for k, v in net.state_dict().items()})
x = draw(2, 3, 3, 2)
out.update({"decoder/x": x.float(), "decoder/y": net(x).detach()})
save_file({k: v.float() for k, v in net.state_dict().items()}, str(pathlib.Path(__file__).parent / "decoder_state.safetensors"))
(pathlib.Path(__file__).parent / "decoder_state.safetensors").chmod(0o644)

# ---- Convolution with 16 channels or more: 3 x 3 and stride 1 have an algorithm of their own ----
for C, O, padding, shape in ((16, 17, 0, (7, 4)), (17, 16, 1, (4, 9)), (16, 16, 2, (3, 5))):
    case(f"conv/{C},{O},3,3,1,{padding},1,1,1", lambda x, w, b: F.conv2d(x, w, b, 1, padding), x=draw(2, C, *shape), w=draw(O, C, 3, 3), b=draw(O))

path = pathlib.Path(__file__).parent / "conv.safetensors"
save_file(out, str(path), metadata={"source": f"torch {torch.__version__}, float64"})
path.chmod(0o644)
print(path, len(out), "tensors", path.stat().st_size, "bytes")
