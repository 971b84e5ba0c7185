/* ops/dropout.h - the random numbers behind a mask, for dropout and for attention. */
#ifndef GR_DROPOUT_H
#define GR_DROPOUT_H
#include "core/kernel.h"
#include <stdbool.h>

/* Element i has draw number counter + i of the stream with this key. A draw of at most `last` drops it; the others are multiplied by scale. */
typedef struct { uint64_t key, counter; uint32_t last; gr_real scale; } dropout_mask;

/* Draws 4 block .. 4 block + 63: sixteen Philox4x32-10 blocks side by side, as core/random.c makes one. */
INLINE void dropout_draws(uint32_t *restrict draw, uint64_t key, uint64_t block)
{
    uint32_t a[16], b[16], c[16], d[16], k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (size_t l = 0; l < 16; l++) a[l] = (uint32_t)(block + l), b[l] = (uint32_t)((block + l) >> 32), c[l] = d[l] = 0;
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) KEEP_LOOP for (size_t l = 0; l < 16; l++)
        {
            const uint64_t p = 0xD2511F53ull * a[l], q = 0xCD9E8D57ull * c[l];
            a[l] = (uint32_t)(q >> 32) ^ b[l] ^ k0, b[l] = (uint32_t)q;
            c[l] = (uint32_t)(p >> 32) ^ d[l] ^ k1, d[l] = (uint32_t)p;
        }
    for (size_t l = 0; l < 16; l++) draw[4 * l] = a[l], draw[4 * l + 1] = b[l], draw[4 * l + 2] = c[l], draw[4 * l + 3] = d[l];
}

/* Elements first .. first + n - 1: y = x times the mask, or y += that. */
INLINE void dropout_apply(gr_real *restrict y, const gr_real *restrict x, const dropout_mask *m, size_t first, size_t n, bool add)
{
    uint32_t draw[64];
    const gr_real scale = m->scale;
    const uint32_t last = m->last;
    for (uint64_t next = m->counter + first, end = next + n; next < end;) {
        const size_t skip = next % 4, count = end - next < 64 - skip ? (size_t)(end - next) : 64 - skip;
        dropout_draws(draw, m->key, next / 4);
        for (size_t i = 0; i < count; i++) {
            const gr_real value = draw[skip + i] <= last ? 0 : x[i] * scale;
            y[i] = add ? y[i] + value : value;
        }
        next += count, y += count, x += count;
    }
}

#if GR_HOST
#include "core/library.h"
/* The number of 2^32 draws that drop an element; 0 in evaluation mode. */
static inline uint64_t dropout_below(const gr_tape *t, double p) { return gr_tape_training(t) ? (uint64_t)(p * 0x1p32 + 0.5) : 0; }

/* Take n draws of the stream for probability p, unless dropout_below is 0. */
static inline dropout_mask dropout_take(gr_tape *t, gr_stream *draws, double p, size_t n)
{
    return (dropout_mask){ draws->key, gr_stream_take(t, draws, n), (uint32_t)(dropout_below(t, p) - 1), p < 1 ? (gr_real)(1 / (1 - p)) : 0 };
}
#endif
#endif
