/* core/random.h - counter-based random streams. A random number is a function of (seed, name, counter) alone: Philox4x32-10 (Salmon et al.
 * 2011, "Parallel random numbers: as easy as 1, 2, 3"). So a new layer, or another norm, does not change the random numbers of
 * any other name. */
#ifndef GR_RANDOM_H
#define GR_RANDOM_H
#include "core/real.h"
#include <stddef.h>
#include <stdint.h>

/* These two integers are the whole state of a stream, and a program may save and restore them. Random number i of 32 bits is word i % 4 of
 * the Philox block with counter i / 4 and this key. */
typedef struct { uint64_t key, counter; } gr_stream;

/* The stream of that name, with counter 0. A NULL name means "". */
GR_API gr_stream gr_stream_new(uint64_t seed, const char *name);

/* Each function draws from s and moves its counter. When s is NULL, all random bits are 0, and a permutation is 0, 1 .. n-1. */
GR_API uint32_t gr_stream_bits(gr_stream *s);                           /* 32 random bits; the counter moves by 1 */
GR_API double gr_stream_uniform(gr_stream *s, double low, double high); /* in [low, high), with 53 random bits; the counter moves by 2 */
GR_API double gr_stream_normal(gr_stream *s, double mean, double std);  /* Box-Muller, at most 8.6 std from the mean; the counter moves by 4 */
GR_API size_t gr_stream_below(gr_stream *s, size_t n);                  /* 0 .. n-1, each with the same probability; 0 when n is 0 */
GR_API void gr_stream_permutation(gr_stream *s, size_t *order, size_t n); /* order[0 .. n-1] = a permutation of 0 .. n-1 (Fisher-Yates) */

#endif
