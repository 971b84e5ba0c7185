/* examples/dive/exact_layer.c - mathematical statements about LayerNorm, measured. */
#include "examples/dive/exact.h"

/* ---- Forward ---- */

static void identity(gr_tape *t, double *v)
{
    double mean, var;
    gr_tensor *x = normal(t, 1, 64, 3, 2, "x");
    if (!x) return;
    moments(x->data, 64, &mean, &var);
    const gr_tensor *y = gr_layer_norm(t, x, 1, gr_full(t, GR_SHAPE(64), sqrt(var + 1e-5)), gr_full(t, GR_SHAPE(64), mean), 1e-5);
    if (y) v[0] = apart(y->data, x->data, 64);
}

static void zero_row(gr_tape *t, double *v)
{
    gr_tensor *beta = gr_randn(t, GR_SHAPE(64), 0, 1, "beta");
    const gr_tensor *y = gr_layer_norm(t, gr_zeros(t, GR_SHAPE(1, 64)), 1, gr_randn(t, GR_SHAPE(64), 0, 1, "gamma"), beta, 1e-5);
    if (y) v[0] = other_bits(y->data, beta->data, 64);
}

static void alone_or_in_a_batch(gr_tape *t, double *v)
{
    gr_tensor *x = normal(t, 64, 32, 1, 2, "x");
    const gr_tensor *all = layer_norm(t, x, 1e-5), *bn = batch_norm(t, x), *half = batch_norm(t, gr_slice(t, x, 0, 32));
    for (size_t i = 0; all && i < 64; i++) {
        const gr_tensor *one = layer_norm(t, gr_slice(t, x, i, 1), 1e-5);
        if (one) v[0] += other_bits(one->data, all->data + i * 32, 32);
    }
    if (bn && half) v[1] = apart(half->data, bn->data, 32);
}

static void training_or_not(gr_tape *t, double *v)
{
    gr_tensor *x = normal(t, 64, 32, 1, 2, "x"), *y[2][2];
    for (int training = 0; training < 2; training++) {
        const gr_batch_norm_config running = { .running_mean = gr_zeros(t, GR_SHAPE(32)), .running_var = gr_ones(t, GR_SHAPE(32)) };
        gr_tape_set_training(t, training);
        y[0][training] = layer_norm(t, x, 1e-5), y[1][training] = gr_batch_norm(t, x, 1, NULL, NULL, &running);
    }
    if (!gr_failed(t)) v[0] = other_bits(y[0][0]->data, y[0][1]->data, 64 * 32), v[1] = apart(y[1][0]->data, y[1][1]->data, 64 * 32);
}

/* v[1] is the gradient times the deviation, because the gradient's rounding is proportional to 1 / deviation. */
static void two_features(gr_tape *t, double *v)
{
    gr_tensor *x = normal(t, 64, 2, 1, 2, "x"), *y = layer_norm(t, x, GR_NONE);
    const gr_real *const dx = grad(t, y, x);
    for (size_t i = 0; dx && i < x->len; i++) {
        const double deviation = fabs((double)x->data[i] - (double)x->data[i ^ 1]) / 2;
        v[0] = fmax(v[0], fabs(fabs((double)y->data[i]) - 1)), v[1] = fmax(v[1], fabs((double)dx[i]) * deviation);
    }
}

/* Add a number to all summed inputs of a case. */
static void shifted_case(gr_tape *t, double *v)
{
    gr_tensor *x = normal(t, 16, 64, 0, 1, "x"), *y = layer_norm(t, x, 1e-5), *z = layer_norm(t, gr_add_scalar(t, x, 5), 1e-5);
    gr_tensor *rms = gr_rms_norm(t, x, 1, NULL, 1e-5), *moved = gr_rms_norm(t, gr_add_scalar(t, x, 5), 1, NULL, 1e-5);
    if (gr_failed(t)) return;
    v[0] = apart(z->data, y->data, y->len), v[1] = apart(moved->data, rms->data, y->len);
}

/* LN(a x) = LN(x) sqrt((var + eps) / (var + eps / a^2)). */
static void scaled_up_to_eps(gr_tape *t, double *v)
{
    static const double eps = 1e-2;
    double mean, var;
    gr_tensor *x = normal(t, 1, 64, 0, 0.1, "x");
    const gr_tensor *y = layer_norm(t, x, eps);
    if (!y) return;
    moments(x->data, 64, &mean, &var);
    for (int k = 0; k < 6 && !gr_failed(t); k++) {
        const double a = pow(10, k - 2);
        const gr_tensor *z = layer_norm(t, gr_scale(t, x, a), eps);
        const double ratio = sqrt((var + eps) / (var + eps / (a * a)));
        for (size_t i = 0; z && i < 64; i++)
            v[0] = fmax(v[0], fabs((double)z->data[i] / ratio - (double)y->data[i]) / largest(y->data, 64));
        if (k == 5 && z) v[1] = ratio;
    }
}

