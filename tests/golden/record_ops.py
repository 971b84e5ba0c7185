#!/usr/bin/env python3
"""Records tests/golden/ops.safetensors: for every operator, inputs, a cotangent, the output and all gradients, as PyTorch computes them in
float64. Inputs and cotangents are exact in float32. tests/test_parity.c reads the file: a case named NAME has NAME/in0, NAME/in1 ...
(float64; with NAME/d0, NAME/d1 ... where a gradient flows), NAME/int0 ... (int64), NAME/dy and NAME/y.
Needs torch 2.13, numpy, safetensors:  python3 tests/golden/record_ops.py"""
import pathlib
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

torch.manual_seed(20161)
out = {}


def draw(*shape, low=-2.0, high=2.0):
    return (torch.rand(shape, dtype=torch.float32) * (high - low) + low).double()


def away(x, *points, gap=0.05):
    for p in points:
        x = torch.where((x - p).abs() < gap, x + 2 * gap, x)
    return x.float().double()


def ints(*shape, n):
    return torch.randint(0, n, shape)


def case(name, f, *inputs):
    leaves = [x.clone().requires_grad_(True) if x.dtype == torch.float64 else x for x in inputs]
    y = f(*leaves)
    real = [x for x in leaves if x.dtype == torch.float64]
    whole = [x for x in leaves if x.dtype == torch.int64]
    for i, x in enumerate(real):
        out[f"{name}/in{i}"] = x.detach().clone().contiguous()
    for i, x in enumerate(whole):
        out[f"{name}/int{i}"] = x.clone().contiguous()
    out[f"{name}/y"] = y.detach().double().clone().contiguous()
    if not y.requires_grad:
        return
    dy = draw(*y.shape, low=-1, high=1)
    out[f"{name}/dy"] = dy.contiguous()
    grads = torch.autograd.grad(y, real, dy, allow_unused=True)
    for i, g in enumerate(grads):
        if g is not None:
            out[f"{name}/d{i}"] = g.clone().contiguous()


# ---- Elementwise ----
S = (3, 7)
for name, f in dict(neg=torch.neg, exp=torch.exp, square=torch.square, tanh=torch.tanh, sigmoid=torch.sigmoid, gelu=F.gelu,
                    gelu_tanh=lambda x: F.gelu(x, approximate="tanh"), silu=F.silu, softplus=F.softplus, sin=torch.sin,
                    cos=torch.cos, erf=torch.erf).items():
    case(name, f, draw(*S, low=-4, high=4))
for name, f in dict(log=torch.log, sqrt=torch.sqrt, rsqrt=torch.rsqrt).items():
    case(name, f, draw(*S, low=0.1, high=5))
for name, f in dict(abs=torch.abs, relu=torch.relu, leaky_relu=lambda x: F.leaky_relu(x, 0.1), elu=lambda x: F.elu(x, 0.7)).items():
    case(name, f, away(draw(*S), 0))
case("clamp", lambda x: torch.clamp(x, -1, 0.5), away(draw(*S), -1, 0.5))
case("pow_scalar", lambda x: torch.pow(x, 2.5), draw(*S, low=0.1, high=3))
for name, f in dict(add=torch.add, sub=torch.sub, mul=torch.mul, div=torch.div, maximum=torch.maximum, minimum=torch.minimum).items():
    case(name, f, draw(*S), away(draw(*S), 0))
    case(name + "_broadcast", f, draw(2, 1, 5), away(draw(3, 1), 0))
case("pow", torch.pow, draw(*S, low=0.2, high=3), draw(*S))
case("pow_broadcast", torch.pow, draw(*S, low=0.2, high=3), draw(7))
case("where", lambda a, b: torch.where(a > b, a * 2, b), draw(*S), draw(*S))

