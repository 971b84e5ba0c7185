/* core/maths.h - the functions of kernels, on gr_real: branch-free plain C that vectorises, with the same bits on every machine.
 *
 *     r_exp r_expm1 r_log r_log1p r_tanh r_sigmoid r_erf   within 1 ulp and monotone on every float
 *     r_sin r_cos                                          within 1 ulp for |x| <= R_SIN_LIMIT; beyond it r_sin_large, r_cos_large
 *     r_pow                                                within 2 ulp, special cases as C99's pow
 *     r_softplus                                           built from these
 *
 * tests/campaign/ulp.c proves it over all floats. The double build calls libm. Coefficients: tests/tools/fit_maths.py.
 *
 * r_sin(x) is fast because its range is bounded. A kernel evaluates it everywhere, notes whether any x was beyond, and in
 * that case, which no sane model meets, runs a second loop (both loops vectorise):
 *
 *     int large = 0;
 *     for (size_t i = 0; i < n; i++) y[i] = r_sin(x[i]), large |= r_abs(x[i]) > R_SIN_LIMIT;
 *     if (large) for (size_t i = 0; i < n; i++) y[i] = r_abs(x[i]) > R_SIN_LIMIT ? r_sin_large(x[i]) : y[i];
 *
 * r_sin_large(x) is right for |x| > R_SIN_LIMIT only by this contract; it need not give r_sin's bits below. */
#ifndef GR_MATHS_H
#define GR_MATHS_H
#include "core/kernel.h"

#ifdef GR_REAL_DOUBLE
INLINE double r_exp(double x) { return exp(x); }
INLINE double r_log(double x) { return log(x); }
INLINE double r_tanh(double x) { return tanh(x); }
INLINE double r_sigmoid(double x) { return 1 / (1 + exp(-x)); }
INLINE double r_erf(double x) { return erf(x); }
INLINE double r_expm1(double x) { return expm1(x); }
INLINE double r_log1p(double x) { return log1p(x); }
INLINE double r_pow(double x, double y) { return pow(x, y); }
INLINE double r_sin(double x) { return sin(x); }
INLINE double r_cos(double x) { return cos(x); }
INLINE double r_sin_large(double x) { return sin(x); }
INLINE double r_cos_large(double x) { return cos(x); }
#else

typedef struct { float hi, lo; } r_pair; /* hi + lo, lo below half an ulp of hi */

/* e^x: x = n ln 2 + r with |r| <= ln(2) / 2; e^r = 1 + t, t = r + r^2 q(r); 2^n in two factors, since it may be subnormal. */
INLINE r_pair r_exp_pair(float x)
{
    const float magic = 0x1.8p23f; /* adding it rounds to an integer, held in the low bits */
    const float z = r_max(-105.0f, r_min(89.0f, x)); /* NaN stays NaN */
    const float k = r_fma(z, 0x1.715476p+0f, magic), n = k - magic;
    const float r = r_fma(n, -0x1.7f7d1cp-20f, r_fma(n, -0x1.62e4p-1f, z));
    float q = 0x1.9dfba0p-13f;
    q = r_fma(q, r, 0x1.6d4cbcp-10f);
    q = r_fma(q, r, 0x1.11130ep-7f);
    q = r_fma(q, r, 0x1.5554e8p-5f);
    q = r_fma(q, r, 0x1.555554p-3f);
    q = r_fma(q, r, 0.5f);
    const float t = r_fma(r * r, q, r), m = 1 + t;
    const int32_t e = (int32_t)(r_bits(k) - r_bits(magic)), h = e >> 1;
    const float a = r_from_bits((uint32_t)(h + 127) << 23), b = r_from_bits((uint32_t)(e - h + 127) << 23);
    return (r_pair){ m * a * b, (t - (m - 1)) * a * b };
}
INLINE float r_exp(float x) { return r_exp_pair(x).hi; }

/* 1 + x for |x| <= 1, and n / d with one division and its remainder. */
INLINE r_pair r_one_plus(float hi, float lo) { const float s = 1 + hi; return (r_pair){ s, (hi - (s - 1)) + lo }; }
INLINE float r_quotient(r_pair n, r_pair d)
{
    const float inverse = 1 / d.hi, q = n.hi * inverse;
    return r_fma(r_fma(-q, d.lo, r_fma(-q, d.hi, n.hi) + n.lo), inverse, q);
}

