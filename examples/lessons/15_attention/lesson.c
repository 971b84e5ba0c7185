/* lesson.c - attention: why the scores are divided by the root of d, what a causal mask hides, and where a block has its norm.
 *
 * Shows: one query and two keys by hand, forward and backward; the largest of ten weights for vectors of 1 to 256 numbers; a causal mask, and one that
 *        is applied too late; the gradient through 24 blocks with pre-norm and post-norm, and which of the two learns with a large rate.
 * Run:   make lesson N=15        expected.txt is its output; make quiz N=15 prints the answers to the quiz                                */
#include "gradus.h"
#include <math.h>
#include <string.h>

static void row(const char *label, const double *v, size_t n)
{
    printf("  %-34s", label);
    for (size_t i = 0; i < n; i++) printf("%11.5f", fabs(v[i]) < 5e-6 ? 0 : v[i]);
    printf("\n");
}
static void number(const char *label, double v) { row(label, &v, 1); }
static double deviation(const double *v, size_t n) /* from 0 */
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) squares += v[i] * v[i];
    return sqrt(squares / (double)n);
}

/* ---- One query, two keys ---- */

/* y, p and the gradients from plain operators; v has one column. dy = 1. */
static void by_hand(void)
{
    const double q[] = { 1, 0 }, k[] = { 1, 0, 1, 2 }, v[] = { 2, 6 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *Q = gr_want_grad(t, gr_input(t, q, GR_SHAPE(1, 2))), *K = gr_want_grad(t, gr_input(t, k, GR_SHAPE(2, 2)));
    gr_tensor *V = gr_want_grad(t, gr_input(t, v, GR_SHAPE(2, 1))), *dot = gr_matmul_t(t, Q, false, K, true);
    gr_tensor *s = gr_want_grad(t, gr_scale(t, dot, 1 / sqrt(2))), *p = gr_want_grad(t, gr_softmax(t, s, -1)), *y = gr_matmul(t, p, V);
    gr_backward(t, gr_sum(t, y, GR_ALL_AXES, false));
    const double *dp = gr_grad(t, p), mean = p->data[0] * dp[0] + p->data[1] * dp[1];
    printf("1. By hand: q = (1, 0), keys (1, 0) and (1, 2), values 2 and 6, d = 2\n\n");
    row("q k_j", dot->data, 2), row("s_j = q k_j / sqrt(2)", s->data, 2), row("p = softmax(s)", p->data, 2),
        number("y = sum of p_j v_j", gr_item(y));
    printf("\n   backward, for a loss that is y\n\n");
    row("dv_j = p_j", gr_grad(t, V), 2), row("dp_j = v_j", dp, 2), number("mean = sum of p_j dp_j", mean);
    row("ds_j = p_j (dp_j - mean)", gr_grad(t, s), 2), number("their sum", gr_grad(t, s)[0] + gr_grad(t, s)[1]);
    row("dq   = sum of ds_j k_j / sqrt(2)", gr_grad(t, Q), 2), row("dk_0 = ds_0 q / sqrt(2)", gr_grad(t, K), 2);
    row("dk_1 = ds_1 q / sqrt(2)", gr_grad(t, K) + 2, 2);
    gr_tape_free(t);
}

/* ---- The root of d ---- */

/* The mean over 2000 random queries with 10 keys: the deviation of the scores, the largest weight, and the sum of p (1 - p). */
static void ten_keys(size_t d, double scale, double *found)
{
    enum { DRAWS = 2000, KEYS = 10 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *q = gr_randn(t, GR_SHAPE(DRAWS, 1, d), 0, 1, "q"), *k = gr_randn(t, GR_SHAPE(DRAWS, KEYS, d), 0, 1, "k");
    gr_tensor *s = gr_scale(t, gr_matmul_t(t, q, false, k, true), scale), *p = gr_softmax(t, s, -1);
    found[0] = deviation(s->data, s->len), found[1] = found[2] = 0;
    for (int r = 0; r < DRAWS; r++) {
        double largest = 0;
        for (int j = 0; j < KEYS; j++) {
            const double w = p->data[r * KEYS + j];
            largest = fmax(largest, w), found[2] += w * (1 - w) / DRAWS;
        }
        found[1] += largest / DRAWS;
    }
    gr_tape_free(t);
}

static void root_of_d(void)
{
    printf("\n2. Ten keys: the deviation of the scores, the largest weight, the sum of the slopes p (1 - p); means over 2000 draws\n\n");
    for (int divided = 0; divided < 2; divided++)
        for (size_t d = 1; d <= 256; d *= 4) {
            char label[64];
            double found[3];
            snprintf(label, sizeof label, "d = %zu%s", d, divided ? ", divided by sqrt(d)" : "");
            ten_keys(d, divided ? 1 / sqrt((double)d) : 1, found), row(label, found, 3);
        }
}

/* ---- The mask ---- */

static void attend(const char *label, const double *x, bool causal)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in = gr_input(t, x, GR_SHAPE(1, 4, 1));
    row(label, gr_attention(t, in, in, in, &(gr_attention_config){ .causal = causal })->data, 4);
    gr_tape_free(t);
}

static void masks(void)
{
    const double x[] = { 1, 2, 0, -1 }, other[] = { 1, 2, 0, 3 };
    double sums[4];
    printf("\n3. Four tokens (1, 2, 0, -1), which are queries, keys and values; then the last one is 3\n\n");
    attend("no mask, last token -1", x, false), attend("no mask, last token 3", other, false);
    attend("causal, last token -1", x, true), attend("causal, last token 3", other, true);
    for (int i = 0; i < 4; i++) {
        double seen = 0, all = 0;
        for (int j = 0; j < 4; j++) all += exp(x[i] * x[j]), seen += j <= i ? exp(x[i] * x[j]) : 0;
        sums[i] = seen / all;
    }
    row("sum of p, masked after the softmax", sums, 4);
}

/* ---- Pre-norm and post-norm ---- */

static gr_transformer_layer *block(gr_tape *t, gr_module *net, int number_of, size_t size, bool pre)
{
    char name[16];
    snprintf(name, sizeof name, "block%d", number_of);
    return gr_transformer_layer_new(t, net, name, size, 2,
                                    &(gr_transformer_config){ .norm_first = pre, .causal = true, .feedforward = 2 * size });
}

/* The deviation of x and of its gradient at the input of blocks 0, 6, 12, 18 and at the end, for a random gradient of deviation 1 there. */
static void through_blocks(const char *label, bool pre)
{
    enum { BLOCKS = 24, SIZE = 32 };
    double value[5], gradient[5];
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *x[BLOCKS + 1] = { gr_want_grad(t, gr_randn(t, GR_SHAPE(4, 8, SIZE), 0, 1, "x")) };
    for (int l = 0; l < BLOCKS; l++) x[l + 1] = gr_want_grad(t, gr_transformer_layer_forward(t, block(t, net, l, SIZE, pre), x[l], NULL));
    gr_backward_from(t, x[BLOCKS], gr_randn(t, GR_SHAPE(4, 8, SIZE), 0, 1, "dy")->data);
    for (int k = 0; k < 5; k++) value[k] = deviation(x[6 * k]->data, x[0]->len), gradient[k] = deviation(gr_grad(t, x[6 * k]), x[0]->len);
    printf("  %s\n", label), row("x", value, 5), row("its gradient", gradient, 5);
    gr_module_free(net), gr_tape_free(t);
}

/* rising: the learning rate begins near 0 and reaches lr after 50 steps. Eight numbers are read; at each token the network must give
 * the sum so far, divided by the root of its length: the loss of 0 is 1. */
static double learn(bool pre, double lr, bool rising, uint64_t seed)
{
    enum { BLOCKS = 12, BATCH = 8, TOKENS = 8, SIZE = 16, TRAIN = 150 };
    double last = 0;
    gr_tape *t = gr_tape_new(seed, NULL);
    gr_module *net = gr_module_new(t);
    gr_linear_module *in = gr_linear_new(t, net, "in", 2, SIZE, NULL), *out = gr_linear_new(t, net, "out", SIZE, 1, NULL);
    gr_transformer_layer *blocks[BLOCKS];
    for (int l = 0; l < BLOCKS; l++) blocks[l] = block(t, net, l, SIZE, pre);
    gr_optim *adam = gr_adam_new(t, net, &(gr_adam_config){ .lr = lr });
    for (int step = 0; step < TRAIN; step++) {
        gr_tape_reset(t);
        if (rising && step < 50) gr_optim_set_lr(adam, lr * (step + 1) / 50);
        gr_tensor *x = gr_randn(t, GR_SHAPE(BATCH, TOKENS, 2), 0, 1, "x"), *target = gr_zeros(t, GR_SHAPE(BATCH, TOKENS, 1));
        for (int b = 0; b < BATCH; b++) {
            double sum = 0;
            for (int i = 0; i < TOKENS; i++) {
                double *token = x->data + (b * TOKENS + i) * 2;
                sum += token[0], token[1] = 1, target->data[b * TOKENS + i] = sum / sqrt(i + 1);
            }
        }
        gr_tensor *h = gr_linear_forward(t, in, x);
        for (int l = 0; l < BLOCKS; l++) h = gr_transformer_layer_forward(t, blocks[l], h, NULL);
        gr_tensor *loss = gr_mse(t, gr_linear_forward(t, out, h), target, GR_REDUCE_MEAN);
        gr_optim_zero_grad(adam), gr_backward(t, loss), gr_optim_step(t, adam);
        if (step >= TRAIN - 50) last += gr_item(loss) / 50;
    }
    gr_optim_free(adam), gr_module_free(net), gr_tape_free(t);
    return last;
}

static void norms(void)
{
    printf("\n4. 24 untrained blocks: the deviation of x and of its gradient after 0, 6, 12, 18 and 24 blocks\n\n");
    through_blocks("post-norm: LN(x + f(x))", false), through_blocks("pre-norm: x + f(LN(x))", true);
    printf("\n   12 blocks learn a sum, with a learning rate of 0.001 and then of 0.009: the loss after 150 steps, for three seeds\n\n");
    for (int k = 0; k < 5; k++) {
        static const char *const label[] = { "post-norm, 0.001", "pre-norm, 0.001", "post-norm, 0.009", "pre-norm, 0.009",
                                             "post-norm, rising to 0.009" };
        const double lr = k < 2 ? 0.001 : 0.009;
        row(label[k], (const double[]){ learn(k % 2, lr, k == 4, 1), learn(k % 2, lr, k == 4, 2), learn(k % 2, lr, k == 4, 3) }, 3);
    }
}

/* The answers to the quiz and to Try: do both first. */
static void quiz(void)
{
    const double e = exp(1 / sqrt(2.0)), p = e / (e + 1), s[] = { p * (1 - p) * (2 - 6), p * (1 - p) * (6 - 2) };
    printf("1. The scores are 1 / sqrt(2) and 0:\n");
    row("p", (const double[]){ p, 1 - p }, 2), number("y", 2 * p + 6 * (1 - p)), row("ds", s, 2);
    printf("2. Nothing: softmax does not change when the same number is added to all scores of a row.\n");
    printf("3. ds_ij of the hidden keys, j > i. And ds_00: the first token sees itself alone, so its weight is 1 whatever its score.\n");
    printf("4. sqrt(100) = 10. The variance of a sum of 100 products of variance 1 is 100.\n");
    printf("5. x plus one term from each part: x and 48 terms. f has LN(x) as its input, but x itself passes.\n");
    printf("   In a post-norm stack x has deviation 1 after each block.\n");
    printf("Try 1. ds, and with it dq and dk: both values are equal, so no weight changes y. dv remains.\n");
    printf("Try 2. By 3 sqrt(d): the deviation of a score is 3 sqrt(d).\n");
    printf("Try 3. Yes, with all three seeds: few blocks are easier to train.\n");
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    by_hand(), root_of_d(), masks(), norms();
}
