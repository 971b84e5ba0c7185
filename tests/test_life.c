/* tests/test_life.c - the use of a dead tensor or of another tape's tensor is an error that names it. */
#include "core/internal.h"
#include "gradus.h"
#include "ops/attention_packed.h"
#include "tests/test.h"

#define CARRY "make inputs again in each step; gr_detach_keep before the reset and gr_carried after it keep a state"
#define OTHER " belongs to another tape (copy its values), or to a step that is over: "

static void assert_error(gr_tape *t, const char *message)
{
    assert_message(t, message);
    assert_int_equal(gr_error_code(t), GR_MISUSE);
    gr_tape_recover(t);
}

/* ---- Steps ---- */

/* Every call that takes a tensor gets one of the previous step. */
typedef struct { gr_tensor *x; gr_ints *k; gr_module *net; gr_linear_module *fc; gr_multihead_attention *mha; gr_transformer *body; } things;
typedef struct { const char *message; void (*call)(gr_tape *t, const things *s); } use;
#define DEAD(what) what " [2, 2] was made before gr_tape_reset, which ended it; " CARRY
#define DEAD_INTS(what) what " [2] was made before gr_tape_reset, which ended it; make it anew in each step"
#define USE(name, ...) static void name(gr_tape *t, const things *s) { gr_tensor *const x = s->x; (void)t, (void)x, (void)s; __VA_ARGS__; }

static gr_tensor *fresh(gr_tape *t) { return gr_ones(t, GR_SHAPE(2, 2)); }
static void segment(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    (void)argument;
    out[0] = gr_tanh(t, in[0]);
}
USE(use_unary, assert_null(gr_tanh(t, x)))
USE(use_binary, assert_null(gr_add(t, fresh(t), x)))
USE(use_view, assert_null(gr_reshape(t, x, GR_SHAPE(4))))
USE(use_detach, assert_null(gr_detach(t, x)))
USE(use_list, gr_tensor *const both[] = { fresh(t), x }; assert_null(gr_cat(t, both, 2, 0)))
USE(use_module, assert_null(gr_linear_forward(t, s->fc, x)))
USE(use_bias, assert_null(gr_linear(t, fresh(t), fresh(t), x)))
USE(use_gamma, assert_null(gr_layer_norm(t, fresh(t), 2, x, NULL, 1e-5)))
USE(use_beta, assert_null(gr_layer_norm(t, fresh(t), 2, NULL, x, 1e-5)))
USE(use_rms, assert_null(gr_rms_norm(t, fresh(t), 2, x, 1e-5)))
USE(use_group, assert_null(gr_group_norm(t, gr_ones(t, GR_SHAPE(2, 2, 2)), 1, NULL, x, 1e-5)))
USE(use_mean, assert_null(gr_batch_norm(t, fresh(t), 1, NULL, NULL, &(gr_batch_norm_config){ .running_mean = x })))
USE(use_conv, assert_null(gr_conv1d(t, gr_ones(t, GR_SHAPE(1, 1, 3)), gr_ones(t, GR_SHAPE(1, 1, 1)), x, NULL)))
USE(use_mask, assert_null(gr__attention_packed(t, gr_ones(t, GR_SHAPE(2, 2, 3)), &(gr_attention_config){ .mask = x })))
USE(use_h0, assert_null(gr_rnn_sequence(t, gr_ones(t, GR_SHAPE(1, 2, 2)), &(gr_recurrent_weights){ .w_ih = fresh(t), .w_hh = fresh(t) },
                                       &(gr_sequence_config){ .h0 = x }).y))
