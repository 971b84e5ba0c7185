/* tests/test_recurrent_module.c - the modules gr_gru and gr_rnn, and the norms of the gradient through time for all recurrent layers. */
#include "examples/composed/composed.h"
#include "tests/failing.h"
#include "tests/lstm_case.h"

/* ---- Gradient through time ---- */

static double norm_of(const gr_real *x, const int *lengths, size_t time, size_t B, size_t H)
{
    double sum = 0;
    for (size_t b = 0; b < B; b++)
        for (size_t j = 0; j < H && (!lengths || (size_t)lengths[b] > time); j++) sum += (double)x[b * H + j] * (double)x[b * H + j];
    return sqrt(sum);
}

static void assert_norms(const double *got, const double *want, size_t T)
{
    for (size_t time = 0; time < T; time++)
        if (fabs(got[time] - want[time]) > (sizeof(gr_real) == 4 ? 1e-4 : 1e-10) * want[time])
            fail_msg("at time %zu the norm is %.9g and should be %.9g", time, got[time], want[time]);
}

enum { T = 5, B = 9, I = 3, H = 6 };

/* The twin runs one step at a time, so that each h is a tensor with its own gradient. */
TEST(norms_of_h_are_those_of_the_twin)
{
    static const struct {
        size_t gates;
        unsigned norm;
    } kinds[] = { { 4, 0 }, { 4, GR_LSTM_LN_BA2016 }, { 3, 0 }, { 3, GR_GRU_LN_BA2016 }, { 1, 0 }, { 1, GR_RNN_LN_SUM } };
    const int lengths[B] = { 5, 2, 0, 1, 5, 4, 3, 5, 2 };
    for (size_t k = 0; k < 2 * COUNT(kinds); k++) {
        gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .threads = 2 });
        double got[T], want[T];
        lstm_case c = { .gates = kinds[k / 2].gates,
                        .norm = kinds[k / 2].norm,
                        .initial = true,
                        .lengths = k % 2 ? lengths : NULL,
                        .T = T,
                        .B = B,
                        .I = I,
                        .H = H,
                        .dh_norm = got },
                  d = c;
        gr_tensor *in[MOST_INPUTS], *h[T], *w = gr_randn(t, GR_SHAPE(T, B, H), 0, 1, "w"), *loss = gr_zeros(t, GR_SHAPE(1));
        gr_gradcheck_input spec[MOST_INPUTS];
        fill(t, &c, in);
        const size_t first = inputs_of(&c, spec) - 1 - is_lstm(&c);
        assert_true(gr_backward(t, gr_sum(t, gr_mul(t, w, run(t, in, &c).y), GR_ALL_AXES, false)));

        gr_tape *u = gr_tape_new(1, NULL);
        fill(u, &d, in);
        w = gr_randn(u, GR_SHAPE(T, B, H), 0, 1, "w"), loss = gr_zeros(u, GR_SHAPE(1));
        d.f = c.gates == 4 ? composed_lstm : c.gates == 3 ? composed_gru : composed_rnn, d.T = 1, d.dh_norm = NULL;
        gr_tensor *const x = in[0];
        for (size_t time = 0; time < T; time++) {
            int left[B];
            for (size_t b = 0; b < B; b++) left[b] = lengths[b] > (int)time;
            if (c.lengths) d.lengths = left;
            in[0] = gr_slice(u, x, time, 1);
            const gr_recurrent_out s = run(u, in, &d);
            in[first] = h[time] = s.h;
            if (is_lstm(&c)) in[first + 1] = s.c;
            gr_tensor *real = gr_ones(u, GR_SHAPE(B, 1)); /* y is h within the length of the sequence */
            for (size_t b = 0; c.lengths && b < B; b++) real->data[b] = (gr_real)left[b];
            gr_tensor *y = gr_mul(u, real, s.h);
            loss = gr_add(u, loss, gr_sum(u, gr_mul(u, gr_slice(u, w, time, 1), y), GR_ALL_AXES, false));
        }
        assert_true(gr_backward(u, gr_sum(u, loss, GR_ALL_AXES, false)));
        for (size_t time = 0; time < T; time++) want[time] = norm_of(gr_grad(u, h[time]), c.lengths, time, B, H);
        assert_norms(got, want, T);
        gr_tape_free(t), gr_tape_free(u);
    }
}

