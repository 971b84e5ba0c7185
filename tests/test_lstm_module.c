/* tests/test_lstm_module.c - gr_lstm: names, first values, layers and directions, blank rows, failing memory, messages. */
#include "core/kernel.h"
#include "core/library.h"
#include "tests/test.h"
#include <stdio.h>

/* ---- Parameters ---- */

static void assert_names(const gr_module *root, const char *const *want, size_t n)
{
    size_t k = 0;
    for (const gr_slot *s = gr_slot_first(root); s; s = gr_slot_next(root, s), k++) {
        assert_true(k < n);
        assert_string_equal(s->path, want[k]);
    }
    assert_int_equal(k, n);
}
#define NAMES(root, ...) assert_names(root, (const char *const[]){ __VA_ARGS__ }, COUNT(((const char *const[]){ __VA_ARGS__ })))

TEST(names_and_shapes_are_those_of_pytorch)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    const gr_lstm *l = gr_lstm_new(t, net, "rnn", 5, 3, &(gr_lstm_config){ .layers = 2, .bidirectional = true });
    assert_ok(t);
    NAMES(net, "rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.bias_ih_l0", "rnn.bias_hh_l0", "rnn.weight_ih_l0_reverse",
          "rnn.weight_hh_l0_reverse", "rnn.bias_ih_l0_reverse", "rnn.bias_hh_l0_reverse", "rnn.weight_ih_l1", "rnn.weight_hh_l1",
          "rnn.bias_ih_l1", "rnn.bias_hh_l1", "rnn.weight_ih_l1_reverse", "rnn.weight_hh_l1_reverse", "rnn.bias_ih_l1_reverse",
          "rnn.bias_hh_l1_reverse");
    assert_string_equal(gr_shape_text(t, l->recurrent.weights[0].w_ih), "[12, 5]");
    assert_string_equal(gr_shape_text(t, l->recurrent.weights[2].w_ih), "[12, 6]");
    assert_string_equal(gr_shape_text(t, l->recurrent.weights[3].w_hh), "[12, 3]");
    assert_string_equal(gr_shape_text(t, l->recurrent.weights[1].b_hh), "[12]");
    assert_int_equal(l->module.multiply_adds, 2 * 12 * (5 + 3) + 2 * 12 * (6 + 3));
    gr_module_free(net), gr_tape_free(t);
}

TEST(a_norm_has_one_bias_and_its_own_gain_and_shift)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *a = gr_module_new(t), *b = gr_module_new(t), *c = gr_module_new(t);
    const gr_lstm *l = gr_lstm_new(t, a, "l", 5, 3, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016 });
    gr_lstm_new(t, b, "l", 5, 3, &(gr_lstm_config){ .norm = GR_LSTM_LN_SUM | GR_LSTM_LN_PER_GATE, .bidirectional = true });
    gr_lstm_new(t, c, "l", 5, 3, &(gr_lstm_config){ .no_bias = true });
    NAMES(a, "l.weight_ih_l0", "l.weight_hh_l0", "l.bias_l0", "l.ln_ih_l0.weight", "l.ln_ih_l0.bias", "l.ln_hh_l0.weight",
          "l.ln_hh_l0.bias", "l.ln_c_l0.weight", "l.ln_c_l0.bias");
    NAMES(b, "l.weight_ih_l0", "l.weight_hh_l0", "l.bias_l0", "l.weight_ih_l0_reverse", "l.weight_hh_l0_reverse", "l.bias_l0_reverse",
          "l.ln_sum_l0.weight", "l.ln_sum_l0.bias", "l.ln_sum_l0_reverse.weight", "l.ln_sum_l0_reverse.bias");
    NAMES(c, "l.weight_ih_l0", "l.weight_hh_l0");
    assert_string_equal(gr_shape_text(t, l->recurrent.weights->ln_ih.weight), "[12]");
    assert_string_equal(gr_shape_text(t, l->recurrent.weights->ln_c.bias), "[3]");
    for (const gr_slot *s = gr_slot_first(a); s; s = gr_slot_next(a, s)) assert_true(s->no_decay == !strstr(s->name, "weight_"));
    gr_module_free(a), gr_module_free(b), gr_module_free(c), gr_tape_free(t);
}

