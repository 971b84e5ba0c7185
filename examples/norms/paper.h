/* examples/norms/paper.h - a calculation as on paper. A line has a label and values in columns, and ends with a mark that says whether the
 * library has the same values. */
#ifndef NORMS_PAPER_H
#define NORMS_PAPER_H
#include "core/tensor.h"
#include <stdio.h>

typedef struct {
    gr_tape *t;
    FILE *out;                     /* NULL prints nothing */
    size_t columns, lines, wrong; /* columns of values before the mark; lines checked; lines that differ */
} norms_paper;

enum { NORMS_PAPER_LABEL = 30, NORMS_PAPER_COLUMN = 10, NORMS_PAPER_COLUMNS = 8 }; /* widths; further values stand in the next line */

double norms_largest(const double *v, size_t n); /* the largest |v_i|; 0 when there is none */

/* Print text. */
void norms_paper_text(const norms_paper *p, const char *format, ...) __attribute__((format(GR_PRINTF, 2, 3)));

/* Print n values and a mark. All have four digits, or fewer if a value would touch the one before it. The mark
 * is "ok" when all are within tolerance of the library's: 4e-6 (in double 1e-12) of the largest value, or of
 * scale if that is larger. scale is the size of the terms that were added up, because their rounding remains in the sum. library NULL prints
 * given values without a mark. On a tape in error nothing is printed or counted. */
void norms_paper_line(norms_paper *p, const char *label, const double *value, size_t n, double scale, const gr_real *library);

/* Print a statement that must hold, and its mark. */
void norms_paper_holds(norms_paper *p, bool holds, const char *format, ...) __attribute__((format(GR_PRINTF, 3, 4)));

#endif
