/* tests/test_program_serve.c - examples/serve as its users see it. */
#include "tests/program.h"

#define TINY "--data", data, "--hidden=8", "--requests=20"

TEST(each_answer_is_that_of_the_batch)
{
#ifdef GR_OPENBLAS
    printf("not run: a sample's bits in any batch, OpenBLAS does not promise them\n");
    return;
#endif
    put_digits();
    assert_run(TINY, "--check", "--quiet");
    assert_int_equal(strncmp(out, "2 threads, 40 requests: ", 24), 0);
    assert_non_null(strstr(out, " us; 0 answers differ from the batch's\n"));
    assert_run(TINY, "--check", "--quiet", "--workers=5", "--threads=3");
    assert_int_equal(strncmp(out, "5 threads, 100 requests: ", 25), 0);
    assert_string_equal(err, "");
}

/* Weights of another model, which answer differently from first values. */
TEST(weights_are_loaded)
{
    gr_tape *t = gr_tape_new(9, NULL);
    gr_module *net = gr_module_new(t);
    gr_lstm_new(t, net, "lstm", KIT_SIDE, 8, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016 });
    gr_linear_new(t, net, "fc", 8, 10, NULL);
    assert_true(gr_state_save(t, net, in_dir("weights"), NULL));
    put_digits();
#ifdef GR_OPENBLAS
    assert_run(TINY, "--load", in_dir("weights"), "--quiet");
#else
    assert_run(TINY, "--load", in_dir("weights"), "--check", "--quiet");
#endif
    assert_int_equal(RUN("--data", data, "--hidden=9", "--load", in_dir("weights")), 2);
    assert_non_null(strstr(err, "lstm.weight_ih_l0"));
    assert_int_equal(unlink(in_dir("weights")), 0);
    gr_module_free(net), gr_tape_free(t);
}

TEST(bad_flags_and_paths_are_refused)
{
    assert_ends(2, "serve: cannot open '/nonexistent': No such file or directory\n", "--load=/nonexistent", "--data=none");
    assert_ends(2, "serve: --workers needs a whole number from 1 to 64; got \"65\"\n", "--workers=65");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_is_that_of_the_batch),
        cmocka_unit_test(weights_are_loaded),
        cmocka_unit_test(bad_flags_and_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
