/* core/maths.h - mathematical functions for kernels, on gr_real: plain C without branches, which vectorises and gives the same bits on every machine.
 *
 *     r_exp r_expm1 r_log r_log1p r_tanh r_sigmoid r_erf   within 1 ulp and monotone on every float
 *     r_sin r_cos r_tan                                    within 1 ulp
 *     r_pow                                                within 2 ulp, special cases as C99's pow
 *     r_round r_floor                                      exact; r_round takes the even one of two neighbours that are equally near
 *     r_softplus r_square r_normal_cdf_of r_normal_pdf     computed from these; r_normal_cdf_of is (1 + erf) / 2, which is within 1e-7, and not within
 *                                                          1 ulp where x < 0
 *     r_sin_near r_cos_near r_tan_near                     the same as r_sin.. for |x| <= R_SIN_LIMIT
 *     r_exp_near r_sigmoid_near                            the same bits as r_exp and r_sigmoid for |x| <= R_EXP_LIMIT
 *     r_exp_low                                            the same bits as r_exp for x <= 44 and NaN
 *     r_normal_pdf_near                                    the same bits as r_normal_pdf for |x| <= R_PDF_LIMIT
 *
 * tests/campaign/ulp.c checks these bounds on all floats (r_pow: 2^28 pairs). tests/tools/fit_maths.py computes the coefficients. The double build calls libm.
 *
 * A function for |x| <= a limit is faster, because its range is bounded. A kernel calls it for all values. If one was beyond the limit,
 * which is rare, a second loop corrects it; both loops vectorise:
 *
 *     r_size largest = 0;
 *     for (size_t i = 0; i < n; i++) y[i] = r_sin_near(x[i]), largest = r_size_most(largest, x[i]);
 *     if (largest > r_size_of(R_SIN_LIMIT))
 *         for (size_t i = 0; i < n; i++) y[i] = r_size_of(x[i]) > r_size_of(R_SIN_LIMIT) ? r_sin(x[i]) : y[i];
 *
 * Before you change a function: a sample does not suffice. An error above 1 ulp once occurred in only 18 of 2^32 floats. */
#ifndef GR_MATHS_H
#define GR_MATHS_H
#include "core/kernel.h"

#ifdef GR_REAL_DOUBLE
#define R_SIN_LIMIT 1
#define R_EXP_LIMIT 1
#define R_PDF_LIMIT 1
typedef int r_size; /* there are no limits: every size is 0 */
INLINE r_size r_size_of(double x UNUSED) { return 0; }
INLINE double r_sigmoid(double x) { return 1 / (1 + exp(-x)); }
#define R_LIBM(name, f) INLINE double r_##name(double x) { return f(x); }
R_LIBM(exp, exp) R_LIBM(expm1, expm1) R_LIBM(log, log) R_LIBM(log1p, log1p) R_LIBM(tanh, tanh) R_LIBM(erf_half, erf) R_LIBM(round, rint)
R_LIBM(sigmoid_near, r_sigmoid) R_LIBM(exp_near, exp) R_LIBM(exp_low, exp) R_LIBM(sin, sin) R_LIBM(cos, cos) R_LIBM(tan, tan) R_LIBM(sin_near, sin) R_LIBM(cos_near, cos)
R_LIBM(tan_near, tan)
#undef R_LIBM
INLINE double r_erf_of(double x UNUSED, double half) { return half; }
INLINE double r_pow(double x, double y) { return pow(x, y); }
#else

/* R_POLY_2(step, x, a, b, c) is the polynomial a x^2 + b x + c by Horner's rule, and so on: step is r_fma, or r_times_plus, which rounds twice. */
INLINE double r_times_plus(double a, double x, double b) { return a * x + b; }
#define R_POLY_1(step, x, a, b) step(a, x, b)
#define R_POLY_2(step, x, a, b, ...) R_POLY_1(step, x, step(a, x, b), __VA_ARGS__)
#define R_POLY_3(step, x, a, b, ...) R_POLY_2(step, x, step(a, x, b), __VA_ARGS__)
#define R_POLY_4(step, x, a, b, ...) R_POLY_3(step, x, step(a, x, b), __VA_ARGS__)
#define R_POLY_5(step, x, a, b, ...) R_POLY_4(step, x, step(a, x, b), __VA_ARGS__)
#define R_POLY_6(step, x, a, b, ...) R_POLY_5(step, x, step(a, x, b), __VA_ARGS__)
#define R_POLY_7(step, x, a, b, ...) R_POLY_6(step, x, step(a, x, b), __VA_ARGS__)
#define R_POLY_8(step, x, a, b, ...) R_POLY_7(step, x, step(a, x, b), __VA_ARGS__)

