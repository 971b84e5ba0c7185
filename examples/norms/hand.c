/* examples/norms/hand.c - LayerNorm of one vector by hand. */
#include "examples/norms/hand.h"
#include "examples/norms/norm.h"
#include "gradus.h"
#include <math.h>

/* x_i as the library receives it: rounded to gr_real. */
static double x_of(const norms_given *a, size_t i) { return (double)(gr_real)a->x[i]; }
static double gamma_of(const norms_given *a, size_t i) { return a->gamma ? a->gamma[i] : 1; }
static double beta_of(const norms_given *a, size_t i) { return a->beta ? a->beta[i] : 0; }

/* y = gamma * (x - mean) / sqrt(var + eps) + beta */
static void forward(const norms_given *a, norms_row *r)
{
    const double N = (double)a->N;
    for (size_t i = 0; i < a->N; i++) r->sum += x_of(a, i);
    r->mean = r->sum / N;
    for (size_t i = 0; i < a->N; i++) {
        r->d[i] = x_of(a, i) - r->mean;
        r->square[i] = r->d[i] * r->d[i];
        r->squares += r->square[i];
    }
    r->var = r->squares / N;
    r->sigma = sqrt(r->var + a->eps);
    r->rstd = r->sigma > 0 ? 1 / r->sigma : 0;
    for (size_t i = 0; i < a->N; i++) {
        r->xhat[i] = r->d[i] * r->rstd;
        r->y[i] = gamma_of(a, i) * r->xhat[i] + beta_of(a, i);
    }
}

/* With g = gamma * dy:   dx = (g - mean(g) - xhat * mean(g * xhat)) / sigma,   dgamma = dy * xhat,   dbeta = dy */
static void backward(const norms_given *a, norms_row *r)
{
    const double N = (double)a->N;
    for (size_t i = 0; i < a->N; i++) {
        r->g[i] = gamma_of(a, i) * a->dy[i];
        r->gx[i] = r->g[i] * r->xhat[i];
        r->mean_g += r->g[i] / N;
        r->mean_gx += r->gx[i] / N;
        r->dgamma[i] = a->dy[i] * r->xhat[i];
    }
    for (size_t i = 0; i < a->N; i++) {
        r->term[0][i] = r->rstd * r->g[i];
        r->term[1][i] = -r->rstd * r->mean_g;
        r->term[2][i] = -r->rstd * r->xhat[i] * r->mean_gx;
        r->dx[i] = r->term[0][i] + r->term[1][i] + r->term[2][i];
    }
}

norms_row norms_hand(const norms_given *a)
{
    norms_row r = { 0 };
    forward(a, &r);
    if (a->dy) backward(a, &r);
    r.of_d = norms_largest(a->x, a->N);
    r.of_var = r.of_d * norms_largest(r.d, a->N);
    r.of_sigma = r.of_var * r.rstd;
    for (int k = 0; k < 3; k++) r.of_dx = fmax(r.of_dx, norms_largest(r.term[k], a->N));
    return r;
}

/* ---- The lines, each compared with the library's operators ---- */

gr_tensor *norms_put(gr_tape *t, const double *v, gr_shape shape)
{
    gr_tensor *x = v ? gr_empty(t, shape) : NULL;
    for (size_t i = 0; x && i < x->len; i++) x->data[i] = (gr_real)v[i];
    return x;
}
const gr_real *norms_values(const gr_tensor *x) { return x ? x->data : NULL; }

#define LINE(label, value, scale, library) norms_paper_line(p, label, value, N, scale, library)
#define NUMBER(label, value, scale, library) norms_paper_line(p, label, &(value), 1, scale, library)

