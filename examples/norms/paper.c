/* examples/norms/paper.c - lines of a calculation. */
#include "examples/norms/paper.h"
#include <math.h>
#include <stdarg.h>

void norms_paper_text(const norms_paper *p, const char *format, ...)
{
    va_list arguments;
    if (!p->out || gr_failed(p->t)) return;
    va_start(arguments, format);
    vfprintf(p->out, format, arguments);
    va_end(arguments);
}

double norms_largest(const double *v, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(v[i]));
    return most;
}

/* Print a value, or 0 if it is only rounding error relative to the size of the line. */
static void print_value(const norms_paper *p, double v, double most, double scale)
{
    const double rounding = 1e-6 * fmax(most, scale);
    const bool plain = most <= rounding || (most >= 0.01 && most < 1e5);
    fprintf(p->out, plain ? "%*.4f" : "%*.4g", NORMS_PAPER_COLUMN, fabs(v) <= rounding ? 0.0 : v);
}

void norms_paper_line(norms_paper *p, const char *label, const double *value, size_t n, double scale, const gr_real *library)
{
    if (gr_failed(p->t)) return;
    const double most = norms_largest(value, n), tolerance = (sizeof(gr_real) == sizeof(float) ? 4e-6 : 1e-12) * fmax(most, scale);
    size_t at = n;
    for (size_t i = n; library && i-- > 0;)
        if (!(fabs(value[i] - (double)library[i]) <= tolerance)) at = i;
    p->lines += library != NULL, p->wrong += at < n;
    if (!p->out) return;

    const size_t columns = p->columns < NORMS_PAPER_COLUMNS ? p->columns : NORMS_PAPER_COLUMNS;
    size_t column = 0;
    fprintf(p->out, "  %-*s", NORMS_PAPER_LABEL, label);
    for (size_t i = 0; i < n; i++, column++) {
        if (i && i % NORMS_PAPER_COLUMNS == 0) fprintf(p->out, "\n%*s", NORMS_PAPER_LABEL + 2, ""), column = 0;
        print_value(p, value[i], most, scale);
    }
    if (library) fprintf(p->out, "%*s", column < columns ? (int)(columns - column) * NORMS_PAPER_COLUMN : 0, "");
    if (library && at == n) fprintf(p->out, "   ok");
    if (at < n) fprintf(p->out, "   DIFFERS: value %zu is %.9g, the library has %.9g", at + 1, value[at], (double)library[at]);
    fputc('\n', p->out);
}

void norms_paper_holds(norms_paper *p, bool holds, const char *format, ...)
{
    va_list arguments;
    if (gr_failed(p->t)) return;
    p->lines++, p->wrong += !holds;
    if (!p->out) return;
    va_start(arguments, format);
    fprintf(p->out, "  ");
    vfprintf(p->out, format, arguments);
    fprintf(p->out, ": %s\n", holds ? "ok" : "DIFFERS");
    va_end(arguments);
}