/* ==== In float ====
 * Adding 1.5 * 2^23 rounds x to an integer n, which is then also in the low bits: k = x + R_ROUND, n = k - R_ROUND. With k = x + (R_ROUND + c)
 * they hold n + c, and r_power(k) is 2^(n + c - 127), if 0 < n + c < 255. NaN must stay NaN: so a clamp has its constant on the left, and a number is
 * scaled by a product, not by a change of its bits. */
#define R_ROUND 0x1.8p23f
#define R_EXP_LIMIT 87.0f
#define R_PDF_LIMIT 13.0f
typedef uint32_t r_size; /* ordered as |x|, and NaN above infinity */
INLINE r_size r_size_of(float x) { return r_bits(r_abs(x)); }
INLINE float r_power(float k) { return r_from_bits(r_bits(k) << 23); }

/* Adding 2^23 rounds to a whole number, and every float from there on is one. The sign stays, so that -0.3 becomes -0. */
INLINE float r_round(float x) { return r_abs(x) < 0x1p23f ? __builtin_copysignf(r_abs(x) + 0x1p23f - 0x1p23f, x) : x; }

/* q(r) with e^r = 1 + r + r^2 q(r) for |r| <= ln(2) / 2, and g(f) with log(1 + f) = f + f^2 g(f) for f in [-1/3, 1/3). */
INLINE float r_exp_tail(float r)
{
    return R_POLY_5(r_fma, r, 0x1.9dfba6p-13f, 0x1.6d4cbcp-10f, 0x1.11130ep-7f, 0x1.5554e8p-5f, 0x1.555554p-3f, 0.5f);
}
INLINE float r_log_tail(float f)
{
    return R_POLY_8(r_fma, f, -0x1.07c48ap-3f, 0x1.1e6ccap-3f, -0x1.f332b8p-4f, 0x1.1ed562p-3f, -0x1.559c66p-3f, 0x1.99d050p-3f,
                             -0x1.fffefap-3f, 0x1.555506p-2f, -0.5f);
}

/* e^x = 2^n e^r, x = n ln 2 + r, |r| <= ln(2) / 2; e^r = 1 + t, t = r + r^2 q(r), and k as above, with c = bias. */
typedef struct { float k, t; } r_exp_parts;
INLINE r_exp_parts r_exp_split(float x, float bias)
{
    const float k = r_fma(x, 0x1.715476p+0f, R_ROUND + bias), n = k - (R_ROUND + bias);
    const float r = r_fma(n, -0x1.7f7d1cp-20f, r_fma(n, -0x1.62e4p-1f, x));
    return (r_exp_parts){ k, r_fma(r * r, r_exp_tail(r), r) };
}
INLINE float r_exp_near(float x) /* n is added to the exponent of e^r */
{
    const r_exp_parts e = r_exp_split(x, 0);
    return r_from_bits(r_bits(1 + e.t) + (r_bits(e.k) << 23));
}
INLINE float r_exp_low(float x) /* 2^n in the factors 2^(n + 64) and 2^-64; far below -105 they are wrong, but e^x is 0 */
{
    const r_exp_parts e = r_exp_split(x, 191);
    return r_from_bits(r_bits(r_fma(e.t, r_power(e.k), r_power(e.k)) * 0x1p-64f) & -(uint32_t)!(x < -105));
}
INLINE float r_exp(float x) /* 2^n in two factors: the result may be subnormal */
{
    const r_exp_parts e = r_exp_split(r_max(-105.0f, r_min(89.0f, x)), 254);
    const uint32_t k = r_bits(e.k), h = k >> 1; /* in the low bits: n + 254 and its half */
    return (1 + e.t) * r_from_bits(h << 23) * r_from_bits((k - h) << 23);
}

