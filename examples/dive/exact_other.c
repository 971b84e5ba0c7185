/* examples/dive/exact_other.c - mathematical statements about BatchNorm, RMSNorm and activation functions, measured. */
#include "examples/dive/exact.h"

/* ---- BatchNorm ---- */

/* Two copies of a sample have the statistics of the sample alone, and BatchNorm does not refuse them. */
static void batch_of_one(gr_tape *t, double *v)
{
    gr_tensor *one = normal(t, 1, 32, 1, 2, "x");
    const gr_tensor *const copies = gr_batch_norm(t, gr_cat(t, (gr_tensor *const[]){ one, one }, 2, 0), -1, NULL, NULL, NULL);
    v[2] = copies ? largest(copies->data, copies->len) : HUGE_VAL;
    const gr_tensor *y = layer_norm(t, one, 1e-5);
    v[1] = y ? largest(y->data, 32) : 0;
    if (gr_failed(t)) return;
    batch_norm(t, one);
    v[0] = gr_error_code(t) == GR_MISUSE;
    if (v[0] > 0) gr_tape_recover(t);
}

/* v[1] is the gradient times the deviation, because the gradient's rounding is proportional to 1 / deviation. */
static void batch_of_two(gr_tape *t, double *v)
{
    enum { N = 32 };
    gr_tensor *x = normal(t, 2, N, 1, 2, "x"), *y = batch_norm(t, x);
    const gr_real *const dx = grad(t, y, x);
    for (size_t i = 0; dx && i < x->len; i++) {
        const double deviation = fabs((double)x->data[i % N] - (double)x->data[N + i % N]) / 2;
        v[0] = fmax(v[0], fabs(fabs((double)y->data[i]) - 1)), v[1] = fmax(v[1], fabs((double)dx[i]) * deviation);
    }
}

/* One update of a running variance of 1 with momentum 0.1 gives 0.9 + 0.1 var m / (m - 1). */
static void running_variance(gr_tape *t, double *v)
{
    enum { M = 4 };
    gr_tensor *x = normal(t, M, 1, 3, 2, "x"), *var = gr_ones(t, GR_SHAPE(1));
    const gr_batch_norm_config options = { .running_mean = gr_zeros(t, GR_SHAPE(1)), .running_var = var };
    double mean, biased;
    if (!gr_batch_norm(t, x, 1, NULL, NULL, &options)) return;
    moments(x->data, M, &mean, &biased);
    v[0] = fabs((double)var->data[0] / (0.9 + 0.1 * biased * M / (M - 1)) - 1),
    v[1] = fabs((double)var->data[0] / (0.9 + 0.1 * biased) - 1);
}

/* y = (x + b) - mean(x + b), where backward treats the mean as a constant: b keeps growing, and the loss does not change. */
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
        gr_tensor *loss = gr_mse(t, y, target, GR_REDUCE_MEAN);
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
    enum { ROWS = 4096, UNITS = 64, TIMES = 16 };
    for (int k = 0; k < TIMES; k++) {
        gr_tape_reset(t);
        const gr_tensor *const y = gr_relu(t, gr_randn(t, GR_SHAPE(ROWS, UNITS), 0, 2, "x"));
        if (y) v[0] += dot(y->data, y->data, y->len) / (TIMES * ROWS) / (4 * UNITS);
    }
}

/* E[tanh'(x)] for x ~ N(0, s^2) and three s: the sum over a grid of x of the density times the gradient. */
static void tanh_slope(gr_tape *t, double *v)
{
    enum { N = 4096 };
    static const double s_of[DIVE_VALUES] = { 0.1, 0.5, 1 };
    for (int k = 0; k < DIVE_VALUES; k++) {
        gr_real weight[N];
        gr_tape_reset(t);
        gr_tensor *x = gr_want_grad(t, gr_zeros(t, GR_SHAPE(N))), *y = NULL;
        for (size_t i = 0; x && i < N; i++) {
            const double z = 16 * ((double)i + 0.5) / N - 8;
            x->data[i] = (gr_real)(s_of[k] * z), weight[i] = (gr_real)(16.0 / N * exp(-z * z / 2) / sqrt(2 * 3.14159265358979323846));
        }
        y = gr_tanh(t, x);
        if (gr_backward_from(t, y, weight)) v[k] = dot(gr_grad(t, x), NULL, N);
    }
}

static const dive_exact exacts[] = {
    { "batch_of_one",
      batch_of_one,
      "At batch 1 BatchNorm's output is beta for every input, and this library refuses it; LayerNorm normalizes the features",
      "often said; Ba et al. 2016 (LN4)",
      "BatchNorm refuses it (%.0f of 1); LayerNorm's largest |y| is %.2f; BatchNorm's, for two copies of a sample, is %.1g",
      "two copies have the mean and the variance 0 of one value; beta 0",
      { { 1, 1, false }, { 1, 8, false }, { 0, 8, true } } },
    { "batch_of_two",
      batch_of_two,
      "With two samples BatchNorm gives 1 and -1, and a gradient of 0",
      "derived (BN11)",
      "||y| - 1| at most %.1g, |dx| times the deviation at most %.1g",
      "epsilon 0",
      { { 0, 8, true }, { 0, 64, true } } },
    { "running",
      running_variance,
      "BatchNorm's running variance divides by m - 1, its forward by m",
      "Ioffe, Szegedy 2015, algorithm 2 (BN9)",
      "error %.1g; with the divisor m the error would be %.2f",
      "0.9 + 0.1 var m / (m - 1), m = 4",
      { { 0, 64, true }, { 0.001, 1e9, false } } },
    { "constant",
      constant_statistics,
      "If backward treats the statistics as constants, a bias grows without bound, and the loss does not change",
      "Ioffe, Szegedy 2015, section 2 (BN8)",
      "in 100 steps the loss changes by %.1g; the bias reaches %.2f, which is %.4f times its value after 50 steps",
      "0; 2 times",
      { { 0, 1e-4, false }, { 1, 1e9, false }, { 1.999, 2.001, false } } },
    { "rms",
      rms_of_zero_mean,
      "RMSNorm equals LayerNorm where the mean is 0",
      "Zhang, Sennrich 2019 (RM2)",
      "largest difference %.1g",
      "rows of mean exactly 0",
      { { 0, 4, true } } },
    { "relu",
      relu_length,
      "E|ReLU(x)|^2 = sigma^2 d / 2",
      "Xiong et al. 2020, lemma 1 (PL1)",
      "%.4f sigma^2 d",
      "0.5 within 1 %; draws of 64 values",
      { { 0.495, 0.505, false } },
      "65,536 draws" },
    { "slope",
      tanh_slope,
      "The wider its input, the less of the gradient tanh passes on: E tanh'(x) = 0.990, 0.827, 0.606 for a deviation of 0.1, 0.5, 1",
      "Cooijmans et al. 2016, figure 1b (RB3)",
      "%.4f, %.4f, %.4f by the backward of tanh, x ~ N(0, s^2)",
      "within 0.001",
      { { 0.989, 0.991, false }, { 0.826, 0.828, false }, { 0.605, 0.607, false } } },
};

dive_exact_list dive_exact_other(void) { return (dive_exact_list){ exacts, sizeof exacts / sizeof *exacts }; }
