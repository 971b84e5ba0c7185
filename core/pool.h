/* core/pool.h - threads that share the chunks of a loop. Thread i * threads / n runs chunk i of n, unless another one has nothing left to do.
 * The chunks depend on shapes alone, so neither the number of threads nor who runs a chunk can change a result. */
#ifndef GR_POOL_H
#define GR_POOL_H
#include "core/memory.h"

typedef struct gr_pool gr_pool;

/* A pool of threads (1 .. 256), the caller's among them. Several tapes may share it (gr_tape_config.pool) if one thread uses them all. The caller
 * frees it with gr_pool_free, after all its tapes. Workers wait actively for some tens of microseconds after each parallel loop, and then
 * sleep. When the system refuses a thread, the pool works with those that it has (gr_tape_threads). allocator NULL means malloc. Returns NULL
 * when there is not enough memory.
 *
 * After fork() the workers exist in the parent only. In the child, every chunk runs on the caller's thread, with the same bits,
 * gr_tape_threads is 1, and gr_pool_free does not wait for any thread. The child may make new pools. The same holds for tapes
 * with threads. If another thread was in a call with a tape when the process forked, the child may only free that tape. */
GR_API gr_pool *gr_pool_new(int threads, const gr_allocator *allocator);
GR_API void gr_pool_free(gr_pool *p);

typedef void gr_task(void *argument, size_t chunk, int thread); /* thread: 0 .. threads-1 */

#endif
