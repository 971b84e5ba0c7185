/* tests/campaign/long_run.c - long training: after its first steps a run allocates nothing, and its tape holds as many bytes at the end as
 * then. Every architecture runs, also with anomaly mode, marks and segments of gr_recompute. The weights stay finite, and none is
 * subnormal.
 *
 *     make long_run [ARGS=STEPS] */
#include "tests/models.h"

enum { FIRST = 20 };
static size_t steps = 10000;

static gr_tensor *rewound(gr_tape *t, void *body, gr_tensor *x)
{
    for (int i = 0; i < 5; i++) {
        const gr_mark mark = gr_tape_mark(t);
        gr_exp(t, gr_tanh(t, x));
        gr_tape_rewind(t, mark);
        gr_scalar(t, i);
    }
    return models_through(t, body, x);
}
static bool anomaly_step(run *r) { return gr_tape_set_anomaly(r->t, true), models_step(r); }
static bool traced_step(run *r) { return gr_tape_set_tracing(r->t, true), models_step(r); }
/* Every second step is abandoned, as if its data were bad. */
static bool recovered_step(run *r)
{
    gr_tape_reset(r->t);
    gr_add(r->t, r->m->forward(r->t, r->body, gr_randn(r->t, r->m->x, 0, 1, "data")), NULL);
    gr_tape_recover(r->t);
    return models_step(r);
}

static const model more[] = {
    { "recompute", { 2, { B, C } }, models_mlp, models_again, 0 },
    { "marks and rewinds", { 2, { B, C } }, models_mlp, rewound, 0 },
    { "LSTM, LayerNorm, state carried", { 3, { B, T, C } }, models_lstm, models_carried, GR_LSTM_LN_BA2016 },
    { "anomaly mode", { 2, { B, C } }, models_mlp, models_through, 0, .stages = { anomaly_step } },
    { "tracing", { 2, { B, C } }, models_mlp, models_through, 0, .stages = { traced_step } },
    { "errors and recoveries", { 2, { B, C } }, models_mlp, models_through, 0, .stages = { recovered_step } },
};

static void train_long(const model *m)
{
    failing_memory memory = { 0 };
    run r = { .m = m, .t = gr_tape_new(5, &(gr_tape_config){ .allocator = &(gr_allocator){ failing_alloc, failing_release, &memory } }) };
    size_t calls = 0, bytes = 0;
    stage *const step = m->stages[0] ? m->stages[0] : models_step;
    if (!models_build(&r)) fail_msg("%s: %s", m->name, gr_message(r.t));
    for (size_t i = 0; i < steps; i++) {
        if (i == FIRST) calls = memory.calls, bytes = gr_tape_bytes(r.t);
        if (!step(&r)) fail_msg("%s, step %zu: %s", m->name, i, gr_message(r.t));
        if (i >= FIRST && (memory.calls != calls || gr_tape_bytes(r.t) != bytes))
            fail_msg("%s, step %zu: the tape holds %zu bytes after %zu allocations; at step %d it held %zu after %zu", m->name, i, gr_tape_bytes(r.t),
                     memory.calls, FIRST, bytes, calls);
    }
    for (const gr_slot *s = gr_slot_first(r.net); s; s = gr_slot_next(r.net, s))
        for (size_t i = 0; s->tensor && i < s->tensor->len; i++)
            if (!isnormal(s->tensor->data[i]) && s->tensor->data[i] != 0) fail_msg("%s: %s holds %g", m->name, s->path, (double)s->tensor->data[i]);
    print_message("%s: %zu steps, %zu bytes\n", m->name, steps, bytes);
    gr_optim_free(r.optim), gr_module_free(r.net), gr_tape_free(r.t);
    assert_int_equal(memory.live, 0);
}

TEST(memory_does_not_grow)
{
    for (size_t k = 0; k < COUNT(models); k++) train_long(&models[k]);
    for (size_t k = 0; k < COUNT(more); k++) train_long(&more[k]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(memory_does_not_grow) };
    if (argc > 1) steps = strtoull(argv[1], NULL, 10);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("long_run: %zu programs of %zu steps: %s\n", COUNT(models) + COUNT(more), steps, failed ? "FAILED" : "no allocation after the first steps");
    return failed;
}
