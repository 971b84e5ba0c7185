/* core/batches.h - which samples make up each batch of an epoch.
 *
 *     gr_batches *b = gr_batches_new(t, samples, 64, &(gr_batches_config){ .shuffle = "shuffle" });
 *     for (size_t step = 0; step < 10 * b->per_epoch; step++) {
 *         const gr_ints *const ids = gr_batches_next(b);
 *         gr_tape_reset(t);
 *         ...                                 // copy the samples ids->data[0 .. ids->len-1] into gr_empty, train
 *     }
 *     gr_batches_free(b);
 *
 * The order of an epoch depends on the tape's seed, the name of the stream, the number n of samples and the number of the epoch alone. So one number,
 * `taken`, is the whole position. A checkpoint keeps it: (gr_checkpoint_value){ "batches", GR_I64, 1, &b->taken }. It counts batches of this n and
 * size, and with others it is another place, without an error: where a flag sets them, save them as values too and compare them after loading, as
 * examples/kit/resume.c does. */
#ifndef GR_BATCHES_H
#define GR_BATCHES_H
#include "core/tensor.h"

typedef struct {
    const char *shuffle; /* the random stream that draws the order of each epoch; NULL keeps the order 0, 1 .. n-1 */
    bool drop_last;      /* leave out the last batch of an epoch if it is smaller than the others */
} gr_batches_config;

typedef struct {
    size_t n, size, per_epoch; /* samples; samples in a batch, at most n; batches in an epoch */
    int64_t taken;       /* batches taken so far, over all epochs. A program may write it, to continue from any place; a negative
                            number is a place, too, far away */
    gr_stream stream;    /* the library's, as all that follows */
    bool shuffled;
    uint64_t epoch;      /* of order, */
    size_t *order;       /* a permutation of the samples */
    gr_ints ids;
    gr_allocator memory;
    size_t bytes;
} gr_batches;

/* Walk over n samples in batches of `size`; the last batch of an epoch is smaller if size does not divide n. config may be NULL. The caller frees the
 * result with gr_batches_free, before or after the tape. Fails, and returns NULL, if n or size is 0, n is above 2^31 - 1, size is above n with drop_last,
 * or memory runs out. */
GR_API gr_batches *gr_batches_new(gr_tape *t, size_t n, size_t size, const gr_batches_config *config);
GR_API void gr_batches_free(gr_batches *b); /* b may be NULL */

/* The numbers of the samples of the next batch, each 0 .. n-1. b owns them until the next call, which changes them; so call it after the
 * gr_backward of operators that use them. NULL when b is NULL; nothing else can fail. */
GR_API const gr_ints *gr_batches_next(gr_batches *b);

#endif