/* ---- Gradients ---- */

static void centred_gradient(gr_tape *t, double *v)
{
    gr_tensor *x = normal(t, 32, 64, 1, 2, "x"), *y = layer_norm(t, x, GR_NONE);
    const gr_real *const dx = grad(t, y, x);
    for (size_t i = 0; dx && i < 32; i++) {
        const gr_real *const d = dx + i * 64, *const xhat = y->data + i * 64;
        v[0] = fmax(v[0], fabs(dot(d, NULL, 64)) / (length(d, 64) * 8)),
        v[1] = fmax(v[1], fabs(dot(d, xhat, 64)) / (length(d, 64) * length(xhat, 64)));
    }
}

/* A step turns weights that are twice as long by a quarter of the angle, and adds its own squared length to theirs. */
static void quarter_turn(gr_tape *t, double *v)
{
    enum { N = 24 * 16 };
    gr_tensor *x = gr_randn(t, GR_SHAPE(32, 16), 0, 1, "x"), *w = normal(t, 24, 16, 0, 1, "w");
    gr_tensor *twice = gr_want_grad(t, gr_detach(t, gr_scale(t, w, 2)));
    gr_tensor *y = layer_norm(t, gr_linear(t, x, w, NULL), GR_NONE), *z = layer_norm(t, gr_linear(t, x, twice, NULL), GR_NONE);
    const gr_real *const g = grad(t, gr_add(t, y, z), w), *const of[2] = { w ? w->data : NULL, twice ? twice->data : NULL };
    const gr_real *const by[2] = { g, g ? gr_grad(t, twice) : NULL };
    double tangent[2];
    for (int k = 0; k < 2 && by[k]; k++) {
        double after[N], along = 0, across = 0, squares = 0;
        for (size_t i = 0; i < N; i++) after[i] = (double)of[k][i] - (double)by[k][i], along += after[i] * (double)of[k][i];
        along /= dot(of[k], of[k], N);
        for (size_t i = 0; i < N; i++) {
            const double d = after[i] - along * (double)of[k][i];
            across += d * d, squares += after[i] * after[i];
        }
        tangent[k] = sqrt(across) / (along * length(of[k], N));
        v[1] = fmax(v[1], fabs((squares - dot(of[k], of[k], N)) / dot(by[k], by[k], N) - 1));
    }
    v[0] = by[1] ? tangent[1] / tangent[0] : HUGE_VAL;
}

/* The gradient of the gain with data 10 times as large, and the gradient of the weights of a layer without a norm. */
static void gain_gradient(gr_tape *t, double *v)
{
    gr_tensor *x = gr_randn(t, GR_SHAPE(64, 16), 0, 1, "x"), *w = normal(t, 24, 16, 0, 1, "w"), *ten = gr_scale(t, x, 10);
    gr_tensor *g[2] = { gr_want_grad(t, gr_ones(t, GR_SHAPE(24))), gr_want_grad(t, gr_ones(t, GR_SHAPE(24))) };
    gr_tensor *u[2] = { normal(t, 24, 16, 0, 1, "u"), NULL };
    u[1] = gr_want_grad(t, gr_detach(t, u[0]));
    gr_tensor *y = gr_add(t, gr_layer_norm(t, gr_linear(t, x, w, NULL), 1, g[0], NULL, GR_NONE),
                          gr_layer_norm(t, gr_linear(t, ten, w, NULL), 1, g[1], NULL, GR_NONE));
    gr_tensor *plain = gr_add(t, gr_linear(t, x, u[0], NULL), gr_linear(t, ten, u[1], NULL));
    if (!grad(t, gr_add(t, y, plain), g[0])) return;
    v[0] = apart(gr_grad(t, g[1]), gr_grad(t, g[0]), 24);
    v[1] = dot(gr_grad(t, u[1]), gr_grad(t, u[1]), u[1]->len) / dot(gr_grad(t, u[0]), gr_grad(t, u[0]), u[0]->len);
}

