/* core/memory.h - the one allocator, and checked sizes. */
#ifndef GR_MEMORY_H
#define GR_MEMORY_H
#include "core/real.h"
#include <stdbool.h>
#include <stddef.h>
GR_BEGIN

/* All memory of the library comes from one of these, given with the tape. alloc returns bytes (> 0) aligned to 64, or NULL;
 * release gets the same bytes back. Both are called from the tape's own thread only. */
typedef struct {
    void *(*alloc)(void *context, size_t bytes);
    void (*release)(void *context, void *p, size_t bytes);
    void *context;
} gr_allocator;

GR_API gr_allocator gr_default_allocator(void); /* the C library's */
GR_API void *gr_memory_new(const gr_allocator *a, size_t bytes); /* zeroed; NULL when out of memory; bytes may be 0 */
GR_API void gr_memory_free(const gr_allocator *a, void *p, size_t bytes); /* p may be NULL */

/* Size arithmetic: false, and *out is SIZE_MAX, when the result does not fit. out may be NULL. */
GR_API bool gr_size_mul(size_t a, size_t b, size_t *out);
GR_API bool gr_size_add(size_t a, size_t b, size_t *out);

GR_END
#endif
