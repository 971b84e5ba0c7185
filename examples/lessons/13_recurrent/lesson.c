/* lesson.c - why a recurrent net forgets: the gradient of an early state is a product of slopes.
 *
 * Shows: backward through two steps by hand, and a nudge; what is left of the first of 100 numbers in the last state; how long the gradient of a
 *        network of 32 units is after 100 steps back; how far back a network learns to remember.
 * Run:   make lesson N=13        expected.txt is its output; make quiz N=13 prints the answers to the quiz                                */
#include "gradus.h"
#include <math.h>
#include <string.h>

enum { STEPS = 100, UNITS = 32 };

static void row(const char *label, const double *v, size_t n)
{
    printf("  %-34s", label);
    for (size_t i = 0; i < n; i++) printf("%11.5f", fabs(v[i]) < 5e-6 ? 0 : v[i]);
    printf("\n");
}
static void number(const char *label, double v) { row(label, &v, 1); }
static void small(const char *label, const double *v, size_t n)
{
    printf("  %-34s", label);
    for (size_t i = 0; i < n; i++) printf("%11.1e", v[i]);
    printf("\n");
}

/* The last state of h = tanh(w h + x) after `steps` steps from h0. x NULL means zeros. */
static double last_state(double w, double h0, const double *x, int steps)
{
    double h = h0;
    for (int t = 0; t < steps; t++) h = tanh(w * h + (x ? x[t] : 0));
    return h;
}

/* ---- Two steps by hand ---- */

static void by_hand(void)
{
    const double w = 0.5, h0 = 0.5, h1 = tanh(w * h0), h2 = tanh(w * h1), nudge = 0.001;
    const double slope1 = 1 - h1 * h1, slope2 = 1 - h2 * h2, da2 = slope2, dh1 = da2 * w, da1 = dh1 * slope1, dh0 = da1 * w;
    printf("1. By hand: h_t = tanh(w h_(t-1)), w = 0.5, h_0 = 0.5, two steps\n\n");
    number("h_1 = tanh(w h_0)", h1), number("h_2 = tanh(w h_1)", h2);
    number("slope of step 1: 1 - h_1^2", slope1), number("slope of step 2: 1 - h_2^2", slope2);
    printf("\n   backward, for a loss that is h_2\n\n");
    number("da_2 = 1 * slope of step 2", da2), number("dh_1 = da_2 * w", dh1);
    number("da_1 = dh_1 * slope of step 1", da1), number("dh_0 = da_1 * w", dh0);
    number("  by a nudge of h_0", (last_state(w, h0 + nudge, NULL, 2) - last_state(w, h0 - nudge, NULL, 2)) / (2 * nudge));
    number("dw of step 2: da_2 * h_1", da2 * h1), number("dw of step 1: da_1 * h_0", da1 * h0),
        number("dw, their sum", da2 * h1 + da1 * h0);
    number("  by a nudge of w", (last_state(w + nudge, h0, NULL, 2) - last_state(w - nudge, h0, NULL, 2)) / (2 * nudge));
}

/* ---- One unit, 100 steps ---- */

static const int mark[] = { 1, 2, 5, 10, 50, 100 };

static void fill(double *x, int n) /* numbers from -1 to 1 */
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_tensor *random = gr_rand(t, GR_SHAPE(n), -1, 1, "numbers");
    for (int i = 0; i < n; i++) x[i] = random->data[i];
    gr_tape_free(t);
}

/* The product of w (1 - h^2) over the first steps, at each mark: how far h moves when h0 moves by 1. */
static void product(const char *label, double w, const double *x)
{
    double left[6], p = 1, h = 0.5;
    for (int t = 1, k = 0; t <= STEPS; t++) {
        h = tanh(w * h + (x ? x[t - 1] : 0)), p *= w * (1 - h * h);
        if (t == mark[k]) left[k++] = p;
    }
    small(label, left, 6);
}

static void one_unit(void)
{
    double x[STEPS], h[3];
    fill(x, STEPS);
    printf("\n2. One unit, h_0 = 0.5: how far h_t moves when h_0 moves by 1, for t = 1, 2, 5, 10, 50, 100\n\n");
    product("w = 0.5, numbers from -1 to 1", 0.5, x), product("w = 1, numbers from -1 to 1", 1, x),
        product("w = 2, numbers from -1 to 1", 2, x);
    product("w = 1, all numbers 0", 1, NULL), product("w = 2, all numbers 0", 2, NULL);
    printf("\n   the last state of three units that begin with h_0 = -1, 0 and 1, and read the same 100 numbers with w = 1\n\n");
    for (int k = 0; k < 3; k++) h[k] = last_state(1, k - 1, x, STEPS);
    row("h_100", h, 3);
}

/* ---- A network ---- */

