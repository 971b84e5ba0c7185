/* core/simd.h - the machine's own vector, for the one kernel that needs it, the matrix product. Everything else is plain
 * loops. All intrinsics of the library are in this file: a * x + y in C would not be one fused instruction, a part of a
 * vector cannot be said, and no compiler finds the transposition. */
#ifndef GR_SIMD_H
#define GR_SIMD_H
#include "core/kernel.h"
#if defined __x86_64__ && !defined GR_REAL_DOUBLE
#include <immintrin.h>
#elif defined __aarch64__ && !defined GR_REAL_DOUBLE
#include <arm_neon.h>
#endif

#ifdef GR_VECTOR_BYTES /* said by the one-file build */
#elif defined __AVX512F__
#define GR_VECTOR_BYTES 64
#elif defined __AVX2__
#define GR_VECTOR_BYTES 32
#else
#define GR_VECTOR_BYTES 16
#endif

typedef gr_real r_vec __attribute__((vector_size(GR_VECTOR_BYTES)));
enum { R_WIDTH = GR_VECTOR_BYTES / sizeof(gr_real) };

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

INLINE r_vec v_load(const gr_real *p) { r_vec v; memcpy(&v, p, sizeof v); return v; }
INLINE void v_store(gr_real *p, r_vec v) { memcpy(p, &v, sizeof v); }
INLINE r_vec v_set(gr_real x) { return x - (r_vec){ 0 }; } /* minus, not plus: -0 stays -0 */

/*  v_fma(a, b, c)                 a * b + c, rounded once
 *  v_load_part(p, n)              lanes 0 .. n-1 from p, the rest 0; v_store_part(p, v, n) writes them; 1 <= n <= R_WIDTH
 *  v_load_columns(row, p, s)      row[r] lane l = p[l * s + r], r = 0 .. 3: four rows of a matrix that is stored by columns */
#if GR_VECTOR_BYTES == 64 && !defined GR_REAL_DOUBLE

INLINE r_vec v_fma(r_vec a, r_vec b, r_vec c) { return _mm512_fmadd_ps(a, b, c); }
INLINE r_vec v_load_part(const float *p, size_t n) { return _mm512_maskz_loadu_ps((__mmask16)(0xffff >> (16 - n)), p); }
INLINE void v_store_part(float *p, r_vec v, size_t n) { _mm512_mask_storeu_ps(p, (__mmask16)(0xffff >> (16 - n)), v); }
INLINE __m512 v_load_quarters(const float *p, size_t s) /* four lanes each from columns 0, 4, 8 and 12 */
{
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(p));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(p + 4 * s), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(p + 8 * s), 2);
    return _mm512_insertf32x4(v, _mm_loadu_ps(p + 12 * s), 3);
}
#define V_TRANSPOSE(name) _mm512_##name##_ps

#elif GR_VECTOR_BYTES == 32 && !defined GR_REAL_DOUBLE

INLINE __m256i v_mask(size_t n) /* all ones in lanes 0 .. n-1 */
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE r_vec v_fma(r_vec a, r_vec b, r_vec c) { return _mm256_fmadd_ps(a, b, c); }
INLINE r_vec v_load_part(const float *p, size_t n) { return _mm256_maskload_ps(p, v_mask(n)); }
INLINE void v_store_part(float *p, r_vec v, size_t n) { _mm256_maskstore_ps(p, v_mask(n), v); }
INLINE __m256 v_load_quarters(const float *p, size_t s) /* four lanes each from columns 0 and 4 */
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + 4 * s), 1);
}
#define V_TRANSPOSE(name) _mm256_##name##_ps

#else

INLINE r_vec v_load_part(const gr_real *p, size_t n)
{
    r_vec v = { 0 };
    for (size_t l = 0; l < n; l++) v[l] = p[l];
    return v;
}
INLINE void v_store_part(gr_real *p, r_vec v, size_t n)
{
    for (size_t l = 0; l < n; l++) p[l] = v[l];
}
#if defined __aarch64__ && !defined GR_REAL_DOUBLE
INLINE r_vec v_fma(r_vec a, r_vec b, r_vec c) { return vfmaq_f32(c, a, b); }
#elif defined GR_REAL_DOUBLE
INLINE r_vec v_fma(r_vec a, r_vec b, r_vec c) { return a * b + c; } /* what r_fma is there */
#else
INLINE r_vec v_fma(r_vec a, r_vec b, r_vec c)
{
    for (int l = 0; l < R_WIDTH; l++) c[l] = r_fma(a[l], b[l], c[l]);
    return c;
}
#endif
#endif

#ifdef GR_REAL_DOUBLE
INLINE void v_load_columns(r_vec row[4], const gr_real *p, size_t s)
{
    for (size_t r = 0; r < 4; r++) {
        gr_real lane[R_WIDTH];
        for (size_t l = 0; l < R_WIDTH; l++) lane[l] = p[l * s + r];
        row[r] = v_load(lane);
    }
}
#elif GR_VECTOR_BYTES == 16
INLINE void v_load_columns(r_vec row[4], const float *p, size_t s)
{
    const r_vec c0 = v_load(p), c1 = v_load(p + s), c2 = v_load(p + 2 * s), c3 = v_load(p + 3 * s);
    const r_vec low01 = __builtin_shufflevector(c0, c1, 0, 4, 1, 5), high01 = __builtin_shufflevector(c0, c1, 2, 6, 3, 7);
    const r_vec low23 = __builtin_shufflevector(c2, c3, 0, 4, 1, 5), high23 = __builtin_shufflevector(c2, c3, 2, 6, 3, 7);
    row[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5), row[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
    row[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5), row[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}
#else
INLINE void v_load_columns(r_vec row[4], const float *p, size_t s) /* 4 x 4 transpositions within the 128-bit quarters */
{
    const r_vec c0 = v_load_quarters(p, s), c1 = v_load_quarters(p + s, s);
    const r_vec c2 = v_load_quarters(p + 2 * s, s), c3 = v_load_quarters(p + 3 * s, s);
    const r_vec low01 = V_TRANSPOSE(unpacklo)(c0, c1), high01 = V_TRANSPOSE(unpackhi)(c0, c1);
    const r_vec low23 = V_TRANSPOSE(unpacklo)(c2, c3), high23 = V_TRANSPOSE(unpackhi)(c2, c3);
    row[0] = V_TRANSPOSE(shuffle)(low01, low23, 0x44), row[1] = V_TRANSPOSE(shuffle)(low01, low23, 0xee);
    row[2] = V_TRANSPOSE(shuffle)(high01, high23, 0x44), row[3] = V_TRANSPOSE(shuffle)(high01, high23, 0xee);
}
#endif
#endif
