/* core/memory.h - allocators, and arithmetic with sizes that detects overflow. */
#ifndef GR_MEMORY_H
#define GR_MEMORY_H
#include "core/real.h"
#include <stdbool.h>
#include <stddef.h>

/* The tape takes all memory from one allocator (gr_tape_config.allocator). alloc returns bytes (more than 0) aligned to 64, or NULL when there is
 * not enough memory. release frees p, and is told the same number of bytes. Only the tape's own thread calls them. A program fills the fields. */
typedef struct {
    void *(*alloc)(void *context, size_t bytes);
    void (*release)(void *context, void *p, size_t bytes);
    void *context;
} gr_allocator;

GR_API gr_allocator gr_default_allocator(void); /* malloc and free */
/* Memory filled with zeros, which the caller frees with gr_memory_free; NULL when there is not enough. bytes may be 0. */
GR_API void *gr_memory_new(const gr_allocator *a, size_t bytes);
GR_API void gr_memory_free(const gr_allocator *a, void *p, size_t bytes); /* bytes as given to gr_memory_new; p may be NULL, and *a may lie in it */

/* *out = a * b, and *out = a + b. When the result does not fit, they return false and *out is SIZE_MAX. out may be NULL. */
GR_API bool gr_size_mul(size_t a, size_t b, size_t *out);
GR_API bool gr_size_add(size_t a, size_t b, size_t *out);

#endif