USE(use_key, assert_null(gr_multihead_attention_forward(t, s->mha, gr_ones(t, GR_SHAPE(2, 2, 2)), x, NULL, NULL)))
USE(use_transformer, assert_null(gr_transformer_forward(t, s->body, gr_ones(t, GR_SHAPE(2, 2, 2)), &(gr_attention_input){ .mask = x })))
USE(use_weight, assert_null(gr_cross_entropy(t, fresh(t), gr_ints_new(t, NULL, GR_SHAPE(2)), &(gr_cross_entropy_config){ .weight = x })))
USE(use_pos_weight, assert_null(gr_bce_with_logits(t, fresh(t), fresh(t), x, GR_REDUCE_MEAN)))
USE(use_recompute, gr_tensor *out; assert_false(gr_recompute(t, segment, NULL, 0, GR_IN(x), &out, 1)))
USE(use_keep, assert_null(gr_detach_keep(t, s->net, "h", x)))
USE(use_want, assert_null(gr_want_grad(t, x)))
USE(use_grad, assert_null(gr_grad(t, x)))
USE(use_loss, assert_false(gr_backward_from(t, x, (gr_real[4]){ 0 })))
USE(use_item, assert_true(gr_item(x) != gr_item(x)))
USE(use_target, assert_null(gr_cross_entropy(t, fresh(t), s->k, NULL)))
USE(use_ids, assert_null(gr_embedding(t, fresh(t), s->k, GR_NONE)))
USE(use_lengths, assert_null(gr__attention_packed(t, gr_ones(t, GR_SHAPE(2, 2, 3)), &(gr_attention_config){ .lengths = s->k })))

static const use uses[] = {
    { "tanh: " DEAD("input 1"), use_unary },
    { "add: " DEAD("input 2"), use_binary },
    { "reshape: " DEAD("input 1"), use_view },
    { "detach: " DEAD("input 1"), use_detach },
    { "cat: " DEAD("input 2"), use_list },
    { "linear in fc: " DEAD("input 1"), use_module },
    { "linear: " DEAD("b"), use_bias },
    { "layer_norm: " DEAD("gamma"), use_gamma },
    { "layer_norm: " DEAD("beta"), use_beta },
    { "rms_norm: " DEAD("gamma"), use_rms },
    { "group_norm: " DEAD("beta"), use_group },
    { "batch_norm: " DEAD("running_mean"), use_mean },
    { "conv1d: " DEAD("bias"), use_conv },
    { "attention: " DEAD("mask"), use_mask },
    { "rnn: " DEAD("h0"), use_h0 },
    { "multihead_attention in mha: " DEAD("key"), use_key },
    { "transformer in body: " DEAD("mask"), use_transformer },
    { "cross_entropy: " DEAD("weight"), use_weight },
    { "bce_with_logits: " DEAD("pos_weight"), use_pos_weight },
    { "recompute: " DEAD("input 1"), use_recompute },
    { "detach_keep: " DEAD("input 1"), use_keep },
    { "gr_want_grad: " DEAD("x"), use_want },
    { "gr_grad: " DEAD("x"), use_grad },
    { "backward: " DEAD("the tensor"), use_loss },
    { "gr_item: " DEAD("x"), use_item },
    { "cross_entropy: " DEAD_INTS("target"), use_target },
    { "embedding: " DEAD_INTS("ids"), use_ids },
    { "attention: " DEAD_INTS("lengths"), use_lengths },
};

TEST(a_tensor_of_the_previous_step_is_refused_everywhere)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_linear_module *fc = gr_linear_new(t, net, "fc", 2, 2, NULL);
    gr_multihead_attention *mha = gr_multihead_attention_new(t, net, "mha", 2, 1, NULL);
    gr_transformer *body = gr_transformer_new(t, net, "body", 2, 1, 1, NULL);
    for (size_t i = 0; i < COUNT(uses); i++) {
        gr_tape_reset(t);
        gr_zeros(t, GR_SHAPE(1024)); /* the next step's first tensors are placed here, so they do not overwrite the ones under test */
        const things s = { gr_want_grad(t, fresh(t)), gr_ints_new(t, NULL, GR_SHAPE(2)), net, fc, mha, body };
        gr_tape_reset(t);
        uses[i].call(t, &s);
        assert_error(t, uses[i].message);
    }
    gr_module_free(net), gr_tape_free(t);
}

TEST(the_message_says_which_call_ended_a_tensor)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_ones(t, GR_SHAPE(3));
    gr_tape_recover(t);
    assert_null(gr_relu(t, x));
    assert_error(t, "relu: input 1 [3] was made before gr_tape_recover, which ended it; make it again");
    gr_tape_free(t);
}

