/* tests/test_optim_gradient.c - all gradients of an optimizer as one array, and the streams of a tape moved to a place: what a program needs that
 * computes the shards of a batch in several processes. */
#include "optim/internal.h"
#include "tests/failing.h"
#include "tests/give.h"

static const gr_init one = { GR_INIT_CONSTANT, 1, 0, GR_FAN_IN };
enum { GUARD = 99 };

/* ---- The array ---- */

TEST(the_array_has_the_order_of_the_tree_then_a_flag_for_each_parameter)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_module *part = gr_module_make(t, net, "part", "Part", sizeof *part);
    gr_tensor *a = gr_param(t, net, "a", GR_SHAPE(2), one), *b = gr_param(t, part, "b", GR_SHAPE(1, 3), one);
    gr_buffer(t, part, "running", GR_SHAPE(5), 0);
    gr_tensor *c = gr_param(t, net, "c", GR_SHAPE(1), one), *none = gr_param(t, part, "none", GR_SHAPE(0), one);
    assert_true(gr_tie(t, part, "tied", a));
    gr_optim *o = gr_sgd_new(t, net, NULL);
    gr_real v[11];
    assert_int_equal(gr_optim_gradient_len(o), 6 + 4);
    give(t, b, (gr_real[]){ 1, 2, 3 }), give(t, a, (gr_real[]){ 4, 5 }), give(t, none, (gr_real[]){ 0 });
    v[10] = GUARD;
    assert_true(gr_optim_gradient_get(t, o, v));
    assert_same_bits(v, ((gr_real[]){ 4, 5, 0, 1, 2, 3, 1, 0, 1, 1, GUARD }), 11); /* a, c, b, none */
    assert_null(gr_grad(t, c));

    const gr_real w[10] = { 7, 8, 9, 10, 11, 12, 2, (gr_real)0.5, 0, 0 };
    assert_true(gr_optim_gradient_set(t, o, w));
    assert_same_bits(gr_grad(t, a), w, 2);
    assert_same_bits(gr_grad(t, c), w + 2, 1);
    assert_null(gr_grad(t, b));
    assert_null(gr_grad(t, none));
    assert_true(gr_optim_step(t, o));
    assert_values(a, 1e-6, 1 - 0.007, 1 - 0.008);
    assert_values(c, 1e-6, 1 - 0.009);
    assert_values(b, 0, 1, 1, 1);
    gr_optim_free(o), gr_module_free(net), gr_tape_free(t);
}

TEST(a_frozen_parameter_keeps_its_place_and_has_no_gradient)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_linear_module *fc = gr_linear_new(t, net, "fc", 1, 1, NULL), *out = gr_linear_new(t, net, "out", 1, 1, NULL);
    gr_optim *o = gr_sgd_new(t, net, NULL);
    gr_real v[8];
    give(t, fc->weight, (gr_real[]){ 3 }), give(t, out->weight, (gr_real[]){ 4 });
    gr_requires_grad(&fc->module, false);
    assert_true(gr_optim_gradient_get(t, o, v));
    assert_same_bits(v, ((gr_real[]){ 0, 0, 4, 0, 0, 0, 1, 0 }), 8);
    assert_true(gr_optim_gradient_set(t, o, v));
    v[4] = 2;
    assert_fails(t, gr_optim_gradient_set(t, o, v),
                 "optim_gradient_set: fc.weight is frozen, so its flag must be 0; got 2: freeze the same parameters for every shard");
    gr_optim_free(o), gr_module_free(net), gr_tape_free(t);
}

/* ---- Errors ---- */

