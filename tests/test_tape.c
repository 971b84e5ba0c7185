/* tests/test_tape.c - the tape: recording, backward, errors, recover, marks, memory. The operators here are made as a user makes
 * them, from core/op.h alone. */
#include "tests/test.h"
#include <pthread.h>

/* y = a x, for x of any shape. */
typedef struct { gr_real a; } scale_saved;
static void scale_backward(gr_tape *t, const gr_node *n)
{
    const scale_saved *s = n->saved;
    const gr_real *dy = gr_grad(t, n->out[0]);
    gr_real *dx = gr_grad(t, n->in[0]);
    for (size_t i = 0; dx && i < n->in[0]->len; i++) dx[i] += s->a * dy[i];
}
static const gr_op scale_op = { .name = "scale", .backward = scale_backward };
static gr_tensor *scale(gr_tape *t, gr_tensor *x, double a)
{
    if (!gr_ready(t, &scale_op, x)) return NULL;
    gr_tensor *y = gr_empty_like(t, x);
    if (!y) return NULL;
    for (size_t i = 0; i < x->len; i++) y->data[i] = (gr_real)a * x->data[i];
    return gr_record(t, &scale_op, &(scale_saved){ (gr_real)a }, sizeof(scale_saved), GR_OUT(y), GR_IN(x));
}

/* y = sum of a[i] b[i], one value; wants scratch in backward and checks that it got it. */
static size_t inner_scratch(const gr_node *n) { return n->in[0]->len * sizeof(gr_real); }
static void inner_backward(gr_tape *t, const gr_node *n)
{
    const gr_tensor *a = n->in[0], *b = n->in[1];
    const gr_real dy = *gr_grad(t, n->out[0]);
    gr_real *da = gr_grad(t, a), *db = gr_grad(t, b), *scratch = gr_scratch(t);
    for (size_t i = 0; i < a->len; i++) scratch[i] = dy * b->data[i];
    for (size_t i = 0; da && i < a->len; i++) da[i] += scratch[i];
    for (size_t i = 0; db && i < a->len; i++) db[i] += dy * a->data[i];
}
static const gr_op inner_op = { .name = "inner", .backward = inner_backward, .scratch = inner_scratch };
static gr_tensor *inner(gr_tape *t, gr_tensor *a, gr_tensor *b)
{
    if (!gr_ready(t, &inner_op, a, b)) return NULL;
    gr_tensor *y = gr_zeros(t, GR_SCALAR);
    for (size_t i = 0; y && i < a->len; i++) y->data[0] += a->data[i] * b->data[i];
    return gr_record(t, &inner_op, NULL, 0, GR_OUT(y), GR_IN(a, b));
}

static gr_tensor *leaf(gr_tape *t, size_t n, double first)
{
    gr_tensor *x = gr_arange(t, n);
    for (size_t i = 0; x && i < n; i++) x->data[i] += (gr_real)first;
    return gr_want_grad(t, x);
}

/* ---- Backward ---- */

static void gradients_of_several_uses_add_up(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    gr_tensor *x = leaf(t, 3, 1), *y = inner(t, scale(t, x, 2), scale(t, x, 5));
    assert_true(gr_backward(t, y));
    assert_values(y, 0, 140);
    assert_close(gr_grad(t, x), ((gr_real[]){ 20, 40, 60 }), 3, 1e-6);
    gr_tape_free(t);
}

static void gradients_of_intermediates_are_there_too(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    gr_tensor *x = leaf(t, 2, 1), *h = scale(t, x, 3), *y = scale(t, h, 4), *aside = scale(t, h, 9);
    assert_null(gr_grad(t, h));
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, -1 }));
    assert_close(gr_grad(t, h), ((gr_real[]){ 4, -4 }), 2, 0);
    assert_close(gr_grad(t, x), ((gr_real[]){ 12, -12 }), 2, 0);
    assert_null(gr_grad(t, aside));
    gr_tape_free(t);
}

