/* examples/fused_and_composed.c - what a fused operator saves: each one beside its twin, which is written with plain operators.
 *
 * A fused operator is one node on the tape. It keeps what its backward needs and nothing else. Its twin (examples/composed) records a node for
 * every product, sum and exp, and the tape keeps the result of each. Both compute the same function; the twin is the specification.
 *
 * Shows: examples/composed, gr_backward_from, how many nodes and bytes are on a tape.
 * Run:   examples/fused_and_composed
 *        examples/fused_and_composed --only lstm
 * See:   the differences are rounding errors. A fused LSTM is one node instead of 505, keeps a quarter of the bytes, and takes less time. A
 *        fused convolution keeps a small part of the bytes, because it does not keep the unfolded image.
 * Exit:  0, or 1 --check found a difference, or a twin with fewer nodes or bytes; 2 a bad flag or path; 3 out of memory or disk full.
 */
#include "examples/composed/composed.h"
#include "examples/kit/kit.h"
#include <math.h>
#include <string.h>

enum { INPUTS = 6, CLASSES = 64, ROOM = 1 << 26 }; /* ROOM: more bytes than any of them takes */

static kit_options o = { .seed = 42 };
static uint64_t repeats = 5;
static const char *only;
static const kit_flag flag[] = {
    { "only", KIT_TEXT, &only, "NAME", "one operator; default: all", 0, 0 },
    { "repeats", KIT_COUNT, &repeats, "N", "the time is the least of N runs", 1, 1e6 },
    KIT_FLAGS_RUN(o, "exit 1 unless outputs and gradients agree, and no operator has more nodes or bytes than its twin"),
};
static const kit_flags flags = { "fused_and_composed", "fused operators beside their twins from plain operators", flag,
                                 sizeof flag / sizeof *flag };

/* ==== The operators: x are the inputs; the twin has the same arguments ==== */