/* x = 2^k m with m in [2/3, 4/3); log x = k ln 2 + f + f^2 g(f), f = m - 1. */
INLINE float r_log(float x)
{
    const float a = x < 0x1p-126f ? x * 0x1p23f : x;
    const uint32_t e = (r_bits(a) - r_bits(0x1.555556p-1f)) & 0xff800000u;
    const float f = r_from_bits(r_bits(a) - e) - 1;
    const float k = r_fma((float)(int32_t)e, 0x1p-23f, x < 0x1p-126f ? -23.0f : 0.0f);
    float g = -0x1.07c48ap-3f;
    g = r_fma(g, f, 0x1.1e6ccap-3f);
    g = r_fma(g, f, -0x1.f332b8p-4f);
    g = r_fma(g, f, 0x1.1ed562p-3f);
    g = r_fma(g, f, -0x1.559c66p-3f);
    g = r_fma(g, f, 0x1.99d050p-3f);
    g = r_fma(g, f, -0x1.fffefap-3f);
    g = r_fma(g, f, 0x1.555506p-2f);
    g = r_fma(g, f, -0.5f);
    float y = r_fma(k, 0x1.62e430p-1f, r_fma(f * f, g, f));
    y = x < INFINITY ? y : x;               /* +inf and NaN are themselves */
    y = x == 0 ? -INFINITY : y;
    return x < 0 ? NAN : y;
}

/* With E = e^-|x|: sigmoid(|x|) = 1 / (1 + E), sigmoid(-|x|) = E / (1 + E). */
INLINE float r_sigmoid(float x)
{
    const r_pair E = r_exp_pair(-r_abs(x)), n = { x < 0 ? E.hi : 1, x < 0 ? E.lo : 0 };
    return r_quotient(n, r_one_plus(E.hi, E.lo));
}

/* With E = e^-2|x|: tanh|x| = (1 - E) / (1 + E); near 0, where 1 - E cancels, x + x^3 p(x^2). */
INLINE float r_tanh(float x)
{
    const float a = r_abs(x), s = x * x;
    const r_pair E = r_exp_pair(-2 * a);
    const float far = __builtin_copysignf(r_quotient(r_one_plus(-E.hi, -E.lo), r_one_plus(E.hi, E.lo)), x);
    float q = -0x1.9921a2p-8f;
    q = r_fma(q, s, 0x1.58e518p-6f);
    q = r_fma(q, s, -0x1.b91e7ep-5f);
    q = r_fma(q, s, 0x1.110ceep-3f);
    q = r_fma(q, s, -0x1.55554ap-2f);
    const float near = r_fma(q * s, x, x);
    return a < 0.55f ? near : far;
}

/* |x| < 1: x + x p(x^2); beyond: 1 - exp(-a + a p(a)), a = |x|, which is 1 from 4 on. */
INLINE float r_erf(float x)
{
    const float a = r_min(4.0f, r_abs(x)), s = x * x;
    float p = 0x1.4575bcp-14f;
    p = r_fma(p, s, -0x1.a2ab26p-11f);
    p = r_fma(p, s, 0x1.53decap-8f);
    p = r_fma(p, s, -0x1.b7f53ap-6f);
    p = r_fma(p, s, 0x1.ce2cd6p-4f);
    p = r_fma(p, s, -0x1.81273ep-2f);
    p = r_fma(p, s, 0x1.06eba8p-3f);
    const float near = r_fma(p, x, x);
    float q = -0x1.ca5eb6p-17f;
    q = r_fma(q, a, 0x1.6c58aep-12f);
    q = r_fma(q, a, -0x1.eac638p-9f);
    q = r_fma(q, a, 0x1.88e826p-6f);
    q = r_fma(q, a, -0x1.b43500p-4f);
    q = r_fma(q, a, -0x1.451da0p-1f);
    q = r_fma(q, a, -0x1.078de8p-3f);
    const r_pair E = r_exp_pair(r_fma(q, a, -a)), y = r_one_plus(-E.hi, -E.lo);
    const float far = __builtin_copysignf(y.hi + y.lo, x);
    return a < 1 ? near : far;
}