TEST(norms_have_the_epsilon_of_the_config)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    const double eps[] = { 0, 0.25, GR_NONE }, want[] = { 1e-5, 0.25, 0 };
    for (int k = 0; k < 3; k++) {
        const gr_lstm *l = gr_lstm_new(t, net, NULL, 3, 2, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016, .eps = eps[k] });
        int norms = 0;
        for (const gr_module *m = l->module.child; m; m = m->next, norms++) assert_true(gr_norm_of(m)->eps == want[k]);
        assert_int_equal(norms, 3);
    }
    gr_module_free(net), gr_tape_free(t);
}

TEST(weights_start_uniform_and_norms_at_1_and_0)
{
    enum { H = 16 };
    gr_tape *t = gr_tape_new(7, NULL);
    gr_module *net = gr_module_new(t);
    const gr_lstm_weights *w = gr_lstm_new(t, net, "l", 5, H, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016, .forget_bias = 1 })->recurrent.weights;
    for (size_t i = 0; i < w->w_ih->len; i++) assert_true(r_abs(w->w_ih->data[i]) <= R(0.25));
    for (size_t j = 0; j < 4 * H; j++) {
        const gr_real b = w->b_ih->data[j] - (j / H == 1);
        assert_true(r_abs(b) <= R(0.2500001) && (j == 0 || w->b_ih->data[j] != w->b_ih->data[j - 1]));
        assert_true(w->ln_ih.weight->data[j] == 1 && w->ln_hh.bias->data[j] == 0);
    }
    /* the same name and seed: the same weights, with or without norms */
    gr_module *other = gr_module_new(t);
    const gr_lstm_weights *v = gr_lstm_new(t, other, "l", 5, H, NULL)->recurrent.weights;
    assert_same_bits(v->w_hh->data, w->w_hh->data, v->w_hh->len);
    gr_module_free(net), gr_module_free(other), gr_tape_free(t);
}

/* ---- Forward ---- */

TEST(layers_and_directions_are_sequences_composed)
{
    enum { T = 4, B = 3, H = 2 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_lstm *l = gr_lstm_new(t, net, "l", 5, H, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016, .layers = 2, .bidirectional = true });
    gr_tensor *x = gr_randn(t, GR_SHAPE(T, B, 5), 0, 1, "x"), *h0 = gr_randn(t, GR_SHAPE(4, B, H), 0, 1, "h0"),
              *c0 = gr_randn(t, GR_SHAPE(4, B, H), 0, 1, "c0");
    const gr_ints *lengths = gr_ints_new(t, (int[]){ 4, 1, 2 }, GR_SHAPE(B));
    const gr_lstm_out got = gr_lstm_forward(t, l, x, &(gr_lstm_input){ h0, c0, lengths });
    gr_tensor *y[2];
    for (size_t k = 0; k < 4; k++) {
        const gr_sequence_config o = {
            .h0 = gr_select(t, h0, 0, (ptrdiff_t)k), .c0 = gr_select(t, c0, 0, (ptrdiff_t)k), .lengths = lengths, .reverse = k % 2
        };
        const gr_lstm_out s = gr_lstm_sequence(t, x, &l->recurrent.weights[k], &o);
        y[k % 2] = s.y;
        assert_same_bits(gr_select(t, got.h, 0, (ptrdiff_t)k)->data, s.h->data, B * H);
        assert_same_bits(gr_select(t, got.c, 0, (ptrdiff_t)k)->data, s.c->data, B * H);
        if (k % 2) x = gr_cat(t, y, 2, 2);
    }
    assert_true(gr_same_shape(got.y, x));
    assert_same_bits(got.y->data, x->data, x->len);
    assert_ok(t);
    gr_module_free(net), gr_tape_free(t);
}

