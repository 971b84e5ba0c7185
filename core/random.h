/* core/random.h - counter-based random streams. A draw is a pure function of (seed, name, counter): Philox4x32-10 (Salmon et al.
 * 2011, "Parallel random numbers: as easy as 1, 2, 3"). Adding a layer, or trading one norm for another, leaves the draws of
 * every other name as they were. */
#ifndef GR_RANDOM_H
#define GR_RANDOM_H
#include "core/real.h"
#include <stddef.h>
#include <stdint.h>
GR_BEGIN

/* Two integers are the whole state: save them, and the stream goes on where it was. Draw number i of 32 bits is word i % 4 of
 * the Philox block with counter i / 4 and this key. */
typedef struct { uint64_t key, counter; } gr_stream;

/* A name of NULL is ""; a stream of NULL draws zeros and orders nothing. */

GR_API gr_stream gr_stream_new(uint64_t seed, const char *name); /* counter 0 */
GR_API uint32_t gr_stream_bits(gr_stream *s);                    /* 32 random bits; moves the counter by 1 */
GR_API double gr_stream_uniform(gr_stream *s, double low, double high); /* in [low, high), 53 bits; by 2 */
GR_API double gr_stream_normal(gr_stream *s, double mean, double std);  /* Box-Muller, |z| < 8.6; by 4 */
GR_API size_t gr_stream_below(gr_stream *s, size_t n);           /* 0 .. n-1, unbiased; 0 for n = 0 */
GR_API void gr_stream_permutation(gr_stream *s, size_t *order, size_t n); /* order[] = a permutation of 0 .. n-1 (Fisher-Yates) */

GR_END
#endif