/* x = 2^k m with m in [2/3, 4/3); log x = k ln 2 + f + f^2 g(f), f = m - 1. */
INLINE float r_log(float x)
{
    const float a = x < 0x1p-126f ? x * 0x1p23f : x;
    const uint32_t e = (r_bits(a) - r_bits(0x1.555556p-1f)) & 0xff800000u;
    const float f = r_from_bits(r_bits(a) - e) - 1;
    const float k = r_fma((float)(int32_t)e, 0x1p-23f, x < 0x1p-126f ? -23.0f : 0.0f);
    float y = r_fma(k, 0x1.62e430p-1f, r_fma(f * f, r_log_tail(f), f));
    y = x < INFINITY ? y : x; /* +inf and NaN are themselves */
    y = x == 0 ? -INFINITY : y;
    return x < 0 ? NAN : y;
}

/* e^x - 1 = 2 (h + S (e^r - 1)) with S = 2^(n - 1), h = S - 1/2. The rounding errors of r, h and h + S r are added last. The result of
 * a small x is x, so that subnormals and -0 are exact. */
INLINE float r_expm1(float x)
{
    const float z = r_max(-18.0f, r_min(89.0f, x));
    const float k = r_fma(z, 0x1.715476p+0f, R_ROUND + 126), n = k - (R_ROUND + 126);
    const float a = r_fma(n, -0x1.62e4p-1f, z), b = n * 0x1.7f7d1cp-20f, r = a - b;
    const float t = r_fma(r * r, r_exp_tail(r), (a - r) - b); /* e^r - 1 - r */
    const float S = r_power(k), h = S - 0.5f, y = h + S * r;
    const float rest = (S * r - (y - h)) + ((S - h) - 0.5f);
    return r_abs(x) < 0x1p-25f ? x : 2 * (y + r_fma(S, t, rest));
}

/* log(1 + x) = log(u + c), where u is 1 + x rounded. For u + c = 2^k (m + d) with a small d it is k ln 2 + f + f^2 g(f) + d / m, f = m - 1, as in
 * r_log; 1 / m is 1 - f + f^2 here. When k = 0, f is x itself. */
INLINE float r_log1p(float x)
{
    const float u = 1 + x, v = u - 1, c = (1 - (u - v)) + (x - v);
    const uint32_t e = (r_bits(u) - r_bits(0x1.555556p-1f)) & 0xff800000u;
    const float f = e == 0 ? x : r_from_bits(r_bits(u) - e) - 1, k = (float)(int32_t)e * 0x1p-23f;
    const float d = e == 0 || x > 0x1p30f ? 0 : c * r_from_bits(r_bits(1) - e);
    const float t = r_fma(f * f, r_log_tail(f), r_fma(-f, r_fma(-f, d, d), d)), l = k * 0x1.62e4p-1f, s = l + f;
    float y = s + ((f - (s - l)) + r_fma(k, 0x1.7f7d1cp-20f, t));
    y = r_abs(x) < 0x1p-25f ? x : y; /* subnormals and -0 are exact */
    y = x == -1 ? -INFINITY : y;
    y = x < -1 ? NAN : y;
    return x < INFINITY ? y : x; /* +inf and NaN are themselves */
}

/* 1 / D with D = 1 + e^-x = 1 + 2^n (1 + t). D is scaled by `one`, because it may overflow. d is the rounding error of D, which the correction of
 * the quotient by its remainder includes. t is as in r_exp. */
INLINE float r_sigmoid_scaled(float x, float one, float bias)
{
    const float k = r_fma(x, -0x1.715476p+0f, R_ROUND + bias), n = k - (R_ROUND + bias);
    const float r = r_fma(n, -0x1.7f7d1cp-20f, r_fma(n, -0x1.62e4p-1f, -x));
    const float q = R_POLY_4(r_fma, r, 0x1.6a5134p-10f, 0x1.12397cp-7f, 0x1.5558acp-5f, 0x1.555492p-3f, 0x1.fffffcp-2f);
    const float t = r_fma(r * r, q, r), s = r_power(k); /* 2^n times one */
    const float b = one + s, D = r_fma(s, t, b), d = r_fma(s, t, b - D) + (one - (b - s));
    const float y = 1 / D, rest = r_fma(-y, d, r_fma(-y, D, 1));
    return r_fma(rest, y, y) * one;
}
INLINE float r_sigmoid_near(float x) { return r_sigmoid_scaled(x, 1, 127); }
INLINE float r_sigmoid(float x) { return r_sigmoid_scaled(r_max(-104.0f, r_min(18.0f, x)), 0x1p-32f, 95); }

