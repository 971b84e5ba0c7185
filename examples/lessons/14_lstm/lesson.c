/* lesson.c - an LSTM, and where LayerNorm goes in it.
 *
 * Shows: one step by hand, forward and backward; what is left of a cell after 100 steps when the norm is on the carried cell, and when it is not; how
 *        far back the gradient reaches in an LSTM with and without norms; the deviation of two summed norms; which placement learns to add.
 * Run:   make lesson N=14        expected.txt is its output; make quiz N=14 prints the answers to the quiz                                */
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
static double length(const double *v, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) squares += v[i] * v[i];
    return sqrt(squares);
}
static double sigmoid(double v) { return 1 / (1 + exp(-v)); }
static gr_tensor *norm(gr_tape *t, gr_tensor *x) { return gr_layer_norm(t, x, 1, NULL, NULL, 0); }

/* ---- One step of one unit by hand: all weights 1, no bias, h_0 = 0, so that every a is x ---- */

static double h_of(double x, double c_prev) { return sigmoid(x) * tanh(sigmoid(x) * c_prev + sigmoid(x) * tanh(x)); }

static void by_hand(void)
{
    const double i = sigmoid(1), f = i, o = i, g = tanh(1), c = f * 1 + i * g, T = tanh(c), nudge = 1e-4;
    const double dc = o * (1 - T * T), da_o = T * o * (1 - o), da_i = dc * g * i * (1 - i), da_f = dc * 1 * f * (1 - f),
                 da_g = dc * i * (1 - g * g);
    printf("1. By hand: one unit, all weights 1, x = 1, h_0 = 0, c_0 = 1\n\n");
    number("i = f = o = sigmoid(1)", i), number("g = tanh(1)", g), number("c = f c_0 + i g", c), number("tanh(c)", T),
        number("h = o tanh(c)", o * T);
    printf("\n   backward, for a loss that is h\n\n");
    number("da_o = tanh(c) * o (1 - o)", da_o), number("dc   = o * (1 - tanh(c)^2)", dc), number("da_i = dc * g * i (1 - i)", da_i);
    number("da_f = dc * c_0 * f (1 - f)", da_f), number("da_g = dc * i * (1 - g^2)", da_g), number("dc_0 = dc * f", dc * f);
    number("  by a nudge of c_0", (h_of(1, 1 + nudge) - h_of(1, 1 - nudge)) / (2 * nudge));
    number("dx = da_i + da_f + da_g + da_o", da_i + da_f + da_g + da_o);
    number("  by a nudge of x", (h_of(1 + nudge, 1) - h_of(1 - nudge, 1)) / (2 * nudge));
}

/* ---- A cell with f = 1 ---- */

static void carried(const char *label, bool norm_carried, bool norm_last)
{
    static const int mark[] = { 1, 2, 5, 10, 50, 100 };
    double left[6];
    for (int k = 0; k < 6; k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *first = gr_want_grad(t, norm(t, gr_randn(t, GR_SHAPE(1, UNITS), 0, 1, "first"))), *c = first;
        for (int step = 0; step < mark[k]; step++) {
            c = gr_add(t, c, gr_randn(t, GR_SHAPE(1, UNITS), 0, 0.5, "added"));
            if (norm_carried) c = norm(t, c);
        }
        const gr_tensor *dy = gr_randn(t, GR_SHAPE(1, UNITS), 0, 1, "dy");
        gr_backward_from(t, norm_last ? norm(t, c) : c, dy->data);
        left[k] = length(gr_grad(t, first), UNITS) / length(dy->data, UNITS);
        gr_tape_free(t);
    }
    row(label, left, 6);
}

