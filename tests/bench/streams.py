"""streams.py: the random streams of core/random.h in numpy, so that PyTorch can start from gradus's initial weights and train on its batches."""
import math

import numpy as np

WHOLE, HALF = (1 << 64) - 1, np.uint64(0xFFFFFFFF)


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & WHOLE
    x = (x ^ x >> 27) * 0x94D049BB133111EB & WHOLE
    return x ^ x >> 31


def words(seed, name, n, counter=0):
    """n words of 32 bits of gr_stream_new(seed, name) from counter, a multiple of 4: Philox4x32-10 under the hash of the name."""
    hashed = 0xCBF29CE484222325
    for c in name.encode():
        hashed = (hashed ^ c) * 0x100000001B3 & WHOLE
    key, half = mix(mix(seed + 0x9E3779B97F4A7C15 & WHOLE) ^ hashed), np.uint64(32)
    at = np.arange(counter // 4, (counter + n + 3) // 4, dtype=np.uint64)
    a, b, c, d = at & HALF, at >> half, np.zeros_like(at), np.zeros_like(at)
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
        a, b, c, d = q >> half ^ b ^ np.uint64(k0), q & HALF, p >> half ^ d ^ np.uint64(k1), p & HALF
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return np.stack([a, b, c, d], 1).ravel()[:n]


def unit(seed, name, n):
    w = words(seed, name, 2 * n)
    return (w[::2] >> np.uint64(5) << np.uint64(26) | w[1::2] >> np.uint64(6)) * 2.0**-53


def uniform(seed, name, shape, bound):
    return bound * (2 * unit(seed, name, math.prod(shape)) - 1).reshape(shape)


def normal(seed, name, shape):
    u = unit(seed, name, 2 * math.prod(shape))
    return (np.sqrt(-2 * np.log(1 - u[::2])) * np.cos(2 * math.pi * u[1::2])).reshape(shape)


def below(seed, name, n, count, counter=0):
    """`count` integers below n."""
    w = words(seed, name, 2 * count + 16, counter).tolist()
    draws = [high << 32 | low for high, low in zip(w[::2], w[1::2])]
    return [x % n for x in draws if x >= (1 << 64) % n][:count]