/* r_tanh and r_erf have one formula near 0 and one far from it, each with a polynomial of the same degree. One Horner's rule evaluates either: its
 * argument u and its coefficients are chosen, which is cheaper than a second polynomial. NaN counts as near, where it stays NaN. */
#define R_EITHER(far, u, p, far_coefficient, near_coefficient) r_fma(p, u, (far) ? (far_coefficient) : (near_coefficient))
/* For a >= 0, also of NaN. */
INLINE float r_size_at_most(float a, float most) { return r_from_bits(r_bits(a) < r_bits(most) ? r_bits(a) : r_bits(most)); }

/* For |x| < 1: x + x^3 p(x^2). Otherwise: 1 - 2 / (e^2|x| + 1); the fraction is below 1/4, and so are its errors. From 9.1 on the result is 1. */
INLINE float r_tanh(float x)
{
    const float a = r_abs(x), z = r_size_at_most(a, 9.1f);
    const float k = r_fma(z, 0x1.715476p+1f, R_ROUND + 127), n = k - (R_ROUND + 127);
    const int far = a >= 1;
    const float u = far ? r_fma(n, -0x1.62e430p-2f, z) : a * a; /* z = n ln(2) / 2 + u */
    float p = far ? 0x1.6a5134p-4f : -0x1.7803d8p-12f; /* e^2u, or p(x^2) */
    p = R_EITHER(far, u, p, 0x1.12397cp-2f, 0x1.2db66ep-9f);
    p = R_EITHER(far, u, p, 0x1.5558acp-1f, -0x1.0466f8p-7f);
    p = R_EITHER(far, u, p, 0x1.555492p+0f, 0x1.600bc0p-6f);
    p = R_EITHER(far, u, p, 0x1.fffffcp+0f, -0x1.b96286p-5f);
    p = R_EITHER(far, u, p, 2, 0x1.110be6p-3f);
    p = R_EITHER(far, u, p, 1, -0x1.55553cp-2f);
    return __builtin_copysignf(far ? 1 - 2 / r_fma(p, r_power(k), 1) : r_fma(p * u, a, a), x);
}

/* For |x| < 0.98: x + x p(x^2). Otherwise: 1 - 2^l(|x|), where l(a) = log2(1 - erf a) is a polynomial in a - 1. From 4 on the result is 1.
 * r_erf_half is l or p; a kernel computes it in a loop of its own, because a processor overlaps more vectors of two short formulas. */
INLINE float r_erf_half(float x)
{
    const int far = r_abs(x) >= 0.98f;
    const float u = far ? r_size_at_most(r_abs(x), 4) - 1 : x * x;
    float p = far ? 0x1.68db14p-12f : 0x1.4771fep-14f;
    p = R_EITHER(far, u, p, -0x1.7cf512p-9f, -0x1.a3515ep-11f);
    p = R_EITHER(far, u, p, 0x1.de75fap-7f, 0x1.53f224p-8f);
    p = R_EITHER(far, u, p, -0x1.ebd5bcp-5f, -0x1.b7f71ap-6f);
    p = R_EITHER(far, u, p, -0x1.37618ap+0f, 0x1.ce2ce6p-4f);
    p = R_EITHER(far, u, p, -0x1.e7532ap+1f, -0x1.81273ep-2f);
    return R_EITHER(far, u, p, -0x1.558eaep+1f, 0x1.06eba8p-3f);
}
INLINE float r_erf_of(float x, float p)
{
    const float a = r_abs(x), k = p + (R_ROUND + 126), f = p - (k - (R_ROUND + 126)); /* q = 2^(f + 1) */
    const float q = R_POLY_6(r_fma, f, 0x1.416b52p-12f, 0x1.5f082ep-9f, 0x1.3b2de0p-6f, 0x1.c6af7cp-4f, 0x1.ebfbdcp-2f, 0x1.62e430p+0f, 2);
    return __builtin_copysignf(a >= 0.98f ? r_fma(-q, r_power(k), 1) : r_fma(p, a, a), x);
}

/* ==== In double ====
 * Double has half as many lanes. But the error is hardly more than half an ulp without pairs of floats, and r_pow needs no fma: + - * / have the
 * same bits everywhere. */