/* ---- In double inside, with + - * / only (no fma is needed for bits, nor for accuracy): half as many lanes, half an ulp ---- */

INLINE uint64_t r_bits64(double x) { uint64_t u; memcpy(&u, &x, 8); return u; }
INLINE double r_from_bits64(uint64_t u) { double x; memcpy(&x, &u, 8); return x; }

/* x = n ln 2 + r, e^r - 1 = p: e^x - 1 = 2^n p + (2^n - 1). */
INLINE float r_expm1(float x)
{
    const double magic = 0x1.8p52; /* adding it rounds to an integer, held in the low bits */
    const double z = (double)r_max(-18.0f, r_min(89.0f, x)); /* NaN stays NaN */
    const double k = z * 0x1.71547652b82fep+0 + magic, n = k - magic;
    const double r = (z - n * 0x1.62e42fefp-1) - n * 0x1.473de6af278edp-34;
    double q = 0x1.a1132015ba37ep-16;
    q = q * r + 0x1.a15179d80ae96p-13;
    q = q * r + 0x1.6c16858b7acb9p-10;
    q = q * r + 0x1.1110c632a3088p-7;
    q = q * r + 0x1.5555555c87148p-5;
    q = q * r + 0x1.55555567532adp-3;
    q = q * r + 0.5;
    const double p = r + r * r * q, s = r_from_bits64((r_bits64(k) + 1023) << 52);
    return x == 0 ? x : (float)(s * p + (s - 1)); /* -0 stays -0 */
}

/* x = 2^k m with m in [sqrt(1/2), sqrt 2), x > 0 finite; log m = 2 atanh(s), s = (m - 1) / (m + 1) = f / (2 + f). */
typedef struct { double k, f; } r_split;
INLINE r_split r_split_log(double x)
{
    const uint64_t u = r_bits64(x), e = (u + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu)) >> 52; /* k + 1023 */
    const double k = r_from_bits64(e | r_bits64(0x1p52)) - (0x1p52 + 1023);
    return (r_split){ k, r_from_bits64(u - ((e - 1023) << 52)) - 1 };
}
INLINE double r_log_core(double f) /* log(1 + f) / 2 */
{
    const double s = f / (2 + f), z = s * s;
    double q = 0x1.546b8e26e63adp-4;
    q = q * z + 0x1.7382c4e35c3b8p-4;
    q = q * z + 0x1.c71fcd608beb5p-4;
    q = q * z + 0x1.2492462a593e1p-3;
    q = q * z + 0x1.9999999b86f7ep-3;
    q = q * z + 0x1.55555555553b8p-2;
    return s + s * (z * q);
}

/* f is x itself where k = 0, so that nothing of a small x is lost in 1 + x. */
INLINE float r_log1p(float x)
{
    const double d = (double)x;
    const r_split v = r_split_log(1 + d);
    const double y = v.k * 0x1.62e42fefa39efp-1 + 2 * r_log_core(v.k == 0 ? d : v.f);
    float w = x == 0 ? x : (float)y; /* -0 stays -0 */
    w = x == -1 ? -INFINITY : w;
    w = x < -1 ? NAN : w;
    return x < INFINITY ? w : x;            /* +inf and NaN are themselves */
}

/* |x|^y = 2^(y log2|x|); then the signs and the special cases of C99 F.9.4.4, one line each. */
INLINE float r_pow(float x, float y)
{
    const float a = r_abs(x);
    const double magic = 0x1.8p52;
    const r_split v = r_split_log((double)a);
    double l = v.k + r_log_core(v.f) * 0x1.71547652b82fep+1;
    l = a == 0 ? (double)-INFINITY : a < INFINITY ? l : (double)a;
    double t = l * (double)y;
    t = -151 > t ? -151 : t, t = 129 < t ? 129 : t; /* under- and overflow; NaN stays NaN */
    const double k = t + magic, r = t - (k - magic);
    double p = 0x1.00a58b2b0618ap-16;
    p = p * r + 0x1.44400fbb6ab91p-13;
    p = p * r + 0x1.5d879ea334d4fp-10;
    p = p * r + 0x1.3b2a1b6160509p-7;
    p = p * r + 0x1.c6b08d884178cp-5;
    p = p * r + 0x1.ebfbe04600c97p-3;
    p = p * r + 0x1.62e42fefa39efp-1;
    float w = (float)((1 + r * p) * r_from_bits64((r_bits64(k) + 1023) << 52));
    const double i = (double)r_min(0x1p30f, r_abs(y)), j = i + magic; /* from 2^24 on all floats are even */
    const int whole = j - magic == i, odd = whole & (int)(r_bits64(j) & 1);
    w = (a == 1 && y == y) || y == 0 ? 1 : w;   /* also (+-1)^(+-inf) and NaN^0 */
    w = odd ? __builtin_copysignf(w, x) : w;
    w = x < 0 && a < INFINITY && !whole ? NAN : w;
    return x == 1 ? 1 : w;                      /* also 1^NaN */
}

