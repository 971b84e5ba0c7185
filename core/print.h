/* core/print.h - tensors and graphs as text, to a FILE of the caller's; nothing is printed when out is NULL. A decimal point
 * is a point in every locale, here and in all that the library prints and says. */
#ifndef GR_PRINT_H
#define GR_PRINT_H
#include "core/tensor.h"
#include <stdio.h>
GR_BEGIN

/* Shape and values: long axes are abbreviated to their first and last three entries.
 *     [2, 3]
 *     [[ 1.0000,  2.0000,  3.0000],
 *      [ 4.0000,  5.0000, -6.0000]]
 * x NULL prints "NULL", and a dead x the line that says so. */
GR_API void gr_print(const gr_tensor *x, FILE *out);

/* What the tape has recorded since its last reset, a line per operator in the order of execution: number, operator, shape of
 * its outputs, and where its inputs come from (a number, a parameter's name, or "input"). */
GR_API void gr_print_graph(const gr_tape *t, FILE *out);

/* The same as a graph for Graphviz: gr_print_dot(t, f), then dot -Tsvg. */
GR_API void gr_print_dot(const gr_tape *t, FILE *out);

GR_END
#endif
