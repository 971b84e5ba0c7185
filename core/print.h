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
 * shapes of its outputs, and where its inputs come from (the number of an operator, the name of a parameter, or "input"). A segment of gr_recompute is
 * one operator, and gr_tape_rewind removes operators from the list. So all tensors of the list live, or belong to a module, which must still exist
 * (gr_module_free). The three printers of a graph print nothing when the tape is NULL or in error, or when there is not enough memory for the list.
 * None sets an error. */
GR_API void gr_print_graph(const gr_tape *t, FILE *out);

/* Print the same list, and below each operator the present values of its tensors, and their gradients. This is a * b with a = [2, 3] and b = [4, 5],
 * when both want a gradient, after a gr_backward_from with dy = [1, 1]:
 *        0  mul              [2]  <- input [2], input [2]
 *           input [2] = [2, 3]
 *             gradient [4, 5]
 *           input [2] = [4, 5]
 *             gradient [2, 3]
 *           output [2] = [8, 15]
 *             gradient [1, 1]
 * An input is printed where it is first used, if it wants a gradient and no operator of the list made it; for a view, its base is printed.
 * Up to 6 values are all printed. Of more, the first 3, the minimum, the mean (their sum divided by their number, in double) and the maximum are
 * printed: [0, 1, 2, ...] min 0, mean 4, max 8. With a NaN the mean is NaN; min and max ignore it. "no gradient" stands where gr_grad returns NULL:
 * no backward came yet, none reached the tensor, or it is inside a Transformer and gr_want_grad did not ask for it. A parameter keeps the gradient of an
 * earlier step until gr_optim_zero_grad. The function needs memory for the list of the operators, and frees it before it returns. */
GR_API void gr_print_graph_values(const gr_tape *t, FILE *out);

/* Print the same graph in the language of Graphviz, for `dot -Tsvg`. */
GR_API void gr_print_dot(const gr_tape *t, FILE *out);

#endif
