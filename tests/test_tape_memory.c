/* tests/test_tape_memory.c - the tape: recover and the undo log, reset, marks, the arena, allocations that fail. */
#include "core/library.h"
#include "tests/test.h"
#include "tests/own_ops.h"

/* ---- Recover and the undo log ---- */

TEST(recover_restores_noted_bytes_and_reset_forgets_them)
{
    gr_tape *t = gr_tape_new(1, NULL);
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

TEST(recover_restores_streams_and_parameter_gradients)
{
    gr_tape *t = gr_tape_new(7, NULL);
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

TEST(recover_does_not_restore_a_gradient_that_two_backwards_summed)
{
    gr_tape *t = gr_tape_new(7, NULL);
    gr_tensor *w = gr__tensor_new_home(gr_tape_allocator(t), GR_SHAPE(1));
    gr__wants_grad(w, true);
    assert_true(gr_backward(t, scale(t, w, 5)));
    gr_tape_reset(t);
    assert_true(gr_backward(t, scale(t, w, 5)));
    gr_tape_recover(t);
    assert_true(*gr_grad(t, w) == 10);
    gr__grad_clear(w); /* as gr_optim_zero_grad does */
    for (int i = 0; i < 2; i++) assert_true(gr_backward(t, scale(t, w, 5))), gr_tape_reset(t);
    assert_true(*gr_grad(t, w) == 10);
    gr__tensor_free_home(w);
    gr_tape_free(t);
}

TEST(streams_continue_after_a_reset_and_are_listed)
{
    gr_tape *t = gr_tape_new(7, NULL);
    const char *name = NULL;
    gr_stream *a = gr_tape_stream(t, "a"), *b = gr_tape_stream(t, "b");
    assert_int_equal(gr_stream_take(t, a, 10), 0);
    gr_tape_reset(t);
    assert_int_equal(gr_stream_take(t, gr_tape_stream(t, "a"), 1), 10);
    assert_ptr_equal(gr__tape_stream_at(t, 1, &name), b);
    assert_string_equal(name, "b");
    assert_null(gr__tape_stream_at(t, 2, &name));
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

TEST(steps_no_larger_than_the_first_allocate_nothing)
{
    counter c = { 0 };
    gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .allocator = &(gr_allocator){ counting_alloc, counting_release, &c } });
    size_t after_first = 0;
    gr_stream s = gr_stream_new(3, "sizes");
    for (int step = 0; step < 50; step++) {
        gr_tape_reset(t);
        gr_tensor *y = NULL;
        for (size_t i = 0; i < 200; i++) { /* sizes up to those of step 0, in random order */
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

TEST(every_allocation_may_fail)
{
    for (size_t fail_at = 1;; fail_at++) {
        counter c = { .fail_at = fail_at };
        const gr_allocator memory = { counting_alloc, counting_release, &c };
        gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .allocator = &memory, .threads = 2 });
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

TEST(a_rewind_frees_the_memory_used_after_the_mark)
{
    gr_tape *t = gr_tape_new(1, NULL);
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
    assert_message(t, "gr_tape_rewind: the mark is from before the last gr_tape_reset or gr_backward; take a new one");
    gr_tape_free(t);
}

TEST(an_undo_note_survives_a_rewind)
{
    gr_tape *t = gr_tape_new(1, NULL);
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

TEST(a_stale_tensor_is_poisoned_under_address_sanitizer)
{
#ifdef GR__ASAN
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_tensor *x = leaf(t, 100, 0);
    const gr_real *data = x->data;
    assert_false(__asan_address_is_poisoned(data));
    gr_tape_reset(t);
    assert_true(__asan_address_is_poisoned(data) && __asan_address_is_poisoned(x));
    gr_tape_free(t);
#else
    print_message("not run: poisoning, this build has no AddressSanitizer\n");
#endif
}

TEST(a_reset_keeps_the_modes)
{
    gr_tape *t = gr_tape_new(5, NULL);
    assert_true(gr_tape_training(t) && gr_tape_recording(t));
    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
    gr_tape_reset(t);
    assert_true(!gr_tape_training(t) && !gr_tape_recording(t));
    assert_int_equal(gr_tape_seed(t), 5);
    assert_string_equal(gr_tape_isa(t), getenv("GRADUS_ISA") ? getenv("GRADUS_ISA") : best_isa());
    gr_tape_free(t);
}

TEST(max_bytes_bounds_the_memory_of_a_tape)
{
    gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .max_bytes = 300000 });
    gr_tensor *x = gr_ones(t, GR_SHAPE(1000));
    for (int i = 0; i < 20; i++) assert_non_null(gr_tanh(t, x));
    while (gr_save(t, 5000)) {}
    char message[200];
    snprintf(message, sizeof message, "out of memory: 5000 bytes for this step, which holds %zu of max_bytes 300000; 20 operators ran since the "
                                      "last gr_tape_reset", gr_tape_bytes(t));
    assert_message(t, message);
    assert_int_equal(gr_error_code(t), GR_NO_MEMORY);
    gr_tape_recover(t);
    assert_null(gr_save(t, 400000)); /* a single step that is too large */
    snprintf(message, sizeof message, "out of memory: 400000 bytes for this step, which holds %zu of max_bytes 300000", gr_tape_bytes(t));
    assert_message(t, message);
    assert_in_range(gr_tape_bytes(t), 262144, 300000);
    gr_tape_recover(t);
    const int n = sizeof(gr_real); /* a result that is too large names its operator */
    snprintf(message, sizeof message, "ones: out of memory: %d bytes for this step, which holds %zu of max_bytes 300000", 100000 * n, gr_tape_bytes(t));
    assert_fails(t, gr_ones(t, GR_SHAPE(100000)), message);
    x = gr_ones(t, GR_SHAPE(1000, 1));
    snprintf(message, sizeof message, "expand: out of memory: %d bytes for this step, which holds %zu of max_bytes 300000", 100000 * n, gr_tape_bytes(t));
    assert_fails(t, gr_expand(t, x, GR_SHAPE(1000, 100)), message);
    for (int step = 0; step < 100; step++) gr_tape_reset(t), gr_tanh(t, gr_ones(t, GR_SHAPE(1000)));
    assert_ok(t);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recover_restores_noted_bytes_and_reset_forgets_them),
        cmocka_unit_test(recover_restores_streams_and_parameter_gradients),
        cmocka_unit_test(recover_does_not_restore_a_gradient_that_two_backwards_summed),
        cmocka_unit_test(streams_continue_after_a_reset_and_are_listed),
        cmocka_unit_test(steps_no_larger_than_the_first_allocate_nothing),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_rewind_frees_the_memory_used_after_the_mark),
        cmocka_unit_test(an_undo_note_survives_a_rewind),
        cmocka_unit_test(a_stale_tensor_is_poisoned_under_address_sanitizer),
        cmocka_unit_test(max_bytes_bounds_the_memory_of_a_tape),
        cmocka_unit_test(a_reset_keeps_the_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
