/* examples/dive/exact_other.c - mathematics of BatchNorm, RMSNorm and activations, measured. */
#include "examples/dive/exact.h"
#include "examples/dive/numbers.h"

/* ---- BatchNorm ---- */

static void batch_of_one(gr_tape *t, double *v)
{
    gr_tensor *one = normal(t, 1, 32, 1, 2, "x");
    const gr_tensor *y = layer_norm(t, one, 1e-5);
    v[1] = y ? largest(y->data, 32) : 0;
    if (gr_failed(t)) return;
    batch_norm(t, one);
    v[0] = gr_error_code(t) == GR_MISUSE;
    if (v[0] > 0) gr_tape_recover(t);
}

static void batch_of_two(gr_tape *t, double *v)
{
    gr_tensor *x = normal(t, 2, 32, 1, 2, "x"), *y = batch_norm(t, x);
    const gr_real *const dx = grad(t, y, x);
    for (size_t i = 0; dx && i < 64; i++) v[0] = fmax(v[0], fabs(fabs((double)y->data[i]) - 1));
    v[1] = largest(dx, 64);
}

/* One step from a running variance of 1, momentum 0.1: 0.9 + 0.1 var m / (m - 1). */
static void running_variance(gr_tape *t, double *v)
{
    enum { M = 4 };
    gr_tensor *x = normal(t, M, 1, 3, 2, "x"), *var = gr_ones(t, GR_SHAPE(1));
    const gr_batch_norm_options options = { .running_mean = gr_zeros(t, GR_SHAPE(1)), .running_var = var };
    double mean, biased;
    if (!gr_batch_norm(t, x, 1, NULL, NULL, &options)) return;
    moments(x->data, M, &mean, &biased);
    v[0] = fabs((double)var->data[0] / (0.9 + 0.1 * biased * M / (M - 1)) - 1),
    v[1] = fabs((double)var->data[0] / (0.9 + 0.1 * biased) - 1);
}

/* y = (x + b) - mean(x + b), the mean taken for a constant: b learns, and nothing comes of it. */
static void constant_statistics(gr_tape *t, double *v)
{
    enum { STEPS = 100 };
    double b = 0, first = 0, half = 0;
    for (int step = 0; step <= STEPS; step++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_zeros(t, GR_SHAPE(64)), *target = gr_full(t, GR_SHAPE(64), 1),
                  *bias = gr_want_grad(t, gr_full(t, GR_SHAPE(1), b));
        gr_stream s = gr_stream_new(gr_tape_seed(t), "x");
        for (size_t i = 0; x && i < 64; i++) x->data[i] = (gr_real)gr_stream_normal(&s, 0, 1);
        gr_tensor *u = gr_add(t, x, bias), *y = gr_sub(t, u, gr_detach(t, gr_mean(t, u, GR_AXES(0), true)));
        gr_tensor *loss = gr_mse(t, y, target);
        if (!gr_backward(t, loss)) return;
        if (step == 0) first = gr_item(loss);
        if (step == STEPS / 2) half = b;
        if (step == STEPS) v[0] = fabs(gr_item(loss) - first), v[1] = b, v[2] = b / half;
        b -= 0.1 * (double)gr_grad(t, bias)[0];
    }
}

/* ---- RMSNorm ---- */

static void rms_of_zero_mean(gr_tape *t, double *v)
{
    gr_tensor *x = normal(t, 32, 64, 0, 1, "x");
    for (size_t i = 0; x && i < x->len; i += 2) x->data[i + 1] = -x->data[i];
    const gr_tensor *rms = gr_rms_norm(t, x, 1, NULL, 1e-5), *ln = layer_norm(t, x, 1e-5);
    if (rms && ln) v[0] = apart(rms->data, ln->data, x->len);
}

/* ---- Activations ---- */

static void relu_length(gr_tape *t, double *v)
{
    enum { ROWS = 4096, D = 64 };
    const gr_tensor *y = gr_relu(t, gr_randn(t, GR_SHAPE(ROWS, D), 0, 2, "x"));
    if (y) v[0] = dot(y->data, y->data, y->len) / ROWS / (4 * D);
}

static const dive_exact exacts[] = {
    { "batch_of_one",
      batch_of_one,
      "LayerNorm is defined for a batch of one; BatchNorm is not",
      "often said; Ba et al. 2016 (LN4)",
      "BatchNorm refused: %.0f of 1; LayerNorm's largest |y| %.2f",
      "a value that is its own mean has no variance",
      { { 1, 1, false }, { 1, 8, false } } },
    { "batch_of_two",
      batch_of_two,
      "Of two samples BatchNorm gives 1 and -1, and no gradient",
      "derived (BN11)",
      "||y| - 1| at most %.1g, |dx| at most %.1g",
      "epsilon 0",
      { { 0, 8, true }, { 0, 1e-5, false } } },
    { "running",
      running_variance,
      "BatchNorm's running variance divides by m - 1, its forward by m",
      "Ioffe, Szegedy 2015, algorithm 2 (BN9)",
      "off by %.1g; taken with m it would be by %.2f",
      "0.9 + 0.1 var m / (m - 1), m = 4",
      { { 0, 64, true }, { 0.001, 1e9, false } } },
    { "constant",
      constant_statistics,
      "With statistics taken for constants a bias grows for ever, and the loss stays",
      "Ioffe, Szegedy 2015, section 2 (BN8)",
      "100 steps: the loss moves by %.1g, the bias to %.2f, %.4f times that after 50",
      "0; 2 times",
      { { 0, 1e-4, false }, { 1, 1e9, false }, { 1.999, 2.001, false } } },
    { "rms",
      rms_of_zero_mean,
      "RMSNorm is LayerNorm where the mean is 0",
      "Zhang, Sennrich 2019 (RM2)",
      "apart by %.1g",
      "rows of mean 0 exactly",
      { { 0, 4, true } } },
    { "relu",
      relu_length,
      "E|ReLU(x)|^2 = sigma^2 d / 2",
      "Xiong et al. 2020, lemma 1 (PL1)",
      "%.4f sigma^2 d",
      "0.5, of 4,096 draws of 64 values",
      { { 0.495, 0.505, false } } },
};

dive_exact_list dive_exact_other(void) { return (dive_exact_list){ exacts, sizeof exacts / sizeof *exacts }; }