static void a_view_shares_the_gradient_of_its_base(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    gr_tensor *x = gr_reshape(t, leaf(t, 6, 0), GR_SHAPE(3, 2)), *row = gr_slice(t, x, 1, 1);
    gr_tensor *y = inner(t, gr_reshape(t, row, GR_SHAPE(2)), gr_input(t, (gr_real[]){ 10, 20 }, GR_SHAPE(2)));
    assert_true(gr_backward(t, y));
    assert_close(gr_grad(t, x), ((gr_real[]){ 0, 0, 10, 20, 0, 0 }), 6, 0);
    assert_ptr_equal(gr_grad(t, row), gr_grad(t, x) + 2);
    gr_tape_free(t);
}

static void no_gradient_passes_a_detach(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    gr_tensor *x = leaf(t, 2, 1), *d = gr_detach(t, scale(t, x, 2)), *y = inner(t, x, d);
    assert_true(gr_backward(t, y));
    assert_close(gr_grad(t, x), ((gr_real[]){ 2, 4 }), 2, 0);
    assert_null(gr_grad(t, d));
    gr_tape_free(t);
}

static void nothing_is_recorded_when_nobody_wants_a_gradient(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    scale(t, gr_ones(t, GR_SHAPE(2)), 2);
    assert_int_equal(gr_tape_nodes(t), 0);
    gr_tape_set_recording(t, false);
    gr_tensor *y = scale(t, leaf(t, 1, 0), 2);
    assert_int_equal(gr_tape_nodes(t), 0);
    assert_false(gr_backward(t, y));
    assert_message(t, "backward: [1] depends on nothing that wants a gradient (recording off, everything frozen or detached, or no "
                      "parameter involved)");
    gr_tape_free(t);
}

static void a_second_walk_is_an_error_that_says_so(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    gr_tensor *x = leaf(t, 1, 3), *y = scale(t, x, 2);
    assert_true(gr_backward(t, y));
    assert_false(gr_backward(t, y));
    assert_message(t, "backward: this tape was already walked; its gradients are in place, and a second walk would add them twice. Sum "
                      "the losses before one gr_backward, or call gr_tape_reset and run forward again");
    assert_close(gr_grad(t, x), ((gr_real[]){ 2 }), 1, 0);
    gr_tape_free(t);
}

static void a_loss_of_many_values_is_refused(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    assert_false(gr_backward(t, scale(t, leaf(t, 3, 0), 2)));
    assert_message(t, "backward: the loss must hold one value; got [3]. Reduce it with gr_mean or gr_sum, or use gr_backward_from");
    gr_tape_recover(t);
    assert_false(gr_backward(t, NULL));
    assert_message(t, "backward: the tensor is NULL");
    gr_tape_recover(t);
    assert_false(gr_backward_from(t, leaf(t, 1, 0), NULL));
    assert_message(t, "backward: dy is NULL");
    gr_tape_free(t);
}

static void a_parameter_keeps_its_gradient_until_it_is_cleared(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    gr_tensor *w = gr__tensor_new_home(gr_tape_allocator(t), GR_SHAPE(2));
    gr__wants_grad(w, true);
    for (int pass = 1; pass <= 2; pass++) {
        gr_tape_reset(t);
        assert_true(gr_backward_from(t, scale(t, w, 3), (gr_real[]){ 1, 2 }));
        assert_close(gr_grad(t, w), ((gr_real[]){ (gr_real)(3 * pass), (gr_real)(6 * pass) }), 2, 0);
    }
    gr__grad_clear(w);
    assert_null(gr_grad(t, w));
    gr_tape_reset(t);
    assert_true(gr_backward_from(t, scale(t, w, 3), (gr_real[]){ 1, 2 }));
    assert_close(gr_grad(t, w), ((gr_real[]){ 3, 6 }), 2, 0);
    gr__wants_grad(w, false);
    gr_tape_reset(t);
    assert_false(gr_backward_from(t, scale(t, w, 3), (gr_real[]){ 1, 2 }));
    gr__tensor_free_home(w);
    gr_tape_free(t);
}

static void *deep_chain(void *nodes)
{
    gr_tape *t = gr_tape_new(1);
    gr_tensor *x = gr_want_grad(t, gr_ones(t, GR_SCALAR)), *y = x;
    for (size_t i = 0; i < *(size_t *)nodes; i++) y = scale(t, y, -1);
    const bool good = gr_backward(t, y) && *gr_grad(t, x) == 1;
    gr_tape_free(t);
    return good ? nodes : NULL;
}

