/* tests/plot.h - what a figure looks like as text. */
#ifndef GR_TEST_PLOT_H
#define GR_TEST_PLOT_H
#include "examples/plot/figure.h"
#include "tests/test.h"

/* What writer writes of f, until the next call. */
static inline const char *written(void (*writer)(FILE *out, const plot_figure *f), const plot_figure *f)
{
    static char *bytes;
    size_t n;
    free(bytes);
    FILE *const out = open_memstream(&bytes, &n);
    writer(out, f), fclose(out);
    return bytes;
}

#endif
