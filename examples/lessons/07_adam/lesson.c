/* lesson.c - gradient descent, momentum and Adam: how far a weight moves.
 *
 * Shows: two steps of Adam by hand; the first step of each rule for gradients of all sizes; a gradient that stays and one that changes its sign; a
 *        narrow valley; a network whose loss is multiplied by 0.01, 1 and 100.
 * Run:   make lesson N=7         expected.txt is its output; make quiz N=7 prints the answers to the quiz                                 */
#include "gradus.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void row(const char *label, const double *v, size_t n)
{
    printf("  %-34s", label);
    for (size_t i = 0; i < n; i++) printf("%11.5f", fabs(v[i]) < 5e-6 ? 0 : v[i]);
    printf("\n");
}

static void by_hand(void)
{
    const double g[2] = { 4, -2 }, lr = 0.1;
    double m[2], v[2], m_hat[2], v_hat[2], step[2], plain[2], sum[2];
    for (int i = 0, k = 1; i < 2; i++, k++) {
        m[i] = 0.9 * (i ? m[0] : 0) + 0.1 * g[i], v[i] = 0.999 * (i ? v[0] : 0) + 0.001 * g[i] * g[i];
        sum[i] = 1 - pow(0.9, k), m_hat[i] = m[i] / sum[i], v_hat[i] = v[i] / (1 - pow(0.999, k));
        step[i] = -lr * m_hat[i] / sqrt(v_hat[i]), plain[i] = -lr * m[i] / sqrt(v[i]);
    }
    printf("1. By hand: two steps of Adam, for the gradients 4 and -2, with lr = 0.1\n\n");
    row("g", g, 2), row("m", m, 2), row("v", v, 2), row("1 - 0.9^k", sum, 2), row("m / (1 - 0.9^k)", m_hat, 2);
    row("v / (1 - 0.999^k)", v_hat, 2), row("step", step, 2), row("step without either correction", plain, 2);
}

/* ---- gradus' optimizers on one parameter ---- */

typedef enum { DESCENT, MOMENTUM, ADAM, RULES } rule;
static const char *const name[RULES] = { "descent", "momentum 0.9", "Adam" };

static gr_optim *make(gr_tape *t, gr_module *net, rule r, double lr)
{
    return r == ADAM ? gr_adam_new(t, net, &(gr_adam_config){ .lr = lr })
                     : gr_sgd_new(t, net, &(gr_sgd_config){ .lr = lr, .momentum = r ? 0.9 : 0 });
}

/* How far x moves in step number `steps`, if its gradient is g in the first step and is multiplied by `turn` after each. */
static double step_for(rule r, double lr, double g, double turn, int steps)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *x = gr_param(t, net, "x", GR_SHAPE(1), gr_init_constant(0));
    gr_optim *o = make(t, net, r, lr);
    double before = 0;
    for (int k = 0; k < steps; k++, g *= turn) {
        gr_tape_reset(t);
        before = x->data[0];
        gr_optim_zero_grad(o);
        gr_backward(t, gr_sum(t, gr_scale(t, x, g), GR_ALL_AXES, false)); /* the loss g x has the slope g */
        gr_optim_step(t, o);
    }
    const double moved = x->data[0] - before;
    gr_optim_free(o), gr_module_free(net), gr_tape_free(t);
    return moved;
}

static void first_step(void)
{
    const double g[] = { 1e-8, 0.001, 1, 1000 };
    printf("\n2. The first step with lr = 0.1, for gradients of all sizes\n\n");
    printf("  %-34s%11g%11g%11g%11g\n\n", "gradient", g[0], g[1], g[2], g[3]);
    for (rule r = DESCENT; r < RULES; r++) {
        double step[4];
        for (int i = 0; i < 4; i++) step[i] = step_for(r, 0.1, g[i], 1, 1);
        row(name[r], step, 4);
    }
}

static void later_steps(void)
{
    const int at[] = { 1, 2, 3, 10, 100 };
    printf("\n3. Steps 1, 2, 3, 10 and 100 with lr = 0.1\n");
    for (int k = 0; k < 2; k++) {
        printf("\n   %s\n\n", k ? "a gradient of 1 that changes its sign after each step" : "a gradient of 1 that stays");
        for (rule r = DESCENT; r < RULES; r++) {
            double step[5];
            for (int i = 0; i < 5; i++) step[i] = step_for(r, 0.1, 1, k ? -1 : 1, at[i]);
            row(name[r], step, 5);
        }
    }
}

/* ---- A narrow valley: the loss (a^2 + 100 b^2) / 2 from a = b = 1 ---- */

