"""fit_maths.py - the coefficients of core/maths.h. Needs numpy and mpmath; takes seconds.

    python3 tests/tools/fit_maths.py     prints every polynomial, and whether core/maths.h has it; exit status 1 if one is missing

In float: weighted minimax (Lawson's iteration); the coefficients are rounded to float one by one, lowest degree first, and the others
are fitted again after each. In double: interpolation at Chebyshev nodes, which is near enough. That a polynomial is good does not prove
a function: rounding does the rest, and only tests/campaign/ulp.c sees that."""
import re
import sys

import mpmath as mp
import numpy as np

mp.mp.dps = 40
LONG = np.longdouble
TINY = mp.mpf("1e-12")


def to_long(x):
    return LONG(str(x))


def minimax(basis, target, weight, rounds):
    """Coefficients that make max |(basis c - target) weight| small."""
    w = np.ones(len(target), dtype=LONG)
    best = np.inf, None
    for _ in range(rounds):
        a = (basis * (weight * np.sqrt(w))[:, None]).astype(np.float64)
        c = np.linalg.lstsq(a, (target * weight * np.sqrt(w)).astype(np.float64), rcond=None)[0].astype(LONG)
        rest = (target - basis @ c) * weight
        c += np.linalg.lstsq(a, (rest * np.sqrt(w)).astype(np.float64), rcond=None)[0]
        error = np.abs((target - basis @ c) * weight)
        if error.max() < best[0]:
            best = error.max(), c
        w *= error / error.mean() + LONG(1e-9)
        w /= w.sum()
    return best[1]


def fit_float(f, degree, low, high, weight, power=lambda x: x, nodes=400, rounds=150):
    """sum c[k] power(x)^k to f(x) on [low, high], with error times weight(x) small."""
    angle = np.pi * (np.arange(nodes) + 0.5) / nodes
    x = ((low + high) / 2 + (high - low) / 2 * np.cos(angle)).astype(LONG)
    exact = [mp.mpf(str(v)) for v in x]
    target = np.array([to_long(f(v)) for v in exact])
    wt = np.array([to_long(weight(v)) for v in exact])
    basis = np.array([[power(v) ** k for k in range(degree + 1)] for v in x], dtype=LONG)
    rounded = []
    for k in range(degree + 1):
        rounded.append(float(np.float32(minimax(basis[:, k:], target, wt, rounds)[0])))
        target = target - basis[:, k] * LONG(rounded[-1])
    return rounded, float(np.log2(np.abs(target * wt).max()))


def fit_double(f, degree, low, high):
    n = degree + 1
    x = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (k + mp.mpf(1) / 2) / n) for k in range(n)]
    c = mp.lu_solve(mp.matrix([[v**k for k in range(n)] for v in x]), mp.matrix([f(v) for v in x]))
    at = [low + (high - low) * mp.mpf(i) / 500 for i in range(501)]
    error = max(abs(mp.polyval(list(c)[::-1], v) / f(v) - 1) for v in at)
    return [float(v) for v in c], float(mp.log(error, 2))


def split(x, bits):
    """x as a number of this many bits and the double nearest to the remainder."""
    unit = mp.mpf(2) ** (bits - 1 - mp.floor(mp.log(x, 2)))
    high = mp.floor(x * unit) / unit
    return [float(high), float(x - high)]


def parts_of_one_over_pi():
    """The bits of 1 / pi in nine parts of 24."""
    parts, rest = [], 1 / mp.pi
    for i in range(1, 10):
        parts.append(mp.floor(rest * mp.mpf(2) ** (24 * i + 1)) / mp.mpf(2) ** (24 * i + 1))
        rest -= parts[-1]
    return [float(p) for p in parts]


header = {float.fromhex(t.rstrip("f")) for t in re.findall(r"0x[0-9a-f.]+p[+-]?\d+f?", open("core/maths.h").read())}
missing = []


def show(name, result, float_result=True):
    coefficients, error = result
    print(f"{name}: relative error 2^{error:.1f}" if error else name)
    for c in coefficients:
        found = abs(c) in header or abs(c) == 0.5
        text = c.hex()
        if float_result:
            text = re.sub("0{7}p", "p", text) + "f"
        print(f"    {text}{'' if found else '    NOT IN core/maths.h'}")
        if not found:
            missing.append(name)


def expm1_rest(r):
    return (mp.expm1(r) - r) / r**2 if abs(r) > TINY else mp.mpf(1) / 2


def log1p_rest(f):
    return (mp.log1p(f) - f) / f**2 if abs(f) > TINY else -mp.mpf(1) / 2


def square(x):
    return x * x


half_ln2 = float(mp.log(2) / 2) * 1.0001
show("exp, expm1: q(r), e^r = 1 + r + r^2 q", fit_float(expm1_rest, 5, -half_ln2, half_ln2, lambda r: r * r / mp.exp(r)))
short, error = fit_float(expm1_rest, 4, -half_ln2, half_ln2, lambda r: r * r / mp.exp(r))
show("sigmoid: the same, shorter", (short, error))
show("tanh: the same of 2 r", ([c * 2 ** (k + 2) for k, c in enumerate(short)], error))
show("log, log1p: g(f), log(1 + f) = f + f^2 g",
     fit_float(log1p_rest, 8, -1 / 3, 1 / 3, lambda f: f * f / abs(mp.log1p(f)) if abs(f) > TINY else TINY, nodes=1500, rounds=250))
show("tanh near: p(x^2), x + x^3 p",
     fit_float(lambda x: (mp.tanh(x) - x) / x**3, 6, 1e-4, 1.0, lambda x: x**3 / mp.tanh(x), square))
show("erf near: p(x^2), x + x p",
     fit_float(lambda x: (mp.erf(x) - x) / x, 6, 1e-4, 1.0, lambda x: x / mp.erf(x), square))
show("erf far: l(w), log2(1 - erf(1 + w))",
     fit_float(lambda w: mp.log(mp.erfc(1 + w), 2), 6, -0.02, 3.0, lambda w: mp.log(2) * mp.erfc(1 + w) / mp.erf(1 + w)))
show("erf far: (2^f - 1) / f",
     fit_float(lambda f: (mp.mpf(2)**f - 1) / f, 5, -0.5, 0.5, lambda f: f / mp.mpf(2)**f))

edge = mp.mpf("1.0001")
widest = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * edge
show("pow: q(s^2), atanh s = s + s^3 q",
     fit_double(lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 5, TINY, widest**2), False)
show("pow: (2^r - 1) / r",
     fit_double(lambda r: (mp.mpf(2)**r - 1) / r if abs(r) > TINY else mp.log(2), 6, -edge / 2, edge / 2), False)
half = (mp.pi / 2 * mp.mpf("1.00001"))**2
show("sin: p(r^2), sin r = r + r^3 p",
     fit_double(lambda s: (mp.sin(mp.sqrt(s)) / mp.sqrt(s) - 1) / s, 5, TINY, half), False)

mp.mp.dps = 90
show("pi in two", (split(mp.pi, 33), 0), False)
show("1 / pi in parts", (parts_of_one_over_pi(), 0), False)
sys.exit(f"not in core/maths.h: {', '.join(sorted(set(missing)))}" if missing else 0)