TEST(what_is_wrong_is_an_error_that_changes_nothing)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_linear_module *fc = gr_linear_new(t, net, "fc", 2, 1, NULL);
    gr_optim *o = gr_sgd_new(t, net, NULL);
    gr_real v[5] = { 1, 2, 3, 1, -1 };
    assert_int_equal(gr_optim_gradient_len(NULL), 0);
    assert_int_equal(gr_optim_gradient_len(o), 5);
    give(t, fc->weight, (gr_real[]){ 5, 6 });
    assert_false(gr_optim_gradient_set(t, o, v));
    assert_message(t, "optim_gradient_set: the flag of fc.bias must be 0 or more; got -1");
    assert_same_bits(gr_grad(t, fc->weight), ((gr_real[]){ 5, 6 }), 2);
    assert_null(gr_grad(t, fc->bias));
    v[4] = 1;
    assert_false(gr_optim_gradient_set(t, o, v)); /* the tape is in error */
    assert_false(gr_optim_gradient_get(t, o, v));
    assert_same_bits(gr_grad(t, fc->weight), ((gr_real[]){ 5, 6 }), 2);
    assert_same_bits(v, ((gr_real[]){ 1, 2, 3, 1, 1 }), 5);
    gr_tape_recover(t);

    v[3] = (gr_real)NAN;
    assert_fails(t, gr_optim_gradient_set(t, o, v), "optim_gradient_set: the flag of fc.weight must be 0 or more; got nan");
    assert_fails(t, gr_optim_gradient_set(t, o, NULL), "optim_gradient_set: v is NULL");
    assert_fails(t, gr_optim_gradient_get(t, o, NULL), "optim_gradient_get: v is NULL");
    assert_fails(t, gr_optim_gradient_set(t, NULL, v), "optim_gradient_set: the optimizer is NULL");
    assert_fails(t, gr_optim_gradient_get(t, NULL, v), "optim_gradient_get: the optimizer is NULL");
    gr_module_free(&fc->module);
    assert_int_equal(gr_optim_gradient_len(o), 0);
    assert_fails(t, gr_optim_gradient_get(t, o, v),
                 "optim_gradient_get: a module was freed while this optimizer held 2 of its parameters: make a new optimizer");
    assert_fails(t, gr_optim_gradient_set(t, o, v),
                 "optim_gradient_set: a module was freed while this optimizer held 2 of its parameters: make a new optimizer");
    assert_false(gr_optim_gradient_get(NULL, o, v));
    assert_false(gr_optim_gradient_set(NULL, o, v));
    gr_optim_free(o), gr_module_free(net), gr_tape_free(t);
}

/* Gradients of one parameter before; all three get one, and lose it. */
static bool set_and_clear(gr_tape *t, void *argument)
{
    (void)argument;
    gr_module *net = gr_module_new(t);
    gr_tensor *a = gr_param(t, net, "a", GR_SHAPE(2), one), *b = gr_param(t, net, "b", GR_SHAPE(3), one), *c = gr_param(t, net, "c", GR_SHAPE(300), one);
    gr_optim *o = gr_sgd_new(t, net, NULL);
    static gr_real v[305 + 3];
    const gr_real before[] = { 5, 6 };
    for (size_t i = 0; i < COUNT(v); i++) v[i] = (gr_real)i + 1;
    const bool given = give(t, a, before);
    const bool set = gr_optim_gradient_set(t, o, v);
    if (set) {
        assert_same_bits(gr_grad(t, a), v, 2);
        assert_same_bits(gr_grad(t, b), v + 2, 3);
        assert_same_bits(gr_grad(t, c), v + 5, 300);
    } else if (given) {
        assert_same_bits(gr_grad(NULL, a), before, 2);
        assert_null(gr_grad(NULL, b));
        assert_null(gr_grad(NULL, c));
    }
    v[305] = v[306] = v[307] = 0;
    const bool cleared = gr_optim_gradient_set(t, o, v);
    if (cleared) assert_true(!gr_grad(t, a) && !gr_grad(t, b) && !gr_grad(t, c));
    gr_optim_free(o), gr_module_free(net);
    return cleared;
}
TEST(without_memory_all_gradients_stay_as_they_are)
{
    fail_every_allocation(set_and_clear, NULL);
}

TEST(recovering_from_an_error_takes_back_what_was_set)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *a = gr_param(t, net, "a", GR_SHAPE(1), one), *b = gr_param(t, net, "b", GR_SHAPE(1), one);
    gr_optim *o = gr_sgd_new(t, net, NULL);
    assert_true(give(t, a, (gr_real[]){ 5 }));
    assert_true(gr_optim_gradient_set(t, o, (gr_real[]){ 1, (gr_real)NAN, 0, 1 }));
    assert_true(!gr_grad(t, a) && gr_grad(t, b));
    assert_true(isnan(gr_clip_grad_norm(t, o, 1)));
    gr_tape_recover(t);
    assert_true(!gr_grad(t, a) && !gr_grad(t, b)); /* the backward of a is taken back, too */
    gr_optim_free(o), gr_module_free(net), gr_tape_free(t);
}

