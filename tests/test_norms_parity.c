/* tests/test_norms_parity.c - the modules of normalization against PyTorch's: two training steps and an evaluation, with outputs, gradients,
 * state_dict. The values were recorded in float64 by tests/golden/record_norms.py; inputs are exact in float. */
#include "core/files.h"
#include "core/library.h"
#include "tests/test.h"
#include <stdio.h>

static const double tolerance = sizeof(gr_real) == 8 ? 1e-12 : 1e-5;
static gr_safetensors *golden;
static gr_tape *tape;

static gr_tensor *find(const char *name, const char *what, int i)
{
    char key[256];
    snprintf(key, sizeof key, i < 0 ? "%s/%s" : "%s/%s%d", name, what, i);
    const gr_safetensors_entry *e = gr_safetensors_find(golden, key);
    gr_tensor *x = e ? gr_empty(tape, e->shape) : NULL;
    if (x) gr_safetensors_reals(e, x->data);
    return x;
}

static gr_ints *find_ints(const char *name, const char *what)
{
    const gr_tensor *x = find(name, what, -1);
    gr_ints *k = x ? gr_ints_new(tape, NULL, gr_shape_of(x)) : NULL;
    for (size_t i = 0; k && i < k->len; i++) k->data[i] = (int)x->data[i];
    return k;
}

/* Check that the module's parameters, buffers and counters equal those of the file, which holds no others; or load them from the file. */
static void compare_state(const char *name, const char *when, gr_module *net, bool fill)
{
    char folder[128];
    snprintf(folder, sizeof folder, "%s/%s/", name, when);
    size_t there = 0, here = 0;
    for (size_t i = 0; i < golden->count; i++) there += !strncmp(golden->entry[i].name, folder, strlen(folder));
    for (gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s), here++) {
        char key[128];
        snprintf(key, sizeof key, "%s/%s", when, strchr(s->path, '.') + 1);
        const gr_tensor *want = find(name, key, -1);
        if (!want) fail_msg("the file lacks %s/%s", name, key);
        if (s->kind == GR_COUNTER && fill) s->count = (int64_t)want->data[0];
        else if (s->kind == GR_COUNTER) assert_int_equal(s->count, (int64_t)want->data[0]);
        else if (fill) memcpy(s->tensor->data, want->data, want->len * sizeof *want->data);
        else assert_tensors_close(s->tensor, want, tolerance);
    }
    assert_int_equal(here, there);
}

static gr_tensor *run(gr_module *m, gr_tensor *x, const gr_norm_input *input)
{
    if (input) return gr_norm_forward(tape, gr_norm_of(m), x, input);
    return gr_forward(tape, m, x);
}

static void compare_step(const char *name, gr_module *m, int step, const gr_norm_input *input)
{
    gr_tensor *x = gr_want_grad(tape, find(name, "x", step)), *dy = find(name, "dy", step), *y = run(m, x, input);
    assert_ok(tape);
    for (gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s))
        if (s->tensor) gr__grad_clear(s->tensor);
    assert_tensors_close(y, find(name, "y", step), tolerance);
    assert_true(gr_backward_from(tape, y, dy->data));
    assert_close(gr_grad(tape, x), find(name, "dx", step)->data, x->len, 3 * tolerance);
    for (gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) {
        char key[64];
        snprintf(key, sizeof key, "g%d/%s", step, s->name);
        if (s->kind == GR_PARAMETER) assert_close(gr_grad(tape, s->tensor), find(name, key, -1)->data, s->tensor->len, tolerance);
    }
}

static void compare(const char *name, gr_module *(*make)(gr_tape *t, gr_module *parent))
{
    print_message("%s\n", name);
    gr_module *net = gr_module_new(tape), *m = make(tape, net);
    if (!m) fail_msg("%s", gr_message(tape));
    compare_state(name, "start", net, true);
    for (int step = 0; step < 3; step++) {
        gr_tape_reset(tape);
        gr_tape_set_training(tape, step < 2);
        const gr_norm_input input = { .lengths = find_ints(name, "lengths"), .mask = find(name, "mask", -1) };
        compare_step(name, m, step, input.lengths || input.mask ? &input : NULL);
        if (step == 1) compare_state(name, "end", net, false);
    }
    gr_module_free(net);
}

/* ---- The modules of the file ---- */

#define BATCH(name, features, ...) \
    static gr_module *name(gr_tape *t, gr_module *p) \
    { \
        gr_norm *b = gr_batch_norm_new(t, p, "norm", features, &(gr_norm_config){ __VA_ARGS__ }); \
        return b ? &b->module : NULL; \
    }