# ---- Reductions ----
R = (2, 3, 4)
for keep in (False, True):
    k = "_keep" if keep else ""
    for axes_name, axes in dict(all=(0, 1, 2), last=(2,), first=(0,), middle=(1,), outer=(0, 2)).items():
        case(f"sum_{axes_name}{k}", lambda x: torch.sum(x, axes, keepdim=keep), draw(*R))
        case(f"mean_{axes_name}{k}", lambda x: torch.mean(x, axes, keepdim=keep), draw(*R))
        case(f"var_{axes_name}{k}", lambda x: torch.var(x, axes, correction=1, keepdim=keep), draw(5, 3, 4))
        case(f"max_{axes_name}{k}", lambda x: torch.amax(x, axes, keepdim=keep), draw(*R))
        case(f"min_{axes_name}{k}", lambda x: torch.amin(x, axes, keepdim=keep), draw(*R))
        case(f"logsumexp_{axes_name}{k}", lambda x: torch.logsumexp(x, axes, keepdim=keep), draw(*R, low=-9, high=9))
        case(f"vector_norm_{axes_name}{k}", lambda x: torch.linalg.vector_norm(x, 2, axes, keepdim=keep), draw(*R))
case("prod_last", lambda x: torch.prod(x, 2), away(draw(*R), 0))
case("argmax_last", lambda x: torch.argmax(x, 2), draw(*R))

# ---- Shape ----
case("permute", lambda x: x.permute(2, 0, 1), draw(*R))
case("transpose", lambda x: x.transpose(0, 2), draw(*R))
case("narrow", lambda x: x.narrow(1, 1, 2), draw(*R))
case("select", lambda x: x.select(1, -1), draw(*R))
case("cat", lambda a, b: torch.cat([a, b], 1), draw(2, 3, 4), draw(2, 2, 4))
case("stack", lambda a, b: torch.stack([a, b], 1), draw(2, 3), draw(2, 3))
case("expand", lambda x: x.expand(4, 2, 3), draw(2, 1))
case("flip", lambda x: x.flip(0, 2), draw(*R))

# ---- Products ----
case("matmul", torch.matmul, draw(5, 7), draw(7, 6))
case("matmul_batched", torch.matmul, draw(2, 1, 5, 7), draw(3, 7, 4))
case("linear", F.linear, draw(2, 5, 7), draw(6, 7), draw(6))

# ---- Softmax, losses ----
case("softmax", lambda x: torch.softmax(x, -1), draw(4, 9, low=-6, high=6))
case("softmax_axis1", lambda x: torch.softmax(x, 1), draw(2, 5, 3))
case("log_softmax", lambda x: torch.log_softmax(x, -1), draw(4, 9, low=-6, high=6))
target = torch.tensor([3, -100, 0, 9, 3, 5])
weight = draw(10, low=0.5, high=2)
case("cross_entropy", lambda x, y: F.cross_entropy(x, y), draw(6, 10, low=-4, high=4), target)
case("cross_entropy_smooth", lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1), draw(6, 10), target)
case("cross_entropy_weight", lambda x, y: F.cross_entropy(x, y, weight=weight, label_smoothing=0.2), draw(6, 10), target)
out["cross_entropy_weight/weight"] = weight
case("cross_entropy_sum", lambda x, y: F.cross_entropy(x, y, reduction="sum"), draw(6, 10), target)
case("cross_entropy_none", lambda x, y: F.cross_entropy(x, y, reduction="none"), draw(6, 10), target)
case("nll", lambda x, y: F.nll_loss(torch.log_softmax(x, -1), y), draw(6, 10), target)
case("mse", F.mse_loss, draw(4, 5), draw(4, 5))
case("l1", F.l1_loss, draw(4, 5), draw(4, 5))
case("huber", lambda a, b: F.huber_loss(a, b, delta=0.7), draw(4, 5), draw(4, 5))
case("bce_with_logits", lambda x, y: F.binary_cross_entropy_with_logits(x, y.detach()), draw(4, 5, low=-8, high=8), draw(4, 5, low=0, high=1))