/* ---- Shards: one process, or several ---- */

enum { I = 3, H = 4, SHARDS = 4, BATCH = 7, STEPS = 6 };

typedef struct {
    gr_tape *t;
    gr_module *net;
    gr_linear_module *fc1, *odd, *fc2;
    gr_dropout_module *drop;
    gr_optim *adam;
    gr_real sum[SHARDS][100];
} process;

static void start(process *p)
{
    p->t = gr_tape_new(3, NULL);
    p->net = gr_module_new(p->t);
    p->fc1 = gr_linear_new(p->t, p->net, "fc1", I, H, NULL);
    p->odd = gr_linear_new(p->t, p->net, "odd", H, H, NULL); /* only odd shards use it */
    p->drop = gr_dropout_new(p->t, p->net, "drop", 0.3);
    p->fc2 = gr_linear_new(p->t, p->net, "fc2", H, 1, NULL);
    p->adam = gr_adam_new(p->t, p->net, &(gr_adam_config){ .lr = 0.01 });
    assert_true(gr_optim_gradient_len(p->adam) <= COUNT(p->sum[0]));
}

static void finish(process *p) { gr_optim_free(p->adam), gr_module_free(p->net), gr_tape_free(p->t); }

/* The gradient of a shard, weighted by its part of the batch, to sum[shard]. Shard 0 is empty in a batch of two rows. */
static void shard(process *p, size_t step, size_t s, size_t batch)
{
    gr_tape *const t = p->t;
    const size_t first = batch * s / SHARDS, rows = batch * (s + 1) / SHARDS - first;
    const gr_real weight = (gr_real)rows / (gr_real)batch;
    gr_tape_reset(t), gr_optim_zero_grad(p->adam), gr_tape_seek_streams(t, (step * SHARDS + s) << 32);
    if (rows) {
        gr_real x[BATCH * I];
        uint64_t seed = step * 100 + first + 1;
        fill_random(&seed, x, COUNT(x), -1, 1);
        gr_tensor *h = gr_tanh(t, gr_linear_forward(t, p->fc1, gr_input(t, x, GR_SHAPE(rows, I))));
        if (s % 2) h = gr_tanh(t, gr_linear_forward(t, p->odd, h));
        gr_tensor *y = gr_linear_forward(t, p->fc2, gr_dropout_forward(t, p->drop, h));
        assert_true(gr_backward_from(t, gr_mean(t, gr_square(t, y), GR_ALL_AXES, false), &weight));
    }
    assert_true(gr_optim_gradient_get(t, p->adam, p->sum[s]));
}

static void move(process *p, const gr_real *sum)
{
    assert_true(gr_optim_gradient_set(p->t, p->adam, sum));
    gr_clip_grad_norm(p->t, p->adam, 1);
    assert_true(gr_optim_step(p->t, p->adam));
}

static void assert_same_weights(const process *p, const process *q)
{
    const gr_slot *b = gr_slot_first(q->net);
    for (const gr_slot *a = gr_slot_first(p->net); a; a = gr_slot_next(p->net, a), b = gr_slot_next(q->net, b))
        assert_same_bits(a->tensor->data, b->tensor->data, a->tensor->len);
}

TEST(shards_give_the_same_weights_in_one_process_and_in_four)
{
    static process alone, each[SHARDS];
    start(&alone);
    for (size_t s = 0; s < SHARDS; s++) start(&each[s]);
    const size_t values = gr_optim_gradient_len(alone.adam);
    for (size_t step = 0; step < STEPS; step++) {
        const size_t batch = step % 2 ? 2 : BATCH;
        for (size_t s = 0; s < SHARDS; s++) {
            shard(&alone, step, s, batch), shard(&each[s], step, s, batch);
            assert_same_bits(alone.sum[s], each[s].sum[s], values);
        }
        for (size_t d = 1; d < SHARDS; d *= 2)
            for (size_t s = 0; s < SHARDS; s += 2 * d)
                for (size_t i = 0; i < values; i++) alone.sum[s][i] += alone.sum[s + d][i];
        move(&alone, alone.sum[0]);
        for (size_t s = 0; s < SHARDS; s++) move(&each[s], alone.sum[0]);
        for (size_t s = 0; s < SHARDS; s++) assert_same_weights(&alone, &each[s]);
    }
    const gr_real *const moved = alone.odd->weight->data;
    process untouched;
    start(&untouched);
    assert_true(memcmp(moved, untouched.odd->weight->data, H * H * sizeof *moved) != 0);
    finish(&untouched), finish(&alone);
    for (size_t s = 0; s < SHARDS; s++) finish(&each[s]);
}

