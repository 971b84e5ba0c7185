/* tests/test_truncated.c - truncated backpropagation through time: states carried from chunk to chunk. */
#include "tests/failing.h"

enum { T = 24, N = 3, I = 2, H = 5 };

typedef struct {
    gr_module *net;
    gr_lstm *lstm;
} rnn;
static rnn rnn_new(gr_tape *t)
{
    rnn r = { .net = gr_module_new(t) };
    r.lstm = gr_lstm_new(t, r.net, "lstm", I, H, &(gr_lstm_config){ .layers = 2 });
    return r;
}

/* One chunk: forward from the carried state, backward, keep. Returns y. */
static gr_tensor *chunk(gr_tape *t, rnn r, const gr_real *x, size_t steps)
{
    gr_module *m = &r.lstm->module;
    gr_tape_reset(t);
    const gr_lstm_input from = { .h0 = gr_carried(t, m, "h"), .c0 = gr_carried(t, m, "c") };
    const gr_lstm_out s = gr_lstm_forward(t, r.lstm, gr_input(t, x, GR_SHAPE(steps, N, I)), &from);
    gr_detach_keep(t, m, "h", s.h), gr_detach_keep(t, m, "c", s.c);
    gr_backward(t, gr_sum(t, gr_square(t, s.y), GR_ALL_AXES, false));
    return s.y;
}

static void fill(gr_real *x)
{
    gr_stream s = gr_stream_new(1, "x");
    for (size_t i = 0; i < T * N * I; i++) x[i] = (gr_real)gr_stream_normal(&s, 0, 1);
}

TEST(one_chunk_is_plain_back_propagation)
{
    gr_real x[T * N * I];
    fill(x);
    gr_tape *t = gr_tape_new(1, NULL);
    rnn plain = rnn_new(t), cut = rnn_new(t);
    const gr_lstm_out s = gr_lstm_forward(t, plain.lstm, gr_input(t, x, GR_SHAPE(T, N, I)), NULL);
    assert_true(gr_backward(t, gr_sum(t, gr_square(t, s.y), GR_ALL_AXES, false)));
    chunk(t, cut, x, T);
    assert_ok(t);
    for (gr_slot *a = gr_slot_first(plain.net), *b = gr_slot_first(cut.net); a;
         a = gr_slot_next(plain.net, a), b = gr_slot_next(cut.net, b))
        assert_same_bits(gr_grad(t, b->tensor), gr_grad(t, a->tensor), a->tensor->len);
    gr_module_free(plain.net), gr_module_free(cut.net);
    gr_tape_free(t);
}

/* The values continue over the cuts with the same bits, and any number of chunks needs the memory of one. */
TEST(a_chunk_continues_where_the_last_ended)
{
    gr_real x[T * N * I], y[T * N * H];
    fill(x);
    gr_tape *t = gr_tape_new(1, NULL);
    rnn r = rnn_new(t);
    memcpy(y, gr_lstm_forward(t, r.lstm, gr_input(t, x, GR_SHAPE(T, N, I)), NULL).y->data, sizeof y);
    size_t bytes = 0;
    for (int sequence = 0; sequence < 20; sequence++) {
        assert_true(gr_forget(t, r.net));
        assert_null(gr_carried(t, &r.lstm->module, "h"));
        for (size_t k = 0; k < T; k += 4) {
            const gr_tensor *part = chunk(t, r, x + k * N * I, 4);
            assert_ok(t);
            assert_same_bits(part->data, y + k * N * H, 4 * N * H);
            if (!sequence && k == 4) bytes = gr_tape_bytes(t);
        }
    }
    assert_int_equal(gr_tape_bytes(t), bytes);
    gr_module_free(r.net), gr_tape_free(t);
}

/* The state enters the graph as a copy, so a backward after the next keep reads the old state. The graph is made of plain operators, which
 * read their inputs in backward. */
TEST(keeping_a_state_before_backward_changes_no_gradient)
{
    gr_real dw[2] = { 0, 0 };
    for (int early = 0; early < 2; early++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_module *net = gr_module_new(t);
        gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(1), gr_init_constant(3));
        gr_detach_keep(t, net, "h", gr_full(t, GR_SHAPE(1), 2));
        gr_tape_reset(t);
        gr_tensor *h = gr_mul(t, w, gr_carried(t, net, "h"));
        if (early) gr_detach_keep(t, net, "h", h);
        assert_true(gr_backward(t, h));
        dw[early] = *gr_grad(t, w);
        gr_module_free(net), gr_tape_free(t);
    }
    assert_true(dw[0] == 2 && dw[1] == 2);
}

TEST(a_forgotten_state_may_change_its_shape_and_is_restored)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *inner = gr_sequential_new(t, net, "inner");
    gr_detach_keep(t, inner, "h", gr_full(t, GR_SHAPE(2), 7));
    gr_tape_reset(t);
    assert_true(gr_forget(t, net));
    assert_null(gr_kept(inner, "h"));
    gr_tape_recover(t);
    assert_values(gr_kept(inner, "h"), 0, 7, 7);
    assert_true(gr_forget(t, net));
    gr_tape_reset(t);
    assert_non_null(gr_detach_keep(t, inner, "h", gr_full(t, GR_SHAPE(3), 8)));
    assert_values(gr_carried(t, inner, "h"), 0, 8, 8, 8);
    assert_false(gr_forget(NULL, net));
    assert_true(gr_forget(t, NULL));
    assert_fails(t, gr_carried(t, NULL, "h"), "carried: the module is NULL");
    assert_fails(t, gr_carried(t, inner, NULL), "carried: the name is NULL");
    gr_module_free(net), gr_tape_free(t);
}

static bool program(gr_tape *t, void *argument)
{
    gr_real x[T * N * I];
    (void)argument;
    fill(x);
    rnn r = rnn_new(t);
    for (size_t k = 0; k < T && !gr_failed(t); k += 8) chunk(t, r, x + k * N * I, 8);
    gr_forget(t, r.net);
    const bool good = !gr_failed(t);
    gr_module_free(r.net);
    return good;
}
TEST(every_allocation_may_fail)
{
    fail_every_allocation(program, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_chunk_is_plain_back_propagation),
        cmocka_unit_test(a_chunk_continues_where_the_last_ended),
        cmocka_unit_test(keeping_a_state_before_backward_changes_no_gradient),
        cmocka_unit_test(a_forgotten_state_may_change_its_shape_and_is_restored),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