#define R_ROUND64 0x1.8p52
INLINE uint64_t r_bits64(double x) { uint64_t u; memcpy(&u, &x, 8); return u; }
INLINE double r_from_bits64(uint64_t u) { double x; memcpy(&x, &u, 8); return x; }
INLINE double r_two_to64(double k) { return r_from_bits64((r_bits64(k) + 1023) << 52); } /* 2^n of k = n + R_ROUND64 */

/* x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt 2), for x > 0; log(1 + f) = 2 atanh(s), s = f / (2 + f). k becomes a double through
 * its bits, because AVX2 has no such conversion. */
typedef struct { double k, f; } r_split;
INLINE r_split r_log_split(double x)
{
    const uint64_t u = r_bits64(x), e = (u + (r_bits64(1) - r_bits64(0x1.6a09e667f3bcdp-1))) >> 52; /* k + 1023 */
    const double k = r_from_bits64(e | r_bits64(0x1p52)) - (0x1p52 + 1023);
    return (r_split){ k, r_from_bits64(u - ((e - 1023) << 52)) - 1 };
}
INLINE double r_log_half(double f) /* log(1 + f) / 2 */
{
    const double s = f / (2 + f), z = s * s;
    const double q = R_POLY_5(r_times_plus, z, 0x1.546b8e26e63adp-4, 0x1.7382c4e35c3b8p-4, 0x1.c71fcd608beb5p-4, 0x1.2492462a593e1p-3,
                              0x1.9999999b86f7ep-3, 0x1.55555555553b8p-2);
    return s + s * (z * q);
}

/* |x|^y = 2^t, t = y log2|x|; then the sign, and the special cases of C99 F.9.4.4. */
INLINE float r_pow(float x, float y)
{
    const float a = r_abs(x);
    const r_split v = r_log_split((double)a);
    double l = v.k + r_log_half(v.f) * 0x1.71547652b82fep+1;
    l = a == 0 ? (double)-INFINITY : a < INFINITY ? l : (double)a;
    double t = l * (double)y;
    t = -151 > t ? -151 : t;    /* underflow, overflow; NaN stays NaN */
    t = 129 < t ? 129 : t;
    const double k = t + R_ROUND64, r = t - (k - R_ROUND64);
    const double p = R_POLY_6(r_times_plus, r, 0x1.00a58b2b0618ap-16, 0x1.44400fbb6ab91p-13, 0x1.5d879ea334d4fp-10, 0x1.3b2a1b6160509p-7,
                              0x1.c6b08d884178cp-5, 0x1.ebfbe04600c97p-3, 0x1.62e42fefa39efp-1);
    float w = (float)((1 + r * p) * r_two_to64(k));
    /* How far y and y / 2 are from whole numbers. From 2^24 on, floats are even: the distance is 0, or too large near
     * 2^106, where R_ROUND64 itself is rounded. */
    const double i = (double)y, h = i / 2;
    const float broken = r_abs((float)(i - (i + R_ROUND64 - R_ROUND64))), odd = r_abs((float)(h - (h + R_ROUND64 - R_ROUND64)));
    w = (a == 1 && y == y) || y == 0 ? 1 : w; /* (+-1)^inf; x^0, also of NaN */
    w = odd == 0.5f ? __builtin_copysignf(w, x) : w;
    w = broken > 0 && broken < 1 && x < 0 && a < INFINITY ? NAN : w;
    return x == 1 ? 1 : w;      /* also 1^NaN */
}

/* sin(r + halves pi), |r| <= pi / 2. Without the instruction, __builtin_fma calls libm. */
#define R_SIN_LIMIT 0x1p17f
INLINE double r_fma64(double a, double b, double c) { return __builtin_fma(a, b, c); }
INLINE double r_sin_half_turns(double r, uint64_t halves)
{
    const double s = r * r;
    const double y = r * R_POLY_6(r_fma64, s, 0x1.54e74e45c3c45p-33, -0x1.ae20c43040deep-26, 0x1.71dd8de0594afp-19, -0x1.a01a0011b5289p-13,
                                  0x1.1111110fc040cp-7, -0x1.55555555549cbp-3, 1);
    return r_from_bits64(r_bits64(y) ^ halves << 63);
}

/* |x| <= R_SIN_LIMIT: x = (n - shift) pi + r, for a shift of 0 or 1/2: cos x = sin(x + pi / 2). The first part of pi has 33 bits, so that n times it is
 * exact. */