/* A PyTorch user's first attempt: carry the state of an LSTM from step to step in a variable. */
TEST(a_state_must_be_carried_by_gr_carried)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_lstm *lstm = gr_lstm_new(t, net, "lstm", 3, 4, NULL);
    gr_tensor *h = NULL, *c = NULL;
    for (int step = 0; step < 2; step++) {
        gr_tape_reset(t);
        const gr_lstm_out s = gr_lstm_forward(t, lstm, gr_ones(t, GR_SHAPE(2, 1, 3)), &(gr_lstm_input){ .h0 = h, .c0 = c });
        h = s.h, c = s.c;
    }
    assert_true(gr_failed(t));
    assert_non_null(strstr(gr_message(t), " was made before gr_tape_reset, which ended it; " CARRY));
    gr_tape_recover(t);
    for (int step = 0; step < 2; step++) {
        gr_tape_reset(t);
        const gr_lstm_input from = { .h0 = gr_carried(t, &lstm->module, "h"), .c0 = gr_carried(t, &lstm->module, "c") };
        const gr_lstm_out s = gr_lstm_forward(t, lstm, gr_ones(t, GR_SHAPE(2, 1, 3)), &from);
        gr_detach_keep(t, &lstm->module, "h", s.h), gr_detach_keep(t, &lstm->module, "c", s.c);
    }
    assert_ok(t);
    gr_module_free(net), gr_tape_free(t);
}

TEST(a_tensor_of_another_tape_is_refused)
{
    gr_tape *t = gr_tape_new(1, NULL), *other = gr_tape_new(2, NULL);
    gr_tensor *x = gr_want_grad(other, gr_ones(other, GR_SHAPE(2)));
    gr_ints *k = gr_ints_new(other, NULL, GR_SHAPE(2));
    assert_null(gr_relu(t, x));
    assert_error(t, "relu: input 1 [2]" OTHER CARRY);
    assert_null(gr_embedding(t, gr_ones(t, GR_SHAPE(3, 2)), k, GR_NONE));
    assert_error(t, "embedding: ids [2]" OTHER "make it anew in each step");
    assert_false(gr_backward(t, gr_sum(other, x, GR_ALL_AXES, false)));
    assert_error(t, "backward: the tensor []" OTHER CARRY);
    assert_null(gr_grad(t, x));
    assert_error(t, "gr_grad: x [2]" OTHER CARRY);
    assert_ok(other);
    assert_non_null(gr_relu(t, gr_input(t, x->data, gr_shape_of(x))));
    gr_tape_free(t), gr_tape_free(other);
}

TEST(an_item_of_several_values_is_an_error)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const double v = gr_item(gr_ones(t, GR_SHAPE(2, 3)));
    assert_true(v != v);
    assert_error(t, "gr_item: x must hold one value; got [2, 3]. Reduce it with gr_mean or gr_sum, or read its data");
    assert_true(gr_item(NULL) != gr_item(NULL));
    gr_tape_free(t);
}

TEST(a_dead_tensor_prints_that_it_is_dead)
{
    char printed[200] = "";
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_ones(t, GR_SHAPE(2));
    gr_tape_reset(t);
    FILE *out = fmemopen(printed, sizeof printed, "w");
    gr_print(x, out);
    fclose(out);
    assert_string_equal(printed, "dead: made before gr_tape_reset, or after a mark that gr_tape_rewind went back to\n");
    assert_ok(t);
    gr_tape_free(t);
}

/* ---- Marks ---- */

#define REWOUND " was made after the mark that gr_tape_rewind went back to, which ended it; make it before the mark, or keep it by gr_detach_keep"
#define DEAD_MARK "gr_tape_rewind: an earlier gr_tape_rewind went back to a place before this mark"

TEST(a_rewind_ends_what_was_made_after_the_mark_only)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (int turn = 0; turn < 3; turn++) {
        gr_tensor *x = gr_ones(t, GR_SHAPE(2));
        const gr_mark mark = gr_tape_mark(t);
        gr_zeros(t, GR_SHAPE(64));
        gr_tensor *y = gr_tanh(t, x);
        assert_non_null(gr_add(t, x, y));
        gr_tape_rewind(t, mark), gr_tape_rewind(t, mark);
        gr_tensor *z = gr_relu(t, x);
        if (turn) gr_tape_rewind(t, mark);
        assert_non_null(gr_tanh(t, x));
        assert_null(gr_tanh(t, y));
        assert_error(t, "tanh: input 1 [2]" REWOUND);
        gr_tape_rewind(t, mark);
        assert_error(t, "gr_tape_rewind: the mark is from before the last gr_tape_reset or gr_backward; take a new one");
        (void)z;
    }
    gr_tape_free(t);
}

