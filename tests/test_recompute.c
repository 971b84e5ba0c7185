/* tests/test_recompute.c - segments that backward runs again: the same bits, less memory, the same masks and statistics. */
#include "tests/failing.h"

enum { T = 784, CHUNK = 28, N = 8, I = 1, H = 16 };

/* ---- An LSTM over 784 steps, in segments ---- */

typedef struct {
    gr_module *net;
    gr_lstm *lstm;
    gr_linear_module *fc;
    gr_dropout_module *drop;
    bool plainly;
} reader;

static reader reader_new(gr_tape *t)
{
    reader r = { .net = gr_module_new(t) };
    r.lstm = gr_lstm_new(t, r.net, "lstm", I, H, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016 });
    r.drop = gr_dropout_new(t, r.net, "drop", 0.25);
    r.fc = gr_linear_new(t, r.net, "fc", H, 3, NULL);
    return r;
}

/* in: a chunk of x, then h and c, which are NULL at first. out: h and c */
static void read_chunk(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    const reader *r = *(reader **)argument;
    const gr_lstm_out s = gr_lstm_forward(t, r->lstm, gr_dropout_forward(t, r->drop, in[0]), &(gr_lstm_input){ .h0 = in[1], .c0 = in[2] });
    out[0] = s.h, out[1] = s.c;
}

static gr_tensor *read_all(gr_tape *t, const reader *r, gr_tensor *x)
{
    gr_tensor *state[2] = { NULL, NULL };
    for (size_t k = 0; k < T / CHUNK; k++) {
        gr_tensor *const in[3] = { gr_slice(t, x, CHUNK * k, CHUNK), state[0], state[1] };
        if (r->plainly) read_chunk(t, in, state, &r);
        else gr_recompute(t, read_chunk, &r, sizeof r, in, 3, state, 2);
    }
    return gr_cross_entropy(t, gr_linear_forward(t, r->fc, gr_select(t, state[0], 0, -1)), gr_ints_new(t, (int[N]){ 0, 2 }, GR_SHAPE(N)),
                            NULL);
}

static uint64_t train(gr_tape *t, bool plainly)
{
    reader r = reader_new(t);
    r.plainly = plainly;
    gr_optim *sgd = gr_sgd_new(t, r.net, &(gr_sgd_config){ .lr = 0.1, .momentum = 0.9 });
    uint64_t hash = 0xcbf29ce484222325u;
    for (int step = 0; step < 3; step++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_want_grad(t, gr_randn(t, GR_SHAPE(T, N, I), 0, 1, "x")), *loss = read_all(t, &r, x);
        gr_optim_zero_grad(sgd);
        gr_backward(t, loss);
        if (loss) hash = hash_reals(hash, loss->data, 1);
        if (x && gr_grad(t, x)) hash = hash_reals(hash, gr_grad(t, x), x->len);
        for (gr_slot *s = gr_slot_first(r.net); s; s = gr_slot_next(r.net, s))
            if (gr_grad(t, s->tensor)) hash = hash_reals(hash, gr_grad(t, s->tensor), s->tensor->len);
        gr_optim_step(t, sgd);
    }
    gr_optim_free(sgd), gr_module_free(r.net);
    return hash;
}

TEST(segments_give_the_same_bits_for_less_memory)
{
    size_t bytes[2];
    uint64_t hash[3];
    for (int plainly = 0; plainly < 2; plainly++) {
        gr_tape *t = gr_tape_new(1, NULL);
        hash[plainly] = train(t, plainly);
        assert_ok(t);
        bytes[plainly] = gr_tape_bytes(t);
        gr_tape_free(t);
    }
    gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .threads = 3 });
    hash[2] = train(t, false);
    gr_tape_free(t);
    assert_true(hash[0] == hash[1] && hash[0] == hash[2]);
    print_message("%zu bytes with segments, %zu without\n", bytes[0], bytes[1]);
    assert_true(3 * bytes[0] < bytes[1]);
}