/* An LSTM of plain operators, whose cells have their own gradients. Steps beyond the length of a sequence do not count. */
TEST(norms_of_the_cell_are_those_of_plain_operators)
{
    gr_tape *t = gr_tape_new(1, NULL);
    double dh[T], dc[T], want_h[T], want_c[T], other[T];
    lstm_case c = { .T = T, .B = B, .I = I, .H = H, .dh_norm = dh, .dc_norm = dc };
    gr_tensor *in[MOST_INPUTS], *w = gr_randn(t, GR_SHAPE(T, B, H), 0, 1, "w"), *h[T], *cell[T], *loss = gr_scalar(t, 0);
    fill(t, &c, in);
    gr_tensor *fused = gr_sum(t, gr_mul(t, w, run(t, in, &c).y), GR_ALL_AXES, false);
    for (size_t time = 0; time < T; time++) {
        gr_tensor *a = gr_add(t, gr_linear(t, gr_select(t, in[0], 0, (ptrdiff_t)time), in[1], in[3]),
                              gr_linear(t, time ? h[time - 1] : gr_zeros(t, GR_SHAPE(B, H)), in[2], in[4]));
        gr_tensor *gate[4];
        for (size_t k = 0; k < 4; k++) gate[k] = (k == 2 ? gr_tanh : gr_sigmoid)(t, gr_narrow(t, a, 1, k * H, H));
        gr_tensor *kept = time ? gr_mul(t, gate[1], cell[time - 1]) : gr_zeros(t, GR_SHAPE(B, H));
        cell[time] = gr_add(t, kept, gr_mul(t, gate[0], gate[2]));
        h[time] = gr_mul(t, gate[3], gr_tanh(t, cell[time]));
        loss = gr_add(t, loss, gr_sum(t, gr_mul(t, gr_select(t, w, 0, (ptrdiff_t)time), h[time]), GR_ALL_AXES, false));
    }
    assert_true(gr_backward(t, gr_add(t, loss, fused)));
    for (size_t time = 0; time < T; time++) {
        want_h[time] = norm_of(gr_grad(t, h[time]), NULL, time, B, H), want_c[time] = norm_of(gr_grad(t, cell[time]), NULL, time, B, H);
    }
    assert_norms(dh, want_h, T), assert_norms(dc, want_c, T);

    gr_tape_reset(t); /* sequences of lengths 5 and 2 in one batch: their squared norms add up */
    const int both[2] = { 5, 2 };
    for (int turn = 0; turn < 3; turn++) {
        lstm_case d = { .T = T, .B = turn == 2 ? 2 : 1, .I = I, .H = H, .lengths = turn == 2 ? both : &both[turn] };
        d.dc_norm = turn == 0 ? want_c : turn == 1 ? other : dc, d.dh_norm = dh;
        d.B = 2, fill(t, &d, in), d.B = turn == 2 ? 2 : 1;
        if (turn < 2) in[0] = gr_narrow(t, in[0], 1, (size_t)turn, 1);
        assert_true(gr_backward(t, gr_sum(t, run(t, in, &d).y, GR_ALL_AXES, false)));
        gr_tape_reset(t);
    }
    for (size_t time = 0; time < T; time++) want_c[time] = sqrt(want_c[time] * want_c[time] + other[time] * other[time]);
    assert_norms(dc, want_c, T);
    assert_true(other[1] > 0 && other[2] <= 0 && other[4] <= 0);
    gr_tape_free(t);
}

/* If the forget gate is 1, the gradient of c0 equals that of the cell, also through the norm of the cell. */
TEST(norms_of_a_normalized_cell_include_its_norm)
{
    gr_tape *t = gr_tape_new(1, NULL);
    double dc[1], want[1];
    lstm_case c = { .norm = GR_LSTM_LN_C, .initial = true, .T = 1, .B = B, .I = I, .H = H, .dc_norm = dc };
    gr_tensor *in[MOST_INPUTS];
    gr_gradcheck_input spec[MOST_INPUTS];
    fill(t, &c, in);
    for (size_t j = H; j < 2 * H; j++) in[3]->data[j] = 100;
    gr_tensor *w = gr_randn(t, GR_SHAPE(1, B, H), 0, 1, "w");
    assert_true(gr_backward(t, gr_sum(t, gr_mul(t, w, run(t, in, &c).y), GR_ALL_AXES, false)));
    want[0] = norm_of(gr_grad(t, in[inputs_of(&c, spec) - 1]), NULL, 0, B, H);
    assert_norms(dc, want, 1);
    gr_tape_free(t);
}

