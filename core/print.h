/* core/print.h - print tensors and graphs to a FILE. Nothing is printed when out is NULL. The decimal point is a point in every locale, here and
 * in all other texts of the library. */
#ifndef GR_PRINT_H
#define GR_PRINT_H
#include "core/tensor.h"
#include <stdio.h>

/* Print the shape and the values of x. Of a long axis, only the first and the last three entries are printed.
 *     [2, 3]
 *     [[ 1.0000,  2.0000,  3.0000],
 *      [ 4.0000,  5.0000, -6.0000]]
 * It prints "NULL" when x is NULL, and says so when x is dead. */
GR_API void gr_print(const gr_tensor *x, FILE *out);
GR_API void gr_print_ints(const gr_ints *x, FILE *out); /* gr_print for integers: [1, -20] */

/* Print the operators that the tape has recorded since its last reset, one on each line, in the order of execution: its number, its name, the
 * shapes of its outputs, and where its inputs come from (the number of an operator, the name of a parameter, or "input"). gr_print_graph and
 * gr_print_dot print nothing when the tape is in error, or when there is not enough memory for a list of the operators. */
GR_API void gr_print_graph(const gr_tape *t, FILE *out);

/* Print the same graph in the language of Graphviz, for `dot -Tsvg`. */
GR_API void gr_print_dot(const gr_tape *t, FILE *out);

#endif