/* The largest singular value of the Jacobian, by power iteration. The Jacobian is symmetric, so that a backward pass multiplies by it. */
static void jacobian(gr_tape *t, double *v)
{
    enum { N = 64, ITERATIONS = 100 };
    double at[N], norm = 1, mean = 0;
    gr_real x[N], dy[N];
    gr_stream s = gr_stream_new(gr_tape_seed(t), "x");
    for (size_t i = 0; i < N; i++) at[i] = gr_stream_normal(&s, 0, 3), mean += at[i] / N;
    for (size_t i = 0; i < N; i++) x[i] = (gr_real)(at[i] - mean), dy[i] = (gr_real)gr_stream_normal(&s, 0, 1);
    for (int k = 0; k < ITERATIONS && !gr_failed(t); k++) {
        gr_tape_reset(t);
        gr_tensor *in = gr_want_grad(t, gr_input(t, x, GR_SHAPE(1, N)));
        const double before = length(dy, N);
        for (size_t i = 0; i < N; i++) dy[i] = (gr_real)((double)dy[i] / before);
        if (!gr_backward_from(t, layer_norm(t, in, GR_NONE), dy)) return;
        norm = length(gr_grad(t, in), N);
        memcpy(dy, gr_grad(t, in), sizeof dy);
    }
    v[0] = norm, v[1] = 8 / length(x, N), v[2] = v[0] / v[1];
}

static const dive_exact exacts[] = {
    { "identity",
      identity,
      "gamma = sqrt(var + epsilon) and beta = mean give the identity",
      "often said",
      "error of y %.1g",
      "x",
      { { 0, 64, true } } },
    { "zero_row",
      zero_row,
      "A row of zeros gives beta",
      "often said",
      "%.0f of 64 values have different bits",
      "beta",
      { { 0, 0, false } } },
    { "alone",
      alone_or_in_a_batch,
      "LayerNorm gives the same result at batch 1 and batch 64",
      "often said; Ba et al. 2016 (LN3)",
      "%.0f of 2,048 values have different bits; with half the batch, BatchNorm's output changes by %.2f",
      "BatchNorm's output changes by at least 0.01",
      { { 0, 0, false }, { 0.01, 1e9, false } } },
    { "modes",
      training_or_not,
      "LayerNorm computes the same bits in training and evaluation mode",
      "often said; Ba et al. 2016 (LN3)",
      "%.0f of 2,048 values have different bits; BatchNorm's output changes by %.2f after one batch",
      "BatchNorm's output changes by at least 0.01",
      { { 0, 0, false }, { 0.01, 1e9, false } } },
    { "two_features",
      two_features,
      "With two features LayerNorm gives 1 and -1, and a gradient of 0",
      "worked example (BN11)",
      "||y| - 1| at most %.1g, |dx| times the deviation at most %.1g",
      "epsilon 0",
      { { 0, 8, true }, { 0, 64, true } } },
    { "shifted_case",
      shifted_case,
      "LayerNorm is invariant to a shift of a case's summed inputs",
      "Ba et al. 2016, 5.1",
      "y changes by %.1g; RMSNorm's y by %.2f",
      "RMSNorm's y changes by at least 0.1",
      { { 0, 64, true }, { 0.1, 1e9, false } } },
    { "up_to_eps",
      scaled_up_to_eps,
      "LN(a x) = LN(x), apart from a factor sqrt((var + eps) / (var + eps / a^2)) that epsilon causes",
      "Zhang et al., d2l (CC5)",
      "error of this factor %.1g for a from 0.01 to 1,000; at 1,000 it is %.3f",
      "epsilon 0.01, variance about 0.01",
      { { 0, 64, true }, { 1, 2, false } } },
    { "centred",
      centred_gradient,
      "LayerNorm centres the gradient: sum dx = 0 and sum xhat dx = 0",
      "Xu et al. 2019 (XU1)",
      "cosines of dx with (1, .., 1) and xhat at most %.1g and %.1g",
      "0",
      { { 0, 64, true }, { 0, 64, true } } },
    { "quarter",
      quarter_turn,
      "A step turns weights that are twice as long by a quarter of the angle, and adds its squared length to theirs",
      "Ba et al. 2016, 5.2.2 (LN5)",
      "%.6f of the angle; error of the squared length %.1g",
      "1/4; plain SGD without weight decay",
      { { 0.249999, 0.250001, false }, { 0, 1e-4, false } } },
    { "gain",
      gain_gradient,
      "The gradient of a gain does not depend on the scale of the data; that of weights without a norm does",
      "Ba et al. 2016, appendix (LN6)",
      "with data times 10 the gain's gradient changes by %.1g, and the squared gradients of weights without a norm are %.4f times as large",
      "0, and 100, for the same dy",
      { { 0, 64, true }, { 99.99, 100.01, false } } },
    { "jacobian",
      jacobian,
      "The largest singular value of LayerNorm's Jacobian is sqrt(d) / |x|",
      "Xiong et al. 2020, lemma 3 (PL4)",
      "%.6f by power iteration, %.6f by the formula, ratio %.6f",
      "x has mean 0",
      { { 0, 1e9, false }, { 0, 1e9, false }, { 0.99, 1.01, false } } },
};

dive_exact_list dive_exact_layer(void) { return (dive_exact_list){ exacts, sizeof exacts / sizeof *exacts }; }