TEST(a_module_gives_the_norms_of_each_layer_and_direction)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *x;
    for (int norm = 0; norm < 2; norm++) {
        gr_tape_reset(t), x = gr_randn(t, GR_SHAPE(T, 40, I), 0, 1, "x");
        gr_lstm *l = gr_lstm_new(t, net, norm ? "bn" : "l", I, 40,
                                 &(gr_lstm_config){ .layers = 2, .bidirectional = true, .bn_steps = T, .norm = norm ? GR_LSTM_BN : 0 });
        const gr_recurrent_out s = gr_lstm_forward(t, l, x, &(gr_recurrent_input){ .grad_norms = true });
        assert_true(s.dh_norm && s.dc_norm && s.dh_norm[0] <= 0);
        gr_tensor *last = gr_select(t, s.h, 0, -2); /* the second layer, forward: its last step gets the whole gradient, which is 1 everywhere */
        assert_true(gr_backward(t, gr_sum(t, last, GR_ALL_AXES, false)));
        assert_true(fabs(s.dh_norm[2 * T + T - 1] - 40) < 1e-3);
        for (size_t time = 0; time < T; time++) {
            for (size_t k = 0; k < 3; k++) assert_true(s.dh_norm[k * T + time] > 0 && s.dc_norm[k * T + time] > 0);
            assert_true(s.dh_norm[3 * T + time] <= 0 && s.dc_norm[3 * T + time] <= 0);
        }
    }
    gr_rnn *r = gr_rnn_new(t, net, "r", I, 4, NULL);
    gr_tape_reset(t);
    x = gr_randn(t, GR_SHAPE(T, 4, I), 0, 1, "x");
    const gr_recurrent_out s = gr_rnn_forward(t, r, x, &(gr_recurrent_input){ .grad_norms = true });
    assert_true(s.dh_norm && !s.dc_norm && !s.c && !gr_rnn_forward(t, r, x, NULL).dh_norm);
    gr_module_free(net), gr_tape_free(t);
}

/* ---- Modules ---- */

TEST(names_and_shapes_are_those_of_pytorch)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_gru_new(t, net, "g", 3, 4, &(gr_gru_config){ .layers = 2, .bidirectional = true });
    gr_rnn_new(t, net, "r", 3, 4, &(gr_rnn_config){ .norm = GR_RNN_LN_SUM });
    static const struct {
        const char *path;
        size_t rows, columns;
    } want[] = {
        { "g.weight_ih_l0", 12, 3 },         { "g.weight_hh_l0", 12, 4 }, { "g.bias_ih_l0", 12, 0 },  { "g.bias_hh_l1_reverse", 12, 0 },
        { "g.weight_ih_l1_reverse", 12, 8 }, { "r.weight_ih_l0", 4, 3 },  { "r.weight_hh_l0", 4, 4 }, { "r.bias_l0", 4, 0 },
        { "r.ln_sum_l0.weight", 4, 0 },
    };
    for (size_t i = 0; i < COUNT(want); i++) {
        const gr_slot *s = gr_slot_find(net, want[i].path);
        assert_non_null(s);
        assert_true(s->tensor->dim[0] == want[i].rows && (s->tensor->rank == 2 ? s->tensor->dim[1] : 0) == want[i].columns);
    }
    assert_null(gr_slot_find(net, "r.bias_hh_l0"));
    assert_int_equal(gr_module_parameters(gr_slot_find(net, "r.bias_l0")->owner), 12 + 16 + 4 + 8);
    gr_module_free(net), gr_tape_free(t);
}