static gr_tensor *stacked(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const gr_lstm_out s = gr_lstm_forward(t, argument, in[0], &(gr_lstm_input){ in[1], in[2], NULL });
    gr_tensor *last = gr_sum(t, gr_mul(t, s.h, s.c), GR_AXES(0, 2), false);
    return gr_add(t, s.y, gr_reshape(t, last, GR_SHAPE(2, 1, 1)));
}

TEST(gradients_pass_through_layers_and_directions)
{
    const unsigned norms[] = { 0, GR_LSTM_LN_BA2016, GR_LSTM_LN_SUM };
    for (size_t k = 0; k < COUNT(norms); k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_module *net = gr_module_new(t);
        const gr_lstm_config config = { .norm = norms[k], .layers = 2, .bidirectional = true, .batch_first = true, .eps = 0.1 };
        gr_lstm *l = gr_lstm_new(t, net, "l", 3, 4, &config);
        const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(2, 3, 3) }, { .shape = GR_SHAPE(4, 2, 4) }, { .shape = GR_SHAPE(4, 2, 4) } };
        assert_true(test_gradcheck("gr_lstm", stacked, l, in, COUNT(in), NULL, stderr));
        gr_module_free(net), gr_tape_free(t);
    }
}

TEST(one_layer_gives_h_for_the_head)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_lstm *l = gr_lstm_new(t, net, "l", 3, 4, &(gr_lstm_config){ .batch_first = true });
    const gr_lstm_out s = gr_lstm_forward(t, l, gr_ones(t, GR_SHAPE(2, 5, 3)), NULL);
    assert_string_equal(gr_shape_text(t, s.y), "[2, 5, 4]");
    assert_string_equal(gr_shape_text(t, s.h), "[1, 2, 4]");
    const gr_tensor *h = gr_select(t, s.h, 0, -1);
    assert_same_bits(h->data + 4, s.y->data + (5 + 4) * 4, 4);
    gr_module_free(net), gr_tape_free(t);
}

TEST(dropout_is_between_layers_and_in_training_only)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *a = gr_module_new(t), *b = gr_module_new(t);
    gr_lstm *with = gr_lstm_new(t, a, "l", 3, 4, &(gr_lstm_config){ .layers = 2, .dropout = 1 });
    gr_lstm *without = gr_lstm_new(t, b, "l", 3, 4, &(gr_lstm_config){ .layers = 2 });
    gr_tensor *x = gr_ones(t, GR_SHAPE(5, 2, 3)), *zeros = gr_zeros(t, GR_SHAPE(5, 2, 4));
    const gr_lstm_out dropped = gr_lstm_forward(t, with, x, NULL);
    assert_same_bits(dropped.y->data, gr_lstm_sequence(t, zeros, &with->recurrent.weights[1], NULL).y->data, 5 * 2 * 4);
    gr_tape_set_training(t, false);
    assert_same_bits(gr_lstm_forward(t, with, x, NULL).y->data, gr_lstm_forward(t, without, x, NULL).y->data, 5 * 2 * 4);
    assert_ok(t);
    gr_module_free(a), gr_module_free(b), gr_tape_free(t);
}

/* ---- Digits that begin with blank rows ---- */