void norms_hand_forward(norms_paper *p, const norms_given *a)
{
    gr_tape *t = p->t;
    const size_t N = a->N;
    const norms_row r = norms_hand(a);
    gr_tape_reset(t);
    gr_tensor *x = norms_put(t, a->x, GR_SHAPE(N)), *gamma = norms_put(t, a->gamma, GR_SHAPE(N)),
              *beta = norms_put(t, a->beta, GR_SHAPE(N));
    gr_tensor *d = gr_sub(t, x, gr_mean(t, x, GR_ALL_AXES, false)), *square = gr_square(t, d);
    gr_tensor *shifted = gr_add_scalar(t, gr_mean(t, square, GR_ALL_AXES, false), a->eps),
              *xhat = gr_layer_norm(t, x, 1, NULL, NULL, norms_eps(a->eps));
    const double with_eps = r.var + a->eps;
    char label[64];

    p->columns = N;
    LINE("x", a->x, 0, NULL);
    NUMBER("sum of x", r.sum, (double)N * r.of_d, norms_values(gr_sum(t, x, GR_ALL_AXES, false)));
    snprintf(label, sizeof label, "mean = sum / %zu", N), NUMBER(label, r.mean, r.of_d, norms_values(gr_mean(t, x, GR_ALL_AXES, false)));
    LINE("x - mean", r.d, r.of_d, norms_values(d));
    LINE("(x - mean)^2", r.square, r.of_var, norms_values(square));
    NUMBER("sum of squares", r.squares, (double)N * r.of_var, norms_values(gr_sum(t, square, GR_ALL_AXES, false)));
    snprintf(label, sizeof label, "var = sum of squares / %zu", N),
        NUMBER(label, r.var, r.of_var, norms_values(gr_var(t, x, GR_ALL_AXES, 0, false)));
    snprintf(label, sizeof label, "var + eps, eps = %g", a->eps), NUMBER(label, with_eps, r.of_var, norms_values(shifted));
    NUMBER("sigma = sqrt(var + eps)", r.sigma, r.of_sigma, norms_values(gr_sqrt(t, shifted)));
    LINE("xhat = (x - mean) / sigma", r.xhat, 0, norms_values(xhat));
    if (!gamma && !beta) return;
    double scaled[NORMS_HAND];
    for (size_t i = 0; i < N; i++) scaled[i] = a->gamma ? a->gamma[i] * r.xhat[i] : r.xhat[i];
    if (gamma) LINE("gamma", a->gamma, 0, NULL);
    if (gamma) LINE("gamma * xhat", scaled, 0, norms_values(gr_mul(t, gamma, xhat)));
    if (beta) LINE("beta", a->beta, 0, NULL);
    LINE(gamma && beta ? "y = gamma * xhat + beta"
         : gamma       ? "y = gamma * xhat"
                       : "y = xhat + beta",
         r.y, norms_largest(scaled, N), norms_values(gr_layer_norm(t, x, 1, gamma, beta, norms_eps(a->eps))));
}

static gr_tensor *norm_of(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const norms_given *a = argument;
    return gr_layer_norm(t, in[0], 1, a->gamma ? in[1] : NULL, a->beta ? in[2] : NULL, norms_eps(a->eps));
}

static void finite_differences(norms_paper *p, const norms_given *a, const norms_row *r, uint64_t seed)
{
    gr_real value[3][NORMS_HAND] = { { 0 } };
    const double *const from[3] = { a->x, a->gamma, a->beta };
    gr_gradcheck_input in[3] = { { .shape = GR_SHAPE(a->N) }, { .shape = GR_SHAPE(a->N) }, { .shape = GR_SHAPE(a->N) } };
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; from[k] && i < a->N; i++) value[k][i] = (gr_real)from[k][i];
        in[k].values = value[k], in[k].no_grad = !from[k];
    }
    if (r->var < 0.1 || r->of_d > 100) return; /* the step would be too large for the vector, or be lost in the rounding of x */
    norms_paper_holds(p, gr_gradcheck("layer_norm", norm_of, (void *)(uintptr_t)a, in, 3, &(gr_gradcheck_config){ .seed = seed }, p->out),
                      "the library's finite differences agree");
}

