/* ops/dropout.h - the draws behind a mask, for the kernels of dropout and attention. */
#ifndef GR_DROPOUT_H
#define GR_DROPOUT_H
#include "core/kernel.h"

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
#endif