static void a_deep_chain_needs_no_stack(void **state)
{
    (void)state;
    const char *asked = getenv("GRADUS_TEST_DEPTH");
    size_t nodes = asked ? strtoull(asked, NULL, 10) : 1000000;
    pthread_attr_t small;
    pthread_t thread;
    void *good = NULL;
    pthread_attr_init(&small);
    assert_int_equal(pthread_attr_setstacksize(&small, 64 << 10), 0);
    assert_int_equal(pthread_create(&thread, &small, deep_chain, &nodes), 0);
    pthread_join(thread, &good);
    pthread_attr_destroy(&small);
    assert_ptr_equal(good, &nodes);
}

/* ---- Errors ---- */

static void the_first_error_stays_and_silences_the_rest(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    assert_false(gr_failed(t));
    assert_string_equal(gr_message(t), "");
    assert_null(scale(t, NULL, 2));
    assert_message(t, "scale: argument 1 is NULL");
    assert_int_equal(gr_error_code(t), GR_MISUSE);
    assert_null(inner(t, gr_ones(t, GR_SHAPE(1)), scale(t, NULL, 1)));
    assert_null(gr_reshape(t, NULL, GR_SHAPE(1)));
    assert_message(t, "scale: argument 1 is NULL");
    gr_tape_reset(t);
    assert_true(gr_failed(t));
    gr_tape_recover(t);
    assert_false(gr_failed(t));
    assert_non_null(scale(t, gr_ones(t, GR_SHAPE(1)), 2));
    gr_tape_free(t);
}

static void the_second_null_argument_is_named(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    assert_null(inner(t, gr_ones(t, GR_SHAPE(1)), NULL));
    assert_message(t, "inner: argument 2 is NULL");
    gr_tape_free(t);
}

static void a_null_tape_is_a_tape_in_error(void **state)
{
    (void)state;
    assert_true(gr_failed(NULL));
    assert_string_equal(gr_message(NULL), "there is no tape: gr_tape_new returned NULL");
    assert_int_equal(gr_error_code(NULL), GR_NO_MEMORY);
    gr_tape_reset(NULL), gr_tape_recover(NULL), gr_tape_free(NULL), gr_tape_rewind(NULL, gr_tape_mark(NULL));
    gr_tape_set_training(NULL, true), gr_tape_set_recording(NULL, true);
    assert_null(gr_ones(NULL, GR_SHAPE(1)));
    assert_null(gr_ints_new(NULL, NULL, GR_SHAPE(1)));
    assert_null(gr_tape_stream(NULL, "x"));
    assert_null(gr_tape_stream_at(NULL, 0, NULL));
    assert_null(gr_reshape(NULL, NULL, GR_SCALAR));
    assert_null(gr_want_grad(NULL, NULL));
    assert_null(scale(NULL, NULL, 1));
    assert_false(gr_backward(NULL, NULL));
    assert_false(gr_tape_training(NULL));
    assert_int_equal(gr_tape_threads(NULL), 1);
    assert_int_equal(gr_tape_bytes(NULL) + gr_tape_nodes(NULL) + gr_tape_seed(NULL), 0);
}

static void a_header_of_another_library_is_refused(void **state)
{
    (void)state;
    assert_null(gr_tape_new_checked(1, NULL, sizeof(gr_real) == 4 ? 8 : 4, GR_VERSION));
    assert_null(gr_tape_new_checked(1, NULL, sizeof(gr_real), GR_VERSION + 1));
}

static void a_bad_config_is_an_error_on_the_tape(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new_with(1, &(gr_tape_config){ .isa = "abacus" });
    assert_message(t, "instruction set 'abacus': this build or this CPU has none of that name");
    gr_tape_free(t);
    t = gr_tape_new_with(1, &(gr_tape_config){ .threads = 257 });
    assert_message(t, "threads must be 0 .. 256; got 257");
    gr_tape_recover(t);
    assert_non_null(scale(t, gr_ones(t, GR_SHAPE(1)), 2));
    gr_tape_free(t);
}

/* ---- Recover and the undo log ---- */