/* The norm of the gradient with respect to h, 0, 1, 10, 50 and 100 steps before the last, for recurrent weights of deviation gain / sqrt(32). */
static void network(double gain)
{
    static const int back[] = { 0, 1, 10, 50, 100 };
    double norm[5];
    char label[64];
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_rnn *rnn = gr_rnn_new(t, net, "rnn", 1, UNITS, NULL);
    gr_tensor *w = rnn->recurrent.weights[0].w_hh, *random = gr_randn(t, GR_SHAPE(UNITS, UNITS), 0, gain / sqrt(UNITS), "weights");
    for (size_t i = 0; i < w->len; i++) w->data[i] = random->data[i];
    gr_tensor *x = gr_randn(t, GR_SHAPE(STEPS + 1, 1, 1), 0, 1, "numbers");
    const gr_rnn_out s = gr_rnn_forward(t, rnn, x, &(gr_rnn_input){ .grad_norms = true });
    gr_backward(t, gr_sum(t, gr_select(t, s.h, 0, -1), GR_ALL_AXES, false));
    for (int k = 0; k < 5; k++) norm[k] = s.dh_norm[STEPS - back[k]];
    snprintf(label, sizeof label, "gain %g", gain);
    small(label, norm, 5);
    gr_module_free(net), gr_tape_free(t);
}

static void networks(void)
{
    printf("\n3. A network of 32 units: the norm of the gradient with respect to h, 0, 1, 10, 50, 100 steps before the last\n\n");
    network(0.5), network(1), network(1.5), network(2), network(3);
}

/* ---- Learning to remember ---- */

/* A network reads 1 or -1 first and then steps - 1 small numbers; it must say which of the two it was. The loss of 1 is that of saying 0. */
static double remember(int steps)
{
    enum { BATCH = 32, TRAIN = 400 };
    double last = 0;
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_rnn *rnn = gr_rnn_new(t, net, "rnn", 1, 16, NULL);
    gr_linear_module *read = gr_linear_new(t, net, "read", 16, 1, NULL);
    gr_optim *adam = gr_adam_new(t, net, &(gr_adam_config){ .lr = 0.003 });
    for (int step = 0; step < TRAIN; step++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_randn(t, GR_SHAPE(steps, BATCH, 1), 0, 0.1, "numbers"), *target = gr_rand(t, GR_SHAPE(BATCH, 1), -1, 1, "signs");
        for (int i = 0; i < BATCH; i++) x->data[i] = target->data[i] = target->data[i] < 0 ? -1 : 1;
        const gr_rnn_out s = gr_rnn_forward(t, rnn, x, NULL);
        gr_tensor *loss = gr_mse(t, gr_linear_forward(t, read, gr_select(t, s.h, 0, -1)), target, GR_REDUCE_MEAN);
        gr_optim_zero_grad(adam), gr_backward(t, loss), gr_clip_grad_norm(t, adam, 1), gr_optim_step(t, adam);
        if (step >= TRAIN - 20) last += gr_item(loss) / 20;
    }
    gr_optim_free(adam), gr_module_free(net), gr_tape_free(t);
    return last;
}

static void learn(void)
{
    static const int steps[] = { 2, 5, 10, 20, 40, 80 };
    double loss[6];
    printf("\n4. A network of 16 units reads 2, 5, 10, 20, 40, 80 numbers and learns to say what came first: its loss after 400 steps\n\n");
    for (int k = 0; k < 6; k++) loss[k] = remember(steps[k]);
    row("loss (1: it knows nothing)", loss, 6);
}

/* The answers to the quiz and to Try: do both first. */
static void quiz(void)
{
    const double h1 = tanh(0.25), h2 = tanh(0.5 * h1), hand = 0.5 * (1 - h2 * h2);
    printf("1. The loss h_1 + h_2: the gradient of h_1 is 1 + dh_1 = 1 + 0.5 (1 - h_2^2), and that goes through step 1.\n");
    number("gradient of h_1", 1 + hand), number("dh_0", (1 + hand) * (1 - h1 * h1) * 0.5);
    printf("2. du is the sum of da_t x_t. Only x_2 is not 0, so du = da_2 * 3, with the slope at the new h_2 = tanh(w h_1 + 3).\n");
    const double h = tanh(0.5 * h1 + 3);
    number("h_2", h), number("du", (1 - h * h) * 3);
    printf("3. The state settles where h = tanh(2 h). There w (1 - h^2) is below 1, and it is the factor of each step.\n");
    number("h", last_state(2, 0.5, NULL, STEPS)), number("2 (1 - h^2)", 2 * (1 - pow(last_state(2, 0.5, NULL, STEPS), 2)));
    printf("4. Without tanh every slope is 1, and the gradient is w^100.\n");
    small("0.9^100, 1^100, 1.1^100", (const double[]){ pow(0.9, 100), 1, pow(1.1, 100) }, 3);
    printf("5. No. Clipping makes a long gradient shorter. The part of an early step is small beside the others, and stays so.\n");
    printf("Try 1. The lines with all numbers 0: h stays 0, where the slope is 1, so the product is w^t.\n");
    printf("Try 2. The line of w = 1 falls much more slowly: h stays near 0, where the slope is near 1.\n");
    printf("Try 3. The columns of 20, 40 and 80 numbers: the network learns them, too. The product of w and the slopes is larger then.\n");
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    by_hand(), one_unit(), networks(), learn();
}