/* If all biases were equal, c would stay 0, and each blank step would multiply the gradient twice by 1 / sqrt(eps) = 316. */
TEST(blank_rows_do_not_blow_up_the_gradient)
{
    enum { B = 16, BLANK = 11 };
    for (uint64_t seed = 1; seed <= 5; seed++)
        for (int forget = 0; forget < 2; forget++) {
            gr_tape *t = gr_tape_new(seed, NULL);
            gr_module *net = gr_module_new(t);
            const gr_lstm_config config = { .norm = GR_LSTM_LN_BA2016, .batch_first = true, .forget_bias = forget };
            gr_lstm *l = gr_lstm_new(t, net, "lstm", 28, 128, &config);
            gr_linear_module *fc = gr_linear_new(t, net, "fc", 128, 10, NULL);
            gr_tensor *x = gr_rand(t, GR_SHAPE(B, 28, 28), 0, 1, "x");
            for (size_t b = 0; b < B; b++) memset(x->data + b * 28 * 28, 0, BLANK * 28 * sizeof *x->data);
            gr_tensor *z = gr_linear_forward(t, fc, gr_select(t, gr_lstm_forward(t, l, x, NULL).h, 0, -1));
            const int labels[B] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
            assert_true(gr_backward(t, gr_cross_entropy(t, z, gr_ints_new(t, labels, GR_SHAPE(B)), NULL)));
            double norm = 0;
            for (const gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s))
                for (size_t i = 0; i < s->tensor->len; i++) norm += (double)gr_grad(t, s->tensor)[i] * (double)gr_grad(t, s->tensor)[i];
            assert_true(sqrt(norm) > 0.01 && sqrt(norm) < 100);
            gr_module_free(net), gr_tape_free(t);
        }
}

/* ---- Memory that fails ---- */

typedef struct {
    int left;
    size_t held;
} failing; /* allocations until one fails, and the bytes that are held */

static void *failing_alloc(void *context, size_t bytes)
{
    failing *f = context;
    if (f->left-- == 0) return NULL;
    const gr_allocator a = gr_default_allocator();
    void *p = a.alloc(a.context, bytes);
    if (p) f->held += bytes;
    return p;
}

static void failing_release(void *context, void *p, size_t bytes)
{
    failing *f = context;
    const gr_allocator a = gr_default_allocator();
    f->held -= bytes;
    a.release(a.context, p, bytes);
}

/* One forward and backward of a module, which is made on the first call. Returns a hash of the result and the gradients, 0 on an error. */
static uint64_t work(gr_tape *t, gr_module **net, gr_lstm **l)
{
    if (!*net) *net = gr_module_new(t);
    if (!*l) *l = gr_lstm_new(t, *net, "l", 3, 17, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016, .layers = 2, .bidirectional = true });
    if (!*l) return 0;
    for (gr_slot *s = gr_slot_first(*net); s; s = gr_slot_next(*net, s)) gr__grad_clear(s->tensor);
    const gr_lstm_out o = gr_lstm_forward(t, *l, gr_ones(t, GR_SHAPE(70, 4, 3)), NULL);
    if (!gr_backward(t, gr_sum(t, gr_add(t, gr_sum(t, o.y, GR_ALL_AXES, false), gr_sum(t, o.c, GR_ALL_AXES, false)), GR_ALL_AXES, false)))
        return 0;
    return hash_reals(hash_reals(1, o.y->data, o.y->len), gr_grad(t, (*l)->recurrent.weights->w_ih), (*l)->recurrent.weights->w_ih->len);
}

TEST(every_allocation_may_fail)
{
    failing f = { .left = -1 };
    const gr_allocator memory = { failing_alloc, failing_release, &f };
    uint64_t want = 0;
    for (int n = -1, failed = 1; failed; n++) {
        f.left = n;
        gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .allocator = &memory }));
        gr_module *net = NULL;
        gr_lstm *l = NULL;
        uint64_t got = work(t, &net, &l);
        if (n < 0) want = got;
        failed = n < 0 || (t ? gr_failed(t) : 1);
        f.left = -1;
        if (t && n >= 0 && failed) {
            assert_int_equal(gr_error_code(t), GR_NO_MEMORY);
            gr_tape_recover(t);
            got = work(t, &net, &l);
        }
        if (t) assert_true(got && got == want);
        gr_module_free(net), gr_tape_free(t);
        assert_int_equal(f.held, 0);
    }
}

/* ---- Messages ---- */

static void refuse_config(gr_tape *t, gr_module *net, size_t hidden, gr_lstm_config config, const char *message)
{
    assert_null(gr_lstm_new(t, net, "l", 3, hidden, &config));
    assert_message(t, message);
    assert_null(net->child);
    gr_tape_recover(t);
}

