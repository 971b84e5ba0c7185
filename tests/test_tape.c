/* tests/test_tape.c - the tape: recording, backward, errors. */
#include "core/library.h"
#include "tests/test.h"
#include "tests/own_ops.h"
#include <pthread.h>

/* ---- Backward ---- */

TEST(gradients_of_several_uses_add_up)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = leaf(t, 3, 1), *y = inner(t, scale(t, x, 2), scale(t, x, 5));
    assert_true(gr_backward(t, y));
    assert_values(y, 0, 140);
    assert_close(gr_grad(t, x), ((gr_real[]){ 20, 40, 60 }), 3, 1e-6);
    gr_tape_free(t);
}

TEST(intermediates_have_gradients_too)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = leaf(t, 2, 1), *h = scale(t, x, 3), *y = scale(t, h, 4), *aside = scale(t, h, 9);
    assert_null(gr_grad(t, h));
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, -1 }));
    assert_close(gr_grad(t, h), ((gr_real[]){ 4, -4 }), 2, 0);
    assert_close(gr_grad(t, x), ((gr_real[]){ 12, -12 }), 2, 0);
    assert_null(gr_grad(t, aside));
    gr_tape_free(t);
}

TEST(a_view_shares_the_gradient_of_its_base)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_reshape(t, leaf(t, 6, 0), GR_SHAPE(3, 2)), *row = gr_slice(t, x, 1, 1);
    gr_tensor *y = inner(t, gr_reshape(t, row, GR_SHAPE(2)), gr_input(t, (gr_real[]){ 10, 20 }, GR_SHAPE(2)));
    assert_true(gr_backward(t, y));
    assert_close(gr_grad(t, x), ((gr_real[]){ 0, 0, 10, 20, 0, 0 }), 6, 0);
    assert_ptr_equal(gr_grad(t, row), gr_grad(t, x) + 2);
    gr_tape_free(t);
}

TEST(no_gradient_passes_a_detach)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = leaf(t, 2, 1), *d = gr_detach(t, scale(t, x, 2)), *y = inner(t, x, d);
    assert_true(gr_backward(t, y));
    assert_close(gr_grad(t, x), ((gr_real[]){ 2, 4 }), 2, 0);
    assert_null(gr_grad(t, d));
    gr_tape_free(t);
}

TEST(nothing_is_recorded_when_no_input_wants_a_gradient)
{
    gr_tape *t = gr_tape_new(1, NULL);
    scale(t, gr_ones(t, GR_SHAPE(2)), 2);
    assert_int_equal(gr_tape_nodes(t), 0);
    gr_tape_set_recording(t, false);
    gr_tensor *y = scale(t, leaf(t, 1, 0), 2);
    assert_int_equal(gr_tape_nodes(t), 0);
    assert_fails(t, gr_backward(t, y),
                 "backward: [1] depends on nothing that wants a gradient (recording off, everything frozen or detached, or no "
                 "parameter involved). gr_want_grad asks for the gradient of an input");
    gr_tape_free(t);
}

TEST(a_second_backward_is_an_error_that_says_so)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = leaf(t, 1, 3), *y = scale(t, x, 2);
    assert_true(gr_backward(t, y));
    assert_false(gr_backward(t, y));
    assert_message(t, "backward: gr_backward was already called since the last gr_tape_reset. A second call would start from the gradients that the first one "
                      "left, and add wrong ones. Sum the losses before one gr_backward, or call gr_tape_reset and run forward again");
    assert_close(gr_grad(t, x), ((gr_real[]){ 2 }), 1, 0);
    gr_tape_free(t);
}

TEST(a_loss_of_many_values_is_refused)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_fails(t, gr_backward(t, scale(t, leaf(t, 3, 0), 2)),
                 "backward: the loss must hold one value; got [3]. Reduce it with gr_mean or gr_sum, or use gr_backward_from");
    assert_fails(t, gr_backward(t, NULL), "backward: the tensor is NULL");
    assert_fails(t, gr_backward_from(t, leaf(t, 1, 0), NULL), "backward: dy is NULL");
    gr_tape_free(t);
}

TEST(a_parameter_keeps_its_gradient_until_it_is_cleared)
{
    gr_tape *t = gr_tape_new(1, NULL);
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
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_ones(t, GR_SCALAR)), *y = x;
    for (size_t i = 0; i < *(size_t *)nodes; i++) y = scale(t, y, -1);
    const bool good = gr_backward(t, y) && *gr_grad(t, x) == 1;
    gr_tape_free(t);
    return good ? nodes : NULL;
}