TEST(a_mark_that_was_rewound_past_is_refused)
{
    gr_tape *t = gr_tape_new(1, NULL), *other = gr_tape_new(1, NULL);
    gr_tensor *x = gr_ones(t, GR_SHAPE(2));
    const gr_mark a = gr_tape_mark(t);
    gr_tensor *y = gr_tanh(t, x);
    const gr_mark b = gr_tape_mark(t);
    gr_tape_rewind(t, a);
    gr_ones(t, GR_SHAPE(64));
    gr_tape_rewind(t, b);
    assert_message(t, DEAD_MARK);
    assert_int_equal(gr_error_code(t), GR_MISUSE);
    (void)y;
    gr_tape_recover(t);
    gr_tape_rewind(t, gr_tape_mark(other));
    assert_error(t, "gr_tape_rewind: the mark is of another tape");
    gr_tape_free(t), gr_tape_free(other);
}

/* Marks are taken and gone back to in random order; a list says which tensors should be alive. */
TEST(random_marks_agree_with_a_list_of_live_tensors)
{
    enum { MOST = 64 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_stream *draw = gr_tape_stream(t, "draw");
    uint64_t stamp[MOST]; /* stamps, because the tensors may be overwritten */
    gr_mark mark[MOST];
    bool dead[MOST];
    int newest[MOST]; /* for each mark the newest tensor that was alive then; -1 means none */
    size_t before[MOST], xs = 0, marks = 0, rewinds = 0, refused = 0, most_dead = 0;
    for (size_t turn = 0; turn < 30000; turn++) {
        const size_t action = (size_t)gr_stream_uniform(draw, 0, 8), pick = (size_t)gr_stream_uniform(draw, 0, MOST), k = marks ? pick % marks : 0;
        if (xs == MOST || marks == MOST || most_dead > 40) gr_tape_reset(t), xs = marks = most_dead = 0;
        if (action < 3) dead[xs] = false, stamp[xs++] = gr_ones(t, GR_SHAPE(3))->stamp;
        if (action == 3 || action == 4) {
            newest[marks] = (int)xs - 1;
            while (newest[marks] >= 0 && dead[newest[marks]]) newest[marks]--;
            before[marks] = xs, mark[marks++] = gr_tape_mark(t);
        }
        if (action == 5 && marks) {
            const bool valid = newest[k] < 0 || !dead[newest[k]];
            gr_tape_rewind(t, mark[k]);
            assert_int_equal(!gr_failed(t), valid);
            if (!valid) assert_error(t, DEAD_MARK), refused++, xs = marks = most_dead = 0;
            for (size_t i = valid ? before[k] : xs; i < xs; i++) most_dead += !dead[i], dead[i] = true;
            rewinds += valid;
        }
        for (size_t i = 0; i < xs; i++) assert_int_equal(gr__lives(t, t, stamp[i]), !dead[i]);
    }
    assert_true(rewinds > 1000 && refused > 50);
    gr_tape_free(t);
}

TEST(a_loop_that_marks_and_rewinds_does_not_grow)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_ones(t, GR_SHAPE(2));
    size_t used = 0;
    for (int turn = 0; turn < 1000; turn++) {
        const gr_mark mark = gr_tape_mark(t);
        if (turn == 1) used = mark.used;
        if (turn) assert_int_equal(mark.used, used);
        gr_tanh(t, gr_add(t, x, x));
        gr_tape_rewind(t, mark);
    }
    assert_ok(t);
    gr_tape_free(t);
}

/* ---- Segments ---- */

static void leaking_segment(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    **(gr_tensor ***)argument = out[0] = gr_tanh(t, gr_tanh(t, in[0]));
}

TEST(a_tensor_of_a_segment_that_is_over_is_refused)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_ones(t, GR_SHAPE(2))), *inside = NULL, **place = &inside, *y;
    assert_true(gr_recompute(t, leaking_segment, &place, sizeof place, GR_IN(x), &y, 1));
    assert_non_null(gr_add(t, x, y));
    assert_null(gr_add(t, x, inside));
    assert_error(t, "add: input 2 [2] was made inside a function that gr_recompute ran, and ended with it; only what the function returns in "
                    "out outlives it");
    gr_tape_free(t);
}

