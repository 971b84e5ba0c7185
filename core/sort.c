/* core/sort.c - heapsort: it needs no recursion and no memory, and takes n log n comparisons in the worst case. */
#include "core/base.h"

static void sort_swap(char *a, char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char c = a[i];
        a[i] = b[i], b[i] = c;
    }
}

static void sort_sift(char *base, size_t root, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && compare(base + child * size, base + (child + 1) * size) < 0) child++;
        if (compare(base + root * size, base + child * size) >= 0) return;
        sort_swap(base + root * size, base + child * size, size);
    }
}

void gr__sort(void *base, size_t n, size_t size, int (*compare)(const void *a, const void *b))
{
    char *const p = base;
    for (size_t i = n / 2; i-- > 0;) sort_sift(p, i, n, size, compare);
    for (size_t i = n; i-- > 1;) sort_swap(p, p + i * size, size), sort_sift(p, 0, i, size, compare);
}
