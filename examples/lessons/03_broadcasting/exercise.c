/* exercise.c - broadcasting, and its backward. Write the three parts marked TODO; everything else is there.
 * Check it as often as you like:   make grade N=3                                                                     */
#include "gradus.h"

bool my_shape(gr_shape a, gr_shape b, gr_shape *to);
size_t my_index(gr_shape large, size_t i, gr_shape small);
void my_sum_to(gr_shape large, const double *dy, gr_shape small, double *dx);

/* The shape of a + b, written to *to. Returns false if a and b do not fit. A shape s has s.rank axes; their sizes are s.dim[0], s.dim[1] .. */
bool my_shape(gr_shape a, gr_shape b, gr_shape *to)
{
    /* TODO 1. Compare the sizes from the last axis to the first; an axis that a shape lacks counts as 1. Two sizes fit if they are equal,
     * or if one of them is 1: then the result has the other. */
    (void)a, (void)b, (void)to; /* remove this line */
    return false;               /* remove this line */
}

/* Value i of a large tensor uses which value of a small one? The small shape fits into the large one. */
size_t my_index(gr_shape large, size_t i, gr_shape small)
{
    /* TODO 2. From the last axis to the first: find the index of value i along this axis of the large tensor, and take it out of i. If the small
     * tensor has this axis, and its size there is not 1, its value has the same index; if the size is 1, it has index 0. */
    (void)large, (void)i, (void)small; /* remove this line */
    return 0;                          /* remove this line */
}

/* Add to dx, the gradient of the small tensor, what comes from dy, the gradient of the large one. */
void my_sum_to(gr_shape large, const double *dy, gr_shape small, double *dx)
{
    /* TODO 3. Each value of dy goes to one value of dx; my_index says to which. A tensor has as many values as the product of
     * its sizes; 1 for rank 0. */
    (void)large, (void)dy, (void)small, (void)dx; /* remove this line */
}
