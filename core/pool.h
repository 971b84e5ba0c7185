/* core/pool.h - threads. A region of n chunks gives chunk i to thread i * threads / n; what a chunk is depends on shapes only, so
 * the result does not depend on the number of threads. */
#ifndef GR_POOL_H
#define GR_POOL_H
#include "core/memory.h"
GR_BEGIN

typedef struct gr_pool gr_pool;

/* threads includes the caller. Workers spin for some tens of microseconds after a region, then park. When the system refuses
 * threads, the pool runs with those it got (gr_pool_threads). NULL when memory is out. allocator NULL: malloc.
 *
 * After fork() the workers exist in the parent only. In the child the pool runs every region on the caller's thread, with the same bits,
 * and gr_pool_threads is 1; gr_pool_free frees it there without waiting for anyone. The child may make new pools. This holds for tapes
 * with threads, too. If another thread was in a call with a tape when the process forked, the child may only free that tape. */
GR_API gr_pool *gr_pool_new(int threads, const gr_allocator *allocator);
GR_API void gr_pool_free(gr_pool *p);
GR_API int gr_pool_threads(const gr_pool *p); /* 1 for NULL, and in a forked child */

typedef void gr_task(void *argument, size_t chunk, int thread); /* thread: 0 .. threads-1 */
/* Run f on every chunk and return when all are done. Not to be nested. p NULL: the caller's thread runs them in order. */
GR_API void gr_pool_run(gr_pool *p, size_t chunks, gr_task *f, void *argument);

GR_END
#endif
