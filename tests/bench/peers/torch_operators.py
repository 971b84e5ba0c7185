"""torch_operators.py: PyTorch's ways to run a cell of an operator: {name of the way: maker}, as in torch_peers.py. run() returns y; after a
backward, run.gradients() are the gradients of the leaves."""
import torch
import torch.nn.functional as F

from torch_peers import CHANNELS_LAST, can_compile, tensors

UNARY = {
    "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
    "exp": torch.exp, "relu": torch.relu, "square": torch.square, "erf": torch.erf, "sin": torch.sin, "softplus": F.softplus, "mish": F.mish,
    "dropout": lambda x: F.dropout(x, 0.1),
    "softmax": lambda x: F.softmax(x, -1), "log_softmax": lambda x: F.log_softmax(x, -1), "sum_all": torch.sum, "sum_0": lambda x: x.sum(0),
    "sum_1": lambda x: x.sum(1), "max_0": lambda x: x.amax(0), "max_1": lambda x: x.amax(1), "var_0": lambda x: x.var(0),
    "transpose": lambda x: x.t().contiguous(), "narrow": lambda x: x.narrow(1, x.shape[1] // 4, x.shape[1] // 2).contiguous(),
    "max_pool2d": lambda x: F.max_pool2d(x, 2), "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "to_nhwc": lambda x: x.permute(0, 2, 3, 1).contiguous(),
}
MORE = {
    "add": torch.add, "add_row": torch.add, "add_column": torch.add, "add_outer": torch.add, "mul": torch.mul, "mul_row": torch.mul,
    "mul_column": torch.mul, "div": torch.div, "mse": F.mse_loss, "cat_1": lambda a, b: torch.cat([a, b], 1), "matmul": torch.mm, "linear": F.linear,
    "layer_norm": lambda x, w, b: F.layer_norm(x, w.shape, w, b), "rms_norm": lambda x, w: F.rms_norm(x, w.shape, w, 1e-5),
    "cross_entropy": F.cross_entropy, "embedding": lambda w, ids: F.embedding(ids, w), "group_norm": lambda x, w, b: F.group_norm(x, 8, w, b),
    "instance_norm": lambda x, w, b: F.instance_norm(x, weight=w, bias=b), "batch_norm": lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
}
IMAGES = "conv2d", "max_pool2d", "avg_pool2d", "batch_norm", "group_norm", "instance_norm"  # also in channels_last


def heads_apart(x, heads):
    B, T, size = x.shape
    return x.view(B, T, heads, size // heads).transpose(1, 2)


def attention(cell):
    def f(q, k, v):
        y = F.scaled_dot_product_attention(*(heads_apart(x, cell["heads"]) for x in (q, k, v)), is_causal=True)
        return y.transpose(1, 2).reshape(q.shape)
    return f


def convolution(cell):
    def f(x, w, b):
        return F.conv2d(x, w, b, padding=cell["padding"], stride=cell["stride"], groups=cell["groups"])
    return f


def function(cell):
    special = {"attention": attention, "conv2d": convolution}
    if cell["kind"] in special:
        return special[cell["kind"]](cell)
    return UNARY.get(cell["kind"]) or MORE[cell["kind"]]


class Run:
    def __init__(self, f, inputs, dy, back):
        self.f, self.inputs = f, inputs
        self.leaves = [x for x in inputs if x.is_floating_point()]
        self.dy, self.back = dy, back
        for x in self.leaves if back else ():
            x.requires_grad_()

    def __call__(self):
        if not self.back:
            with torch.no_grad():
                return self.f(*self.inputs)
        for x in self.leaves:
            x.grad = None
        y = self.f(*self.inputs)
        y.backward(self.dy)
        return y.detach()

    def gradients(self):
        return [x.grad for x in self.leaves] if self.back else []


def way(cell, layout=None, wrap=None):
    def make(dy, inputs):
        inputs = [x.contiguous(memory_format=layout) if layout and x.dim() == 4 else x for x in tensors(inputs)]
        f = wrap(function(cell)) if wrap else function(cell)
        if dy is None and cell["mode"] == "backward":  # without gradus: for the memory
            y = f(*inputs)
            dy = torch.rand_like(y) if y.dim() else None
        elif dy is not None:
            dy = torch.from_numpy(dy.copy())
            dy = dy.contiguous(memory_format=layout) if layout and dy.dim() == 4 else dy
        return Run(f, inputs, dy, cell["mode"] == "backward")
    return make


def peers(cell, compiled):
    ways = {"eager": way(cell)}
    if cell["kind"] in IMAGES:
        ways["channels_last"] = way(cell, CHANNELS_LAST)
    if compiled and can_compile():
        ways["compile"] = way(cell, wrap=torch.compile)
    return ways
