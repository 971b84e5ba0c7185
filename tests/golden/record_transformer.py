#!/usr/bin/env python3
"""Records tests/golden/transformer.safetensors: nn.MultiheadAttention, the encoder and decoder layers and stacks of torch.nn as PyTorch computes
them in float64, and transformer_state.safetensors, the state_dict of the encoder in float32. All inputs are exact in float32.
tests/test_transformer.c reads them: a case NAME has NAME/p/.. (the state_dict), NAME/x (NAME/memory), NAME/dy, NAME/y, NAME/dx (NAME/dmemory),
NAME/g/.. (the gradients of the parameters), NAME/lengths, NAME/memory_lengths, NAME/memory_mask (1: may be seen).    Needs torch 2.13, safetensors:  python3 tests/golden/record_transformer.py"""
import pathlib
import torch
from torch import nn
from safetensors.torch import save_file

torch.manual_seed(20170)
B, T, E, HEADS, FF = 3, 5, 8, 2, 12
LENGTHS = [5, 2, 4]
out = {}
here = pathlib.Path(__file__).parent
later = torch.ones(T, T).triu(1).bool()  # True: may not be seen
padded = torch.tensor([[j >= n for j in range(T)] for n in LENGTHS])


def draw(*shape):
    return (torch.rand(shape) * 4 - 2).double()


def record(name, module, call, inputs, lengths=False, **more):
    module.double().train()
    with torch.no_grad():
        for p in module.parameters():  # biases and norms away from 0 and 1, values exact in float32
            p.copy_((p + 0.3 * torch.rand_like(p) - 0.15).float().double())
    leaves = {k: x.clone().requires_grad_() for k, x in inputs.items()}
    y = call(module, **leaves)
    dy = draw(*y.shape)
    y.backward(dy)
    out.update({f"{name}/{k}": x.detach() for k, x in leaves.items()})
    out.update({f"{name}/d{k}": x.grad for k, x in leaves.items()})
    out.update({f"{name}/p/{k}": p.detach().clone() for k, p in module.named_parameters()})
    out.update({f"{name}/g/{k}": p.grad for k, p in module.named_parameters()})
    out[f"{name}/y"], out[f"{name}/dy"] = y.detach(), dy
    if lengths:
        out[f"{name}/lengths"] = torch.tensor(LENGTHS)
    out.update({f"{name}/{k}": v for k, v in more.items()})


x = {"x": draw(B, T, E)}
attention = lambda **o: nn.MultiheadAttention(E, HEADS, batch_first=True, **o)
layer = lambda **o: nn.TransformerEncoderLayer(E, HEADS, FF, dropout=0, batch_first=True, **o)
record("mha", attention(), lambda m, x: m(x, x, x, need_weights=False)[0], x)
record("mha_causal", attention(bias=False), lambda m, x: m(x, x, x, attn_mask=later, need_weights=False)[0], x)
record("mha_padded", attention(), lambda m, x: m(x, x, x, key_padding_mask=padded)[0], x, lengths=True)
record("mha_cross", attention(), lambda m, x, memory: m(x, memory, memory)[0], x | {"memory": draw(B, 4, E)})
for first in (False, True):
    for kind in ("relu", "gelu"):
        record(f"layer_{'pre' if first else 'post'}_{kind}", layer(norm_first=first, activation=kind), lambda m, x: m(x), x)
    record(f"layer_{'pre' if first else 'post'}_masked", layer(norm_first=first),
           lambda m, x: m(x, src_mask=later, src_key_padding_mask=padded), x, lengths=True)
stack = nn.TransformerEncoder(layer(norm_first=True, activation="gelu"), 2, nn.LayerNorm(E), enable_nested_tensor=False)
record("stack", stack, lambda m, x: m(x, mask=later), x)
save_file({k: v.float().contiguous() for k, v in stack.state_dict().items()}, str(here / "transformer_state.safetensors"))

# Decoders. One query sees one position of the memory alone.
S = 4
both = x | {"memory": draw(B, S, E)}
seen = torch.tensor([[(3 * i + j) % 4 != 0 for j in range(S)] for i in range(T)])
seen[2] = torch.tensor([False, True, False, False])
real = torch.tensor([4, 1, 3])
ends = torch.arange(S) >= real[:, None]
decoder_layer = lambda **o: nn.TransformerDecoderLayer(E, HEADS, FF, dropout=0, batch_first=True, **o)
for first in (False, True):
    name = f"decoder_{'pre' if first else 'post'}"
    record(name, decoder_layer(norm_first=first, activation="gelu"), lambda m, x, memory: m(x, memory, tgt_mask=later), both)
    record(f"{name}_masked", decoder_layer(norm_first=first),
           lambda m, x, memory: m(x, memory, memory_mask=~seen, tgt_key_padding_mask=padded), both, lengths=True, memory_mask=seen[None].double())
record("decoder_stack", nn.TransformerDecoder(decoder_layer(norm_first=True), 2, nn.LayerNorm(E)),
       lambda m, x, memory: m(x, memory, tgt_mask=later, memory_key_padding_mask=ends), both, memory_lengths=real)

# Three steps of Adam on a causal character model, from the recorded start.
torch.manual_seed(20171)
V = 7


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(V, E)
        self.position = nn.Embedding(T, E)
        self.body = nn.TransformerEncoder(layer(norm_first=True, activation="gelu"), 2, nn.LayerNorm(E), enable_nested_tensor=False)
        self.head = nn.Linear(E, V)

    def forward(self, ids):
        return self.head(self.body(self.token(ids) + self.position.weight, mask=later))


net = Model().double()
with torch.no_grad():
    for p in net.parameters():
        p.copy_((p + 0.1 * torch.rand_like(p)).float().double())
out.update({f"train/p/{k}": p.detach().clone() for k, p in net.named_parameters()})
adam = torch.optim.Adam(net.parameters(), lr=0.01)
ids = torch.randint(0, V, (3, B, T + 1))
losses = []
for step in range(3):
    loss = nn.functional.cross_entropy(net(ids[step, :, :-1]).reshape(-1, V), ids[step, :, 1:].reshape(-1))
    adam.zero_grad()
    loss.backward()
    adam.step()
    losses.append(loss.item())
out.update({f"train/after/{k}": p.detach().clone() for k, p in net.named_parameters()})
out["train/ids"], out["train/loss"] = ids, torch.tensor(losses, dtype=torch.float64)

path = here / "transformer.safetensors"
save_file({k: v.contiguous() for k, v in out.items()}, str(path), metadata={"source": f"torch {torch.__version__}, float64"})
print(path, len(out), "tensors", path.stat().st_size, "bytes")
