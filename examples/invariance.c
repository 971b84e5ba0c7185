/* examples/invariance.c - what a normalized layer does not notice: Table 1 of the LayerNorm paper, measured.
 *
 * y = norm(X W^T) for batch, weight, layer and RMS norm, of random X and W. Six transformations of W or X; theory says for each norm
 * whether y stays (Ba, Kiros, Hinton 2016, Table 1; Zhang, Sennrich 2019). For each of the 24 cells three numbers:
 *     output     how far y moved, relative to its largest value
 *     gradient   how far the other gradient moved: dX if W was transformed, else dW
 *     along      the cosine between the gradient and the direction of the transformation: where y does not notice, no step is taken
 * A "yes" must be rounding, and a "no" must be large: a norm that did nothing would pass the first alone.
 *
 * The paper's text (5.1) says that all three are invariant to re-scaling the dataset; its table says that weight norm is not. The table
 * is right. epsilon is 0 here: --eps=1e-5 shows how much of the invariance it takes away.
 *
 * Run:   examples/invariance           (at once; in double after make REAL=double)
 * Exit:  0, or 1 when a cell is not as theory says; 2 a bad flag.
 */
#include "examples/kit/kit.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

static kit_options o = { .seed = 42 };
static double eps;

static const kit_flag flag[] = {
    { "eps", KIT_NUMBER, &eps, "X", "the epsilon of the norms", 0, 1 },
    KIT_FLAGS_RUN(o, "nothing: any cell that is not as theory says makes it exit 1"),
};
static const kit_flags flags = { "invariance", "what a normalized layer does not notice", flag, sizeof flag / sizeof *flag };

enum { N = 24, D = 12, H = 16 }; /* cases, inputs, units */
typedef struct {
    gr_real x[N * D], w[H * D];
} problem;
typedef struct {
    gr_real y[N * H], dx[N * D], dw[H * D];
} answer;

/* ---- Methods: x [N, D], w [H, D] to y [N, H] ---- */

static gr_tensor *batch_norm(gr_tape *t, gr_tensor *x, gr_tensor *w)
{
    const gr_batch_norm_options options = { .eps = eps > 0 ? eps : GR_NONE };
    return gr_batch_norm(t, gr_linear_op(t, x, w, NULL), 1, NULL, NULL, &options);
}
static gr_tensor *weight_norm(gr_tape *t, gr_tensor *x, gr_tensor *w) /* each unit's weights, to length 1: Salimans, Kingma 2016 */
{
    gr_tensor *length = gr_sqrt(t, gr_add(t, gr_sum(t, gr_mul(t, w, w), GR_AXES(1), true), gr_scalar(t, eps)));
    return gr_linear_op(t, x, gr_div(t, w, length), NULL);
}
static gr_tensor *layer_norm(gr_tape *t, gr_tensor *x, gr_tensor *w)
{
    return gr_layer_norm(t, gr_linear_op(t, x, w, NULL), 1, NULL, NULL, eps);
}
static gr_tensor *rms_norm(gr_tape *t, gr_tensor *x, gr_tensor *w) { return gr_rms_norm(t, gr_linear_op(t, x, w, NULL), 1, NULL, eps); }

/* ---- Transformations ---- */

static const gr_real factor = 3.7f;
enum { UNIT = 5, CASE = 7 };

static void scale(gr_real *v, size_t n)
{
    for (size_t i = 0; i < n; i++) v[i] *= factor;
}

/* The same D values, added to each row. */
static void shift(gr_real *v, size_t rows)
{
    gr_stream s = gr_stream_new(o.seed, "shift");
    gr_real by[D];
    for (int k = 0; k < D; k++) by[k] = (gr_real)gr_stream_normal(&s, 0, 1);
    for (size_t i = 0; i < rows * D; i++) v[i] += by[i % D];
}

static void scale_weights(problem *p) { scale(p->w, H * D); }
static void shift_weights(problem *p) { shift(p->w, H); }
static void scale_unit(problem *p) { scale(p->w + (size_t)UNIT * D, D); }
static void scale_data(problem *p) { scale(p->x, N * D); }
static void shift_data(problem *p) { shift(p->x, N); }
static void scale_case(problem *p) { scale(p->x + (size_t)CASE * D, D); }

/* ---- The table of theory ---- */

/* Along which directions of its matrix a transformation moves: the matrix itself, each of its rows, or ones in each of its columns. */
typedef enum { WHOLE, ROWS, COLUMNS } directions;
enum { METHODS = 4, CHANGES = 6 };
static const struct {
    const char *name;
    gr_tensor *(*f)(gr_tape *t, gr_tensor *x, gr_tensor *w);
} method[METHODS] = {
    { "batch norm", batch_norm }, { "weight norm", weight_norm }, { "layer norm", layer_norm }, { "RMS norm", rms_norm }
};
static const struct {
    const char *name;
    void (*apply)(problem *p);
    bool of_data;
    directions along;
    const char *invariant; /* a letter a method */
} change[CHANGES] = {
    { "weight matrix re-scaled", scale_weights, false, WHOLE, "yyyy" },
    { "weight matrix re-centred", shift_weights, false, COLUMNS, "nnyn" },
    { "weight vector re-scaled", scale_unit, false, ROWS, "yynn" },
    { "dataset re-scaled", scale_data, true, WHOLE, "ynyy" },
    { "dataset re-centred", shift_data, true, COLUMNS, "ynnn" },
    { "single case re-scaled", scale_case, true, ROWS, "nnyy" },
};

/* ---- Measuring ---- */