static void recover_puts_back_what_was_noted_and_reset_forgets_it(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    double running[2] = { 1, 2 };
    assert_true(gr_undo_note(t, running, sizeof running));
    running[0] = 10;
    assert_true(gr_undo_note(t, running + 1, sizeof *running));
    running[1] = 20;
    assert_true(gr_undo_note(t, running, sizeof running));
    running[0] = 30, running[1] = 40;
    gr_tape_recover(t);
    assert_true(running[0] == 1 && running[1] == 2);
    assert_true(gr_undo_note(t, running, sizeof running));
    running[0] = 10;
    gr_tape_reset(t), gr_tape_recover(t);
    assert_true(running[0] == 10);
    gr_tape_free(t);
}

static void recover_takes_streams_and_parameter_gradients_back(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(7);
    gr_tensor *w = gr__tensor_new_home(gr_tape_allocator(t), GR_SHAPE(1));
    gr__wants_grad(w, true);
    gr_real first[4];
    memcpy(first, gr_rand(t, GR_SHAPE(4), 0, 1, "noise")->data, sizeof first);
    assert_true(gr_backward(t, scale(t, w, 5)));
    gr_tape_recover(t);
    assert_null(gr_grad(t, w));
    assert_same_bits(gr_rand(t, GR_SHAPE(4), 0, 1, "noise")->data, first, 4);
    assert_true(gr_backward(t, scale(t, w, 5)));
    assert_true(*gr_grad(t, w) == 5);
    gr__tensor_free_home(w);
    gr_tape_free(t);
}

static void streams_go_on_over_resets_and_are_listed(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(7);
    const char *name = NULL;
    gr_stream *a = gr_tape_stream(t, "a"), *b = gr_tape_stream(t, "b");
    assert_int_equal(gr_stream_take(t, a, 10), 0);
    gr_tape_reset(t);
    assert_int_equal(gr_stream_take(t, gr_tape_stream(t, "a"), 1), 10);
    assert_ptr_equal(gr_tape_stream_at(t, 1, &name), b);
    assert_string_equal(name, "b");
    assert_null(gr_tape_stream_at(t, 2, &name));
    assert_true(b->key == gr_stream_new(7, "b").key && b->key != a->key);
    gr_tape_free(t);
}

/* ---- Memory ---- */

typedef struct { size_t calls, live, fail_at; } counter;
static void *counting_alloc(void *context, size_t bytes)
{
    counter *c = context;
    if (++c->calls == c->fail_at) return NULL;
    c->live += bytes;
    return gr_default_allocator().alloc(NULL, bytes);
}
static void counting_release(void *context, void *p, size_t bytes)
{
    ((counter *)context)->live -= bytes;
    gr_default_allocator().release(NULL, p, bytes);
}

static void steps_no_larger_than_the_first_allocate_nothing(void **state)
{
    (void)state;
    counter c = { 0 };
    gr_tape *t = gr_tape_new_with(1, &(gr_tape_config){ .allocator = &(gr_allocator){ counting_alloc, counting_release, &c } });
    size_t after_first = 0;
    gr_stream s = gr_stream_new(3, "sizes");
    for (int step = 0; step < 50; step++) {
        gr_tape_reset(t);
        gr_tensor *y = NULL;
        for (size_t i = 0; i < 200; i++) { /* every size at most that of step 0, in any mixture */
            const size_t most = 1 + i * 37 % 9000, n = step ? 1 + gr_stream_below(&s, most) : most;
            y = scale(t, leaf(t, n, 0), 2);
        }
        assert_true(gr_backward_from(t, y, y->data));
        if (!step) after_first = c.calls;
        assert_int_equal(c.calls, after_first);
    }
    gr_tape_free(t);
    assert_int_equal(c.live, 0);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t fail_at = 1;; fail_at++) {
        counter c = { .fail_at = fail_at };
        const gr_allocator memory = { counting_alloc, counting_release, &c };
        gr_tape *t = gr_tape_new_with(1, &(gr_tape_config){ .allocator = &memory, .threads = 2 });
        gr_tensor *x = leaf(t, 200000, 1), *noise = gr_rand(t, GR_SHAPE(200000), 0, 1, "noise");
        gr_tensor *y = inner(t, scale(t, x, 2), noise);
        const bool good = gr_backward(t, y);
        const bool complete = c.calls < fail_at;
        if (complete) assert_true(good);
        else {
            assert_false(good);
            assert_int_equal(gr_error_code(t), GR_NO_MEMORY);
            gr_tape_recover(t);
            x = leaf(t, 200000, 1), noise = gr_rand(t, GR_SHAPE(200000), 0, 1, "noise");
            if (t) assert_true(gr_backward(t, inner(t, scale(t, x, 2), noise)));
        }
        gr_tape_free(t);
        assert_int_equal(c.live, 0);
        if (complete) break;
        assert_true(fail_at < 1000);
    }
}