/* ---- Gradients ---- */

static void two_outputs(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    gr_tensor *h = gr_tanh(t, gr_mul(t, in[0], in[1]));
    out[0] = gr_scale(t, h, *(double *)argument);
    out[1] = gr_sum(t, gr_mul(t, h, in[0]), GR_ALL_AXES, false);
}
static gr_tensor *through_a_segment(gr_tape *t, gr_tensor *const *in, void *argument)
{
    gr_tensor *out[2];
    if (!gr_recompute(t, two_outputs, argument, sizeof(double), in, 2, out, 2)) return NULL;
    return gr_add(t, gr_mul(t, out[0], in[0]), gr_exp(t, gr_tanh(t, out[1])));
}

static void inside(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *a) { out[0] = gr_sigmoid(t, gr_mul(t, in[0], in[1])), (void)a; }
/* Depths 1 and 2, and an output that is the input itself. */
static void outside(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    gr_tensor *a = NULL;
    gr_recompute(t, inside, NULL, 0, in, 2, &a, 1);
    out[0] = gr_mul(t, a, gr_tanh(t, in[1]));
    out[1] = gr_reshape(t, in[0], GR_SHAPE(in[0]->len));
    out[2] = argument;
}
static gr_tensor *through_nested_segments(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    gr_tensor *out[3], *captured = gr_exp(t, in[1]);
    if (!gr_recompute(t, outside, captured, 0, in, 2, out, 3)) return NULL;
    return gr_add(t, gr_mul(t, out[0], out[2]), gr_reshape(t, gr_square(t, out[1]), gr_shape_of(in[0])));
}

TEST(gradient_matches_finite_differences)
{
    static const size_t sizes[] = { 1, 3, 16, 33 };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(2, sizes[i]) }, { .shape = GR_SHAPE(2, sizes[i]) } };
        assert_true(test_gradcheck("recompute", through_a_segment, &(double){ 1.5 }, in, 2, NULL, stderr));
        assert_true(test_gradcheck("nested recompute", through_nested_segments, NULL, in, 2, NULL, stderr));
    }
    const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(0, 3) }, { .shape = GR_SHAPE(0, 3) } };
    assert_true(test_gradcheck("recompute of nothing", through_a_segment, &(double){ 1.5 }, in, 2, NULL, stderr));
    const gr_gradcheck_input one[] = { { .shape = GR_SHAPE(2, 3) }, { .shape = GR_SHAPE(2, 3), .no_grad = true } };
    assert_true(test_gradcheck("recompute for one", through_nested_segments, NULL, one, 2, NULL, stderr));
}

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(70, 333) }, { .shape = GR_SHAPE(70, 333) } };
    assert_bits_stay(through_nested_segments, NULL, in, 2);
}

/* ---- State outside the tape ---- */

typedef struct {
    gr_norm *bn;
    gr_dropout_module *drop;
    gr_linear_module *fc;
    int depth;
    bool plainly, fails;
} stack;

/* depth + 1 nested blocks: linear, BatchNorm, dropout, and the next inner block. */
static void stack_block(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    stack s = *(stack *)argument;
    gr_tensor *h = gr_norm_forward(t, s.bn, gr_linear_forward(t, s.fc, in[0]), NULL);
    h = gr_relu(t, gr_dropout_forward(t, s.drop, h));
    gr_detach_keep(t, &s.bn->module, "last", h);
    if (s.depth-- == 0) out[0] = s.fails ? gr_linear_forward(t, NULL, h) : h;
    else if (s.plainly) stack_block(t, &h, out, &s);
    else gr_recompute(t, stack_block, &s, sizeof s, &h, 1, out, 1);
}