void norms_hand_backward(norms_paper *p, const norms_given *a, uint64_t seed)
{
    gr_tape *t = p->t;
    const size_t N = a->N;
    const norms_row r = norms_hand(a);
    gr_tape_reset(t);
    gr_tensor *x = gr_want_grad(t, norms_put(t, a->x, GR_SHAPE(N))),
              *gamma = gr_want_grad(t, a->gamma ? norms_put(t, a->gamma, GR_SHAPE(N)) : gr_ones(t, GR_SHAPE(N)));
    gr_tensor *beta = gr_want_grad(t, gr_zeros(t, GR_SHAPE(N))), *dy = norms_put(t, a->dy, GR_SHAPE(N)),
              *xhat = gr_layer_norm(t, x, 1, NULL, NULL, norms_eps(a->eps));
    gr_tensor *g = gr_mul(t, gamma, dy), *gx = gr_mul(t, g, xhat), *mean_g = gr_mean(t, g, GR_ALL_AXES, true),
              *mean_gx = gr_mean(t, gx, GR_ALL_AXES, true);
    gr_tensor *rstd = gr_scalar(t, r.rstd), *y = gr_layer_norm(t, x, 1, gamma, beta, norms_eps(a->eps));
    gr_backward_from(t, y, norms_values(dy));
    double sums[2] = { 0, 0 };
    for (size_t i = 0; i < N; i++) sums[0] += r.dx[i], sums[1] += r.dx[i] * r.xhat[i];

    p->columns = N;
    LINE("dy = dL/dy, from above", a->dy, 0, NULL);
    LINE("g = gamma * dy", r.g, 0, norms_values(g));
    NUMBER("mean(g)", r.mean_g, norms_largest(r.g, N), norms_values(mean_g));
    LINE("g * xhat", r.gx, 0, norms_values(gx));
    NUMBER("mean(g * xhat)", r.mean_gx, norms_largest(r.gx, N), norms_values(mean_gx));
    LINE("1: g / sigma", r.term[0], 0, norms_values(gr_mul(t, rstd, g)));
    LINE("2: -mean(g) / sigma", r.term[1], r.of_dx, norms_values(gr_expand(t, gr_neg(t, gr_mul(t, rstd, mean_g)), GR_SHAPE(N))));
    LINE("3: -xhat mean(g xhat) / sigma", r.term[2], r.of_dx, norms_values(gr_neg(t, gr_mul(t, rstd, gr_mul(t, xhat, mean_gx)))));
    LINE("dx = 1 + 2 + 3", r.dx, r.of_dx, gr_grad(t, x));
    LINE("dgamma = dy * xhat", r.dgamma, 0, gr_grad(t, gamma));
    LINE("dbeta = dy", a->dy, 0, gr_grad(t, beta));
    NUMBER("sum of dx", sums[0], r.of_dx, norms_values(gr_scalar(t, 0)));
    if (a->eps == 0) NUMBER("sum of dx * xhat (eps is 0)", sums[1], r.of_dx, norms_values(gr_scalar(t, 0)));
    finite_differences(p, a, &r, seed);
}

void norms_hand_shape(norms_paper *p, gr_shape shape, int axes)
{
    double x[NORMS_HAND], mean[NORMS_HAND];
    size_t N = 1, rows = 1;
    char label[96];
    for (int k = 0; k < shape.rank; k++) *(k < shape.rank - axes ? &rows : &N) *= shape.dim[k];
    for (size_t i = 0; i < rows * N; i++) x[i] = (double)((5 * i * i + 3 * i) % 13);
    gr_tape_reset(p->t);
    gr_tensor *whole = norms_put(p->t, x, shape), *xhat = gr_layer_norm(p->t, whole, axes, NULL, NULL, 1e-5);
    const gr_tensor *means = gr_mean(p->t, gr_reshape(p->t, whole, GR_SHAPE(rows, N)), GR_AXES(1), false);

    const size_t C = shape.dim[shape.rank - 1];
    p->columns = N > rows ? N : rows;
    norms_paper_text(p, "\n  %s, axes = %d: %zu mean%s of %zu values\n", gr_shape_name(p->t, shape), axes, rows, rows == 1 ? "" : "s", N);
    for (size_t i = 0; i < rows * N; i += C) {
        size_t below = rows * N;
        norms_paper_text(p, "  x");
        for (int k = 0; k + 1 < shape.rank; k++) below /= shape.dim[k], norms_paper_text(p, "[%zu]", i / below % shape.dim[k]);
        norms_paper_text(p, "  ");
        for (size_t c = 0; c < C; c++) norms_paper_text(p, " %c", 'a' + (int)(i / N));
        norms_paper_text(p, "  ");
        for (size_t c = 0; c < C; c++) norms_paper_text(p, "%5g", x[i + c]);
        norms_paper_text(p, "\n");
    }
    for (size_t r = 0; r < rows; r++) {
        const norms_row h = norms_hand(&(norms_given){ .N = N, .x = x + r * N, .eps = 1e-5 });
        mean[r] = h.mean;
        snprintf(label, sizeof label, "xhat of %c", 'a' + (int)r);
        norms_paper_line(p, label, h.xhat, N, 0, xhat ? xhat->data + r * N : NULL);
    }
    norms_paper_line(p, rows == 1 ? "mean of a" : "means of a, b, ..", mean, rows, 0, norms_values(means));
}