/* ---- Anomaly mode keeps dead memory unused for one step ---- */

#define FILLED "was made before gr_tape_reset, or after a mark that gr_tape_rewind went back to, which ended it; "
TEST(a_dead_tensor_without_its_tape_is_nan_and_prints_that_it_is_dead)
{
    char printed[200] = "";
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tape_set_anomaly(t, true);
    gr_tensor *x = gr_ones(t, GR_SHAPE(1)), *y = gr_ones(t, GR_SHAPE(1));
    gr_tape_reset(t);
    const double item = gr_item(x);
    assert_true(item != item);
    FILE *out = fmemopen(printed, sizeof printed, "w");
    gr_print(y, out);
    fclose(out);
    assert_string_equal(printed, "dead: made before gr_tape_reset, or after a mark that gr_tape_rewind went back to\n");
    assert_ok(t); /* what x pointed to does not tell its tape */
    gr_tape_free(t);
}

#ifndef GR__ASAN /* AddressSanitizer reports the read itself */
TEST(anomaly_mode_fills_dead_tensors_with_nan)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tape_set_anomaly(t, true);
    for (int step = 0; step < 3; step++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_ones(t, GR_SHAPE(50));
        const gr_real *const values = x->data;
        gr_tape_reset(t);
        gr_tensor *y = gr_zeros(t, GR_SHAPE(50));
        for (int i = 0; i < 50; i++) assert_true(values[i] != values[i]);
        assert_null(gr_add(t, y, x));
        assert_error(t, "add: input 2 " FILLED CARRY);
    }
    const gr_mark mark = gr_tape_mark(t);
    gr_tensor *x = gr_ones(t, GR_SHAPE(50));
    const gr_real *const values = x->data;
    gr_tape_rewind(t, mark);
    assert_non_null(gr_ones(t, GR_SHAPE(50))); /* is not placed where a dead tensor was */
    assert_true(values[7] != values[7]);
    assert_null(gr_tanh(t, x));
    assert_error(t, "tanh: input 1 was made before gr_tape_recover, or after a mark that gr_tape_rewind went back to, which ended it; make it "
                    "again");
    gr_tape_free(t);
}

/* Without anomaly mode, a tensor of a step gets the address that its counterpart had in the previous step, so an old pointer looks
 * alive. */
TEST(anomaly_mode_distinguishes_tensors_of_two_steps_at_one_address)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tape_set_anomaly(t, true);
    gr_tape_reset(t);
    gr_tensor *old = gr_ones(t, GR_SHAPE(5));
    gr_tape_reset(t);
    gr_tensor *same = gr_ones(t, GR_SHAPE(5));
    assert_ptr_not_equal(old, same);
    assert_non_null(gr_tanh(t, same));
    assert_null(gr_tanh(t, old));
    assert_error(t, "tanh: input 1 " FILLED CARRY);
    gr_tape_free(t);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_of_the_previous_step_is_refused_everywhere),
        cmocka_unit_test(the_message_says_which_call_ended_a_tensor),
        cmocka_unit_test(a_state_must_be_carried_by_gr_carried),
        cmocka_unit_test(a_tensor_of_another_tape_is_refused),
        cmocka_unit_test(a_dead_tensor_prints_that_it_is_dead),
        cmocka_unit_test(an_item_of_several_values_is_an_error),
        cmocka_unit_test(a_rewind_ends_what_was_made_after_the_mark_only),
        cmocka_unit_test(a_mark_that_was_rewound_past_is_refused),
        cmocka_unit_test(random_marks_agree_with_a_list_of_live_tensors),
        cmocka_unit_test(a_loop_that_marks_and_rewinds_does_not_grow),
        cmocka_unit_test(a_tensor_of_a_segment_that_is_over_is_refused),
        cmocka_unit_test(a_dead_tensor_without_its_tape_is_nan_and_prints_that_it_is_dead),
#ifndef GR__ASAN
        cmocka_unit_test(anomaly_mode_fills_dead_tensors_with_nan),
        cmocka_unit_test(anomaly_mode_distinguishes_tensors_of_two_steps_at_one_address),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