static void cells(void)
{
    printf("\n2. A cell of 32 values with f = 1; each step adds numbers of deviation 0.5: the norm of the gradient of the first cell,\n"
           "   divided by that of what comes from the loss, for 1, 2, 5, 10, 50, 100 steps\n\n");
    carried("the next step gets c", false, false), carried("the next step gets c, h sees LN(c)", false, true);
    carried("the next step gets LN(c)", true, false);
    number("1 / sqrt(1 + 0.5^2)", 1 / sqrt(1.25)), small("its 100th power", (const double[]){ pow(1.25, -50) }, 1);
    number("1 / sqrt(1 + 100 * 0.5^2)", 1 / sqrt(26));
}

/* ---- How far back does the gradient reach? ---- */

static void reach(const char *label, unsigned norms, double forget_bias)
{
    static const int back[] = { 0, 1, 10, 50, 100 };
    double found[5];
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_lstm *lstm = gr_lstm_new(t, net, "lstm", 2, UNITS, &(gr_lstm_config){ .forget_bias = forget_bias, .norm = norms });
    const gr_lstm_out s =
        gr_lstm_forward(t, lstm, gr_randn(t, GR_SHAPE(STEPS + 1, 1, 2), 0, 1, "numbers"), &(gr_lstm_input){ .grad_norms = true });
    gr_backward(t, gr_sum(t, gr_select(t, s.h, 0, -1), GR_ALL_AXES, false));
    for (int k = 0; k < 5; k++) found[k] = s.dc_norm[STEPS - back[k]];
    small(label, found, 5);
    gr_module_free(net), gr_tape_free(t);
}

static void lengths(void)
{
    printf("\n3. An untrained LSTM of 32 units: the norm of the gradient with respect to c, 0, 1, 10, 50, 100 steps before the last\n\n");
    reach("no norm, b_f = 0", 0, 0), reach("no norm, b_f = 2", 0, 2), reach("norms of the paper, b_f = 0", GR_LSTM_LN_BA2016, 0);
    small("f^100 for f = 1/2 and sigmoid(2)", (const double[]){ pow(0.5, 100), pow(sigmoid(2), 100) }, 2);
}

/* ---- Two summed norms ---- */

static void two_norms(void)
{
    enum { ROWS = 1000, N = 4 * UNITS };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *a = norm(t, gr_randn(t, GR_SHAPE(ROWS, N), 0, 3, "Wx")), *b = norm(t, gr_randn(t, GR_SHAPE(ROWS, N), 0, 0.2, "Uh"));
    gr_tensor *sum = gr_add(t, a, b), *one = norm(t, sum);
    printf("\n4. Two norms and their sum: the deviation over 1000 rows\n\n");
    number("LN(W x)", length(a->data, a->len) / sqrt((double)a->len)), number("LN(U h)", length(b->data, b->len) / sqrt((double)b->len));
    number("LN(W x) + LN(U h)", length(sum->data, sum->len) / sqrt((double)sum->len)), number("sqrt(2)", sqrt(2));
    number("LN of the sum", length(one->data, one->len) / sqrt((double)one->len));
    gr_tape_free(t);
}

/* ---- Which placement learns to add 20 numbers? ---- */

typedef enum { NONE, PAPER, CARRIED, STATE } place;
typedef struct {
    gr_tensor *h, *c;
} state;

static state cell(gr_tape *t, gr_tensor *x, state s, const gr_lstm *weights, place p)
{
    const gr_recurrent_weights *w = weights->recurrent.weights;
    const size_t H = w->w_hh->dim[1];
    gr_tensor *a = gr_add(t, gr_linear(t, x, w->w_ih, w->b_ih), gr_linear(t, s.h, w->w_hh, w->b_hh)), *part[4];
    for (int k = 0; k < 4; k++) {
        gr_tensor *block = gr_narrow(t, a, -1, k * (int)H, H);
        part[k] = k == 2 ? gr_tanh(t, block) : gr_sigmoid(t, block);
    }
    gr_tensor *c = gr_add(t, gr_mul(t, part[1], s.c), gr_mul(t, part[0], part[2]));
    if (p == CARRIED) c = norm(t, c);
    gr_tensor *h = gr_mul(t, part[3], gr_tanh(t, p == PAPER ? norm(t, c) : c));
    return (state){ p == STATE ? norm(t, h) : h, c };
}

