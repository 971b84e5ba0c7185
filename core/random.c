/* core/random.c - counter-based random streams. */
#include "core/library.h"

/* One block of Philox4x32-10: ten rounds of two products of 32 by 32 bits; each round adds two constants to the key (Salmon et al. 2011, section 3.3). */
static void philox(uint64_t key, uint64_t counter, uint32_t word[4])
{
    uint32_t a = (uint32_t)counter, b = (uint32_t)(counter >> 32), c = 0, d = 0;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p = 0xD2511F53ull * a, q = 0xCD9E8D57ull * c;
        a = (uint32_t)(q >> 32) ^ b ^ k0, b = (uint32_t)q;
        c = (uint32_t)(p >> 32) ^ d ^ k1, d = (uint32_t)p;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    word[0] = a, word[1] = b, word[2] = c, word[3] = d;
}

static uint64_t mix(uint64_t x) /* the finalizer of splitmix64 */
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

gr_stream gr__stream_of(uint64_t seed, const char *path, const char *end)
{
    return (gr_stream){ mix(mix(seed + 0x9E3779B97F4A7C15ull) ^ gr__hash_text(gr__hash_text(GR__HASH, path), end)), 0 };
}
gr_stream gr_stream_new(uint64_t seed, const char *name) { return gr__stream_of(seed, name ? name : "", ""); }

uint32_t gr_stream_bits(gr_stream *s)
{
    uint32_t word[4];
    if (!s) return 0;
    philox(s->key, s->counter / 4, word);
    return word[s->counter++ % 4];
}

static double unit(gr_stream *s) /* [0, 1), 53 bits of two draws */
{
    uint32_t word[8] = { 0 };
    const size_t at = s ? s->counter % 4 : 0;
    if (s) philox(s->key, s->counter / 4, word), s->counter += 2;
    if (at == 3) philox(s->key, s->counter / 4, word + 4);
    return (double)((uint64_t)(word[at] >> 5) << 26 | word[at + 1] >> 6) * 0x1p-53;
}

double gr_stream_uniform(gr_stream *s, double low, double high)
{
    const double x = low + (high - low) * unit(s);
    return x < high || !(low < high) ? x : low; /* the product may round up to high */
}

/* ln x for x in [2^-53, 1]: x = 2^-k m, m in [1/sqrt 2, sqrt 2); ln m = 2 atanh(z), z = (m - 1) / (m + 1), |z| < 0.172. */
static double logarithm(double x)
{
    int k = 0;
    while (x < 0.70710678118654752) x *= 2, k++;
    const double z = (x - 1) / (x + 1), s = z * z;
    double p = 0;
    for (int n = 21; n >= 1; n -= 2) p = p * s + 1.0 / n;
    return 2 * z * p - k * 0.69314718055994531;
}

/* The Taylor series on an eighth of the circle. */
double gr__cosine_of_turn(double u)
{
    if (u > 0.5) u = 1 - u;
    const double sign = u > 0.25 ? -1 : 1, v = u > 0.25 ? 0.5 - u : u; /* v in [0, 1/4] */
    const double x = 6.283185307179586477 * (v > 0.125 ? 0.25 - v : v), s = x * x;
    double p = 0;
    for (int n = 18; n >= 2; n -= 2) p = (1 - p) * s / (v > 0.125 ? n * (n + 1) : n * (n - 1));
    return sign * (v > 0.125 ? x * (1 - p) : 1 - p); /* sin x, or cos x */
}

double gr_stream_normal(gr_stream *s, double mean, double std)
{
    const double u = 1 - unit(s), turn = unit(s);
    return mean + std * (__builtin_sqrt(-2 * logarithm(u)) * gr__cosine_of_turn(turn));
}

size_t gr_stream_below(gr_stream *s, size_t n)
{
    if (n < 2 || !s) return 0;
    const uint64_t reject = -(uint64_t)n % n; /* 2^64 mod n: draws below it would make small results more probable */
    for (;;) {
        const uint64_t high = gr_stream_bits(s), x = high << 32 | gr_stream_bits(s);
        if (x >= reject) return (size_t)(x % n);
    }
}

void gr_stream_permutation(gr_stream *s, size_t *order, size_t n)
{
    for (size_t i = 0; order && i < n; i++) order[i] = i;
    for (size_t i = n; s && order && i > 1; i--) {
        const size_t j = gr_stream_below(s, i), swap = order[i - 1];
        order[i - 1] = order[j], order[j] = swap;
    }
}
