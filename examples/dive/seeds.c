/* examples/dive/seeds.c - comparisons over seeds. */
#include "examples/dive/seeds.h"
#include "core/op.h"
#include <math.h>

double *dive_blank(dive *d, size_t n)
{
    double *const x = gr_save(d->r->tape, n * sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = NAN;
    return x;
}

dive_band dive_over_seeds(gr_tape *t, const plot_record *r)
{
    const size_t rows = r && r->shape.rank == 2 ? r->shape.dim[0] : 1, n = r ? r->n / rows : 0;
    dive_band b = {
        .n = n, .mean = gr_save(t, n * sizeof(double)), .low = gr_save(t, n * sizeof(double)), .high = gr_save(t, n * sizeof(double))
    };
    if (!b.mean || !b.low || !b.high) return (dive_band){ 0 };
    for (size_t i = 0; i < n; i++) {
        double sum = 0, low = HUGE_VAL, high = -HUGE_VAL;
        for (size_t k = 0; k < rows; k++) {
            const double x = r->values[k * n + i];
            sum += x, low = fmin(low, x), high = fmax(high, x);
        }
        b.mean[i] = sum / (double)rows, b.low[i] = isnan(sum) ? (double)NAN : low, b.high[i] = isnan(sum) ? (double)NAN : high;
    }
    return b;
}

dive_pair dive_compare(const plot_record *a, const plot_record *b)
{
    dive_pair p = { .a = 0, .b = 0 };
    for (size_t k = 0; a && b && k < a->n && k < b->n; k++) {
        p.a += a->values[k], p.b += b->values[k], p.seeds++;
        p.below += !isnan(a->values[k]) && !(a->values[k] >= b->values[k]);
    }
    p.a = p.seeds ? p.a / (double)p.seeds : (double)NAN, p.b = p.seeds ? p.b / (double)p.seeds : (double)NAN;
    return p;
}

dive_verdict dive_is_below(const dive_pair *p) { return !p->below ? DIVE_FAIL : p->below == p->seeds ? DIVE_PASS : DIVE_DIFFERS; }

dive_verdict dive_together(const dive_verdict *v, size_t n)
{
    size_t pass = 0, fail = 0;
    for (size_t i = 0; i < n; i++) pass += v[i] == DIVE_PASS, fail += v[i] == DIVE_FAIL;
    return pass == n ? DIVE_PASS : fail == n ? DIVE_FAIL : DIVE_DIFFERS;
}

const char *dive_number(char *text, size_t bytes, double x, int digits)
{
    if (isnan(x)) snprintf(text, bytes, "never");
    else snprintf(text, bytes, "%.*f", digits, x);
    return text;
}
