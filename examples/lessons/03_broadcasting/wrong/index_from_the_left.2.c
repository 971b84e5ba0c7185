/* In the style of another hand: coordinates in an array. */
#include "gradus.h"

bool my_shape(gr_shape a, gr_shape b, gr_shape *to);
size_t my_index(gr_shape large, size_t i, gr_shape small);
void my_sum_to(gr_shape large, const double *dy, gr_shape small, double *dx);

static size_t size_at(gr_shape s, int from_the_end) { return from_the_end < s.rank ? s.dim[s.rank - 1 - from_the_end] : 1; }

bool my_shape(gr_shape a, gr_shape b, gr_shape *to)
{
    to->rank = a.rank;
    if (b.rank > a.rank) to->rank = b.rank;
    for (int k = 0; k < to->rank; k++) {
        size_t *out = &to->dim[to->rank - 1 - k];
        if (size_at(a, k) == size_at(b, k) || size_at(b, k) == 1) *out = size_at(a, k);
        else if (size_at(a, k) == 1) *out = size_at(b, k);
        else return false;
    }
    return true;
}

size_t my_index(gr_shape large, size_t i, gr_shape small)
{
    size_t at[8], index = 0;
    for (int k = large.rank - 1; k >= 0; k--) at[k] = i % large.dim[k], i /= large.dim[k];
    for (int k = 0; k < small.rank; k++) index = index * small.dim[k] + (small.dim[k] == 1 ? 0 : at[k]);
    return index;
}

void my_sum_to(gr_shape large, const double *dy, gr_shape small, double *dx)
{
    size_t n = 1;
    for (int k = 0; k < large.rank; k++) n *= large.dim[k];
    for (size_t i = 0; i < n; i++) dx[my_index(large, i, small)] += dy[i];
}
