/* examples/dive/seeds.c - comparisons over seeds. */
#include "examples/dive/seeds.h"
#include "core/op.h"
#include <math.h>
#include <string.h>

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

/* The 97.5th percentile of Student's t with n degrees of freedom. Beyond the table the expansion of Cornish and Fisher is right to 0.01. */
static double student(size_t n)
{
    static const double known[] = { 0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262 };
    if (n < sizeof known / sizeof *known) return n ? known[n] : HUGE_VAL;
    return 1.95996 + 2.372 / (double)n + 2.823 / (double)(n * n);
}

dive_pair dive_compare(const plot_record *a, const plot_record *b, dive_scale scale)
{
    const double factor = scale.factor > 0 ? scale.factor : 1;
    dive_pair p = { .grid = scale.grid, .seeds = a && b ? a->n < b->n ? a->n : b->n : 0 };
    const double n = (double)p.seeds;
    double squares = 0;
    for (size_t k = 0; k < 2 * p.seeds; k++) {
        const double x = a->values[k % p.seeds], y = b->values[k % p.seeds];
        const double difference = (isnan(x) ? scale.worst : x) - factor * (isnan(y) ? scale.worst : y);
        if (k < p.seeds) p.a += x / n, p.b += y / n, p.difference += difference / n, p.below += difference < -scale.grid;
        else squares += (difference - p.difference) * (difference - p.difference);
    }
    p.half = p.seeds > 1 ? student(p.seeds - 1) * sqrt(squares / (n - 1) / n) : HUGE_VAL;
    if (!p.seeds) p.a = p.b = p.difference = NAN;
    return p;
}

/* The verdict about a statement that is true below 0 and false above. */
static dive_verdict below_zero(double difference, double half)
{
    return difference + half < 0 ? DIVE_PASS : difference - half > 0 ? DIVE_FAIL : DIVE_DIFFERS;
}

dive_verdict dive_is_below(const dive_pair *p)
{
    if (p->seeds < DIVE_SEEDS || isnan(p->difference)) return DIVE_SHORT;
    if (fabs(p->difference) + p->half <= p->grid) return DIVE_EQUAL;
    return fabs(p->difference) <= p->grid ? DIVE_DIFFERS : below_zero(p->difference, p->half);
}

dive_verdict dive_is_at_most(const dive_pair *p, double most)
{
    if (p->seeds < DIVE_SEEDS || isnan(p->difference)) return DIVE_SHORT;
    return below_zero(p->difference - most, p->half);
}

const char *dive_interval(plot_figure *f, const dive_pair *p, int digits)
{
    if (p->seeds < 2) return "no interval";
    return plot_figure_text(f, "%+.*f \xc2\xb1 %.*f", digits, p->difference, digits, p->half);
}

const char *dive_why(plot_figure *f, const dive_pair *p, const char *below, const char *above)
{
    if (p->difference - p->half > 0) return plot_figure_text(f, "the interval of the difference is on the other side of 0: %s", above);
    const char *const but =
        p->difference + p->half < 0 ? "the mean difference is within the step of the evaluation" : "the interval includes 0";
    return plot_figure_text(f, "%s in %zu of %s, but %s", below, p->below, dive_count(f->t, p->seeds, "seed", "seeds"), but);
}

const char *dive_verdict_text(plot_figure *f, dive_verdict v, const dive_pair *p, const char *below)
{
    if (v != DIVE_DIFFERS) return dive_verdict_name[v];
    return plot_figure_text(f, "%s (%s in %zu of %zu seeds)", dive_verdict_name[v], below, p->below, p->seeds);
}

dive_verdict dive_together(const dive_verdict *v, size_t n)
{
    size_t count[DIVE_VERDICTS] = { 0 };
    for (size_t i = 0; i < n; i++) count[v[i]]++;
    for (dive_verdict k = 0; k < DIVE_VERDICTS; k++)
        if (n && count[k] == n) return k;
    if (count[DIVE_SHORT] || !n) return DIVE_SHORT;
    return count[DIVE_FAIL] && !count[DIVE_PASS] ? DIVE_FAIL : DIVE_DIFFERS;
}

dive_verdict dive_in_part(dive_verdict all, dive_verdict weaker) { return all != DIVE_PASS && weaker == DIVE_PASS ? DIVE_DIFFERS : all; }

const char *dive_too_short(plot_figure *f, dive_budget b)
{
    if (b.seeds < DIVE_SEEDS && b.steps < b.least)
        return plot_figure_text(f, "%s and %zu steps; this claim needs %d and %zu", dive_count(f->t, b.seeds, "seed", "seeds"), b.steps,
                                (int)DIVE_SEEDS, b.least);
    if (b.seeds < DIVE_SEEDS)
        return plot_figure_text(f, "%s; a verdict needs %d", dive_count(f->t, b.seeds, "seed", "seeds"), (int)DIVE_SEEDS);
    if (b.steps < b.least) return plot_figure_text(f, "%zu steps; this claim needs %zu", b.steps, b.least);
    if (b.best <= b.must) return NULL;
    return plot_figure_text(f, "the networks have learned too little: the best %s is %.3g, and a verdict needs at most %.3g", b.unit,
                            b.best, b.must);
}

const plot_record *dive_constant(gr_tape *t, size_t n, double value)
{
    plot_record *const r = gr_save(t, sizeof *r);
    if (!r) return NULL;
    *r = (plot_record){ .n = n, .shape = GR_SHAPE(n), .values = gr_save(t, n * sizeof *r->values) };
    for (size_t k = 0; r->values && k < n; k++) r->values[k] = value;
    return r->values ? r : NULL;
}

double dive_mean(const plot_record *r)
{
    double sum = 0;
    for (size_t k = 0; r && k < r->n; k++) sum += r->values[k];
    return r && r->n ? sum / (double)r->n : (double)NAN;
}

const char *dive_count(gr_tape *t, size_t n, const char *one, const char *more) { return plot_say(t, "%zu %s", n, n == 1 ? one : more); }

const char *dive_range(gr_tape *t, double low, double high, int digits)
{
    const char *const a = digits < 0 ? plot_say(t, "%.*g", -digits, low) : plot_say(t, "%.*f", digits, low),
                      *const b = digits < 0 ? plot_say(t, "%.*g", -digits, high) : plot_say(t, "%.*f", digits, high);
    return strcmp(a, b) ? plot_say(t, "%s to %s", a, b) : a;
}

const char *dive_number(gr_tape *t, double x, int digits) { return isnan(x) ? "diverged in a seed" : plot_say(t, "%.*f", digits, x); }

const char *dive_mean_text(gr_tape *t, const plot_record *r, int digits, const char *none)
{
    size_t lost = 0;
    for (size_t k = 0; r && k < r->n; k++) lost += isnan(r->values[k]) != 0;
    if (!r || lost == r->n) return none;
    return lost ? plot_say(t, "%s in %zu of %zu seeds", none, lost, r->n) : plot_say(t, "%.*f", digits, dive_mean(r));
}
