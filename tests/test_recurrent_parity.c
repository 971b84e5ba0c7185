/* tests/test_recurrent_parity.c - recurrent modules against PyTorch: outputs, states, all gradients, running statistics. The values were
 * recorded in float64 by tests/golden/record_recurrent.py; weights and inputs are exact in float. */
#include "core/files.h"
#include "tests/test.h"

static gr_safetensors *golden;
static gr_tape *t;

static const gr_safetensors_entry *find(const char *name, const char *what, const char *key)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s%s", name, what, key);
    return gr_safetensors_find(golden, path);
}

static gr_tensor *recorded(const char *name, const char *what, const char *key)
{
    const gr_safetensors_entry *e = find(name, what, key);
    if (!e) fail_msg("%s/%s%s has no record", name, what, key);
    gr_tensor *x = gr_empty(t, e->shape);
    gr_safetensors_reals(e, x->data);
    return x;
}

typedef struct {
    const char *name;
    int kind;
    gr_recurrent_config config;
} parity_case;

static const parity_case cases[] = {
    { "gru", 1, { 0 } },
    { "gru2", 1, { .layers = 2, .bidirectional = true } },
    { "rnn", 2, { .relu = true } },
    { "rnn2", 2, { .layers = 2, .bidirectional = true } },
    { "lstm2", 0, { .layers = 2, .bidirectional = true } },
    { "ln_gru", 1, { .norm = GR_GRU_LN_BA2016 } },
    { "ln_rnn", 2, { .norm = GR_RNN_LN_SUM } },
    { "bn_lstm", 0, { .norm = GR_LSTM_BN, .bn_steps = 5, .h0_noise = GR_NONE } },
};

static void compare(const parity_case *c)
{
    const double tolerance = sizeof(gr_real) == 4 ? 1e-5 : 1e-12;
    gr_module *net = gr_module_new(t);
    gr_recurrent *l = gr_recurrent_new(t, net, "l", (gr_recurrent_kind)c->kind, 3, 7, &c->config);
    assert_ok(t);
    for (gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s)) {
        const gr_tensor *w = recorded(c->name, "w/", s->path + 2);
        assert_true(gr_same_shape(w, s->tensor));
        memcpy(s->tensor->data, w->data, w->len * sizeof *w->data);
    }
    gr_tensor *x = gr_want_grad(t, recorded(c->name, "x", "")), *h0 = gr_want_grad(t, recorded(c->name, "h0", ""));
    const gr_safetensors_entry *e = find(c->name, "lengths", "");
    gr_ints *lengths = e ? gr_ints_new(t, (int[]){ 5, 2, 3, 1, 4, 5 }, GR_SHAPE(6)) : NULL;
    const gr_recurrent_input in = { .h0 = h0, .lengths = lengths };
    const gr_recurrent_out s = gr_recurrent_forward(t, l, x, &in);
    assert_ok(t);
    assert_tensors_close(s.y, recorded(c->name, "y", ""), tolerance);
    assert_tensors_close(s.h, recorded(c->name, "h", ""), tolerance);
    gr_tensor *loss = gr_add(t, gr_sum(t, gr_mul(t, s.y, recorded(c->name, "cy", "")), GR_ALL_AXES, false),
                             gr_sum(t, gr_mul(t, s.h, recorded(c->name, "ch", "")), GR_ALL_AXES, false));
    assert_true(gr_backward(t, loss));
    assert_close(gr_grad(t, x), recorded(c->name, "d/", "x")->data, x->len, tolerance);
    assert_close(gr_grad(t, h0), recorded(c->name, "d/", "h0")->data, h0->len, tolerance);
    for (gr_slot *p = gr_slot_first(net); p; p = gr_slot_next(net, p)) {
        if (p->kind == GR_PARAMETER)
            assert_close(gr_grad(t, p->tensor), recorded(c->name, "d/", p->path + 2)->data, p->tensor->len, tolerance);
        else assert_tensors_close(p->tensor, recorded(c->name, "after/", p->path + 2), tolerance);
    }
    gr_module_free(net);
}

TEST(modules_agree_with_pytorch)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        t = gr_tape_new(1, NULL);
        golden = gr_safetensors_open(t, "tests/golden/recurrent.safetensors");
        assert_ok(t);
        print_message("%s\n", cases[i].name);
        compare(&cases[i]);
        gr_safetensors_free(golden), gr_tape_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(modules_agree_with_pytorch) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