static void valley(rule r, double lr)
{
    const int mark[] = { 0, 10, 30, 100, 300 };
    double loss_at[5], scale[2] = { 0.5, 50 };
    char label[40];
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *x = gr_param(t, net, "x", GR_SHAPE(2), gr_init_constant(1));
    gr_optim *o = make(t, net, r, lr);
    for (int step = 0, k = 0; k < 5; step++) {
        gr_tape_reset(t);
        gr_tensor *loss = gr_sum(t, gr_mul(t, gr_square(t, x), gr_input(t, scale, GR_SHAPE(2))), GR_ALL_AXES, false);
        gr_optim_zero_grad(o), gr_backward(t, loss), gr_optim_step(t, o);
        if (step == mark[k]) loss_at[k++] = gr_item(loss);
    }
    gr_optim_free(o), gr_module_free(net), gr_tape_free(t);
    snprintf(label, sizeof label, "%s, lr = %g", name[r], lr);
    printf("  %-34s", label);
    for (int k = 0; k < 5; k++) printf("%11.2g", loss_at[k]);
    printf("\n");
}

/* ---- A network whose loss is multiplied by a number ---- */

/* The loss after 300 steps, the mean over five seeds. */
static double network(rule r, double lr, double factor)
{
    enum { SEEDS = 5, BATCH = 64, STEPS = 300 };
    double mean = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        gr_tape *t = gr_tape_new(seed, NULL);
        gr_module *net = gr_module_new(t);
        gr_linear_module *fc1 = gr_linear_new(t, net, "fc1", 2, 16, NULL), *fc2 = gr_linear_new(t, net, "fc2", 16, 1, NULL);
        gr_optim *o = make(t, net, r, lr);
        for (int step = 0; step <= STEPS; step++) {
            gr_tape_reset(t);
            gr_tensor *ab = gr_rand(t, GR_SHAPE(BATCH, 2), -1, 1, "data"), *target = gr_empty(t, GR_SHAPE(BATCH, 1));
            for (int i = 0; i < BATCH; i++) target->data[i] = 2 * ab->data[2 * i] * ab->data[2 * i + 1];
            gr_tensor *y = gr_linear_forward(t, fc2, gr_tanh(t, gr_linear_forward(t, fc1, ab)));
            gr_tensor *loss = gr_mse(t, y, target, GR_REDUCE_MEAN);
            gr_optim_zero_grad(o), gr_backward(t, gr_scale(t, loss, factor)), gr_optim_step(t, o);
            if (step == STEPS) mean += gr_item(loss) / SEEDS;
        }
        gr_optim_free(o), gr_module_free(net), gr_tape_free(t);
    }
    return mean;
}

static void networks(void)
{
    const double lr[RULES] = { 0.3, 0.05, 0.01 }, factor[] = { 0.01, 1, 100 };
    printf("\n5. A network whose loss is multiplied by a number: its loss, without the number, after 300 steps\n\n");
    printf("  %-34s%11g%11g%11g\n\n", "multiplied by", factor[0], factor[1], factor[2]);
    for (rule r = DESCENT; r < RULES; r++) {
        char label[40];
        snprintf(label, sizeof label, "%s, lr = %g", name[r], lr[r]);
        printf("  %-34s", label);
        for (int i = 0; i < 3; i++) {
            const double loss = network(r, lr[r], factor[i]);
            if (isfinite(loss)) printf("%11.4f", loss);
            else printf("%11s", "diverged");
        }
        printf("\n");
    }
}

/* The answers to the quiz: answer it first. */
static void quiz(void)
{
    const int at[] = { 1, 2, 3, 10 };
    double step[4];
    printf("1. A step against the sign of the gradient, as large as lr.\n");
    row("the step", (double[]){ step_for(ADAM, 0.01, -0.001, 1, 1) }, 1);
    printf("2. b goes to 1 + 0.9 + 0.9^2 + .. = 1 / (1 - 0.9) = 10 times the gradient.\n");
    row("momentum, step 100 with lr = 0.1", (double[]){ step_for(MOMENTUM, 0.1, 1, 1, 100) }, 1);
    printf("3. m is 0.1 g and the root of v is 0.0316 g. Their quotient is 3.16 in place of 1: the step is too large.\n");
    row("0.1 / sqrt(0.001)", (double[]){ 0.1 / sqrt(0.001) }, 1);
    printf("4. Momentum and Adam: b and m remember the gradient. Adam's v forgets more slowly than m.\n");
    for (rule r = DESCENT; r < RULES; r++) {
        for (int i = 0; i < 4; i++) step[i] = step_for(r, 0.1, 1, 0, at[i]);
        row(name[r], step, 4);
    }
    printf("5. A step takes b to b - lr 100 b = (1 - 100 lr) b. That grows if lr is above 2 / 100.\n");
    row("the factor for lr 0.019, 0.021", (double[]){ 1 - 100 * 0.019, 1 - 100 * 0.021 }, 2);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    by_hand(), first_step(), later_steps();
    printf("\n4. A narrow valley: the loss (a^2 + 100 b^2) / 2 after 0, 10, 30, 100, 300 steps from a = b = 1\n\n");
    valley(DESCENT, 0.01), valley(DESCENT, 0.019), valley(DESCENT, 0.021);
    valley(MOMENTUM, 0.01), valley(ADAM, 0.03), valley(ADAM, 0.1);
    networks();
}
