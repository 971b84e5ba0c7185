/* core/simd.h - vectors of the machine, for the kernels that need them: matrix products, convolution, pooling, softmax and the transposition. All other
 * kernels are plain loops. All intrinsics of the library are in this file: in C, a * x + y would not be one fused instruction, there is no way to load a
 * part of a vector, and no compiler finds the transposition. */
#ifndef GR_SIMD_H
#define GR_SIMD_H
#include "core/kernel.h"
#include <stdbool.h>
#if defined __x86_64__ && (defined __AVX2__ || defined GR_VECTOR_BYTES) && !defined GR_REAL_DOUBLE
#include <immintrin.h> /* takes longer to compile than many a kernel, and those for SSE2 use nothing of it */
#elif defined __aarch64__ && !defined GR_REAL_DOUBLE
#include <arm_neon.h>
#endif

#ifdef GR_VECTOR_BYTES /* the one-file build defines it */
#elif defined __AVX512F__
#define GR_VECTOR_BYTES 64
#elif defined __AVX2__
#define GR_VECTOR_BYTES 32
#else
#define GR_VECTOR_BYTES 16
#endif

typedef gr_real r_vec __attribute__((vector_size(GR_VECTOR_BYTES)));
typedef r_integer r_lane_numbers __attribute__((vector_size(GR_VECTOR_BYTES)));
enum { R_WIDTH = GR_VECTOR_BYTES / sizeof(gr_real) };

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define UNROLL /* clang would take minutes */
#endif
#endif
#ifdef UNROLL
#elif defined __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

INLINE r_vec v_load(const gr_real *p) { r_vec v; memcpy(&v, p, sizeof v); return v; }
INLINE void v_store(gr_real *p, r_vec v) { memcpy(p, &v, sizeof v); }
INLINE r_vec v_set(gr_real x) { return x - (r_vec){ 0 }; } /* minus, not plus: -0 stays -0 */

/* Lane l of the result is lane numbers[l] of a and b, one after the other. The numbers are constants. */
INLINE r_vec v_lanes(r_vec a, r_vec b, r_lane_numbers numbers)
{
#ifdef __clang__
    r_vec v;
    for (int l = 0; l < R_WIDTH; l++) v[l] = numbers[l] < R_WIDTH ? a[numbers[l]] : b[numbers[l] - R_WIDTH];
    return v;
#else
    return __builtin_shuffle(a, b, numbers);
#endif
}
INLINE void v_split(r_vec *even, r_vec *odd, r_vec a, r_vec b)
{
    r_lane_numbers n;
    for (int l = 0; l < R_WIDTH; l++) n[l] = 2 * l;
    *even = v_lanes(a, b, n), *odd = v_lanes(a, b, n + 1);
}
INLINE void v_zip(r_vec *low, r_vec *high, r_vec a, r_vec b)
{
    r_lane_numbers n;
    for (int l = 0; l < R_WIDTH; l++) n[l] = l / 2 + l % 2 * R_WIDTH;
    *low = v_lanes(a, b, n), *high = v_lanes(a, b, n + R_WIDTH / 2);
}

/*  v_fma(a, b, c)           a * b + c, rounded once
 *  v_larger(a, b)           the larger one; NaN if one is NaN
 *  v_load_mask(p, v_mask(first, n))  lanes first .. n-1 from p, and 0 in the others; first and n are at most R_WIDTH
 *  v_load_part(p, n)        lanes 0 .. n-1 from p, and 0 in the others; v_store_part(p, v, n) writes lanes 0 .. n-1; 1 <= n <= R_WIDTH
 *  v_turn(d, p, s, n)       d[r][l] = p[l * s + r] for r < n <= V_TURN and l < R_WIDTH: rows of a matrix that is stored by columns; n is V_TURN, unless
 *                           V_TURN_PART
 *  v_turn_four(d, d_row, p, s)  the same into memory, d[r * d_row + l], for r < 4 and l < 4
 *  v_split(even, odd, a, b) the lanes of a and b, one after the other, with even and with odd numbers
 *  v_zip(low, high, a, b)   the reverse */
#if GR_VECTOR_BYTES == 64 && !defined GR_REAL_DOUBLE
#define V_TURN 8
#else
#define V_TURN 4
#endif
#define V_TURN_PART (V_TURN == 8) /* n may be less than V_TURN */
#ifdef GR_REAL_DOUBLE