static void solve(gr_tape *t, size_t m, const problem *p, answer *a)
{
    gr_tape_reset(t);
    gr_tensor *x = gr_want_grad(t, gr_input(t, p->x, GR_SHAPE(N, D))), *w = gr_want_grad(t, gr_input(t, p->w, GR_SHAPE(H, D)));
    gr_tensor *y = method[m].f(t, x, w);
    gr_stream s = gr_stream_new(o.seed, "cotangent");
    gr_real dy[N * H];
    for (int i = 0; i < N * H; i++) dy[i] = (gr_real)gr_stream_normal(&s, 0, 1);
    if (!gr_backward_from(t, y, dy)) return;
    memcpy(a->y, y->data, sizeof a->y);
    memcpy(a->dx, gr_grad(t, x), sizeof a->dx), memcpy(a->dw, gr_grad(t, w), sizeof a->dw);
}

/* max |a - b| / max |b| */
static double moved(const gr_real *a, const gr_real *b, size_t n)
{
    double most = 0, largest = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)a[i] - (double)b[i])), largest = fmax(largest, fabs((double)b[i]));
    return most / largest;
}

static double cosine(const gr_real *g, const gr_real *direction, size_t n, size_t stride)
{
    double dot = 0, gg = 0, dd = 0;
    for (size_t i = 0; i < n; i++) {
        const double a = (double)g[i * stride], b = direction ? (double)direction[i * stride] : 1;
        dot += a * b, gg += a * a, dd += b * b;
    }
    return gg > 0 ? fabs(dot) / sqrt(gg * dd) : 0;
}

/* The largest cosine between the gradient g of v [rows, D] and one of the directions. */
static double steepest(directions along, const gr_real *g, const gr_real *v, size_t rows)
{
    double most = along == WHOLE ? cosine(g, v, rows * D, 1) : 0;
    for (size_t i = 0; along == ROWS && i < rows; i++) most = fmax(most, cosine(g + i * D, v + i * D, D, 1));
    for (size_t k = 0; along == COLUMNS && k < D; k++) most = fmax(most, cosine(g + k, NULL, rows, D));
    return most;
}

/* One cell: print and log it. Returns whether it is as theory says. */
static bool test_cell(kit_run *r, size_t m, size_t c, const problem *p, const answer *before)
{
    static const double none = sizeof(gr_real) == sizeof(double) ? 1e-13 : 1e-5, much = 0.1, slope = 0.01;
    problem transformed = *p;
    answer after;
    change[c].apply(&transformed);
    solve(r->tape, m, &transformed, &after);
    if (gr_failed(r->tape)) return false;
    const double output = moved(after.y, before->y, N * H);
    const double gradient = change[c].of_data ? moved(after.dw, before->dw, H * D) : moved(after.dx, before->dx, N * D);
    const double along =
        change[c].of_data ? steepest(change[c].along, before->dx, p->x, N) : steepest(change[c].along, before->dw, p->w, H);
    const bool yes = change[c].invariant[m] == 'y';
    const bool ok = yes ? output <= none && gradient <= none && along <= none : output >= much && gradient >= much && along >= slope;
    if (!r->o->quiet || !ok)
        printf("%-12s  %-24s  %-3s  %9.2g  %9.2g  %9.2g  %s\n", method[m].name, change[c].name, yes ? "yes" : "no", output, gradient, along,
               ok ? "PASS" : "FAIL");
    kit_log_write(r->tape, &r->log, "cell", { "method", .text = method[m].name }, { "change", .text = change[c].name },
                  { "invariant", yes }, { "output", output }, { "gradient", gradient }, { "along", along }, { "ok", ok });
    return ok;
}

/* Twice the weights, half the gradient: so a step turns them half as far, and weights that grow learn ever more slowly. */
static bool test_half(kit_run *r, size_t m, const problem *p, const answer *before)
{
    problem twice = *p;
    answer after;
    for (size_t i = 0; i < H * D; i++) twice.w[i] *= 2;
    solve(r->tape, m, &twice, &after);
    for (size_t i = 0; i < H * D; i++) after.dw[i] *= 2;
    const double off = gr_failed(r->tape) ? 1 : moved(after.dw, before->dw, H * D);
    const bool ok = off <= (sizeof(gr_real) == sizeof(double) ? 1e-13 : 1e-5);
    if (!r->o->quiet || !ok)
        printf("%-12s  twice the weights, half the gradient: off by %.2g  %s\n", method[m].name, off, ok ? "PASS" : "FAIL");
    return ok;
}

int main(int argc, char **argv)
{
    kit_run r;
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;

    problem p;
    answer before = { .y = { 0 } };
    char what[128];
    size_t good = 0;
    gr_stream s = gr_stream_new(o.seed, "problem");
    for (int i = 0; i < N * D; i++) p.x[i] = (gr_real)gr_stream_normal(&s, 0.5, 1);
    for (int i = 0; i < H * D; i++) p.w[i] = (gr_real)gr_stream_normal(&s, 0.1, 1);
    snprintf(what, sizeof what, "%d cases of %d values, %d units, %s, epsilon %g", N, D, H,
             sizeof(gr_real) == sizeof(double) ? "double" : "float", eps);
    if (kit_run_begin(&r, what)) {
        if (!o.quiet) printf("\n%-12s  %-24s  %-3s  %9s  %9s  %9s\n", "", "", "", "output", "gradient", "along");
        for (size_t m = 0; m < METHODS && !gr_failed(r.tape); m++) {
            solve(r.tape, m, &p, &before);
            for (size_t c = 0; c < CHANGES && !gr_failed(r.tape); c++) good += test_cell(&r, m, c, &p, &before);
            good += test_half(&r, m, &p, &before);
        }
        r.missed = good < METHODS * (CHANGES + 1);
        if (!gr_failed(r.tape)) printf("%zu of %d are as theory says\n", good, METHODS * (CHANGES + 1));
    }
    return kit_run_end(&r);
}
