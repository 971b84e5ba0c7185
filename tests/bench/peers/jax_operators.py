"""jax_operators.py: the operators of tests/bench/operators.c in JAX: one jit-compiled function of the inputs, and of dy for a backward. peers(cell)
returns {"jax": maker}, as torch_operators.py, or {} for what is not written here."""
import jax
import jax.numpy as jnp
from jax import lax, nn


def normalized(x, axes, eps=1e-5):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(axes, keepdims=True) + eps)


def of_channels(v):
    return v[:, None, None]


def group_norm(x, w, b):
    return normalized(x.reshape(x.shape[0], 8, -1), 2).reshape(x.shape) * of_channels(w) + of_channels(b)


def pooled(x, start, f):
    return lax.reduce_window(x, start, f, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def cross_entropy(z, labels):
    return -jnp.take_along_axis(nn.log_softmax(z), labels[:, None], 1).mean()


UNARY = {
    "gelu": lambda x: nn.gelu(x, approximate=False), "gelu_tanh": nn.gelu, "silu": nn.silu, "sigmoid": nn.sigmoid, "tanh": jnp.tanh, "exp": jnp.exp,
    "relu": nn.relu, "square": jnp.square, "erf": lax.erf, "sin": jnp.sin, "softplus": nn.softplus, "mish": nn.mish, "softmax": nn.softmax,
    "log_softmax": nn.log_softmax, "sum_all": jnp.sum, "sum_0": lambda x: x.sum(0), "sum_1": lambda x: x.sum(1), "max_0": lambda x: x.max(0),
    "max_1": lambda x: x.max(1), "var_0": lambda x: x.var(0, ddof=1), "transpose": jnp.transpose,
    "narrow": lambda x: x[:, x.shape[1] // 4: x.shape[1] // 4 + x.shape[1] // 2], "max_pool2d": lambda x: pooled(x, -jnp.inf, lax.max),
    "avg_pool2d": lambda x: pooled(x, 0.0, lax.add) / 4, "to_nhwc": lambda x: x.transpose(0, 2, 3, 1),
}
MORE = {
    "add": jnp.add, "add_row": jnp.add, "add_column": jnp.add, "add_outer": jnp.add, "mul": jnp.multiply, "mul_row": jnp.multiply,
    "mul_column": jnp.multiply, "div": jnp.divide, "mse": lambda a, b: ((a - b) ** 2).mean(), "cat_1": lambda a, b: jnp.concatenate([a, b], 1),
    "matmul": jnp.matmul, "linear": lambda x, w, b: x @ w.T + b, "layer_norm": lambda x, w, b: normalized(x, -1) * w + b,
    "rms_norm": lambda x, w: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w, "cross_entropy": cross_entropy,
    "embedding": lambda w, ids: w[ids], "group_norm": group_norm,
    "instance_norm": lambda x, w, b: normalized(x, (2, 3)) * of_channels(w) + of_channels(b),
    "batch_norm": lambda x, w, b: normalized(x, (0, 2, 3)) * of_channels(w) + of_channels(b),
}


def attention(cell):
    def f(q, k, v):
        apart = (x.reshape(*x.shape[:2], cell["heads"], -1) for x in (q, k, v))
        return nn.dot_product_attention(*apart, is_causal=True).reshape(q.shape)
    return f


def convolution(cell):
    def f(x, w, b):
        pad, stride = [(cell["padding"],) * 2] * 2, (cell["stride"],) * 2
        return lax.conv_general_dilated(x, w, stride, pad, feature_group_count=cell["groups"]) + of_channels(b)
    return f


SPECIAL = {"attention": attention, "conv2d": convolution}


class Run:
    def __init__(self, f, inputs, dy):
        self.inputs, self.dy, self.found = inputs, dy, []
        leaves = [k for k, x in enumerate(inputs) if jnp.issubdtype(x.dtype, jnp.floating)]

        def back(dy, *inputs):
            def of_leaves(*values):
                whole = dict(zip(leaves, values))
                return f(*(whole.get(k, x) for k, x in enumerate(inputs)))
            y, pull = jax.vjp(of_leaves, *(inputs[k] for k in leaves))
            return y, pull(dy)
        self.forward, self.back = jax.jit(f), jax.jit(back)

    def __call__(self):
        if self.dy is None:
            return self.forward(*self.inputs).block_until_ready()
        y, self.found = jax.block_until_ready(self.back(self.dy, *self.inputs))
        return y

    def gradients(self):
        return self.found


def maker(cell):
    f = SPECIAL[cell["kind"]](cell) if cell["kind"] in SPECIAL else UNARY.get(cell["kind"]) or MORE[cell["kind"]]

    def make(dy, inputs):
        arrays = [jnp.array(values) for _, values in inputs]
        if cell["mode"] == "backward" and dy is None:  # gradus gives dy for a y that has axes
            dy = jnp.ones((), jnp.float32)
        return Run(f, arrays, None if dy is None else jnp.array(dy))
    return make


def peers(cell):
    written = cell["kind"] in SPECIAL or cell["kind"] in UNARY or cell["kind"] in MORE  # dropout is not
    return {"jax": maker(cell)} if written else {}
