/* tests/page.h - evaluates the mathematics of a page, in double. Each line that begins with four spaces is evaluated, and so is each `code span` with " = ".
 *
 *     i = 0 .. 1                            the values of an index, which is one letter and keeps its range
 *     x = (2, 3)                            a vector; ((1, 2), (3, 4)) is a matrix
 *     h_0 = (0, 1)   h_tj = h_{t-1,j} + 1   a definition in parts, those of single elements first; a subscript in braces is any expression
 *     c_ij = sum over k of a_ik b_kj        an unknown name on the left is defined: for all i and j. a b is a product
 *                                           The definitions of a paragraph may use each other
 *     d c_ij / d a_lk = [i = l] b_kj        a derivative through all definitions, of dual numbers; [..] is 1 where it holds, otherwise 0; [i <= j], too
 *     D c_ij / D a_lk                       a derivative of the definition of c alone: the names in it, other than a, are constants
 *          = ..                             goes on with the equation before
 *     dx_i += dy_i = (2, 3)                 adds to what dx has; what follows is compared with what is added
 *     p = 2/3 = 0.666..                     the first digits
 *
 * Three spaces part two equations of a line, and what follows a # is a remark. Functions: exp, log, sqrt, tanh; "max over i of".
 * Each side of an equation must equal the next within 1e-12, relative to the larger of both and 1, for all values of its indices. A derivative
 * with respect to a name that has a definition holds that name alone variable: d loss / d s is what s adds to the loss on all paths.
 * A digit in the text outside of equations is an error: nobody would compute it. Blocks between ``` are not read. */
#ifndef GR_PAGE_H
#define GR_PAGE_H
#include <stddef.h>

typedef struct page page;

page *page_new(void);
void page_free(page *p);
/* Evaluate the text. Returns NULL, or what is wrong and on which line; it is owned by p. */
const char *page_read(page *p, const char *text);
/* Before page_read: add random numbers to those of each list that defines a name. An equation with a side of numbers alone is not compared then. */
void page_vary(page *p, unsigned seed);
/* The value of an expression, such as "dx_1", after page_read; NaN when it has none. */
double page_value(page *p, const char *expression);
size_t page_equations(const page *p); /* how many pairs of sides were compared */

#endif
