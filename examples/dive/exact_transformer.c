/* examples/dive/exact_transformer.c - Transformers before training in the setting of the theorems of Xiong et al. 2020: matrices from
 * N(0, 1 / d), attention with equal weights for all positions, ReLU. */
#include "examples/dive/exact.h"
#include "examples/dive/numbers.h"

enum { PLACES = 16, D = 32, BLOCKS = 8, DRAWS = 128 };

static gr_tensor *matrix(gr_tape *t, const char *stream) { return gr_randn(t, GR_SHAPE(D, D), 0, 1 / sqrt(D), stream); }
static gr_tensor *times_new(gr_tape *t, gr_tensor *x, const char *stream) { return gr_matmul(t, x, matrix(t, stream)); }
static gr_tensor *plus_attention(gr_tape *t, gr_tensor *x, gr_tensor *of)
{
    return gr_add(t, x, times_new(t, gr_mean(t, of, GR_AXES(0), true), "value"));
}
static gr_tensor *plus_feedforward(gr_tape *t, gr_tensor *x, gr_tensor *of, gr_tensor *linear2)
{
    return gr_add(t, x, gr_matmul(t, gr_relu(t, times_new(t, of, "linear1")), linear2));
}
static double mean_square(const gr_tensor *x) { return x ? dot(x->data, x->data, x->len) / (PLACES * D) : (double)NAN; }

/* v is |x|^2 / d before the second norm of a block, the mean over DRAWS: for the first half of the blocks, and for the second half. */
static void post_norm_length(gr_tape *t, double *v)
{
    for (int draw = 0; draw < DRAWS; draw++) {
        gr_tape_reset(t);
        gr_tensor *x = layer_norm(t, gr_randn(t, GR_SHAPE(PLACES, D), 0, 1, "x"), 1e-5);
        for (int l = 0; l < BLOCKS; l++) {
            x = layer_norm(t, plus_attention(t, x, x), 1e-5);
            x = plus_feedforward(t, x, x, matrix(t, "linear2"));
            v[2 * l / BLOCKS] += mean_square(x) / (DRAWS * BLOCKS / 2.0);
            x = layer_norm(t, x, 1e-5);
        }
    }
}

/* v is the mean of |x|^2 / d after the last block, and the number of blocks after which the mean is out of bounds. */
static void pre_norm_length(gr_tape *t, double *v)
{
    double mean[BLOCKS] = { 0 };
    for (int draw = 0; draw < DRAWS; draw++) {
        gr_tape_reset(t);
        gr_tensor *x = layer_norm(t, gr_randn(t, GR_SHAPE(PLACES, D), 0, 1, "x"), 1e-5);
        for (int l = 0; l < BLOCKS; l++) {
            x = plus_attention(t, x, layer_norm(t, x, 1e-5));
            x = plus_feedforward(t, x, layer_norm(t, x, 1e-5), matrix(t, "linear2"));
            mean[l] += mean_square(x) / DRAWS;
        }
    }
    for (int l = 1; l <= BLOCKS; l++) v[1] += !(mean[l - 1] >= 1 + l / 2.0 && mean[l - 1] <= 1 + 3 * l / 2.0);
    v[0] = mean[BLOCKS - 1];
}

double dive_theorem_gradient(gr_tape *t, int n, int block, bool post)
{
    int label[PLACES];
    gr_tensor *wanted = NULL;
    gr_stream s = gr_stream_new(gr_tape_seed(t), "label");
    gr_tape_reset(t);
    gr_tensor *x = gr_randn(t, GR_SHAPE(PLACES, D), 0, 1, "x");
    if (post) x = layer_norm(t, x, 1e-5);
    for (int l = 0; l < n; l++) {
        gr_tensor *const linear2 = matrix(t, "linear2");
        if (l == block) wanted = gr_want_grad(t, linear2);
        x = plus_attention(t, x, post ? x : layer_norm(t, x, 1e-5));
        if (post) x = layer_norm(t, x, 1e-5);
        x = plus_feedforward(t, x, post ? x : layer_norm(t, x, 1e-5), linear2);
        if (post) x = layer_norm(t, x, 1e-5);
    }
    if (!post) x = layer_norm(t, x, 1e-5);
    for (int i = 0; i < PLACES; i++) label[i] = (int)gr_stream_below(&s, D);
    gr_tensor *const loss = gr_cross_entropy(t, times_new(t, x, "out"), gr_ints_new(t, label, GR_SHAPE(PLACES)), NULL);
    return gr_backward(t, loss) ? length(gr_grad(t, wanted), D * D) : (double)NAN;
}

/* v is the exponent a in |gradient of the last block| = c blocks^a, over 2 to 32 blocks, for pre-norm and for post-norm. */
static void gradient_by_depth(gr_tape *t, double *v)
{
    enum { DEPTHS = 5, TIMES = 48 };
    double at[DEPTHS], last[2][DEPTHS] = { { 0 } };
    for (int k = 0; k < DEPTHS; k++) {
        const int n = 2 << k;
        at[k] = n;
        for (int draw = 0; draw < TIMES; draw++)
            for (int post = 0; post < 2; post++) last[post][k] += dive_theorem_gradient(t, n, n - 1, post);
    }
    v[0] = dive_exponent(at, last[0], DEPTHS), v[1] = dive_exponent(at, last[1], DEPTHS);
}

static const dive_exact exacts[] = {
    { "post_length",
      post_norm_length,
      "Before training the residual sum in a post-norm block has |x|^2 = 3 d / 2 at any depth",
      "Xiong et al. 2020, lemma 2 (PL2)",
      "%.3f d in blocks 1 to 4, %.3f d in blocks 5 to 8, means of 128 draws with 32 units",
      "1.5 d within 7 %",
      { { 1.395, 1.605, false }, { 1.395, 1.605, false } },
      "128 draws" },
    { "pre_length",
      pre_norm_length,
      "Before training the residual sum in pre-norm grows with depth: |x|^2 is (1 + l/2) d to (1 + 3 l/2) d after block l",
      "Xiong et al. 2020, lemma 2 (PL3)",
      "%.2f d after 8 blocks; out of bounds after %.0f of the 8 blocks; means of 128 draws with 32 units",
      "5 d to 13 d",
      { { 5, 13, false }, { 0, 0, false } },
      "128 draws" },
    { "by_depth",
      gradient_by_depth,
      "Before training, in the theorem's setting, the last block's gradient falls as 1 / sqrt(blocks) with pre-norm, and is constant with "
      "post-norm",
      "Xiong et al. 2020, theorem 1 (PL5)",
      "exponents %.2f and %+.2f over 2 to 32 blocks of 32 units, means of 48 draws",
      "-0.5 within 0.1, 0 within 0.12",
      { { -0.6, -0.4, false }, { -0.12, 0.12, false } },
      "48 draws" },
};

dive_exact_list dive_exact_transformer(void) { return (dive_exact_list){ exacts, sizeof exacts / sizeof *exacts }; }