typedef struct {
    uint64_t hash;
    size_t bytes, nodes;
} outcome;
static outcome stack_train(gr_tape *t, int depth, bool plainly, bool evaluate_between)
{
    outcome o = { 0xcbf29ce484222325u, 0, 0 };
    gr_module *net = gr_module_new(t);
    stack s = { .bn = gr_batch_norm_new(t, net, "bn", 6, NULL),
                .drop = gr_dropout_new(t, net, "drop", 0.5),
                .fc = gr_linear_new(t, net, "fc", 6, 6, NULL),
                .depth = depth,
                .plainly = plainly };
    gr_optim *adam = gr_adam_new(t, net, NULL);
    for (int step = 0; step < 4; step++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_randn(t, GR_SHAPE(20, 6), 0, 1, "x"), *y[2] = { NULL, NULL };
        for (int twice = 0; twice < 2; twice++) /* the second segment moves the statistics that the first has moved */
            if (plainly) stack_block(t, &x, &y[twice], &s);
            else gr_recompute(t, stack_block, &s, sizeof s, &x, 1, &y[twice], 1);
        gr_tensor *loss = gr_mean(t, gr_square(t, gr_sub(t, gr_add(t, y[0], gr_dropout_forward(t, s.drop, y[1])), x)), GR_ALL_AXES, false);
        o.nodes = gr_tape_nodes(t);
        gr_optim_zero_grad(adam);
        if (evaluate_between) gr_tape_set_training(t, false);
        gr_backward(t, loss);
        gr_tape_set_training(t, true);
        gr_optim_step(t, adam);
        if (loss) o.hash = hash_reals(o.hash, loss->data, 1);
    }
    for (gr_slot *at = gr_slot_first(net); at; at = gr_slot_next(net, at))
        if (at->tensor) o.hash = hash_reals(o.hash, at->tensor->data, at->tensor->len);
    if (s.bn) o.hash += (uint64_t)*s.bn->batches + (gr_tape_stream(t, "drop/mask") ? gr_tape_stream(t, "drop/mask")->counter : 0);
    o.bytes = gr_tape_bytes(t);
    gr_optim_free(adam), gr_module_free(net);
    return o;
}

TEST(masks_are_the_same_and_statistics_move_once)
{
    for (int depth = 0; depth < 10; depth += 3) {
        gr_tape *t[3] = { gr_tape_new(1, NULL), gr_tape_new(1, NULL), gr_tape_new(1, &(gr_tape_config){ .threads = 2 }) };
        const outcome want = stack_train(t[0], depth, true, false), got = stack_train(t[1], depth, false, false),
                      also = stack_train(t[2], depth, false, true);
        for (int i = 0; i < 3; i++) {
            assert_ok(t[i]);
            gr_tape_free(t[i]);
        }
        assert_true(want.hash == got.hash && want.hash == also.hash);
        assert_int_equal(got.nodes, 7); /* two segments and the operators outside of them */
        assert_true(want.nodes > got.nodes);
    }
}

/* A step that fails in the middle of a segment, and a retry. */
TEST(a_failed_segment_changes_nothing)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    stack s = { .bn = gr_batch_norm_new(t, net, "bn", 6, NULL),
                .drop = gr_dropout_new(t, net, "drop", 0.5),
                .fc = gr_linear_new(t, net, "fc", 6, 6, NULL),
                .depth = 2 };
    gr_tensor *x = gr_randn(t, GR_SHAPE(20, 6), 0, 1, "x"), *y;
    assert_true(gr_recompute(t, stack_block, &s, sizeof s, &x, 1, &y, 1));
    gr_real mean[6], first[6];
    memcpy(mean, s.bn->running_mean->data, sizeof mean);
    const uint64_t counter = gr_tape_stream(t, "drop/mask")->counter;
    gr_tape_reset(t);
    x = gr_randn(t, GR_SHAPE(20, 6), 0, 1, "x"), memcpy(first, x->data, sizeof first);
    s.fails = true;
    assert_false(gr_recompute(t, stack_block, &s, sizeof s, &x, 1, &y, 1));
    assert_null(y);
    assert_message(t, "linear: the module is NULL");
    assert_same_bits(s.bn->running_mean->data, mean, 6);
    assert_int_equal(*s.bn->batches, 3);
    gr_tape_recover(t);
    assert_same_bits(s.bn->running_mean->data, mean, 6);
    assert_int_equal(*s.bn->batches, 3);
    assert_int_equal(gr_tape_stream(t, "drop/mask")->counter, counter);
    assert_same_bits(gr_randn(t, GR_SHAPE(20, 6), 0, 1, "x")->data, first, 6);
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- Memory ---- */

