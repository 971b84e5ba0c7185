/* examples/invariance.c - which changes of weights and inputs a normalized layer ignores: Table 1 of the LayerNorm paper, measured.
 *
 * The layer is y = norm(X W^T) with random X and W, for batch norm, weight norm, layer norm and RMS norm. Six transformations change W or X,
 * and theory says for each norm whether y stays the same (Ba, Kiros, Hinton 2016, Table 1; Zhang, Sennrich 2019). The program prints three
 * numbers for each of the 24 cells:
 *     output     the largest change of y, relative to the largest value of y
 *     gradient   the change of the other gradient: dX if W was transformed, dW if X was
 *     along      the cosine between the gradient and the direction of the transformation; 0 where y does not change
 * A "yes" passes if the changes are only rounding, a "no" if they are large.
 *
 * The paper's text (5.1) says that all three norms are invariant to re-scaling the dataset; its table says that weight norm is not. The table
 * is right. epsilon is 0 by default; --eps=1e-5 shows how much invariance a small epsilon costs.
 *
 * Run:   examples/invariance           (under a second; in double after make REAL=double)
 * Exit:  0, or 1 if a cell disagrees with theory; 2 wrong flag.
 */
#include "examples/kit/kit.h"
#include "examples/norms/invariance.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

static kit_options o = { .seed = 42 };
static double eps;

static const kit_flag flag[] = {
    { "eps", KIT_NUMBER, &eps, "X", "epsilon of the norms", 0, 1 },
    KIT_FLAGS_RUN(o, "no effect: the program always exits with 1 if a cell disagrees with theory"),
};
static const kit_flags flags = { "invariance", "which changes of weights and inputs a normalized layer ignores", flag,
                                 sizeof flag / sizeof *flag };

/* What the conclusion needs: how far each cell moves that should be invariant, and, negative, each of the others. */
enum { CELLS = NORMS_METHODS * NORMS_CHANGES };
typedef struct {
    size_t n, yes[NORMS_METHODS], disagree;
    double moves[CELLS], stays[CELLS];
    char name[CELLS][64];
} seen;

static void note(seen *s, size_t method, size_t c, const norms_moved *moved, bool ok)
{
    const double larger = kit_larger(moved->output, moved->gradient), smaller = moved->output < moved->gradient ? moved->output : moved->gradient;
    const bool yes = norms_invariant(method, c);
    s->disagree += !ok, s->yes[method] += yes && ok;
    s->moves[s->n] = yes ? larger : (double)NAN, s->stays[s->n] = yes ? (double)NAN : -smaller;
    snprintf(s->name[s->n++], sizeof *s->name, "%s, %s", norms_method_name[method], norms_change_name[c]);
}

static void conclude(const seen *s)
{
    kit_list counts = { 0 }, most = { 0 }, least = { 0 };
    const char *name[CELLS];
    for (size_t m = 0; m < NORMS_METHODS; m++) kit_list_add(&counts, "%s %zu", norms_method_name[m], s->yes[m]);
    for (size_t i = 0; i < s->n; i++) name[i] = s->name[i];
    const size_t moves = kit_largest(&most, s->moves, name, s->n, 2), stays = kit_largest(&least, s->stays, name, s->n, 2);
    kit_conclude();
    kit_conclude_say("Each norm ignores some of the %d changes, so that its output and gradient stay the same: %s.", NORMS_CHANGES, counts.text);
    if (moves == s->n || stays == s->n) return;
    kit_conclude_say("Where theory says yes, the largest change measured is %.2g (%s). Where it says no, the smallest is %.2g (%s).", s->moves[moves],
                     most.text, -s->stays[stays], least.text);
    if (s->disagree)
        kit_conclude_say("%zu %s with theory%s.", s->disagree, s->disagree == 1 ? "cell disagrees" : "cells disagree",
                         eps > 0 ? ": an epsilon that is not small beside the variance breaks the invariance to scale" : "");
    else if (s->moves[moves] > 0)
        kit_conclude_say("The two are a factor of %.0e apart, so no cell is in doubt.", -s->stays[stays] / s->moves[moves]);
}

/* Measure, print and log one cell. Returns whether it agrees with theory. */
static bool test_cell(kit_run *r, const norms_invariance *v, size_t c, seen *s)
{
    const norms_moved moved = norms_invariance_move(r->tape, v, c);
    const char *const method = norms_method_name[v->method];
    const bool yes = norms_invariant(v->method, c), ok = norms_invariance_ok(v->method, c, &moved);
    if (gr_failed(r->tape)) return false;
    note(s, v->method, c, &moved, ok);
    if (!r->o->quiet || !ok)
        printf("%-12s  %-24s  %-3s  %9.2g  %9.2g  %9.2g  %s\n", method, norms_change_name[c], yes ? "yes" : "no", moved.output,
               moved.gradient, moved.along, ok ? "PASS" : "FAIL");
    kit_log_write(r->tape, &r->log, "cell", { "method", .text = method }, { "change", .text = norms_change_name[c] }, { "invariant", yes },
                  { "output", moved.output }, { "gradient", moved.gradient }, { "along", moved.along }, { "ok", ok });
    return ok;
}

static bool test_half(kit_run *r, const norms_invariance *v)
{
    const double off = norms_invariance_half(r->tape, v);
    const bool ok = norms_invariance_half_ok(off);
    if (!r->o->quiet || !ok)
        printf("%-12s  twice the weights give half the gradient: error %.2g  %s\n", norms_method_name[v->method], off,
               ok ? "PASS" : "FAIL");
    return ok;
}

int main(int argc, char **argv)
{
    kit_run r;
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;

    norms_invariance v;
    char what[128];
    size_t good = 0;
    snprintf(what, sizeof what, "%d cases of %d values, %d units, %s, epsilon %g", NORMS_CASES, NORMS_INPUTS, NORMS_UNITS,
             sizeof(gr_real) == sizeof(double) ? "double" : "float", eps);
    if (kit_run_begin(&r, what)) {
        seen s = { 0 };
        if (!o.quiet) {
            putchar('\n');
            kit_wrap(stdout, 0, "yes, no: whether theory says that the norm ignores the change. output, gradient: the largest change measured, relative to "
                                "the largest value. along: the cosine between the gradient and the change. PASS: measured as in theory.");
            printf("\n%-12s  %-24s  %-3s  %9s  %9s  %9s\n", "", "", "", "output", "gradient", "along");
        }
        for (size_t m = 0; m < NORMS_METHODS && !gr_failed(r.tape); m++) {
            norms_invariance_begin(r.tape, &v, m, o.seed, eps);
            for (size_t c = 0; c < NORMS_CHANGES && !gr_failed(r.tape); c++) good += test_cell(&r, &v, c, &s);
            good += test_half(&r, &v);
        }
        r.missed = good < NORMS_METHODS * (NORMS_CHANGES + 1);
        if (!o.quiet && !gr_failed(r.tape)) conclude(&s), putchar('\n');
        if (!gr_failed(r.tape)) printf("%zu of %d agree with theory\n", good, NORMS_METHODS * (NORMS_CHANGES + 1));
    }
    return kit_run_end(&r);
}
