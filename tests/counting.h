/* tests/counting.h - how much work a call does, without a clock: this program's strcmp and strncmp count how often they are called, in the
 * library too. A search through a list in a loop shows as a count that grows with the square. */
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

/* Work for n and for 2 n, of a function that says how often it compared: it grows like n log n, not like n^2. */
typedef size_t counted_program(size_t n);
static inline void assert_nearly_linear(counted_program *f, size_t n)
{
    const size_t once = f(n), twice = f(2 * n);
    if (twice > 2 * once + once / 2) fail_msg("%zu comparisons for %zu, %zu for %zu", once, n, twice, 2 * n);
}
#endif