static bool stack_program(gr_tape *t, void *argument)
{
    (void)argument;
    stack_train(t, 2, false, false);
    return !gr_failed(t);
}
TEST(every_allocation_may_fail)
{
    fail_every_allocation(stack_program, NULL);
}

/* After a forward, the backward through segments allocates only the gradients of parameters. */
TEST(the_second_run_needs_no_new_memory)
{
    failing_memory memory = { 0 };
    gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .allocator = &(gr_allocator){ failing_alloc, failing_release, &memory } });
    reader r = reader_new(t);
    gr_tensor *loss = read_all(t, &r, gr_randn(t, GR_SHAPE(T, N, I), 0, 1, "x"));
    size_t parameters = 0;
    for (gr_slot *s = gr_slot_first(r.net); s; s = gr_slot_next(r.net, s)) parameters += s->kind == GR_PARAMETER;
    const size_t before = memory.calls, bytes = gr_tape_bytes(t);
    assert_true(gr_backward(t, loss));
    assert_true(memory.calls - before <= parameters + (gr_tape_bytes(t) > bytes));
    const size_t after = memory.calls;
    gr_tape_reset(t);
    assert_true(gr_backward(t, read_all(t, &r, gr_randn(t, GR_SHAPE(T, N, I), 0, 1, "x"))));
    assert_int_equal(memory.calls, after);
    gr_module_free(r.net);
    gr_tape_free(t);
    assert_int_equal(memory.live, 0);
}

/* ---- Where the function is only called ---- */

TEST(nothing_is_recorded_when_no_input_wants_a_gradient)
{
    for (int how = 0; how < 3; how++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *x = gr_ones(t, GR_SHAPE(2, 3)), *out[2];
        if (how) gr_want_grad(t, x);
        if (how == 1) gr_tape_set_recording(t, false);
        if (how == 2) gr_tape_set_tracing(t, true);
        assert_true(gr_recompute(t, two_outputs, &(double){ 2 }, sizeof(double), GR_IN(x, x), out, 2));
        assert_int_equal(gr_tape_nodes(t), how == 2 ? 5 : 0);
        assert_values(out[1], 1e-5, (gr_real)4.56956535);
        gr_tape_free(t);
    }
}

TEST(marks_work_inside_and_outside)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_ones(t, GR_SHAPE(2, 3))), *out[2];
    for (int i = 0; i < 3; i++) {
        const gr_mark mark = gr_tape_mark(t);
        assert_true(gr_recompute(t, two_outputs, &(double){ 2 }, sizeof(double), GR_IN(x, x), out, 2));
        assert_int_equal(gr_tape_nodes(t), 1);
        gr_tape_rewind(t, mark);
        assert_ok(t);
        assert_int_equal(gr_tape_nodes(t), 0);
    }
    gr_tape_free(t);
}

/* ---- Errors ---- */

static void calls(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *what)
{
    out[0] = gr_neg(t, in[0]);
    if (what && !strcmp(what, "reset")) gr_tape_reset(t);
    if (what && !strcmp(what, "recover")) gr_tape_recover(t);
    if (what && !strcmp(what, "backward")) gr_backward_from(t, out[0], out[0]->data);
}
static void changes(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    out[0] = gr_scale(t, in[0], ++*(int *)argument);
}
static void grows(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    out[0] = gr_sum(t, gr_square(t, in[0]), GR_AXES(0), ++*(int *)argument % 2);
}