static bool steps_of_training(gr_tape *t, void *argument)
{
    const bool gru = argument;
    gr_module *net = gr_module_new(t);
    gr_recurrent *l = gru ? gr_recurrent_new(t, net, "l", GR_GRU, 3, 17, &(gr_gru_config){ .norm = GR_GRU_LN_BA2016, .bidirectional = true })
                          : gr_recurrent_new(t, net, "l", GR_RNN, 3, 17, &(gr_rnn_config){ .layers = 2, .dropout = 0.5 });
    bool good = l;
    for (int step = 0; good && step < 2; step++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_ones(t, GR_SHAPE(100, 9, 3));
        const gr_recurrent_input in = { .grad_norms = true };
        good = gr_backward(t, gr_sum(t, gr_recurrent_forward(t, l, x, &in).y, GR_ALL_AXES, false));
    }
    gr_module_free(net);
    return good;
}
TEST(every_allocation_may_fail)
{
    fail_every_allocation(steps_of_training, NULL), fail_every_allocation(steps_of_training, state);
}

TEST(options_and_inputs_of_another_layer_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    assert_fails(t, gr_gru_new(t, net, "g", 3, 0, NULL), "g: hidden must be 1 or more; got 0");
    assert_fails(t, gr_rnn_new(t, net, "r", 3, 2, &(gr_rnn_config){ .forget_bias = 1 }), "r: forget_bias is for an LSTM, not for an RNN");
    assert_fails(t, gr_gru_new(t, net, "g", 3, 2, &(gr_gru_config){ .bn_steps = 4 }), "g: bn_steps is for an LSTM, not for a GRU");
    assert_fails(t, gr_rnn_new(t, net, "r", 3, 2, &(gr_rnn_config){ .h0_noise = GR_NONE }), "r: h0_noise is for an LSTM, not for an RNN");
    assert_fails(t, gr_gru_new(t, net, "g", 3, 2, &(gr_gru_config){ .norm = GR_LSTM_LN_BA2016 }), "g: norm is 11, which is no sum of GR_GRU_LN_...");
    assert_fails(t, gr_gru_new(t, net, "g", 3, 2, &(gr_gru_config){ .relu = true }), "g: relu is for an RNN, not for a GRU");
    gr_gru *g = gr_gru_new(t, net, "g", 3, 2, NULL);
    assert_fails(t, gr_recurrent_new(t, net, "q", (gr_recurrent_kind)3, 3, 2, NULL),
                 "q: the kind must be GR_LSTM, GR_GRU or GR_RNN; got 3");
    assert_fails(t, gr_recurrent_new(t, net, NULL, (gr_recurrent_kind)-1, 3, 2, NULL),
                 "recurrent: the kind must be GR_LSTM, GR_GRU or GR_RNN; got -1");
    assert_fails(t, gr_recurrent_forward(t, NULL, NULL, NULL).y, "recurrent: the module is NULL");
    assert_fails(t, gr_gru_forward(t, NULL, NULL, NULL).y, "gru: the module is NULL");
    assert_fails(t, gr_gru_forward(t, g, gr_zeros(t, GR_SHAPE(1, 1, 2)), NULL).y, "gru in g: x must be [T, B, 3]; got [1, 1, 2]");
    const gr_gru_out s = gr_gru_forward(t, g, gr_zeros(t, GR_SHAPE(4, 1, 3)), &(gr_gru_input){ .h0 = gr_ones(t, GR_SHAPE(1, 1, 2)) });
    assert_true(s.y && s.h && !s.c);
    assert_fails(t, gr_gru_forward(t, g, gr_zeros(t, GR_SHAPE(4, 1, 3)), &(gr_gru_input){ .c0 = gr_ones(t, GR_SHAPE(1, 1, 2)) }).y,
                 "gru in g: c0 is given, but only an LSTM has a cell");
    gr_module_free(net), gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_of_h_are_those_of_the_twin),
        cmocka_unit_test(norms_of_the_cell_are_those_of_plain_operators),
        cmocka_unit_test(norms_of_a_normalized_cell_include_its_norm),
        cmocka_unit_test(a_module_gives_the_norms_of_each_layer_and_direction),
        cmocka_unit_test(names_and_shapes_are_those_of_pytorch),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(options_and_inputs_of_another_layer_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