static void refuse_input(gr_tape *t, const gr_lstm *l, gr_shape x, gr_shape h0, const char *message)
{
    const gr_lstm_out s = gr_lstm_forward(t, l, gr_zeros(t, x), &(gr_lstm_input){ .h0 = gr_zeros(t, h0) });
    assert_true(!s.y && !s.h && !s.c);
    assert_message(t, message);
    gr_tape_recover(t);
}

TEST(configs_and_inputs_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    refuse_config(t, net, 0, (gr_lstm_config){ 0 }, "l: hidden must be 1 or more; got 0");
    refuse_config(t, net, 2, (gr_lstm_config){ .layers = SIZE_MAX },
                  "l: an LSTM of 18446744073709551615 layers is too large for this machine");
    refuse_config(t, net, 2, (gr_lstm_config){ .forget_bias = 1, .no_bias = true }, "l: forget_bias needs a bias; got no_bias");
    refuse_config(t, net, 2, (gr_lstm_config){ .dropout = 1.5 }, "l: the probability of dropout must be in [0, 1]; got 1.5");
    refuse_config(t, net, 2, (gr_lstm_config){ .norm = GR_LSTM_LN_C, .no_bias = true },
                  "l: no_bias is not allowed with norms: all biases would start equal, and the gradient of rows of zeros would explode");
    refuse_config(t, net, 2, (gr_lstm_config){ .norm = 64 }, "l: norm is 64, which is neither a sum of GR_LSTM_LN_... nor GR_LSTM_BN");
    refuse_config(t, net, 2, (gr_lstm_config){ .norm = GR_LSTM_BN | GR_LSTM_LN_SUM },
                  "l: norm is 36, which is neither a sum of GR_LSTM_LN_... nor GR_LSTM_BN");
    refuse_config(t, net, 2, (gr_lstm_config){ .norm = GR_LSTM_LN_PER_GATE | GR_LSTM_LN_C },
                  "l: GR_LSTM_LN_PER_GATE needs GR_LSTM_LN_X, GR_LSTM_LN_H or GR_LSTM_LN_SUM");
    refuse_config(t, net, 2, (gr_lstm_config){ .eps = -3 }, "l: eps must be 0 or more, or GR_NONE; got -3");
    refuse_config(t, net, 2, (gr_lstm_config){ .momentum = 7 }, "l: momentum must be in 0 .. 1, or GR_NONE; got 7");
    const gr_lstm *l = gr_lstm_new(t, net, "l", 3, 2, &(gr_lstm_config){ .layers = 2, .batch_first = true });
    refuse_input(t, l, GR_SHAPE(4, 5, 2), GR_SHAPE(2, 4, 2), "lstm in l: x must be [B, T, 3]; got [4, 5, 2]");
    refuse_input(t, l, GR_SHAPE(4, 5, 3), GR_SHAPE(1, 4, 2),
                 "lstm in l: x is [4, 5, 3], and there are 2 layers of 1 directions and 2 units, so h0 must be [2, 4, 2]; got [1, 4, 2]");
    assert_fails(t, gr_lstm_forward(t, NULL, NULL, NULL).y, "lstm: the module is NULL");
    assert_fails(t, gr_lstm_forward(t, l, NULL, NULL).y, "lstm in l: input 1 is NULL");
    gr_module_free(net), gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_shapes_are_those_of_pytorch),
        cmocka_unit_test(a_norm_has_one_bias_and_its_own_gain_and_shift),
        cmocka_unit_test(norms_have_the_epsilon_of_the_config),
        cmocka_unit_test(weights_start_uniform_and_norms_at_1_and_0),
        cmocka_unit_test(layers_and_directions_are_sequences_composed),
        cmocka_unit_test(gradients_pass_through_layers_and_directions),
        cmocka_unit_test(one_layer_gives_h_for_the_head),
        cmocka_unit_test(dropout_is_between_layers_and_in_training_only),
        cmocka_unit_test(blank_rows_do_not_blow_up_the_gradient),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(configs_and_inputs_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
