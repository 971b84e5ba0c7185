"""jax_peers.py: the networks of tests/bench/models.c in JAX: a step is one jit-compiled function of (parameters, moments, batch) whose buffers
are donated. peers(cell) returns {"jax": maker}, as torch_peers.py, or {} for what is not written here."""
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

GROUP_NORM, BATCH_NORM = 3, 1


def layer_norm(x, p, name, axes=-1):
    mean = x.mean(axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p[name + ".weight"] + p[name + ".bias"]


def linear(x, p, name):
    return x @ p[name + ".weight"].T + p[name + ".bias"]


def lstm_cell(p, norm, state, from_input):
    h, c = state
    from_state = h @ p["rnn.weight_hh_l0"].T
    a = from_input + (layer_norm(from_state, p, "rnn.ln_hh_l0") + p["rnn.bias_l0"] if norm else from_state + p["rnn.bias_hh_l0"])
    i, f, g, o = jnp.split(a, 4, -1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(layer_norm(c, p, "rnn.ln_c_l0") if norm else c), c


def gru_cell(p, norm, state, from_input):
    h = state[0]
    r, z, n = jnp.split(from_input, 3, -1)
    rh, zh, nh = jnp.split(h @ p["rnn.weight_hh_l0"].T + p["rnn.bias_hh_l0"], 3, -1)
    r, z = jax.nn.sigmoid(r + rh), jax.nn.sigmoid(z + zh)
    n = jnp.tanh(n + r * nh)
    return n + z * (h - n), h


def rnn_cell(p, norm, state, from_input):
    h = jnp.tanh(from_input + state[0] @ p["rnn.weight_hh_l0"].T + p["rnn.bias_hh_l0"])
    return h, h


def recurrent(cell, p, x):
    norm, one = cell["norm"], {"lstm": lstm_cell, "gru": gru_cell, "rnn": rnn_cell}[cell["kind"]]
    from_input = jnp.swapaxes(x, 0, 1) @ p["rnn.weight_ih_l0"].T
    from_input = layer_norm(from_input, p, "rnn.ln_ih_l0") if norm else from_input + p["rnn.bias_ih_l0"]
    zero = jnp.zeros((x.shape[0], cell["hidden"]), x.dtype)
    (h, _), _ = lax.scan(lambda state, now: (one(p, norm, state, now), None), (zero, zero), from_input)
    return linear(h, p, "fc")


def mlp(cell, p, x):
    each = 3 if cell["norm"] else 2
    for k in range(cell["layers"]):
        x = linear(x, p, f"net.{each * k}")
        x = jax.nn.relu(layer_norm(x, p, f"net.{each * k + 1}") if cell["norm"] else x)
    return linear(x, p, f"net.{each * cell['layers']}")


def cnn(cell, p, x):
    at = 0
    for k in range(2):
        pad = [(cell["padding"],) * 2] * 2
        x = lax.conv_general_dilated(x, p[f"net.{at}.weight"], (1, 1), pad) + p[f"net.{at}.bias"][:, None, None]
        at += 1
        if cell["norm"]:
            x = layer_norm(x, p, f"net.{at}", (1, 2, 3))
            at += 1
        x, at = jax.nn.relu(x), at + 1
        if cell["padding"] or k:
            x, at = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"), at + 1
    x = jax.nn.relu(linear(x.reshape(x.shape[0], -1), p, f"net.{at + 1}"))
    return linear(x, p, f"net.{at + 3}")


def gpt(cell, p, ids):
    heads, (B, T) = cell["heads"], ids.shape
    x, size = p["token.weight"][ids] + p["position.weight"], cell["size"]
    mask = jnp.tril(jnp.ones((T, T), bool))
    for k in range(cell["layers"]):
        at = f"body.layers.{k}."
        qkv = layer_norm(x, p, at + "norm1") @ p[at + "self_attn.in_proj_weight"].T + p[at + "self_attn.in_proj_bias"]
        q, v, w = (part.reshape(B, T, heads, -1).transpose(0, 2, 1, 3) for part in jnp.split(qkv, 3, -1))
        scores = jnp.where(mask, q @ v.swapaxes(2, 3) * (size // heads) ** -0.5, -jnp.inf)
        y = (jax.nn.softmax(scores, -1) @ w).transpose(0, 2, 1, 3).reshape(B, T, size)
        x = x + linear(y, p, at + "self_attn.out_proj")
        x = x + linear(jax.nn.gelu(linear(layer_norm(x, p, at + "norm2"), p, at + "linear1"), approximate=False), p, at + "linear2")
    return linear(layer_norm(x, p, "body.norm"), p, "head").reshape(B * T, -1)


NETWORKS = {"lstm": recurrent, "gru": recurrent, "rnn": recurrent, "mlp": mlp, "cnn": cnn, "gpt": gpt}


def trainer(network, clip):
    def loss_of(p, x, labels):
        z = network(p, x)
        return -jnp.take_along_axis(jax.nn.log_softmax(z), labels[:, None], 1).mean()

    def step(p, m, v, k, x, labels):
        loss, g = jax.value_and_grad(loss_of)(p, x, labels)
        if clip:
            norm = jnp.sqrt(sum(jnp.sum(d * d) for d in jax.tree.leaves(g)))
            g = jax.tree.map(lambda d: d * jnp.minimum(1, clip / (norm + 1e-6)), g)
        k = k + 1
        m = jax.tree.map(lambda a, b: a + 0.1 * (b - a), m, g)
        v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        rate, scale = 1e-3 / (1 - 0.9**k), 1 / jnp.sqrt(1 - 0.999**k)
        p = jax.tree.map(lambda x, a, b: x - rate * a / (jnp.sqrt(b) * scale + 1e-8), p, m, v)
        return p, m, v, k, loss
    return jax.jit(step, donate_argnums=(0, 1, 2))


def maker(cell):
    def make(weights, inputs):
        p, batch = {name: jnp.array(values) for name, values in weights}, [jnp.array(values) for _, values in inputs]
        network = partial(NETWORKS[cell["kind"]], cell)
        if cell["mode"] == "infer":
            forward = jax.jit(network)
            return lambda: forward(p, batch[0]).block_until_ready()
        step = trainer(network, 1.0 if "hidden" in cell else 0)
        state = [p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p), jnp.float32(0)]

        def run():
            *state[:], loss = step(*state, *batch)
            return loss.block_until_ready()
        return run
    return make


def peers(cell):
    written = cell["kind"] in NETWORKS and cell.get("norm") not in (BATCH_NORM, GROUP_NORM) or cell["kind"] == "lstm"
    return {"jax": maker(cell)} if written else {}
