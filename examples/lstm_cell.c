/* examples/lstm_cell.c - a LayerNorm LSTM cell from operators, run over a short sequence and compared with gr_lstm.
 *
 * Shows: parameters of a module in expressions of your own, a loop over time, backward through it.
 * Run:   examples/lstm_cell              (at once)
 *        examples/lstm_cell --eps 0.1    with another epsilon than gr_lstm's nothing agrees
 * See:   output and gradients agree to rounding. The cell records 21 operators for each step, gr_lstm one for all steps (ops/lstm.c).
 * Exit:  0, or 1 --check found a difference; 2 a bad flag or path; 3 out of memory or disk full.
 */
#include "examples/kit/kit.h"
#include "gradus.h"
#include <math.h>

enum { T = 5, B = 3, I = 4, H = 8 }; /* steps, sequences, inputs, units */

static kit_options o = { .seed = 42 };
static double eps = 1e-5;
static const kit_flag flag[] = {
    { "eps", KIT_NUMBER, &eps, "X", "the epsilon of the cell's norms; gr_lstm has 1e-5", 0, 1 },
    KIT_FLAGS_RUN(o, "exit 1 unless output and gradients agree"),
};
static const kit_flags flags = { "lstm_cell", "a LayerNorm LSTM cell from operators, compared with gr_lstm", flag,
                                 sizeof flag / sizeof *flag };

static gr_tensor *norm(gr_tape *t, gr_tensor *z, gr_lstm_ln ln)
{
    return gr_layer_norm(t, z, 1, ln.weight, ln.bias, eps > 0 ? eps : GR_NONE); /* for an operator, 0 is the default, 1e-5 */
}
static gr_tensor *block(gr_tape *t, gr_tensor *a, size_t k) { return gr_narrow(t, a, 1, k * H, H); }

/* x [B, I]: h and c [B, H] go on to the next step.           Ba, Kiros, Hinton 2016, eq. 20-22; gates in PyTorch's order */
static void cell(gr_tape *t, const gr_lstm_weights *w, gr_tensor *x, gr_tensor **h, gr_tensor **c)
{
    gr_tensor *wx = norm(t, gr_linear(t, x, w->w_ih, NULL), w->ln_ih);  /* [B, 4H] */
    gr_tensor *wh = norm(t, gr_linear(t, *h, w->w_hh, NULL), w->ln_hh); /* [B, 4H] */
    gr_tensor *a = gr_add(t, gr_add(t, wx, wh), w->b_ih);               /* [B, 4H]: i, f, g, o */
    gr_tensor *input = gr_sigmoid(t, block(t, a, 0));                   /* [B, H] */
    gr_tensor *forget = gr_sigmoid(t, block(t, a, 1));
    gr_tensor *value = gr_tanh(t, block(t, a, 2));
    gr_tensor *output = gr_sigmoid(t, block(t, a, 3));
    *c = gr_add(t, gr_mul(t, forget, *c), gr_mul(t, input, value));
    *h = gr_mul(t, output, gr_tanh(t, norm(t, *c, w->ln_c)));
}

/* x [T, B, I] -> h of every step [T, B, H] */
static gr_tensor *run_cells(gr_tape *t, const gr_lstm_weights *w, gr_tensor *x)
{
    gr_tensor *h = gr_zeros(t, GR_SHAPE(B, H)), *c = h, *all[T];
    for (size_t k = 0; k < T; k++) cell(t, w, gr_select(t, x, 0, (ptrdiff_t)k), &h, &c), all[k] = h;
    return gr_stack(t, all, T, 0);
}

enum { ROWS = 2 + 9 }; /* the output, x and the parameters */
static struct { size_t n; double most[ROWS]; char name[ROWS][64]; } row; /* the differences, for the conclusion */

static void report(kit_run *r, const char *what, const char *name, const gr_real *difference, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n && !isnan(most); i++)
        if (!(fabs((double)difference[i]) <= most)) most = fabs((double)difference[i]);
    if (!o.quiet) printf("%-11s %-20s %9.2g\n", what, name, most);
    snprintf(row.name[row.n], sizeof *row.name, "the %s %s", what, name), row.most[row.n++] = isnan(most) ? HUGE_VAL : most;
    kit_log_write(r->tape, &r->log, "difference", { "what", .text = what }, { "name", .text = name }, { "largest", most });
    kit_run_need(r, most < (sizeof(gr_real) == sizeof(float) ? 1e-3 : 1e-11), "%s %s: the cell and gr_lstm differ by %g", what, name, most);
}

static void conclude(size_t recorded)
{
    const double rounding = sizeof(gr_real) == sizeof(float) ? 1e-3 : 1e-11;
    const char *name[ROWS];
    kit_list worst = { 0 };
    for (size_t i = 0; i < row.n; i++) name[i] = row.name[i];
    const double most = row.most[kit_largest(&worst, row.most, name, row.n, 2)];
    kit_conclude();
    if (most < rounding)
        kit_conclude_say("The two agree: the largest difference is %.2g, in %s, and rounding explains up to %.0e.", most, worst.text,
                         rounding);
    else kit_conclude_say("The two do not agree: they differ by %.2g in %s, and rounding explains up to %.0e%s.", most, worst.text, rounding,
                          eps < 1e-5 || eps > 1e-5 ? "; the cell has another epsilon" : "");
    kit_conclude_say("The cell makes %zu nodes of the tape, and gr_lstm makes 1.", recorded);
}

static void compare(kit_run *r, gr_module *net)
{
    gr_tape *const t = r->tape;
    const gr_lstm *lstm = gr_lstm_new(t, net, "lstm", I, H, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016, .forget_bias = 1 });
    gr_tensor *x = gr_want_grad(t, gr_randn(t, GR_SHAPE(T, B, I), 0, 1, "x")), *dy = gr_randn(t, GR_SHAPE(T, B, H), 0, 1, "dy");
    if (!lstm) return;
    gr_tensor *cells = run_cells(t, lstm->recurrent.weights, x);
    const size_t recorded = gr_tape_nodes(t);
    gr_tensor *difference = gr_sub(t, cells, gr_lstm_forward(t, lstm, x, NULL).y);
    gr_backward(t, gr_sum(t, gr_mul(t, difference, dy), GR_ALL_AXES, false)); /* leaves the differences of all gradients */
    if (gr_failed(t)) return;
    if (!o.quiet) puts("\ndiffer by: the largest difference of any value. A node is an operator that the tape records.");
    if (!o.quiet) printf("\n%-32s %9s\n", "the cell and gr_lstm", "differ by");
    report(r, "output", "h", difference->data, difference->len);
    report(r, "gradient of", "x", gr_grad(t, x), x->len);
    for (const gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s))
        report(r, "gradient of", s->path, gr_grad(t, s->tensor), s->tensor->len);
    printf("the cell recorded %zu operators, gr_lstm 1\n", recorded);
    if (!o.quiet) conclude(recorded);
}

int main(int argc, char **argv)
{
    kit_run r;
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    gr_module *net = gr_module_new(r.tape);
    if (kit_run_begin(&r, "a LayerNorm LSTM of 8 units reads 5 steps of 3 sequences")) compare(&r, net);
    gr_module_free(net);
    return kit_run_end(&r);
}
