/* core/batches.c - which samples make up each batch of an epoch. The numbers of an epoch begin at a place of its own in the random stream, so that a
 * resumed run can begin with any epoch. */
#include "core/batches.h"
#include "core/op.h"
#include <limits.h>

gr_batches *gr_batches_new(gr_tape *t, size_t n, size_t size, const gr_batches_config *config)
{
    const bool drop_last = config && config->drop_last;
    if (gr_failed(t)) return NULL;
    if (!n || !size || n > INT_MAX)
        return gr_fail_as(t, GR_MISUSE, "batches", "n must be 1 to %d samples, and a batch must have 1 or more; got %zu and %zu", INT_MAX, n, size);
    if (drop_last && size > n)
        return gr_fail_as(t, GR_MISUSE, "batches", "drop_last leaves no batch: there are %zu samples, and a batch needs %zu", n, size);
    const gr_allocator *const memory = gr_tape_allocator(t);
    gr_batches *const b = gr_memory_new(memory, sizeof *b);
    if (!b) return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: batches of %zu samples", n);
    b->memory = *memory, b->n = n, b->size = size < n ? size : n;
    b->per_epoch = drop_last ? n / b->size : (n + b->size - 1) / b->size;
    b->shuffled = config && config->shuffle, b->epoch = UINT64_MAX;
    b->stream = gr_stream_new(gr_tape_seed(t), b->shuffled ? config->shuffle : NULL);
    b->order = gr_memory_new(memory, n * sizeof *b->order);
    b->ids = (gr_ints){ .data = gr_memory_new(memory, b->size * sizeof *b->ids.data), .rank = 1 };
    if (b->order && b->ids.data) return b;
    gr_batches_free(b);
    return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: batches of %zu samples", n);
}

void gr_batches_free(gr_batches *b)
{
    if (!b) return;
    const gr_allocator memory = b->memory;
    gr_memory_free(&memory, b->order, b->n * sizeof *b->order);
    gr_memory_free(&memory, b->ids.data, b->size * sizeof *b->ids.data);
    gr_memory_free(&memory, b, sizeof *b);
}

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
