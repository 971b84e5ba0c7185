/* ops/parts.c - adds the parts that chunks of rows have summed. See ops/parts.h */
#include "ops/parts.h"
#include "core/kernel.h"

KERNEL(void, parts_add, gr_real *restrict sum, const gr_real *restrict part, size_t parts, size_t stride, size_t n)
{
    for (size_t p = 0; p < parts; p++, part += stride)
        for (size_t i = 0; i < n; i++) sum[i] += part[i];
}

#if GR_HOST
enum { PARTS_COLUMNS = 1024 }; /* columns of sum to a chunk: they stay in the first cache */
typedef struct { gr_real *sum; const gr_real *part; size_t parts, stride; int isa; } parts_job;

static void parts_columns(void *argument, gr_range c)
{
    const parts_job *j = argument;
    parts_add[j->isa](j->sum + c.first, j->part + c.first, j->parts, j->stride, c.count);
}

void gr__add_parts(gr_tape *t, gr_real *sum, const gr_real *part, size_t parts, size_t stride, size_t n)
{
    parts_job j = { sum, part, parts, stride, gr_isa(t) };
    gr__parallel_rows(t, n, PARTS_COLUMNS, 0.1 * (double)(parts * n), parts_columns, &j);
}
#endif