INLINE r_vec v_fma(r_vec a, r_vec b, r_vec c) { return a * b + c; } /* as r_fma in double */
INLINE void v_turn_lanes(gr_real *d, size_t d_row, const gr_real *p, size_t s, size_t lanes)
{
    for (size_t r = 0; r < 4; r++)
        for (size_t l = 0; l < lanes; l++) d[r * d_row + l] = p[l * s + r];
}
INLINE void v_turn(r_vec *d, const gr_real *p, size_t s, size_t n UNUSED) { v_turn_lanes((gr_real *)d, R_WIDTH, p, s, R_WIDTH); }
INLINE void v_turn_four(gr_real *d, size_t d_row, const gr_real *p, size_t s) { v_turn_lanes(d, d_row, p, s, 4); }

#else

typedef float r_four __attribute__((vector_size(16)));
typedef int r_index __attribute__((vector_size(16)));
INLINE r_four v_load_four(const float *p) { r_four v; memcpy(&v, p, sizeof v); return v; }
INLINE void v_store_four(float *p, r_four v) { memcpy(p, &v, sizeof v); }
#ifdef __clang__
#define V_PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define V_PICK(a, b, i, j, k, l) __builtin_shuffle(a, b, (r_index){ i, j, k, l })
#endif
INLINE void v_turn_four(float *d, size_t d_row, const float *p, size_t s)
{
    const r_four c0 = v_load_four(p), c1 = v_load_four(p + s), c2 = v_load_four(p + 2 * s), c3 = v_load_four(p + 3 * s);
    const r_four low01 = V_PICK(c0, c1, 0, 4, 1, 5), high01 = V_PICK(c0, c1, 2, 6, 3, 7);
    const r_four low23 = V_PICK(c2, c3, 0, 4, 1, 5), high23 = V_PICK(c2, c3, 2, 6, 3, 7);
    v_store_four(d, V_PICK(low01, low23, 0, 1, 4, 5)), v_store_four(d + d_row, V_PICK(low01, low23, 2, 3, 6, 7));
    v_store_four(d + 2 * d_row, V_PICK(high01, high23, 0, 1, 4, 5)), v_store_four(d + 3 * d_row, V_PICK(high01, high23, 2, 3, 6, 7));
}

#if GR_VECTOR_BYTES == 16

#ifdef __aarch64__
INLINE r_vec v_fma(r_vec a, r_vec b, r_vec c) { return vfmaq_f32(c, a, b); }
#else
INLINE r_vec v_fma(r_vec a, r_vec b, r_vec c)
{
    for (int l = 0; l < R_WIDTH; l++) c[l] = r_fma(a[l], b[l], c[l]);
    return c;
}
#endif
INLINE void v_turn(r_vec *d, const float *p, size_t s, size_t n UNUSED) { v_turn_four((float *)d, R_WIDTH, p, s); }

#else