INLINE double r_sin_near_plus(float x, double shift)
{
    const double d = (double)x, turns = 0x1.45f306dc9c883p-2;
    const double k = shift > 0 ? r_fma64(d, turns, shift) + R_ROUND64 : r_fma64(d, turns, R_ROUND64), n = k - R_ROUND64 - shift;
    return r_sin_half_turns(r_fma64(n, -0x1.0b4611a626331p-33, r_fma64(n, -0x1.921fb544p+1, d)), r_bits64(k));
}
INLINE float r_sin_near(float x) { return (float)r_sin_near_plus(x, 0); }
INLINE float r_cos_near(float x) { return (float)r_sin_near_plus(x, 0.5); }
INLINE float r_tan_near(float x) { return (float)(r_sin_near_plus(x, 0) / r_sin_near_plus(x, 0.5)); }

/* One step of x / pi modulo 2: add d times a part of 1 / pi. The product is exact (24 bits by 24 bits). Multiples of 4, which are whole turns, are
 * dropped; a product above 2^50 is one. s is the fraction, in [-1/2, 1/2], and n the integer. */
typedef struct { double s, n; } r_turn;
INLINE r_turn r_turn_add(r_turn t, double d, double part)
{
    const double p = d * part, turns = p + 0x1.8p54 - 0x1.8p54;
    const double v = t.s + (__builtin_fabs(p) < 0x1p50 ? p - turns : 0), m = v + R_ROUND64 - R_ROUND64;
    return (r_turn){ v - m, t.n + m };
}

/* Any x. Each product is 2^24 times smaller than the one before. When one must be rounded, s has no integer part any more, so the
 * error is small compared with the fraction, which is at least 2^-31. */
INLINE double r_sin_plus(float x, double shift)
{
    const double d = (double)x;
    const double part[] = { 0x1.45f306p-2,   0x1.b93910p-27,  0x1.529fc0p-53,  0x1.3abe88p-76, 0x1.ea69bap-98,
                            0x1.81b6c4p-122, 0x1.2b3278p-146, 0x1.0e4104p-171, 0x1.fca2c6p-194 };
    r_turn t = { shift, 0 };
    for (int k = 0; k < 9; k++) t = r_turn_add(t, d, part[k]);
    const double y = r_sin_half_turns(t.s * 0x1.921fb54442d18p+1, r_bits64(t.n + R_ROUND64));
    return r_abs(x) < INFINITY ? y : (double)NAN;
}
INLINE float r_sin(float x) { return (float)r_sin_plus(x, 0); }
INLINE float r_cos(float x) { return (float)r_sin_plus(x, 0.5); }
INLINE float r_tan(float x) { return (float)(r_sin_plus(x, 0) / r_sin_plus(x, 0.5)); }
#endif

INLINE r_size r_size_most(r_size most, gr_real x) { return r_size_of(x) > most ? r_size_of(x) : most; }
INLINE gr_real r_softplus(gr_real x) { return (x > 0 ? x : 0) + r_log1p(r_exp(-r_abs(x))); } /* log(1 + e^x) */
INLINE gr_real r_floor(gr_real x) { return r_round(x) > x ? r_round(x) - 1 : r_round(x); }
INLINE gr_real r_square(gr_real x) { return x * x; }
INLINE gr_real r_erf(gr_real x) { return r_erf_of(x, r_erf_half(x)); }
INLINE gr_real r_normal_cdf_half(gr_real x) { return r_erf_half(x * R(0.70710678118654752440)); }
INLINE gr_real r_normal_cdf_of(gr_real x, gr_real half) { return r_fma(r_erf_of(x * R(0.70710678118654752440), half), R(0.5), R(0.5)); }
INLINE gr_real r_normal_pdf(gr_real x) { return R(0.39894228040143267794) * r_exp(x * x * R(-0.5)); }
INLINE gr_real r_normal_pdf_near(gr_real x) { return R(0.39894228040143267794) * r_exp_near(x * x * R(-0.5)); }

/* Whether an rstd is NaN or outside [2^-60, 2^50] in float. Then ops/norm_far.h computes a better one. */
#ifdef GR_REAL_DOUBLE
INLINE int far_from_1(double rstd) { return !(rstd >= 0x1p-500) | !(rstd <= 0x1p400); }
#else
INLINE int far_from_1(float rstd) { return r_bits(rstd) - r_bits(0x1p-60f) > r_bits(0x1p50f) - r_bits(0x1p-60f); }
#endif
#endif