static double adds(place p, uint64_t seed)
{
    enum { BATCH = 32, H = 16, TRAIN = 300, T = 20 };
    double last = 0;
    gr_tape *t = gr_tape_new(seed, NULL);
    gr_module *net = gr_module_new(t);
    gr_lstm *lstm = gr_lstm_new(t, net, "lstm", 1, H, &(gr_lstm_config){ .forget_bias = 2 });
    gr_linear_module *read = gr_linear_new(t, net, "read", H, 1, NULL);
    gr_optim *adam = gr_adam_new(t, net, &(gr_adam_config){ .lr = 0.005 });
    for (int step = 0; step < TRAIN; step++) {
        gr_tape_reset(t);
        state s = { gr_zeros(t, GR_SHAPE(BATCH, H)), gr_zeros(t, GR_SHAPE(BATCH, H)) };
        gr_tensor *target = gr_zeros(t, GR_SHAPE(BATCH, 1));
        for (int k = 0; k < T; k++) {
            gr_tensor *x = gr_rand(t, GR_SHAPE(BATCH, 1), -1, 1, "numbers");
            for (int i = 0; i < BATCH; i++) target->data[i] += x->data[i] * sqrt(3.0 / T); /* so that its variance is 1 */
            s = cell(t, x, s, lstm, p);
        }
        gr_tensor *loss = gr_mse(t, gr_linear_forward(t, read, s.h), target, GR_REDUCE_MEAN);
        gr_optim_zero_grad(adam), gr_backward(t, loss), gr_clip_grad_norm(t, adam, 1), gr_optim_step(t, adam);
        if (step >= TRAIN - 50) last += gr_item(loss) / 50;
    }
    gr_optim_free(adam), gr_module_free(net), gr_tape_free(t);
    return last;
}

static void learn(void)
{
    static const char *const label[] = { "no norm", "h = o tanh(LN(c))", "the next step gets LN(c)", "LN(h)" };
    printf("\n5. An LSTM of 16 units learns to add 20 numbers, b_f = 2: its loss after 300 steps of Adam, for three seeds\n\n");
    for (place p = NONE; p <= STATE; p++) row(label[p], (const double[]){ adds(p, 1), adds(p, 2), adds(p, 3) }, 3);
}

static void quiz(void) /* the answers to the quiz and to Try: do both first */
{
    const double i = sigmoid(1), g = tanh(1), c = i + i * g, T = tanh(c), dc = i * (1 - T * T);
    printf("1. dc_later adds to dc, and da_o does not change: only dc has a second use.\n");
    number("dc", dc + 0.5), number("dc_0 = dc * f", (dc + 0.5) * i);
    printf("2. The product of the forget gates, f^100.\n");
    small("f = 0.6, 0.9, 0.99", (const double[]){ pow(0.6, 100), pow(0.9, 100), pow(0.99, 100) }, 3);
    printf("3. With b_f = 0 and small weights f is about 0.5; with b_f = 2 it is sigmoid(2).\n");
    number("sigmoid(2)", sigmoid(2));
    printf("4. (1, -1) or (-1, 1), if the two cells differ by much more than the root of eps. If they are equal, (0, 0).\n");
    printf("5. sqrt(3): the variances of independent values add up, and each is 1.\n");
    number("sqrt(3)", sqrt(3));
    printf("Try 1. c reaches the later steps through h and U as well, and these parts add up.\n");
    printf("Try 2. LN divides by sqrt(1 + 0.1^2) in each step: %.3f would be left on average. The program has one draw.\n", pow(1 + 0.1 * 0.1, -50));
    printf("Try 3. The one with LN on the carried cell. A normalized row hardly changes in a second norm.\n");
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    by_hand(), cells(), lengths(), two_norms(), learn();
}