#define R_SIN_LIMIT 0x1p17f

/* x = n pi/2 + r: sin or cos of r, with a sign. turn is 0 for sin x, 1 for cos x = sin(x + pi/2). */
INLINE float r_sin_core(double r, uint64_t quadrant)
{
    const double s = r * r;
    double p = 0x1.6dbe02d7c228ap-19, q = -0x1.2474dd2e42f52p-22;
    p = p * s + -0x1.a013a783220f2p-13;
    p = p * s + 0x1.11110def21d39p-7;
    p = p * s + -0x1.555555545e05bp-3;
    q = q * s + 0x1.a01298c50bf34p-16;
    q = q * s + -0x1.6c16bae5d5d76p-10;
    q = q * s + 0x1.555555514f623p-5;
    q = q * s + -0.5;
    const double y = quadrant & 1 ? 1 + s * q : r * (1 + s * p);
    return (float)(quadrant & 2 ? -y : y);
}
INLINE float r_sin_turned(float x, uint64_t turn)
{
    const double magic = 0x1.8p52, d = (double)x, k = d * 0x1.45f306dc9c883p-1 + magic, n = k - magic;
    return r_sin_core((d - n * 0x1.921fb544p+0) - n * 0x1.0b4611a626331p-34, r_bits64(k) + turn);
}
INLINE float r_sin(float x) { return r_sin_turned(x, 0); }
INLINE float r_cos(float x) { return r_sin_turned(x, 1); }

/* Any x: 2/pi in nine parts of 24 bits, so that each product with x is exact; what is a whole number of turns (4) is dropped from each. The
 * products fall by 2^24, so by the time that the sum must be rounded, the quadrant has been taken out of it and the rounding is relative to
 * what remains, which is never below 2^-30. */
INLINE float r_sin_turned_large(float x, uint64_t turn)
{
    const double magic = 0x1.8p52, d = (double)x;
    double s = 0, n = 0;
#define PART(c)     do {         const double p = d * (c), whole = p + 0x1.8p54 - 0x1.8p54, v = s + (__builtin_fabs(p) < 0x1p50 ? p - whole : 0), m = v + magic - magic;         s = v - m, n += m;     } while (0)
    PART(0x1.45f306p-1);
    PART(0x1.b93910p-26);
    PART(0x1.529fc0p-52);
    PART(0x1.3abe88p-75);
    PART(0x1.ea69bap-97);
    PART(0x1.81b6c4p-121);
    PART(0x1.2b3278p-145);
    PART(0x1.0e4104p-170);
    PART(0x1.fca2c6p-193);
#undef PART
    const float y = r_sin_core(s * 0x1.921fb54442d18p+0, r_bits64(n + magic) + turn);
    return r_abs(x) < INFINITY ? y : NAN;
}
INLINE float r_sin_large(float x) { return r_sin_turned_large(x, 0); }
INLINE float r_cos_large(float x) { return r_sin_turned_large(x, 1); }
#endif

#ifndef R_SIN_LIMIT
#define R_SIN_LIMIT ((gr_real)INFINITY)
#endif
INLINE gr_real r_softplus(gr_real x) { return (x > 0 ? x : 0) + r_log1p(r_exp(-r_abs(x))); } /* log(1 + e^x) */
INLINE gr_real r_square(gr_real x) { return x * x; }
INLINE gr_real r_normal_cdf(gr_real x) { return (1 + r_erf(x * R(0.70710678118654752440))) / 2; }
INLINE gr_real r_normal_pdf(gr_real x) { return R(0.39894228040143267794) * r_exp(-x * x / 2); }
#endif
