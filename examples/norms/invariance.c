/* examples/norms/invariance.c - Table 1 of the LayerNorm paper, measured. */
#include "examples/norms/invariance.h"
#include "examples/norms/norm.h"
#include "examples/kit/program.h"
#include "ops/ops.h"
#include <math.h>
#include <string.h>

enum { N = NORMS_CASES, D = NORMS_INPUTS, H = NORMS_UNITS };

/* ---- Methods: x [N, D], w [H, D] to y [N, H] ---- */

static gr_tensor *batch_norm(gr_tape *t, gr_tensor *x, gr_tensor *w, double eps)
{
    const gr_batch_norm_config options = { .eps = norms_eps(eps) };
    return gr_batch_norm(t, gr_linear(t, x, w, NULL), 1, NULL, NULL, &options);
}
/* Scale each unit's weights to length 1: Salimans, Kingma 2016. */
static gr_tensor *weight_norm(gr_tape *t, gr_tensor *x, gr_tensor *w, double eps)
{
    gr_tensor *length = gr_sqrt(t, gr_add_scalar(t, gr_sum(t, gr_mul(t, w, w), GR_AXES(1), true), eps));
    return gr_linear(t, x, gr_div(t, w, length), NULL);
}
static gr_tensor *layer_norm(gr_tape *t, gr_tensor *x, gr_tensor *w, double eps)
{
    return gr_layer_norm(t, gr_linear(t, x, w, NULL), 1, NULL, NULL, norms_eps(eps));
}
static gr_tensor *rms_norm(gr_tape *t, gr_tensor *x, gr_tensor *w, double eps)
{
    return gr_rms_norm(t, gr_linear(t, x, w, NULL), 1, NULL, norms_eps(eps));
}

/* ---- Transformations ---- */

static const gr_real factor = 3.7f;
enum { UNIT = 5, CASE = 7 };

static void scale(gr_real *v, size_t n)
{
    for (size_t i = 0; i < n; i++) v[i] *= factor;
}

/* Add the same D values to each row. */
static void shift(uint64_t seed, gr_real *v, size_t rows)
{
    gr_stream s = gr_stream_new(seed, "shift");
    gr_real by[D];
    for (int k = 0; k < D; k++) by[k] = (gr_real)gr_stream_normal(&s, 0, 1);
    for (size_t i = 0; i < rows * D; i++) v[i] += by[i % D];
}

static void scale_weights(uint64_t seed, norms_layer *p) { (void)seed, scale(p->w, H * D); }
static void shift_weights(uint64_t seed, norms_layer *p) { shift(seed, p->w, H); }
static void scale_unit(uint64_t seed, norms_layer *p) { (void)seed, scale(p->w + (size_t)UNIT * D, D); }
static void scale_data(uint64_t seed, norms_layer *p) { (void)seed, scale(p->x, N * D); }
static void shift_data(uint64_t seed, norms_layer *p) { shift(seed, p->x, N); }
static void scale_case(uint64_t seed, norms_layer *p) { (void)seed, scale(p->x + (size_t)CASE * D, D); }

/* ---- The table of theory ---- */

/* The directions in which a transformation moves its matrix: the matrix itself, each of its rows, or ones in each of its columns. */
typedef enum { WHOLE, ROWS, COLUMNS } directions;
const char *const norms_method_name[NORMS_METHODS] = { "batch norm", "weight norm", "layer norm", "RMS norm" };
static gr_tensor *(*const method[NORMS_METHODS])(gr_tape *t, gr_tensor *x, gr_tensor *w, double eps) = { batch_norm, weight_norm,
                                                                                                         layer_norm, rms_norm };

const char *const norms_change_name[NORMS_CHANGES] = { "weight matrix re-scaled", "weight matrix re-centred", "weight vector re-scaled",
                                                       "dataset re-scaled",       "dataset re-centred",       "single case re-scaled" };
static const struct {
    void (*apply)(uint64_t seed, norms_layer *p);
    bool of_data;
    directions along;
    const char *invariant; /* y or n for each method */
} change[NORMS_CHANGES] = {
    { scale_weights, false, WHOLE, "yyyy" }, { shift_weights, false, COLUMNS, "nnyn" }, { scale_unit, false, ROWS, "yynn" },
    { scale_data, true, WHOLE, "ynyy" },     { shift_data, true, COLUMNS, "ynnn" },     { scale_case, true, ROWS, "nnyy" },
};

