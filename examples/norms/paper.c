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

/* How the values of a line are printed. */
typedef struct {
    double rounding; /* what is at most this is only rounding error, and is printed as 0 */
    bool plain;      /* %f instead of %g */
    int digits;
} line_format;

static int put_value(char *text, size_t bytes, const line_format *f, double v)
{
    return snprintf(text, bytes, f->plain ? "%.*f" : "%.*g", f->digits, fabs(v) <= f->rounding ? 0.0 : v);
}

/* Four digits, or as many as leave a blank before every value of the line. %.1g needs at most 7 characters. */
static line_format format_of(const double *value, size_t n, double scale)
{
    char text[400];
    double most = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(value[i])) most = fmax(most, fabs(value[i]));
    line_format f = { .rounding = 1e-6 * fmax(most, isfinite(scale) ? scale : 0), .digits = 4 };
    f.plain = most <= f.rounding || (most >= 0.01 && most < 1e5);
    for (size_t i = 0; i < n; i++)
        while (f.digits > 1 && put_value(text, sizeof text, &f, value[i]) >= NORMS_PAPER_COLUMN) f.digits--;
    return f;
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
    const line_format format = format_of(value, n, scale);
    char text[400];
    fprintf(p->out, "  %-*s", NORMS_PAPER_LABEL, label);
    for (size_t i = 0; i < n; i++, column++) {
        if (i && i % NORMS_PAPER_COLUMNS == 0) fprintf(p->out, "\n%*s", NORMS_PAPER_LABEL + 2, ""), column = 0;
        put_value(text, sizeof text, &format, value[i]);
        fprintf(p->out, "%*s", NORMS_PAPER_COLUMN, text);
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
