/* lesson.c - how large the activations of a deep network are, and how the first weights decide it.
 *
 * Shows: the variance of a sum of two independent numbers, by hand; the mean square after one layer; ten layers of width 100 in six settings;
 *        forward and backward of a layer that is not square; what equal weights do; which rules let ten layers learn.
 * Run:   make lesson N=8         expected.txt is its output; make quiz N=8 prints the answers to the quiz                                 */
#include "gradus.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void row(const char *label, const double *v, size_t n)
{
    printf("  %-36s", label);
    for (size_t i = 0; i < n; i++) printf("%11.3f", fabs(v[i]) < 5e-4 ? 0 : v[i]);
    printf("\n");
}
static void number(const char *label, double v) { row(label, &v, 1); }

static double mean_square(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += v[i] * v[i];
    return sum / (double)n;
}
static double rms(const double *v, size_t n) { return sqrt(mean_square(v, n)); } /* root mean square */

static void by_hand(void)
{
    const double x1[4] = { 1, 1, -1, -1 }, x2[4] = { 1, -1, 1, -1 };
    double y[4], square[4], relu[4], relu_square[4];
    for (int i = 0; i < 4; i++) y[i] = x1[i] - x2[i], square[i] = y[i] * y[i], relu[i] = fmax(y[i], 0), relu_square[i] = relu[i] * relu[i];
    printf("1. By hand: y = x_1 - x_2. Each x is 1 or -1, independently, so there are four cases\n\n");
    row("x_1", x1, 4), row("x_2", x2, 4), row("y = x_1 - x_2", y, 4), row("y^2", square, 4);
    number("mean of x_1^2", mean_square(x1, 4)), number("mean of y^2", mean_square(y, 4));
    row("ReLU: max(y, 0)", relu, 4), row("its square", relu_square, 4), number("its mean", mean_square(relu, 4));
}

/* x behind a layer whose weights have this standard deviation, and optionally behind a ReLU. */
static gr_tensor *layer(gr_tape *t, gr_tensor *x, size_t out, double std, bool relu, const char *stream)
{
    const size_t in = x->dim[1];
    gr_tensor *y = gr_linear(t, x, gr_randn(t, GR_SHAPE(out, in), 0, std, stream), NULL);
    return relu ? gr_relu(t, y) : y;
}

static void one_layer(void)
{
    printf("\n2. One layer, random x and random weights of variance 1: the mean of y^2\n\n");
    for (int n = 2; n <= 2000; n = n == 2 ? 20 : 10 * n) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *y = layer(t, gr_randn(t, GR_SHAPE(64, n), 0, 1, "x"), 100, 1, false, "w");
        char label[40];
        snprintf(label, sizeof label, "%d inputs", n), number(label, mean_square(y->data, y->len));
        gr_tape_free(t);
    }
}

static void deep(const char *label, double std, bool relu)
{
    enum { WIDTH = 100, DEPTH = 10 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_randn(t, GR_SHAPE(64, WIDTH), 0, 1, "x");
    printf("  %-36s", label);
    for (int k = 1; k <= DEPTH; k++) {
        char stream[16];
        snprintf(stream, sizeof stream, "w%d", k);
        x = layer(t, x, WIDTH, std, relu, stream);
        if (k == 1 || k == 2 || k == 5 || k == 10) printf("%11.2g", rms(x->data, x->len));
    }
    printf("\n");
    gr_tape_free(t);
}

static void ten_layers(void)
{
    printf("\n3. Ten layers of width 100: the root mean square after 1, 2, 5 and 10 of them\n\n");
    deep("linear, variance 1", 1, false), deep("linear, variance 1/50", sqrt(1. / 50), false);
    deep("linear, variance 1/100", 0.1, false), deep("linear, variance 1/200", sqrt(1. / 200), false);
    deep("ReLU, variance 1/100", 0.1, true), deep("ReLU, variance 2/100", sqrt(2. / 100), true);
}

/* The mean squares of y = W x and of dx = W^T dy, for x and dy of mean square 1 and a weight [100, 400] made by the rule. */
static void both_ways(const char *label, gr_init rule)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(100, 400), rule);
    gr_tensor *x = gr_want_grad(t, gr_randn(t, GR_SHAPE(64, 400), 0, 1, "x")), *dy = gr_randn(t, GR_SHAPE(64, 100), 0, 1, "dy");
    gr_tensor *y = gr_linear(t, x, w, NULL);
    gr_backward_from(t, y, dy->data);
    row(label, (double[]){ mean_square(y->data, y->len), mean_square(gr_grad(t, x), x->len) }, 2);
    gr_module_free(net), gr_tape_free(t);
}

static void not_square(void)
{
    printf("\n4. From 400 values to 100: the mean of y^2, and that of dx^2 (x and dy have 1)\n\n");
    both_ways("fan in: variance 1/400", gr_init_kaiming_normal(1, GR_FAN_IN));
    both_ways("fan out: variance 1/100", gr_init_kaiming_normal(1, GR_FAN_OUT));
    both_ways("Xavier: variance 2/500", gr_init_xavier_normal(1));
    both_ways("the same, uniform", gr_init_xavier_uniform(1));
}

