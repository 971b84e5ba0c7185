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

/* The gradient times the deviation: its rounding grows as that of 1 / deviation. */
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
    enum { ROWS = 4096, UNITS = 64, TIMES = 16 };
    for (int k = 0; k < TIMES; k++) {
        gr_tape_reset(t);
        const gr_tensor *const y = gr_relu(t, gr_randn(t, GR_SHAPE(ROWS, UNITS), 0, 2, "x"));
        if (y) v[0] += dot(y->data, y->data, y->len) / (TIMES * ROWS) / (4 * UNITS);
    }
}

/* ---- Transformers before training, as in Xiong et al. 2020: matrices from N(0, 1 / d), attention that weighs all alike ---- */

enum { PLACES = 16, D = 32, BLOCKS = 8, DRAWS = 128 };

static gr_tensor *times_new(gr_tape *t, gr_tensor *x, const char *stream)
{
    return gr_matmul(t, x, gr_randn(t, GR_SHAPE(D, D), 0, 1 / sqrt(D), stream));
}
static gr_tensor *plus_attention(gr_tape *t, gr_tensor *x, gr_tensor *of)
{
    return gr_add(t, x, times_new(t, gr_mean(t, of, GR_AXES(0), true), "value"));
}
static gr_tensor *plus_feedforward(gr_tape *t, gr_tensor *x, gr_tensor *of)
{
    return gr_add(t, x, times_new(t, gr_relu(t, times_new(t, of, "linear1")), "linear2"));
}
static double mean_square(const gr_tensor *x) { return x ? dot(x->data, x->data, x->len) / (PLACES * D) : (double)NAN; }

/* |x|^2 / d, the mean over DRAWS: before the second norm in the first half of the blocks, and in the second. */
static void post_norm_length(gr_tape *t, double *v)
{
    for (int draw = 0; draw < DRAWS; draw++) {
        gr_tape_reset(t);
        gr_tensor *x = layer_norm(t, normal(t, PLACES, D, 0, 1, "x"), 1e-5);
        for (int l = 0; l < BLOCKS; l++) {
            gr_tensor *const middle = layer_norm(t, plus_attention(t, x, x), 1e-5), *const sum = plus_feedforward(t, middle, middle);
            v[2 * l / BLOCKS] += mean_square(sum) / (DRAWS * BLOCKS / 2.0);
            x = layer_norm(t, sum, 1e-5);
        }
    }
}

/* The mean after the last block, and after how many blocks it is out of bounds. */
static void pre_norm_length(gr_tape *t, double *v)
{
    double mean[BLOCKS] = { 0 };
    for (int draw = 0; draw < DRAWS; draw++) {
        gr_tape_reset(t);
        gr_tensor *x = layer_norm(t, normal(t, PLACES, D, 0, 1, "x"), 1e-5);
        for (int l = 0; l < BLOCKS; l++) {
            x = plus_attention(t, x, layer_norm(t, x, 1e-5));
            x = plus_feedforward(t, x, layer_norm(t, x, 1e-5));
            mean[l] += mean_square(x) / DRAWS;
        }
    }
    for (int l = 1; l <= BLOCKS; l++) v[1] += !(mean[l - 1] >= 1 + l / 2.0 && mean[l - 1] <= 1 + 3 * l / 2.0);
    v[0] = mean[BLOCKS - 1];
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
      "||y| - 1| at most %.1g, |dx| times the deviation at most %.1g",
      "epsilon 0",
      { { 0, 8, true }, { 0, 64, true } } },
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
      "0.5, of 65,536 draws of 64 values",
      { { 0.495, 0.505, false } } },
    { "post_length",
      post_norm_length,
      "Before training the sum in a post-norm block has |x|^2 = 3 d / 2, at any depth",
      "Xiong et al. 2020, lemma 2 (PL2)",
      "%.3f d in blocks 1 to 4, %.3f d in 5 to 8, means of 128 draws of 32 units",
      "1.5 d within 7 %",
      { { 1.395, 1.605, false }, { 1.395, 1.605, false } } },
    { "pre_length",
      pre_norm_length,
      "Before training pre-norm's sum grows with depth: (1 + l/2) d to (1 + 3 l/2) d after block l",
      "Xiong et al. 2020, lemma 2 (PL3)",
      "%.2f d after 8 blocks, out of bounds after %.0f of them; means of 128 draws of 32 units",
      "5 d to 13 d",
      { { 5, 13, false }, { 0, 0, false } } },
};

dive_exact_list dive_exact_other(void) { return (dive_exact_list){ exacts, sizeof exacts / sizeof *exacts }; }