#if GR_VECTOR_BYTES == 64
#define V_(name) _mm512_##name##_ps
INLINE r_vec v_fma(r_vec a, r_vec b, r_vec c) { return _mm512_fmadd_ps(a, b, c); }
typedef __mmask16 r_mask;
INLINE r_mask v_mask(size_t first, size_t n) { return (r_mask)((0xffffu << first) & (0xffffu >> (16 - n))); }
INLINE r_vec v_larger(r_vec a, r_vec b) { return _mm512_mask_mov_ps(_mm512_max_ps(b, a), _mm512_cmp_ps_mask(b, b, _CMP_UNORD_Q), b); }
INLINE r_vec v_load_mask(const float *p, r_mask m) { return _mm512_maskz_loadu_ps(m, p); }
INLINE void v_store_part(float *p, r_vec v, size_t n) { _mm512_mask_storeu_ps(p, v_mask(0, n), v); }
INLINE r_vec v_load_two(const float *p, size_t s, size_t n) /* n lanes from column 0, and n from column 4 */
{
    const __mmask8 m = (__mmask8)(0xffu >> (8 - n));
    const __m256 low = n < 8 ? _mm256_maskz_loadu_ps(m, p) : _mm256_loadu_ps(p);
    const __m256 high = n < 8 ? _mm256_maskz_loadu_ps(m, p + 4 * s) : _mm256_loadu_ps(p + 4 * s);
    return _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(low)), _mm256_castps_pd(high), 1));
}
#else
#define V_(name) _mm256_##name##_ps
typedef __m256i r_mask;
INLINE r_mask v_mask(size_t first, size_t n)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)first), lane), _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane));
}
INLINE r_vec v_fma(r_vec a, r_vec b, r_vec c) { return _mm256_fmadd_ps(a, b, c); }
INLINE r_vec v_larger(r_vec a, r_vec b) { return _mm256_blendv_ps(_mm256_max_ps(b, a), b, _mm256_cmp_ps(b, b, _CMP_UNORD_Q)); }
INLINE r_vec v_load_mask(const float *p, r_mask m) { return _mm256_maskload_ps(p, m); }
INLINE void v_store_part(float *p, r_vec v, size_t n)
{
    if (n == R_WIDTH) { v_store(p, v); return; }
    __m128 rest = _mm256_castps256_ps128(v); /* _mm256_maskstore_ps takes tens of cycles on some AMD cores */
    if (n & 4) _mm_storeu_ps(p, rest), p += 4, rest = _mm256_extractf128_ps(v, 1);
    if (n & 2) _mm_storel_pi((__m64 *)(void *)p, rest), p += 2, rest = _mm_movehl_ps(rest, rest);
    if (n & 1) _mm_store_ss(p, rest);
}
INLINE r_vec v_load_two(const float *p, size_t s, size_t n UNUSED) /* four lanes from column 0, and four from column 4 */
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + 4 * s), 1);
}
#endif
INLINE void v_turn_fours(r_vec *d, const float *p, size_t s, size_t n) /* 4 x 4 transpositions, side by side */
{
    const r_vec c0 = v_load_two(p, s, n), c1 = v_load_two(p + s, s, n), c2 = v_load_two(p + 2 * s, s, n), c3 = v_load_two(p + 3 * s, s, n);
    const r_vec low01 = V_(unpacklo)(c0, c1), high01 = V_(unpackhi)(c0, c1), low23 = V_(unpacklo)(c2, c3), high23 = V_(unpackhi)(c2, c3);
    d[0] = V_(shuffle)(low01, low23, 0x44), d[1] = V_(shuffle)(low01, low23, 0xee);
    d[2] = V_(shuffle)(high01, high23, 0x44), d[3] = V_(shuffle)(high01, high23, 0xee);
}
#if GR_VECTOR_BYTES == 64
INLINE void v_turn(r_vec *d, const float *p, size_t s, size_t n)
{
    r_vec low[4], high[4]; /* the lanes of rows r, r + 4, r, r + 4, from columns 0 .. 7 and from columns 8 .. 15 */
    v_turn_fours(low, p, s, n), v_turn_fours(high, p + 8 * s, s, n);
    for (int r = 0; r < 4; r++) d[r] = _mm512_shuffle_f32x4(low[r], high[r], 0x88), d[r + 4] = _mm512_shuffle_f32x4(low[r], high[r], 0xdd);
}
#else
INLINE void v_turn(r_vec *d, const float *p, size_t s, size_t n) { v_turn_fours(d, p, s, n); }
#endif

#endif
#endif

#if defined GR_REAL_DOUBLE || GR_VECTOR_BYTES == 16
typedef size_t r_mask; /* both numbers: 256 first + n */
INLINE r_mask v_mask(size_t first, size_t n) { return 256 * first + n; }
INLINE r_vec v_larger(r_vec a, r_vec b)
{
    const r_lane_numbers is = (b > a) | (b != b);
    return (r_vec)(((r_lane_numbers)b & is) | ((r_lane_numbers)a & ~is));
}
INLINE r_vec v_load_mask(const gr_real *p, r_mask m)
{
    r_vec v = { 0 };
    for (size_t l = m / 256; l < m % 256; l++) v[l] = p[l];
    return v;
}
INLINE void v_store_part(gr_real *p, r_vec v, size_t n)
{
    if (n == R_WIDTH) v_store(p, v);
    else for (size_t l = 0; l < n; l++) p[l] = v[l];
}
#endif
INLINE r_vec v_load_part(const gr_real *p, size_t n) { return v_load_mask(p, v_mask(0, n)); }

/* Lanes 0 .. n-1 from p, and 0 in the others, for any n. */
INLINE r_vec v_load_most(const gr_real *p, size_t n) { return n >= R_WIDTH ? v_load(p) : n ? v_load_part(p, n) : v_set(0); }

/* The values with even and with odd numbers, of n at p and zeros behind them. v_store_zip writes them back, or with `add` adds them to p. */
INLINE void v_load_split(r_vec *even, r_vec *odd, const gr_real *p, size_t n)
{
    v_split(even, odd, v_load_most(p, n), v_load_most(p + (n < R_WIDTH ? n : R_WIDTH), n > R_WIDTH ? n - R_WIDTH : 0));
}
INLINE void v_store_zip(gr_real *p, r_vec even, r_vec odd, size_t n, bool add)
{
    const size_t first = n < R_WIDTH ? n : R_WIDTH, rest = n - first;
    r_vec low, high;
    v_zip(&low, &high, even, odd);
    if (add) low += v_load_most(p, n), high += v_load_most(p + first, rest);
    v_store_part(p, low, rest ? R_WIDTH : n);
    if (rest) v_store_part(p + R_WIDTH, high, rest < R_WIDTH ? rest : R_WIDTH);
}
#endif