bool norms_invariant(size_t m, size_t c) { return change[c].invariant[m] == 'y'; }

/* ---- Measuring ---- */

static void solve(gr_tape *t, const norms_invariance *v, const norms_layer *p, norms_answer *a)
{
    gr_tape_reset(t);
    gr_tensor *x = gr_want_grad(t, gr_input(t, p->x, GR_SHAPE(N, D))), *w = gr_want_grad(t, gr_input(t, p->w, GR_SHAPE(H, D)));
    gr_tensor *y = method[v->method](t, x, w, v->eps);
    gr_stream s = gr_stream_new(v->seed, "cotangent");
    gr_real dy[N * H];
    for (int i = 0; i < N * H; i++) dy[i] = (gr_real)gr_stream_normal(&s, 0, 1);
    if (!gr_backward_from(t, y, dy)) return;
    memcpy(a->y, y->data, sizeof a->y);
    memcpy(a->dx, gr_grad(t, x), sizeof a->dx), memcpy(a->dw, gr_grad(t, w), sizeof a->dw);
}

void norms_invariance_begin(gr_tape *t, norms_invariance *v, size_t m, uint64_t seed, double eps)
{
    *v = (norms_invariance){ .seed = seed, .eps = eps, .method = m };
    gr_stream s = gr_stream_new(seed, "problem");
    for (int i = 0; i < N * D; i++) v->layer.x[i] = (gr_real)gr_stream_normal(&s, 0.5, 1);
    for (int i = 0; i < H * D; i++) v->layer.w[i] = (gr_real)gr_stream_normal(&s, 0.1, 1);
    solve(t, v, &v->layer, &v->before);
}

/* max |a - b| / max |b| */
static double moved(const gr_real *a, const gr_real *b, size_t n)
{
    double most = 0, largest = 0;
    for (size_t i = 0; i < n; i++)
        most = kit_larger(most, fabs((double)a[i] - (double)b[i])), largest = kit_larger(largest, fabs((double)b[i]));
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
    for (size_t i = 0; along == ROWS && i < rows; i++) most = kit_larger(most, cosine(g + i * D, v + i * D, D, 1));
    for (size_t k = 0; along == COLUMNS && k < D; k++) most = kit_larger(most, cosine(g + k, NULL, rows, D));
    return most;
}

norms_moved norms_invariance_move(gr_tape *t, const norms_invariance *v, size_t c)
{
    norms_layer transformed = v->layer;
    norms_answer after;
    const norms_answer *const before = &v->before;
    change[c].apply(v->seed, &transformed);
    solve(t, v, &transformed, &after);
    if (gr_failed(t)) return (norms_moved){ 0 };
    return (norms_moved){ moved(after.y, before->y, N * H),
                          change[c].of_data ? moved(after.dw, before->dw, H * D) : moved(after.dx, before->dx, N * D),
                          change[c].of_data ? steepest(change[c].along, before->dx, v->layer.x, N)
                                            : steepest(change[c].along, before->dw, v->layer.w, H) };
}

/* slope is small because a random gradient can be nearly orthogonal to a single direction by chance. */
static const double nothing = sizeof(gr_real) == sizeof(double) ? 1e-13 : 1e-5, much = 0.1, slope = 1e-4;

bool norms_invariance_ok(size_t m, size_t c, const norms_moved *v)
{
    if (norms_invariant(m, c)) return v->output <= nothing && v->gradient <= nothing && v->along <= nothing;
    return v->output >= much && v->gradient >= much && v->along >= slope;
}

double norms_invariance_half(gr_tape *t, const norms_invariance *v)
{
    norms_layer twice = v->layer;
    norms_answer after;
    for (size_t i = 0; i < H * D; i++) twice.w[i] *= 2;
    solve(t, v, &twice, &after);
    for (size_t i = 0; i < H * D && !gr_failed(t); i++) after.dw[i] *= 2;
    return gr_failed(t) ? 1 : moved(after.dw, v->before.dw, H * D);
}

bool norms_invariance_half_ok(double off) { return off <= nothing; }
