/* core/batches.c - which samples make up each batch of an epoch. The numbers of an epoch begin at a place of its own in the random stream, so that a
 * resumed run can begin with any epoch. */
#include "core/batches.h"
#include "core/op.h"
#include <limits.h>

gr_batches *gr_batches_new(gr_tape *t, size_t n, size_t size, const gr_batches_config *config)
{
    const gr_batches_config c = config ? *config : (gr_batches_config){ 0 };
    if (gr_failed(t)) return NULL;
    if (!n || n > INT_MAX || !size || (c.drop_last && size > n))
        return gr_fail_as(t, GR_MISUSE, "batches", "n must be 1 to %d samples, and size 1 or more%s; got %zu and %zu", INT_MAX,
                          c.drop_last ? ", with drop_last at most n" : "", n, size);
    if (size > n) size = n;
    const size_t bytes = sizeof(gr_batches) + n * sizeof(size_t) + size * sizeof(int);
    gr_batches *const b = gr_memory_new(gr_tape_allocator(t), bytes);
    if (!b) return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: batches of %zu samples", n);
    b->memory = *gr_tape_allocator(t), b->bytes = bytes, b->n = n, b->size = size, b->per_epoch = (c.drop_last ? n : n + size - 1) / size;
    b->stream = gr_stream_new(gr_tape_seed(t), c.shuffle), b->shuffled = c.shuffle, b->epoch = UINT64_MAX;
    b->order = (size_t *)(b + 1), b->ids = (gr_ints){ .data = (int *)(b->order + n), .rank = 1 };
    return b;
}

void gr_batches_free(gr_batches *b) { if (b) gr_memory_free(&b->memory, b, b->bytes); }

const gr_ints *gr_batches_next(gr_batches *b)
{
    if (!b) return NULL;
    const uint64_t taken = (uint64_t)b->taken, epoch = taken / b->per_epoch;
    const size_t first = (size_t)(taken % b->per_epoch) * b->size, left = b->n - first;
    if (b->epoch != epoch) {
        b->epoch = epoch, b->stream.counter = epoch << 40;
        gr_stream_permutation(b->shuffled ? &b->stream : NULL, b->order, b->n);
    }
    b->ids.len = b->ids.dim[0] = left < b->size ? left : b->size;
    for (size_t i = 0; i < b->ids.len; i++) b->ids.data[i] = (int)b->order[first + i];
    b->taken = (int64_t)(taken + 1);
    return &b->ids;
}