static void a_rewind_gives_back_what_came_after_the_mark(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    gr_tensor *x = leaf(t, 1000, 1);
    size_t bytes = 0;
    for (int i = 0; i < 10000; i++) {
        const gr_mark mark = gr_tape_mark(t);
        scale(t, x, 2);
        assert_int_equal(gr_tape_nodes(t), 1);
        gr_tape_rewind(t, mark);
        assert_int_equal(gr_tape_nodes(t), 0);
        if (!i) bytes = gr_tape_bytes(t);
    }
    assert_int_equal(gr_tape_bytes(t), bytes);
    const gr_mark old = gr_tape_mark(t);
    assert_true(gr_backward_from(t, scale(t, x, 1), x->data));
    gr_tape_rewind(t, old);
    assert_message(t, "gr_tape_rewind: the mark is from before the last gr_tape_reset or gr_backward");
    gr_tape_free(t);
}

static void an_undo_note_survives_a_rewind(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(1);
    int outside = 1;
    const gr_mark mark = gr_tape_mark(t);
    assert_true(gr_undo_note(t, &outside, sizeof outside));
    outside = 2;
    gr_tape_rewind(t, mark);
    gr_full(t, GR_SHAPE(1000), 9);
    gr_tape_recover(t);
    assert_int_equal(outside, 1);
    gr_tape_free(t);
}

static void modes_are_kept_over_resets(void **state)
{
    (void)state;
    gr_tape *t = gr_tape_new(5);
    assert_true(gr_tape_training(t) && gr_tape_recording(t));
    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
    gr_tape_reset(t);
    assert_true(!gr_tape_training(t) && !gr_tape_recording(t));
    assert_int_equal(gr_tape_seed(t), 5);
    assert_string_equal(gr_tape_isa(t), gr__isa_name(gr__isa_choose(getenv("GRADUS_ISA"))));
    gr_tape_free(t);
}

static gr_tensor *scale_and_inner(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    return inner(t, scale(t, in[0], -3), in[1]);
}

static void own_operators_pass_the_gradient_check(void **state)
{
    (void)state;
    assert_true(gr_gradcheck(stderr, "scale, inner", scale_and_inner, NULL,
                             (gr_gradcheck_input[]){ { .shape = GR_SHAPE(3, 5) }, { .shape = GR_SHAPE(3, 5) } }, 2, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_several_uses_add_up),
        cmocka_unit_test(gradients_of_intermediates_are_there_too),
        cmocka_unit_test(a_view_shares_the_gradient_of_its_base),
        cmocka_unit_test(no_gradient_passes_a_detach),
        cmocka_unit_test(nothing_is_recorded_when_nobody_wants_a_gradient),
        cmocka_unit_test(a_second_walk_is_an_error_that_says_so),
        cmocka_unit_test(a_loss_of_many_values_is_refused),
        cmocka_unit_test(a_parameter_keeps_its_gradient_until_it_is_cleared),
        cmocka_unit_test(a_deep_chain_needs_no_stack),
        cmocka_unit_test(the_first_error_stays_and_silences_the_rest),
        cmocka_unit_test(the_second_null_argument_is_named),
        cmocka_unit_test(a_null_tape_is_a_tape_in_error),
        cmocka_unit_test(a_header_of_another_library_is_refused),
        cmocka_unit_test(a_bad_config_is_an_error_on_the_tape),
        cmocka_unit_test(recover_puts_back_what_was_noted_and_reset_forgets_it),
        cmocka_unit_test(recover_takes_streams_and_parameter_gradients_back),
        cmocka_unit_test(streams_go_on_over_resets_and_are_listed),
        cmocka_unit_test(steps_no_larger_than_the_first_allocate_nothing),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_rewind_gives_back_what_came_after_the_mark),
        cmocka_unit_test(an_undo_note_survives_a_rewind),
        cmocka_unit_test(modes_are_kept_over_resets),
        cmocka_unit_test(own_operators_pass_the_gradient_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
