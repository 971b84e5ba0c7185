/* examples/looking_inside.c - a small network with two faults, and every tool of the library for seeing inside one.
 *
 * Shows: gr_print_summary, gr_print_init, gr_print_graph, gr_print_graph_values, gr_print_dot, gr_print, gr_print_audit, gr_audit,
 *        gr_print_norm, gr_norm_gradient, gr_print_batch_norms, anomaly mode, an allocator of your own.
 * Run:   examples/looking_inside               (at once)
 *        examples/looking_inside --repaired    the same network without its faults
 *        examples/looking_inside --dot graph.dot && dot -Tsvg graph.dot > graph.svg      the graph as a picture
 * See:   the audit says that no gradient reaches the gate, because a gr_detach lies on the way; anomaly mode names the operator that makes
 *        the first NaN, a logarithm of negative numbers, with its module and its input.
 * Exit:  0, or 1 --check did not find both faults; 2 a bad flag or path; 3 out of memory or disk full.
 */
#include "examples/kit/kit.h"
#include "examples/kit/output.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

enum { B = 4, I = 3, H = 6 }; /* samples, inputs, hidden units */

static kit_options o = { .seed = 42 };
static bool repaired;
static const char *dot;
static const kit_flag flag[] = {
    { "repaired", KIT_SWITCH, &repaired, NULL, "without the two faults", 0, 0 },
    { "dot", KIT_TEXT, &dot, "FILE", "write the graph for Graphviz", 0, 0 },
    KIT_FLAGS_RUN(o, "exit 1 unless both faults are found and the gradient's three terms add up"),
};
static const kit_flags flags = { "looking_inside", "tools for seeing inside a network", flag, sizeof flag / sizeof *flag };

typedef struct {
    gr_module *net, *log, *other, *bn; /* bn, under another root, is only for comparison */
    gr_linear_module *fc, *gate, *head;
    gr_norm *ln;
    gr_tensor *h, *y; /* of this step: what the norm takes and returns, [B, H] */
} model;

static model build(gr_tape *t)
{
    model m = { .net = gr_module_new(t) };
    m.fc = gr_linear_new(t, m.net, "fc", I, H, NULL);
    m.ln = gr_layer_norm_new(t, m.net, "ln", GR_SHAPE(H), NULL);
    m.gate = gr_linear_new(t, m.net, "gate", I, H, NULL);
    m.head = gr_linear_new(t, m.net, "head", H, 1, NULL);
    m.other = gr_module_new(t);
    m.bn = gr_norm_new(t, m.other, "bn", GR_NORM_BATCH, H, NULL);
    m.log = gr_activation_new(t, m.net, "log", "Log", gr_log);
    return m;
}

static gr_tensor *forward(gr_tape *t, model *m, gr_tensor *x)
{
    m->h = gr_linear_forward(t, m->fc, x);
    m->y = gr_norm_forward(t, m->ln, m->h, NULL);
    gr_tensor *gate = gr_sigmoid(t, gr_linear_forward(t, m->gate, x));
    if (!repaired) gate = gr_detach(t, gate); /* the first fault: the gate cannot learn */
    return gr_linear_forward(t, m->head, gr_mul(t, gate, gr_tanh(t, m->y)));
}

static void title(const char *text)
{
    if (!o.quiet) printf("\n==== %s ====\n", text);
}

/* A norm's gradient is dx = direct - through the mean - through the variance. Print the size of each term. Returns the distance of their sum
 * from the gradient that gr_backward gave. */
static double show_norm_gradient(gr_tape *t, const model *m)
{
    const gr_norm_terms dx = gr_norm_gradient(t, &m->ln->module, m->h, gr_grad(t, m->y));
    double apart = 0;
    for (size_t i = 0; i < B * H && !gr_failed(t); i++) apart += pow((double)(dx.dx->data[i] - gr_grad(t, m->h)[i]), 2);
    if (!o.quiet)
        printf("direct %.4f, through the mean %.4f, through the variance %.4f; their sum %.4f is %.1g from that of gr_backward\n",
               dx.direct_norm, dx.mean_norm, dx.variance_norm, dx.dx_norm, sqrt(apart));
    return sqrt(apart);
}

static void write_dot(gr_tape *t)
{
    if (!dot) return;
    kit_file file = kit_file_begin(t, dot);
    gr_print_dot(t, file.out), kit_file_end(t, &file);
}

/* The same finding as a value, for a program that watches its own run. */
static const char *show_values(gr_tape *t, const model *m, const gr_optim *adam)
{
    const gr_audit_entry gate = gr_audit(t, gr_slot_find(m->net, "gate.weight"), adam);
    const char *const cut = gate.cut.op ? gate.cut.op : "nothing";
    if (!o.quiet) printf("gate.weight: cut by %s\n", cut);
    return cut;
}