#define GROUP(name, groups, features, ...) \
    static gr_module *name(gr_tape *t, gr_module *p) \
    { \
        gr_norm *g = gr_group_norm_new(t, p, "norm", groups, features, &(gr_norm_config){ __VA_ARGS__ }); \
        return g ? &g->module : NULL; \
    }
#define INSTANCE(name, features, ...) \
    static gr_module *name(gr_tape *t, gr_module *p) \
    { \
        gr_norm *i = gr_instance_norm_new(t, p, "norm", features, &(gr_norm_config){ __VA_ARGS__ }); \
        return i ? &i->module : NULL; \
    }
#define RMS(name, shape, ...) \
    static gr_module *name(gr_tape *t, gr_module *p) \
    { \
        gr_norm *r = gr_rms_norm_new(t, p, "norm", shape, &(gr_norm_config){ __VA_ARGS__ }); \
        return r ? &r->module : NULL; \
    }
BATCH(batch_1d, 5, .eps = 0)
BATCH(batch_1d_wide, 70, .eps = 0)
BATCH(batch_1d_length, 5, .eps = 0)
BATCH(batch_2d, 3, .eps = 0)
BATCH(batch_average, 3, .cumulative = true)
BATCH(batch_momentum, 5, .momentum = 0.3, .eps = 1e-2)
BATCH(batch_no_running, 5, .no_running = true)
BATCH(batch_no_affine, 3, .no_affine = true)
BATCH(batch_last, 6, .axis = -1)
BATCH(batch_lengths, 5, .eps = 0)
BATCH(batch_lengths_last, 5, .axis = -1)
BATCH(batch_mask, 3, .eps = 0)
GROUP(group, 3, 6, .eps = 0)
GROUP(group_rows, 2, 8, .eps = 0)
GROUP(group_one, 1, 6, .eps = 1e-3)
GROUP(group_each, 6, 6, .eps = 0)
GROUP(group_no_affine, 3, 6, .no_affine = true)
INSTANCE(instance_1d, 5, .eps = 0)
INSTANCE(instance_2d, 3, .affine = true)
INSTANCE(instance_last, 5, .affine = true, .axis = -1)
RMS(rms, GR_SHAPE(33), .eps = sizeof(gr_real) == 8 ? 0 : 0x1p-52) /* PyTorch's default in float64 */
RMS(rms_2d, GR_SHAPE(3, 5), .eps = 1e-3)
RMS(rms_no_affine, GR_SHAPE(16), .no_affine = true, .eps = sizeof(gr_real) == 8 ? 0 : 0x1p-52)

/* The channel norm has no module, so the test makes one. */
typedef struct { gr_module module; gr_tensor *weight, *bias; } channel_norm;
static gr_tensor *channel_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    const channel_norm *c = (channel_norm *)m;
    return gr_norm_axes(t, x, GR_AXES(1), GR_AXES(1), c->weight, c->bias, 1e-6);
}
static gr_module *channel(gr_tape *t, gr_module *p)
{
    channel_norm *c = gr_module_make(t, p, "norm", "ChannelNorm", sizeof *c);
    if (!c) return NULL;
    c->weight = gr_param(t, &c->module, "weight", GR_SHAPE(6), gr_init_constant(1));
    c->bias = gr_param(t, &c->module, "bias", GR_SHAPE(6), gr_init_constant(0));
    c->module.forward = channel_forward;
    return gr_module_ready(t, &c->module) ? &c->module : NULL;
}

TEST(every_module_agrees)
{
#define COMPARE(name) compare(#name, name)
    COMPARE(batch_1d), COMPARE(batch_1d_wide), COMPARE(batch_1d_length), COMPARE(batch_2d), COMPARE(batch_average), COMPARE(batch_momentum);
    COMPARE(batch_no_running), COMPARE(batch_no_affine), COMPARE(batch_last), COMPARE(batch_lengths), COMPARE(batch_lengths_last);
    COMPARE(batch_mask), COMPARE(group), COMPARE(group_rows), COMPARE(group_one), COMPARE(group_each), COMPARE(group_no_affine);
    COMPARE(instance_1d), COMPARE(instance_2d), COMPARE(instance_last), COMPARE(rms), COMPARE(rms_2d), COMPARE(rms_no_affine), COMPARE(channel);
}

FIXTURE(open_golden)
{
    tape = gr_tape_new(1, NULL);
    golden = gr_safetensors_open(tape, "tests/golden/norms.safetensors");
    if (!golden) print_error("%s\n", gr_message(tape));
    return !golden;
}
FIXTURE(close_golden)
{
    gr_safetensors_free(golden);
    gr_tape_free(tape);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(every_module_agrees, open_golden, close_golden) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