# ---- Embedding, gather, normalization ----
case("embedding", lambda w, i: F.embedding(i, w), draw(7, 4), ints(3, 2, n=7))
case("gather", lambda x, i: torch.gather(x, 1, i), draw(4, 6), ints(4, 3, n=6))
case("layer_norm", lambda x, g, b: F.layer_norm(x, (33,), g, b), draw(5, 33), draw(33), draw(33))
case("layer_norm_2d", lambda x, g, b: F.layer_norm(x, (3, 5), g, b), draw(4, 3, 5), draw(3, 5), draw(3, 5))
case("layer_norm_plain", lambda x: F.layer_norm(x, (16,)), draw(2, 3, 16))

# ---- Elementwise, with random numbers of their own ----
torch.manual_seed(20162)
for name, f in dict(scale=lambda x: x * 0.3, add_scalar=lambda x: x + 0.3, sign=torch.sign, floor=torch.floor, ceil=torch.ceil,
                    round=torch.round, expm1=torch.expm1, mish=F.mish, selu=F.selu, tan=torch.tan).items():
    case(name, f, draw(*S, low=-4, high=4))
case("log1p", torch.log1p, draw(*S, low=-0.9, high=5))
case("hardtanh", lambda x: F.hardtanh(x, -1, 0.5), away(draw(*S), -1, 0.5))
# The derivative of F.hardsigmoid is 1 / 6 rounded to float, also in float64.
case("hardsigmoid", lambda x: F.relu6(x + 3) / 6, away(draw(*S, low=-5, high=5), -3, 3))
case("hardswish", F.hardswish, away(draw(*S, low=-5, high=5), -3, 3))
case("prelu", F.prelu, away(draw(*S), 0), draw(1))
case("prelu_channels", F.prelu, away(draw(2, 3, 4), 0), draw(3))

# ---- Picking, sorting, with random numbers of their own ----
torch.manual_seed(20163)
case("masked_fill", lambda x, m: x.masked_fill(m > 0.3, -1.5), draw(*R), draw(3, 1))
case("std_last", lambda x: torch.std(x, 2, correction=1), draw(*R))
case("std_outer_keep", lambda x: torch.std(x, (0, 2), correction=0, keepdim=True), draw(*R))
case("argmin_last", lambda x: torch.argmin(x, 2), draw(*R))
case("pad", lambda x: F.pad(x, (1, 2, 0, 3), value=0.5), draw(*R))
case("pad_crop", lambda x: F.pad(x, (-1, 2, 3, -2, -1, 0)), draw(*R))
case("tril", lambda x: torch.tril(x, 1), draw(2, 4, 3))
case("triu", lambda x: torch.triu(x, -1), draw(2, 4, 3))
case("cumsum_last", lambda x: torch.cumsum(x, 2), draw(*R))
case("cumsum_first", lambda x: torch.cumsum(x, 0), draw(5, 3))
case("index_select", lambda x, i: torch.index_select(x, 1, i), draw(*R), torch.tensor([2, 0, 2, 1]))
case("scatter_add", lambda x, s, i: torch.scatter_add(x, 1, i, s), draw(4, 5), draw(3, 6), ints(3, 6, n=5))
case("slice_step", lambda x: x[:, -6:-1:2], draw(3, 8))
case("sort", lambda x: torch.sort(x, 1)[0], draw(3, 9))
case("sort_descending", lambda x: torch.sort(x, 0, descending=True)[0], draw(4, 3))
case("argsort_nan", lambda x: torch.argsort(torch.where(x.abs() < 0.5, torch.nan, x.round()), stable=True, dim=1), draw(4, 20))
case("argsort_nan_descending", lambda x: torch.argsort(torch.where(x.abs() < 0.5, torch.nan, x.round()), stable=True, dim=1, descending=True), draw(4, 20))
case("topk", lambda x: torch.topk(x, 3, 1)[0], draw(3, 9))
case("topk_smallest", lambda x: torch.topk(x, 2, 0, largest=False)[0], draw(5, 3))

path = pathlib.Path(__file__).parent / "ops.safetensors"
save_file(out, str(path), metadata={"source": f"torch {torch.__version__}, float64"})
print(path, len(out), "tensors", path.stat().st_size, "bytes")