/* ---- Streams ---- */

TEST(streams_go_on_from_a_place_and_later_ones_begin_there)
{
    gr_tape *t = gr_tape_new(9, NULL);
    gr_stream *early = gr_tape_stream(t, "early");
    gr_stream_bits(early);
    gr_tape_seek_streams(t, (uint64_t)5 << 32);
    assert_true(early->counter == (uint64_t)5 << 32);
    gr_stream *late = gr_tape_stream(t, "late"), same = gr_stream_new(9, "late");
    same.counter = (uint64_t)5 << 32;
    assert_int_equal(gr_stream_bits(late), gr_stream_bits(&same));
    assert_true(gr_tape_stream(t, "late")->counter == ((uint64_t)5 << 32) + 1);
    gr_tape_reset(t);
    gr_tape_seek_streams(t, 0);
    assert_true(early->counter == 0 && late->counter == 0 && gr_tape_stream(t, "last")->counter == 0);
    gr_tape_seek_streams(NULL, 1);
    gr_tape_free(t);
}

TEST(a_loaded_checkpoint_sets_all_streams)
{
    gr_tape *t = gr_tape_new(9, NULL);
    gr_module *net = gr_module_new(t);
    gr_param(t, net, "w", GR_SHAPE(1), one);
    gr_stream *saved = gr_tape_stream(t, "saved");
    saved->counter = 3;
    assert_true(gr_checkpoint_save(t, net, NULL, in_folder("run"), NULL, 0));
    gr_stream *other = gr_tape_stream(t, "other");
    gr_tape_seek_streams(t, 8);
    assert_true(gr_checkpoint_load(t, net, NULL, in_folder("run"), NULL, 0));
    assert_true(saved->counter == 3 && other->counter == 0 && gr_tape_stream(t, "new")->counter == 0);
    unlink(in_folder("run"));
    gr_module_free(net), gr_tape_free(t);
}

/* A matrix product without rows reaches w and adds nothing. Its gradient is 0, also for the threads that clip it: a data race is for SAN=thread to find. */
TEST(threads_clip_a_gradient_to_which_no_operator_added)
{
    gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .threads = 4 });
    gr_module *net = gr_module_new(t);
    gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(600, 1000), (gr_init){ 0 });
    gr_optim *o = gr_sgd_new(t, net, &(gr_sgd_config){ .lr = 1, .refuse_nonfinite = true });
    for (int k = 0; k < 2; k++) {
        gr_backward(t, gr_sum(t, gr_matmul(t, gr_zeros(t, GR_SHAPE(0, 600)), w), GR_ALL_AXES, false));
        for (size_t i = 0; i < w->len; i++) w->grad[i] = NAN; /* its memory is not cleared yet, and may hold anything */
        if (k) assert_true(gr_clip_grad_norm(t, o, 1) == 0);
        assert_true(gr_optim_step(t, o));
        gr_optim_zero_grad(o), gr_tape_reset(t);
    }
    gr_optim_free(o);
    gr_module_free(net);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_array_has_the_order_of_the_tree_then_a_flag_for_each_parameter),
        cmocka_unit_test(a_frozen_parameter_keeps_its_place_and_has_no_gradient),
        cmocka_unit_test(what_is_wrong_is_an_error_that_changes_nothing),
        cmocka_unit_test(without_memory_all_gradients_stay_as_they_are),
        cmocka_unit_test(recovering_from_an_error_takes_back_what_was_set),
        cmocka_unit_test(shards_give_the_same_weights_in_one_process_and_in_four),
        cmocka_unit_test(streams_go_on_from_a_place_and_later_ones_begin_there),
        cmocka_unit_test(a_loaded_checkpoint_sets_all_streams),
        cmocka_unit_test(threads_clip_a_gradient_to_which_no_operator_added),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