/* y = W2 tanh(W1 x), two inputs, three hidden units, one sample: the gradient of W1. */
static void hidden(const char *label, gr_init rule)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *w1 = gr_param(t, net, "w1", GR_SHAPE(3, 2), rule), *w2 = gr_param(t, net, "w2", GR_SHAPE(1, 3), rule);
    gr_tensor *h = gr_tanh(t, gr_linear(t, gr_input(t, (double[]){ 1, 2 }, GR_SHAPE(1, 2)), w1, NULL));
    gr_backward(t, gr_sum(t, gr_linear(t, h, w2, NULL), GR_ALL_AXES, false));
    row(label, gr_grad(t, w1), 6);
    gr_module_free(net), gr_tape_free(t);
}

static void equal_weights(void)
{
    printf("\n5. Three hidden units with two weights each: the gradients of the six weights\n\n");
    hidden("all weights 0.5", gr_init_constant(0.5)), hidden("all weights 0", gr_init_constant(0));
    hidden("random weights", gr_init_normal(0, 0.5));
}

/* The mean loss over three seeds after 0, 100, 200 and 400 steps of a network of ten layers that learns sin(3a) b. */
static void learn(const char *label, gr_init rule)
{
    enum { SEEDS = 3, BATCH = 32, STEPS = 400, MARKS = 4, WIDTH = 16, DEPTH = 10 };
    const int mark[MARKS] = { 0, 100, 200, 400 };
    double loss_at[MARKS] = { 0 };
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        gr_tape *t = gr_tape_new(seed, NULL);
        gr_module *net = gr_module_new(t);
        gr_tensor *w[DEPTH];
        for (int k = 0; k < DEPTH; k++) {
            char name[16];
            snprintf(name, sizeof name, "w%d", k);
            w[k] = gr_param(t, net, name, GR_SHAPE(k == DEPTH - 1 ? 1 : WIDTH, k == 0 ? 3 : WIDTH), rule);
        }
        gr_optim *adam = gr_adam_new(t, net, &(gr_adam_config){ .lr = 0.003 });
        for (int step = 0, k = 0; step <= STEPS; step++) {
            gr_tape_reset(t);
            gr_tensor *x = gr_rand(t, GR_SHAPE(BATCH, 3), -1, 1, "data"), *target = gr_empty(t, GR_SHAPE(BATCH, 1));
            for (int i = 0; i < BATCH; i++) {
                x->data[3 * i + 2] = 1; /* in place of a bias */
                target->data[i] = sin(3 * x->data[3 * i]) * x->data[3 * i + 1];
            }
            for (int l = 0; l < DEPTH; l++) x = gr_linear(t, l ? gr_relu(t, x) : x, w[l], NULL);
            gr_tensor *loss = gr_mse(t, x, target, GR_REDUCE_MEAN);
            gr_optim_zero_grad(adam), gr_backward(t, loss), gr_optim_step(t, adam);
            if (step == mark[k]) loss_at[k++] += gr_item(loss) / SEEDS;
        }
        gr_optim_free(adam), gr_module_free(net), gr_tape_free(t);
    }
    printf("  %-36s", label);
    for (int k = 0; k < MARKS; k++) printf(loss_at[k] < 100 ? "%11.3f" : "%11.2g", loss_at[k]);
    printf("\n");
}

static void ten_layers_learn(void)
{
    printf("\n6. Ten layers with ReLU learn sin(3a) b: the loss after 0, 100, 200, 400 steps\n\n");
    learn("all weights 0.1", gr_init_constant(0.1)), learn("variance 1", gr_init_normal(0, 1));
    learn("variance 0.1/n", gr_init_kaiming_normal(sqrt(0.1), GR_FAN_IN));
    learn("variance 1/n", gr_init_kaiming_normal(1, GR_FAN_IN)), learn("variance 2/n", gr_init_kaiming_normal(sqrt(2), GR_FAN_IN));
}

/* The answers to the quiz: answer it first. */
static void quiz(void)
{
    printf("1. y = 3 x_1 + 4 x_2: each variance is multiplied by the square of its weight, and the two are added.\n");
    number("variance of y", 3 * 3 + 4 * 4), number("standard deviation of y", sqrt(3 * 3 + 4 * 4));
    printf("2. Ten layers of width 100, variance 1/50: the mean square doubles in each layer.\n");
    number("mean square after ten layers", pow(2, 10)), number("its root", pow(2, 5));
    printf("3. 64 inputs: the standard deviation is 1 / sqrt(64), and sqrt(2 / 64) in front of a ReLU.\n");
    row("linear, ReLU", (double[]){ sqrt(1. / 64), sqrt(2. / 64) }, 2);
    printf("4. A uniform number from -a to a has the variance a^2 / 3. So a is sqrt(3) times the standard deviation.\n");
    number("a for 64 inputs, linear", sqrt(3. / 64));
    printf("5. Each y adds one value for each of 400 inputs, each dx one for each of 100 outputs: a quarter.\n");
    number("mean of dx^2", 100. / 400);
    printf("6. One: units with equal weights have equal values and get equal gradients, and so they stay equal.\n");
    hidden("gradients, all weights 0.1", gr_init_constant(0.1));
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    by_hand(), one_layer(), ten_layers(), not_square(), equal_weights(), ten_layers_learn();
}
