/* tests/counting.h - measure the work of a call without a clock. The strcmp and strncmp below replace those of the C library in the whole
 * program and count their calls. A linear search inside a loop shows as a count that grows quadratically. */
#ifndef GR_COUNTING_H
#define GR_COUNTING_H
#include "tests/failing.h"

static size_t comparisons;

int strcmp(const char *a, const char *b)
{
    comparisons++;
    for (; *a && *a == *b; a++) b++;
    return (unsigned char)*a - (unsigned char)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
    comparisons++;
    for (; n && *a && *a == *b; a++, n--) b++;
    return n ? (unsigned char)*a - (unsigned char)*b : 0;
}

/* f(n) returns its number of comparisons, which must grow like n log n and not like n^2. */
typedef size_t counted_program(size_t n);
static inline void assert_nearly_linear(counted_program *f, size_t n)
{
    const size_t once = f(n), twice = f(2 * n);
    if (twice > 2 * once + once / 2) fail_msg("%zu comparisons for n = %zu, but %zu for n = %zu", once, n, twice, 2 * n);
}
#endif