/* malloc that counts: every byte of a tape and of its modules comes from the tape's allocator. */
static void *counted(void *count, size_t bytes)
{
    ++*(size_t *)count;
    return gr_default_allocator().alloc(NULL, bytes);
}
static void returned(void *count, void *p, size_t bytes) { (void)count, gr_default_allocator().release(NULL, p, bytes); }

/* How many allocations the second and third training step need together. */
static size_t show_allocations(void)
{
    size_t count = 0, before = 0;
    const gr_allocator counting = { .context = &count, .alloc = counted, .release = returned };
    gr_tape *t = gr_tape_new(o.seed, &(gr_tape_config){ .threads = 1, .allocator = &counting });
    model m = build(t);
    gr_optim *adam = gr_adam_new(t, m.net, NULL);
    const size_t made = count;
    for (int step = 0; step < 3; step++) {
        if (step == 1) before = count;
        gr_tape_reset(t), gr_optim_zero_grad(adam);
        gr_backward(t, gr_mean(t, gr_square(t, forward(t, &m, gr_randn(t, GR_SHAPE(B, I), 0, 1, "x"))), GR_ALL_AXES, false));
        gr_optim_step(t, adam);
    }
    if (!o.quiet) printf("tape, network and optimizer %zu, the first step %zu, the next two %zu\n", made, before - made, count - before);
    gr_optim_free(adam), gr_module_free(m.net), gr_module_free(m.other), gr_tape_free(t);
    return count - before;
}

static void look(kit_run *r, model *m, const gr_optim *adam)
{
    gr_tape *const t = r->tape;
    FILE *const out = o.quiet ? NULL : stdout;
    title("the modules: gr_print_summary"), gr_print_summary(m->net, out);
    title("their first values: gr_print_init"), gr_print_init(m->net, out);

    gr_tape_set_tracing(t, true); /* so that the audit can say why */
    gr_tensor *loss = gr_mean(t, gr_square(t, forward(t, m, gr_randn(t, GR_SHAPE(B, I), 0, 1, "x"))), GR_ALL_AXES, false);
    gr_backward(t, loss);
    title("what the tape recorded: gr_print_graph"), gr_print_graph(t, out), write_dot(t);
    title("with values and gradients: gr_print_graph_values"), gr_print_graph_values(t, out);
    title("a tensor, the output of ln: gr_print"), gr_print(m->y, out);
    title("does every parameter learn? gr_print_audit");
    const size_t idle = gr_print_audit(t, m->net, adam, out);

    title("who shares a mean? gr_print_norm"), gr_print_norm(t, &m->ln->module, GR_SHAPE(B, H), out);
    gr_print_norm(t, m->bn, GR_SHAPE(B, H), out);
    title("can a BatchNorm trust its statistics? gr_print_batch_norms");
    gr_forward(t, m->bn, m->h), gr_print_batch_norms(t, m->other, out);
    title("the audit for a program: gr_audit");
    const char *const cut = show_values(t, m, adam);
    title("what the gradient of a norm is made of: gr_norm_gradient");
    const double apart = show_norm_gradient(t, m);

    title("how many allocations does a step need? gr_allocator");
    const size_t allocations = show_allocations();

    title("who makes the first NaN? gr_tape_set_anomaly");
    gr_tape_reset(t), gr_tape_set_anomaly(t, true);
    forward(t, m, gr_randn(t, GR_SHAPE(B, I), 0, 1, "x"));
    gr_forward(t, m->log, repaired ? gr_square(t, m->h) : m->h); /* the second fault: the logarithm of a negative number */
    const bool made_nan = gr_error_code(t) == GR_NOT_FINITE;
    if (!o.quiet) printf("%s\n", gr_failed(t) ? gr_message(t) : "nobody");
    if (made_nan) gr_tape_recover(t);
    printf("%zu parameters do not learn; %s\n", idle, made_nan ? "a NaN was made" : "no NaN was made");
    kit_run_need(r, idle == 2, "%zu parameters do not learn, not the 2 of the gate", idle);
    kit_run_need(r, !strcmp(cut, "detach"), "the path from the gate to the loss is cut by %s, not by detach", cut);
    kit_run_need(r, !allocations, "two steps allocated %zu times", allocations);
    kit_run_need(r, made_nan, "the logarithm of a negative number was not noticed");
    kit_run_need(r, apart < 1e-5, "the three terms of the norm's gradient are %g from its gradient", apart);
}

int main(int argc, char **argv)
{
    kit_run r;
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    kit_can_write(r.tape, "dot", dot);
    model m = build(r.tape);
    gr_optim *adam = gr_adam_new(r.tape, m.net, NULL);
    if (kit_run_begin(&r, "a layer, a LayerNorm, a gate and a head, on 4 samples of 3 values")) look(&r, &m, adam);
    gr_optim_free(adam), gr_module_free(m.net), gr_module_free(m.other);
    return kit_run_end(&r);
}