TEST(a_deep_chain_needs_no_stack)
{
#ifdef GR_OPENBLAS
    puts("not run: a deep chain on 64 KiB of stack, OpenBLAS's thread-local data does not fit into it");
    return;
#endif
    const char *asked = getenv("GRADUS_TEST_DEPTH");
    size_t nodes = asked ? strtoull(asked, NULL, 10) : 100000;
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

TEST(the_first_error_is_kept_and_later_calls_do_nothing)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_false(gr_failed(t));
    assert_string_equal(gr_message(t), "");
    assert_null(scale(t, NULL, 2));
    assert_message(t, "scale: input 1 is NULL");
    assert_int_equal(gr_error_code(t), GR_MISUSE);
    assert_null(inner(t, gr_ones(t, GR_SHAPE(1)), scale(t, NULL, 1)));
    assert_null(gr_reshape(t, NULL, GR_SHAPE(1)));
    assert_message(t, "scale: input 1 is NULL");
    gr_tape_reset(t);
    assert_true(gr_failed(t));
    gr_tape_recover(t);
    assert_false(gr_failed(t));
    assert_non_null(scale(t, gr_ones(t, GR_SHAPE(1)), 2));
    gr_tape_free(t);
}

TEST(the_second_null_argument_is_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_fails(t, inner(t, gr_ones(t, GR_SHAPE(1)), NULL), "inner: input 2 is NULL");
    gr_tape_free(t);
}

TEST(a_null_tape_is_a_tape_in_error)
{
    assert_true(gr_failed(NULL));
    assert_string_equal(gr_message(NULL), "there is no tape: gr_tape_new returned NULL, because there is not enough memory, or the header does not match "
                                          "the library (GR_REAL_DOUBLE, GR_VERSION)");
    assert_int_equal(gr_error_code(NULL), GR_NO_MEMORY);
    gr_tape_reset(NULL), gr_tape_recover(NULL), gr_tape_free(NULL), gr_tape_rewind(NULL, gr_tape_mark(NULL));
    gr_tape_set_training(NULL, true), gr_tape_set_recording(NULL, true);
    assert_null(gr_ones(NULL, GR_SHAPE(1)));
    assert_null(gr_ints_new(NULL, NULL, GR_SHAPE(1)));
    assert_null(gr_tape_stream(NULL, "x"));
    assert_null(gr__tape_stream_at(NULL, 0, NULL));
    assert_null(gr_reshape(NULL, NULL, GR_SCALAR));
    assert_null(gr_want_grad(NULL, NULL));
    assert_null(scale(NULL, NULL, 1));
    assert_false(gr_backward(NULL, NULL));
    assert_false(gr_tape_training(NULL));
    assert_int_equal(gr_tape_threads(NULL), 1);
    assert_int_equal(gr_tape_bytes(NULL) + gr_tape_nodes(NULL) + gr_tape_seed(NULL), 0);
}

TEST(a_header_of_another_library_is_refused)
{
    assert_null(gr_tape_new_checked(1, NULL, sizeof(gr_real) == 4 ? 8 : 4, GR_VERSION));
    assert_null(gr_tape_new_checked(1, NULL, sizeof(gr_real), GR_VERSION + 1));
}

TEST(a_bad_config_is_an_error_on_the_tape)
{
    gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .isa = "abacus" });
    assert_message(t, "instruction set 'abacus': this build or this CPU does not have it");
    gr_tape_free(t);
    t = gr_tape_new(1, &(gr_tape_config){ .threads = 257 });
    assert_message(t, "threads must be 0 .. 256; got 257");
    gr_tape_recover(t);
    assert_non_null(scale(t, gr_ones(t, GR_SHAPE(1)), 2));
    gr_tape_free(t);
}

static gr_tensor *scale_and_inner(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    return inner(t, scale(t, in[0], -3), in[1]);
}

TEST(own_operators_pass_the_gradient_check)
{
    assert_true(test_gradcheck("scale, inner", scale_and_inner, NULL,
                             (gr_gradcheck_input[]){ { .shape = GR_SHAPE(3, 5) }, { .shape = GR_SHAPE(3, 5) } }, 2, NULL, stderr));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_several_uses_add_up),
        cmocka_unit_test(intermediates_have_gradients_too),
        cmocka_unit_test(a_view_shares_the_gradient_of_its_base),
        cmocka_unit_test(no_gradient_passes_a_detach),
        cmocka_unit_test(nothing_is_recorded_when_no_input_wants_a_gradient),
        cmocka_unit_test(a_second_backward_is_an_error_that_says_so),
        cmocka_unit_test(a_loss_of_many_values_is_refused),
        cmocka_unit_test(a_parameter_keeps_its_gradient_until_it_is_cleared),
        cmocka_unit_test(a_deep_chain_needs_no_stack),
        cmocka_unit_test(the_first_error_is_kept_and_later_calls_do_nothing),
        cmocka_unit_test(the_second_null_argument_is_named),
        cmocka_unit_test(a_null_tape_is_a_tape_in_error),
        cmocka_unit_test(a_header_of_another_library_is_refused),
        cmocka_unit_test(a_bad_config_is_an_error_on_the_tape),
        cmocka_unit_test(own_operators_pass_the_gradient_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
