/* The first axis is the fastest. */
#include "gradus.h"

bool my_shape(gr_shape a, gr_shape b, gr_shape *to);
size_t my_index(gr_shape large, size_t i, gr_shape small);
void my_sum_to(gr_shape large, const double *dy, gr_shape small, double *dx);

/* The shape of a + b, written to *to. Returns false if a and b do not fit. A shape s has s.rank axes; their sizes are s.dim[0], s.dim[1] .. */
bool my_shape(gr_shape a, gr_shape b, gr_shape *to)
{
    to->rank = a.rank > b.rank ? a.rank : b.rank;
    for (int k = 1; k <= to->rank; k++) { /* axis k from the end */
        const size_t m = k <= a.rank ? a.dim[a.rank - k] : 1, n = k <= b.rank ? b.dim[b.rank - k] : 1;
        if (m != n && m != 1 && n != 1) return false;
        to->dim[to->rank - k] = m == 1 ? n : m;
    }
    return true;
}

/* Value i of a large tensor uses which value of a small one? The small shape fits into the large one. */
size_t my_index(gr_shape large, size_t i, gr_shape small)
{
    size_t at = 0, step = 1;
    for (int k = 0; k < large.rank; k++) {
        const int j = k - (large.rank - small.rank);
        const size_t index = i % large.dim[k], size = j >= 0 ? small.dim[j] : 1;
        if (size != 1) at += index * step;
        step *= size;
        i /= large.dim[k];
    }
    return at;
}

/* Add to dx, the gradient of the small tensor, what comes from dy, the gradient of the large one. */
void my_sum_to(gr_shape large, const double *dy, gr_shape small, double *dx)
{
    size_t len = 1;
    for (int k = 0; k < large.rank; k++) len *= large.dim[k];
    for (size_t i = 0; i < len; i++) dx[my_index(large, i, small)] += dy[i];
}
