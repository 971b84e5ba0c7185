"""torch_peers.py: PyTorch's ways to run a cell of a network or of an optimizer. peers(cell, compiled) returns {name of the way: maker}; a maker
takes the weights and the inputs and returns run(), which returns the loss of the step or the result of the inference."""
import shutil

import torch
import torch.nn.functional as F
from torch import nn

import torch_models as models

CHANNELS_LAST = torch.channels_last


def tensors(arrays):
    """Of names and arrays: class numbers and ids as int64, which PyTorch needs."""
    return [torch.from_numpy(a).long() if a.dtype == "int32" else torch.from_numpy(a.copy()) for _, a in arrays]


def load(model, weights):
    if weights is None:
        return
    state = {name.removeprefix("net."): torch.from_numpy(values.copy()) for name, values in weights}
    missing, extra = model.load_state_dict(state, strict=False)
    missing = [name for name in missing if "running_" not in name and "num_batches" not in name]
    if missing or extra:
        raise RuntimeError(f"the parameters differ: missing {missing}, left over {extra}")


def trainer(model, inputs, clip, optimizer="fused"):
    x, labels = inputs
    parameters = list(model.parameters())
    adam = torch.optim.Adam(parameters, lr=1e-3, **{optimizer: True})

    def run():
        adam.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(parameters, clip, foreach=True)
        adam.step()
        return loss.detach()
    return run


def inference(model, inputs):
    def run():
        with torch.inference_mode():
            return model(inputs[0])
    return run


def way(cell, build, wrap=None, layout=None, optimizer="fused"):
    """A maker: build the model, load the weights, change the layout of 4-d tensors, wrap (compile, trace, ..) the model, and run it."""
    training = cell["mode"] == "train"

    def make(weights, inputs):
        model = build()
        load(model, weights)
        inputs = tensors(inputs)
        if layout:
            model, inputs[0] = model.to(memory_format=layout), inputs[0].to(memory_format=layout)
        if not training:
            model.eval()
        wrapped = wrap(model, inputs[0]) if wrap else model
        if training:
            return trainer(wrapped, inputs, 1.0 if "hidden" in cell else 0, optimizer)
        return inference(wrapped, inputs)
    return make


def frozen(model, x):
    return torch.jit.freeze(torch.jit.trace(model, x))


def optimized(model, x):
    return torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(model, x)))


def traced(model, x):
    return torch.jit.trace(model, x)


def scripted(model, x):
    return torch.jit.script(model)


def scripted_frozen(model, x):
    return torch.jit.freeze(torch.jit.script(model))


def compiled_by(model, x):
    return torch.compile(model)


def can_compile():
    return bool(shutil.which("g++") or shutil.which("clang++"))


def recurrent(cell, compiled):
    build = lambda form: lambda: models.recurrent(cell, form)
    short, ways = cell["time"] <= 64, {}
    if not cell["norm"]:
        ways["module"] = way(cell, build("module"))
    if cell["kind"] == "lstm" and (cell["norm"] or short):
        ways["hoisted"] = way(cell, build("hoisted"))
        if cell["norm"] and short:
            ways["eager"] = way(cell, build("stepwise"))
        if cell["norm"]:
            if cell["mode"] == "infer":
                ways["frozen"] = way(cell, build("script"), scripted_frozen)
            else:
                ways["TorchScript"] = way(cell, build("script"), scripted)
        if compiled:
            ways["compile"] = way(cell, build("hoisted"), compiled_by)
    return ways


def sequential(cell, compiled):
    build = lambda: (models.mlp if cell["kind"] == "mlp" else models.cnn)(cell)
    ways = {"eager": way(cell, build)}
    layout = cell["kind"] == "cnn" and cell["norm"] != models.LAYER_NORM
    if layout:
        ways["channels_last"] = way(cell, build, layout=CHANNELS_LAST)
    if cell["mode"] == "infer":
        ways["frozen"], ways["optimized"] = way(cell, build, frozen), way(cell, build, optimized)
        if layout:
            ways["channels_last frozen"] = way(cell, build, frozen, CHANNELS_LAST)
    else:
        ways["foreach"] = way(cell, build, optimizer="foreach")
        if cell["kind"] == "mlp":
            ways["TorchScript"] = way(cell, build, traced)
    if compiled:
        ways["compile"] = way(cell, build, compiled_by)
        if layout:
            ways["channels_last compile"] = way(cell, build, compiled_by, CHANNELS_LAST)
    return ways


def gpt(cell, compiled):
    build = lambda form: lambda: models.GPT(cell, form)
    ways = {"sdpa": way(cell, build("fused")), "module": way(cell, build("module"))}
    if cell["time"] <= 64 and cell["size"] <= 128:
        ways["plain"] = way(cell, build("plain"))
    if compiled:
        ways["compile"] = way(cell, build("fused"), compiled_by)
    return ways


OPTIMIZERS = {
    "adam": (torch.optim.Adam, {}), "adamw": (torch.optim.AdamW, {"weight_decay": 0}), "sgd": (torch.optim.SGD, {}),
    "momentum": (torch.optim.SGD, {"momentum": 0.9}), "rmsprop": (torch.optim.RMSprop, {"lr": 0.01}), "adagrad": (torch.optim.Adagrad, {"lr": 0.01}),
}
DEAD_STEPS = 1000


def optimizer(cell, compiled):
    """run() returns the first parameter. A dead cell has had a step with a gradient, and then DEAD_STEPS without, as in models.c."""
    kind, settings = OPTIMIZERS[cell["kind"]]

    def way_with(wrap=lambda step: step, **form):
        def make(weights, inputs):
            size = cell["parameters"] // cell["tensors"]
            values = [torch.from_numpy(v.copy()) for _, v in weights] if weights else [torch.rand(size) for _ in range(cell["tensors"])]
            parameters = [nn.Parameter(v) for v in values]
            for p in parameters:
                p.grad = 2 * p.detach().clone()
            steps = kind(parameters, **{"lr": 1e-3, **settings, **form})
            if cell["dead"]:
                steps.step()
                for p in parameters:
                    p.grad.zero_()
                for _ in range(DEAD_STEPS):
                    steps.step()
            step = wrap(steps.step)

            def run():
                step()
                return parameters[0].detach()
            return run
        return make
    ways = {"foreach": way_with(foreach=True)}
    if not cell["dead"]:
        ways["loop"] = way_with(foreach=False)
    if cell["kind"] != "rmsprop":
        ways["fused"] = way_with(fused=True)
    if compiled:
        ways["compile"] = way_with(torch.compile, foreach=True)
    return ways


KINDS = {"lstm": recurrent, "gru": recurrent, "rnn": recurrent, "mlp": sequential, "cnn": sequential, "gpt": gpt, **dict.fromkeys(OPTIMIZERS, optimizer)}


def peers(cell, compiled):
    return KINDS[cell["kind"]](cell, compiled and can_compile())
