"""Records optim.safetensors in float64: a parameter after each of several steps of PyTorch's optimizers on given gradients, gradients
after clipping, and learning rates of its schedules.      Run: python tests/golden/record_optim.py        (needs torch, safetensors)"""
import os
import torch
from safetensors.torch import save_file

here = os.path.dirname(os.path.abspath(__file__))
torch.manual_seed(0)
N, STEPS = 37, 6
x = torch.randn(N, dtype=torch.float32).double()
dx = (torch.randn(STEPS, N) * torch.logspace(-3, 1, N)).float().double()
out = {"x": x, "dx": dx}


def record(name, make):
    p = torch.nn.Parameter(x.clone())
    o = make([p])
    rows = []
    for g in dx:
        p.grad = g.clone()
        o.step()
        rows.append(p.detach().clone())
    out[name] = torch.stack(rows)


record("sgd", lambda p: torch.optim.SGD(p, lr=0.1))
record("sgd.decay", lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.05))
record("sgd.momentum", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9))
record("sgd.dampening", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.05))
record("sgd.nesterov", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8, nesterov=True, weight_decay=0.05))
record("adam", lambda p: torch.optim.Adam(p))
record("adam.decay", lambda p: torch.optim.Adam(p, lr=0.05, weight_decay=0.1))
record("adam.betas", lambda p: torch.optim.Adam(p, lr=0.05, betas=(0.5, 0.9), eps=1e-3))
record("adam.no.beta1", lambda p: torch.optim.Adam(p, lr=0.05, betas=(0.0, 0.99)))
record("adamw", lambda p: torch.optim.AdamW(p, lr=0.05))
record("adamw.decay", lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=0.3))
record("amsgrad", lambda p: torch.optim.Adam(p, lr=0.05, amsgrad=True))
record("rmsprop", lambda p: torch.optim.RMSprop(p))
record("rmsprop.momentum", lambda p: torch.optim.RMSprop(p, lr=0.02, alpha=0.9, eps=1e-3, momentum=0.8, weight_decay=0.1))
record("rmsprop.centered", lambda p: torch.optim.RMSprop(p, lr=0.02, centered=True))
record("rmsprop.both", lambda p: torch.optim.RMSprop(p, lr=0.02, alpha=0.8, momentum=0.5, centered=True, weight_decay=0.05))
record("adagrad", lambda p: torch.optim.Adagrad(p))
record("adagrad.all", lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.3, weight_decay=0.05, initial_accumulator_value=0.2, eps=1e-3))

p = torch.nn.Parameter(x.clone())
p.grad = dx[0].clone()
out["norm"] = torch.nn.utils.clip_grad_norm_([p], 1.5).reshape(1)
out["clip.norm"] = p.grad.clone()
p.grad = dx[0].clone()
torch.nn.utils.clip_grad_value_([p], 0.25)
out["clip.value"] = p.grad.clone()


def rates(name, make, steps, losses=None):
    o = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.4)
    s = make(o)
    seen = []
    for k in range(steps):
        seen.append(o.param_groups[0]["lr"])
        o.step()
        s.step(*([losses[k]] if losses else []))
    out[name] = torch.tensor(seen, dtype=torch.float64)


S = torch.optim.lr_scheduler
rates("lr.step", lambda o: S.StepLR(o, 4, 0.3), 14)
rates("lr.cosine", lambda o: S.CosineAnnealingLR(o, 13, eta_min=0.04), 14)
rates("lr.linear", lambda o: S.LinearLR(o, 1.0, 0.25, 10), 14)
rates("lr.exponential", lambda o: S.ExponentialLR(o, 0.8), 14)
rates("lr.multi.step", lambda o: S.MultiStepLR(o, [3, 4, 11], 0.3), 14)
rates("lr.one.cycle", lambda o: S.OneCycleLR(o, 0.4, 14, cycle_momentum=False), 14)
rates("lr.one.cycle.late", lambda o: S.OneCycleLR(o, 0.4, 13, pct_start=0.77, div_factor=10, final_div_factor=50, cycle_momentum=False), 13)
rates("lr.one.cycle.down", lambda o: S.OneCycleLR(o, 0.4, 14, pct_start=0.0, cycle_momentum=False), 14)
losses = [3.0, 2.0, 2.1, 2.0, 1.99995, 2.2, 1.0, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 0.5]
out["losses"] = torch.tensor(losses, dtype=torch.float64)
rates("lr.plateau", lambda o: S.ReduceLROnPlateau(o, factor=0.5, patience=2), 14, losses)
save_file(out, os.path.join(here, "optim.safetensors"))