typedef gr_tensor *call(gr_tape *t, gr_tensor *const *x, bool composed);
#define TWINS(name, ...) \
    static gr_tensor *name(gr_tape *t, gr_tensor *const *x, bool composed) \
    { return (composed ? composed_##name : gr_##name)(t, x[0], __VA_ARGS__); }
#define RECURRENT_TWINS(name) \
    static gr_tensor *name(gr_tape *t, gr_tensor *const *x, bool composed) \
    { \
        const gr_recurrent_weights w = { x[4] ? GR_LSTM_LN_SUM : 0, x[1], x[2], .b_ih = x[3], .ln_sum = { x[4], x[5] } }; \
        return (composed ? composed_##name : gr_##name##_sequence)(t, x[0], &w, NULL).y; \
    }

static const gr_attention_config attention_config = { .heads = 4, .causal = true };
static const gr_conv_config conv_config = { .padding = 1 };
static const gr_pool_config pool_config = { .kernel = 2 };

static const gr_ints *classes(gr_tape *t, size_t n)
{
    gr_ints *const c = gr_ints_new(t, NULL, GR_SHAPE(n));
    for (size_t i = 0; c && i < n; i++) c->data[i] = (int)(i * 7 % CLASSES);
    return c;
}

TWINS(linear, x[1], x[2])
TWINS(softmax, -1)
TWINS(log_softmax, -1)
TWINS(cross_entropy, classes(t, gr_size(x[0], 0)), NULL)
TWINS(attention, x[1], x[2], &attention_config)
TWINS(conv2d, x[1], x[2], &conv_config)
TWINS(max_pool2d, &pool_config)
TWINS(avg_pool2d, &pool_config)
TWINS(norm_axes, GR_AXES(1), GR_AXES(1), x[1], x[2], 0)
TWINS(layer_norm, 1, x[1], x[2], 0)
TWINS(rms_norm, 1, x[1], 0)
TWINS(batch_norm, -1, x[1], x[2], NULL)
TWINS(group_norm, 4, x[1], x[2], 0)
TWINS(instance_norm, 1, x[1], x[2], 0)
RECURRENT_TWINS(lstm)
RECURRENT_TWINS(gru)
RECURRENT_TWINS(rnn)

#define IMAGES { 4, { 8, 16, 28, 28 } }
#define CHANNELS { 1, { 16 } }
#define ROWS { 2, { 512, 256 } }
#define COLUMNS { 1, { 256 } }
#define LOGITS { 2, { 1024, CLASSES } }
#define WORDS { 3, { 4, 64, 64 } }
#define SEQUENCES(gates) { 3, { 28, 32, 28 } }, { 2, { gates, 28 } }, { 2, { gates, 64 } }, { 1, { gates } }
static const struct { const char *name; call *run; gr_shape x[INPUTS]; } pair[] = {
    { "linear", linear, { ROWS, { 2, { 256, 256 } }, COLUMNS } },
    { "softmax", softmax, { LOGITS } },
    { "log_softmax", log_softmax, { LOGITS } },
    { "cross_entropy", cross_entropy, { LOGITS } },
    { "attention", attention, { WORDS, WORDS, WORDS } },
    { "conv2d", conv2d, { IMAGES, { 4, { 16, 16, 3, 3 } }, CHANNELS } },
    { "max_pool2d", max_pool2d, { IMAGES } },
    { "avg_pool2d", avg_pool2d, { IMAGES } },
    { "norm_axes", norm_axes, { IMAGES, CHANNELS, CHANNELS } },
    { "layer_norm", layer_norm, { ROWS, COLUMNS, COLUMNS } },
    { "rms_norm", rms_norm, { ROWS, COLUMNS } },
    { "batch_norm", batch_norm, { ROWS, COLUMNS, COLUMNS } },
    { "group_norm", group_norm, { IMAGES, CHANNELS, CHANNELS } },
    { "instance_norm", instance_norm, { IMAGES, CHANNELS, CHANNELS } },
    { "lstm", lstm, { SEQUENCES(256) } },
    { "lstm, LayerNorm", lstm, { SEQUENCES(256), COLUMNS, COLUMNS } },
    { "gru", gru, { SEQUENCES(192) } },
    { "rnn", rnn, { SEQUENCES(64) } },
};
enum { PAIRS = sizeof pair / sizeof *pair };

/* ==== Running and comparing ==== */

typedef struct {
    gr_tape *tape;
    gr_tensor *x[INPUTS], *y;
    size_t nodes, bytes; /* on the tape after forward: what is kept for backward */
    double ms;           /* forward and backward, the least of all repeats */
} side;

/* Both sides draw the same inputs, because their tapes have the same seed. */
static void draw_inputs(side *s, const gr_shape *shape)
{
    for (size_t j = 0; j < INPUTS; j++) {
        char name[8];
        snprintf(name, sizeof name, "x%zu", j);
        const double std = j && shape[j].rank > 1 ? 1 / sqrt((double)shape[j].dim[shape[j].rank - 1]) : 1; /* weights are smaller */
        s->x[j] = shape[j].rank ? gr_want_grad(s->tape, gr_randn(s->tape, shape[j], 0, std, name)) : NULL;
    }
}

static side run_side(const kit_run *r, size_t k, bool composed)
{
    side s = { .tape = gr_tape_new(o.seed, (&(gr_tape_config){ .pool = r->pool })), .ms = HUGE_VAL };
    gr_tape *const t = s.tape;
    gr_save(t, ROOM); /* one block of memory for everything, so that marks count bytes */
    for (uint64_t i = 0; i < repeats && !gr_failed(t) && !(i && kit_interrupted()); i++) {
        gr_tape_reset(t);
        draw_inputs(&s, pair[k].x);
        const gr_mark before = gr_tape_mark(t);
        double began = kit_seconds();
        s.y = pair[k].run(t, s.x, composed);
        double ms = kit_seconds() - began;
        const gr_mark after = gr_tape_mark(t);
        s.nodes = after.nodes - before.nodes, s.bytes = after.used - before.used;
        const gr_tensor *const dy = s.y ? gr_randn(t, gr_shape_of(s.y), 0, 1, "dy") : NULL;
        began = kit_seconds();
        if (dy) gr_backward_from(t, s.y, dy->data);
        ms = 1e3 * (ms + kit_seconds() - began);
        if (ms < s.ms) s.ms = ms;
    }
    return s;
}

/* The largest difference, divided by the largest value. */
static double apart(const gr_real *a, const gr_real *b, size_t n)
{
    double off = 0, most = 0;
    for (size_t i = 0; i < n && !isnan(off); i++) {
        const double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= off)) off = d;
        most = kit_larger(most, fabs((double)a[i]));
    }
    return most > 0 ? off / most : off;
}

/* What the conclusion needs of the pairs that were compared. */
typedef struct {
    size_t n, which[PAIRS], nodes[PAIRS];
    double differ[PAIRS], bytes[PAIRS], ms[PAIRS]; /* the last two: the twin's divided by the fused operator's */
} seen;

static double enough(void) { return sizeof(gr_real) == sizeof(float) ? 1e-4 : 1e-12; } /* the largest difference that rounding explains */

static void conclude(const seen *s)
{
    const char *name[PAIRS];
    kit_list apart_in = { 0 }, kept_by = { 0 }, fast = { 0 }, slow = { 0 };
    size_t faster = 0, nodes = 0;
    double least = HUGE_VAL;
    for (size_t i = 0; i < s->n; i++) {
        name[i] = pair[s->which[i]].name;
        least = fmin(least, s->bytes[i]), nodes = nodes > s->nodes[i] ? nodes : s->nodes[i];
        faster += s->ms[i] > KIT_SURE_TIME;
        if (s->ms[i] < 1 / KIT_SURE_TIME) kit_list_add(&slow, "%s", name[i]);
    }
    const size_t differ = kit_largest(&apart_in, s->differ, name, s->n, 1), bytes = kit_largest(&kept_by, s->bytes, name, s->n, 3),
                 ms = kit_largest(&fast, s->ms, name, s->n, 3);
    kit_conclude();
    if (differ == s->n || bytes == s->n || ms == s->n) { kit_conclude_say("No operator was compared, or no difference is a number."); return; }
    kit_conclude_say("Fused and twin %s: the largest relative difference of an output or a gradient is %.1g (%s).",
                     s->differ[differ] < enough() ? "agree up to rounding" : "do not agree", s->differ[differ], apart_in.text);
    kit_conclude_say("A fused operator is 1 node of the tape, and its twin is up to %zu. The twin keeps %.3g to %.3g times the bytes of the fused operator; "
                     "the most is for %s.", nodes, least, s->bytes[bytes], kept_by.text);
    kit_conclude_say("The fused operator takes less time than its twin in %zu of %zu cases; a factor below %g does not count. The largest factor is %.3g "
                     "(%s). Times vary from run to run; a larger --repeats makes them steadier.", faster, s->n, KIT_SURE_TIME, s->ms[ms], fast.text);
    if (slow.n) kit_conclude_say("In this run the twin takes less time for %s.", slow.text);
}

static void compare(kit_run *r, size_t k, const side *a, const side *b, seen *s)
{
    if (!kit_run_need(r, gr_same_shape(a->y, b->y), "%s: the outputs have different shapes", pair[k].name)) return;
    const double y = apart(a->y->data, b->y->data, a->y->len);
    double dx = 0;
    for (size_t j = 0; j < INPUTS; j++) {
        const double d = a->x[j] ? apart(gr_grad(a->tape, a->x[j]), gr_grad(b->tape, b->x[j]), a->x[j]->len) : 0;
        if (!(d <= dx)) dx = d;
    }
    const char *const name = pair[k].name;
    s->which[s->n] = k, s->nodes[s->n] = b->nodes, s->differ[s->n] = isnan(y) || isnan(dx) ? HUGE_VAL : y < dx ? dx : y;
    s->bytes[s->n] = (double)b->bytes / (double)a->bytes, s->ms[s->n++] = b->ms / a->ms;
    printf("%-16s %8.1g %10.1g %7zu %5zu %8zu %7zu %9.3f %8.3f\n", name, y, dx, a->nodes, b->nodes, a->bytes >> 10, b->bytes >> 10, a->ms,
           b->ms);
    kit_log_write(r->tape, &r->log, "pair", { "name", .text = name }, { "output", y }, { "gradients", dx }, { "nodes", (double)a->nodes },
                  { "twin_nodes", (double)b->nodes }, { "bytes", (double)a->bytes }, { "twin_bytes", (double)b->bytes }, { "ms", a->ms },
                  { "twin_ms", b->ms });
    kit_run_need(r, y < enough() && dx < enough(), "%s: the twins differ by %g in the output and by %g in a gradient", name, y, dx);
    kit_run_need(r, a->nodes <= b->nodes && a->bytes <= b->bytes, "%s: %zu nodes and %zu bytes, but the twin has %zu and %zu", name,
                 a->nodes, a->bytes, b->nodes, b->bytes);
}

static void run(kit_run *r)
{
    seen s = { 0 };
    if (!o.quiet) {
        putchar('\n');
        kit_wrap(stdout, 0, "difference: fused and twin, relative to the largest value, for the output and for the worst gradient. nodes: operators on the "
                         "tape. KiB kept: what the tape keeps for backward. ms: forward and backward, the least of all repeats.");
        printf("\n%-16s %19s %13s %16s %18s\n%-16s %8s %10s %7s %5s %8s %7s %9s %8s\n", "", "difference", "nodes", "KiB kept", "ms", "",
               "output", "gradients", "fused", "twin", "fused", "twin", "fused", "twin");
    }
    for (size_t k = 0; k < PAIRS && !gr_failed(r->tape) && !kit_interrupted(); k++) {
        if (only && strcmp(only, pair[k].name)) continue;
        const side a = run_side(r, k, false), b = run_side(r, k, true);
        kit_run_fail(r, pair[k].name, a.tape), kit_run_fail(r, pair[k].name, b.tape);
        if (!gr_failed(r->tape)) compare(r, k, &a, &b, &s);
        gr_tape_free(a.tape), gr_tape_free(b.tape);
    }
    if (!o.quiet && !gr_failed(r->tape) && !kit_interrupted()) conclude(&s);
}

static void check_only(gr_tape *t)
{
    char all[512] = "";
    for (size_t k = 0; k < PAIRS; k++) {
        if (!only || !strcmp(only, pair[k].name)) return;
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s\"%s\"", k ? ", " : "", pair[k].name);
    }
    gr_fail_as(t, GR_MISUSE, "", "--only: there is no operator \"%s\"; there are %s", only, all);
}

int main(int argc, char **argv)
{
    kit_run r;
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    check_only(r.tape);
    if (kit_run_begin(&r, "fused operators and their twins")) run(&r);
    return kit_run_end(&r);
}