TEST(functions_and_calls_that_recompute_cannot_take_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_ones(t, GR_SHAPE(2, 3))), *y[2] = { x, x };
#define SAYS(call, text) (assert_false(call), assert_message(t, text), gr_tape_recover(t), x = gr_want_grad(t, gr_ones(t, GR_SHAPE(2, 3))))
    SAYS(gr_recompute(t, NULL, NULL, 0, &x, 1, y, 1), "recompute: the function is NULL");
    assert_null(y[0]);
    SAYS(gr_recompute(t, calls, NULL, 0, &x, 1, NULL, 0), "recompute: the function must have an output");
    SAYS(gr_recompute(t, calls, NULL, 0, &x, 1, y, 2), "recompute: the function left output 2 of 2 NULL");
    SAYS(gr_recompute(t, calls, "reset", 0, &x, 1, y, 1), "recompute: the function must not call gr_tape_reset");
    SAYS(gr_recompute(t, calls, "recover", 0, &x, 1, y, 1), "recompute: the function must not call gr_tape_recover");
    SAYS(gr_recompute(t, calls, "backward", 0, &x, 1, y, 1), "recompute: the function must not call gr_backward");
    gr_tape_set_place(t, "here");
    SAYS(gr_recompute(t, calls, "reset", 0, &x, 1, y, 1), "recompute in here: the function must not call gr_tape_reset");
    gr_tape_set_place(t, NULL);
    assert_false(gr_recompute(NULL, calls, NULL, 0, &x, 1, y, 1));
    gr_tape_set_recording(t, false);
    SAYS(gr_recompute(t, calls, NULL, 0, &x, 1, y, 2), "recompute: the function left output 2 of 2 NULL");
    gr_tape_set_recording(t, true);
    int runs = 0;
    assert_true(gr_recompute(t, changes, &runs, 0, &x, 1, y, 1));
    SAYS(gr_backward_from(t, y[0], y[0]->data),
         "recompute: output 1, [2, 3], differs from that of the first run, [2, 3]; the function must depend on its inputs and its argument alone");
    runs = 0;
    assert_true(gr_recompute(t, grows, &runs, 0, &x, 1, y, 1));
    SAYS(gr_backward_from(t, y[0], y[0]->data),
         "recompute: output 1, [3], differs from that of the first run, [1, 3]; the function must depend on its inputs and its argument alone");
    gr_tape_free(t);
}

static void roots(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument) { out[0] = gr_sqrt(t, in[0]), (void)argument; }
TEST(an_anomaly_inside_is_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tape_set_anomaly(t, true), gr_tape_set_place(t, "here");
    gr_tensor *x = gr_want_grad(t, gr_zeros(t, GR_SHAPE(2))), *y;
    assert_true(gr_recompute(t, roots, NULL, 0, &x, 1, &y, 1));
    gr_tape_set_place(t, NULL);
    assert_false(gr_backward_from(t, y, (gr_real[]){ 1, 1 }));
    assert_message(t, "anomaly: backward of sqrt in here made inf at [0] of the gradient of input 1 [2], 2 of 2 values; input 1 [2] is "
                      "within [0, 0], there "
                      "0; the gradient of output 1 [2] is within [1, 1], there 1");
    assert_null(gr_tape_set_place(t, NULL));
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_give_the_same_bits_for_less_memory),
        cmocka_unit_test(gradient_matches_finite_differences),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(masks_are_the_same_and_statistics_move_once),
        cmocka_unit_test(a_failed_segment_changes_nothing),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(the_second_run_needs_no_new_memory),
        cmocka_unit_test(nothing_is_recorded_when_no_input_wants_a_gradient),
        cmocka_unit_test(marks_work_inside_and_outside),
        cmocka_unit_test(functions_and_calls_that_recompute_cannot_take_are_named),
        cmocka_unit_test(an_anomaly_inside_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
