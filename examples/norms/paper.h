/* examples/norms/paper.h - a calculation as on paper: a line is a label and values in columns, and at its end stands whether the library
 * has the same. */
#ifndef NORMS_PAPER_H
#define NORMS_PAPER_H
#include "core/tensor.h"
#include <stdio.h>

typedef struct {
    gr_tape *t;
    FILE *out;                     /* NULL: nothing is printed */
    size_t columns, lines, wrong; /* columns of values before the mark; lines checked, lines that differed */
} norms_paper;

enum { NORMS_PAPER_LABEL = 30, NORMS_PAPER_COLUMN = 10, NORMS_PAPER_COLUMNS = 8 }; /* widths; more values than columns go on in the next line */

/* Words, as printf has them. */
void norms_paper_text(const norms_paper *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* n values and the mark: "ok" when all are within tolerance of the library's, relative to the largest of them or to scale, the size of what
 * was added up to get them, if that is larger (4e-6; in double 1e-12). library NULL: a line that is given, without a mark.
 * Nothing is printed or counted on a tape in error. */
void norms_paper_line(norms_paper *p, const char *label, const double *value, size_t n, double scale, const gr_real *library);

/* A statement that must hold, and its mark. */
void norms_paper_holds(norms_paper *p, bool holds, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
