/* tests/test_program_layernorm_speed.c - the alternative ways to compute LayerNorm, and the program that compares them. */
#include "tests/compare.h"
#include "tests/program.h"
#include "examples/norms/norm.h"

static gr_tensor *other(gr_tape *t, gr_tensor *const *in, void *kind) { return norms_layer_norm(t, in[0], in[1], in[2], kind); }

/* The same from plain operators. */
static gr_tensor *plain(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const norms_layer_norm_kind *k = argument;
    gr_tensor *d = gr_sub(t, in[0], gr_mean(t, in[0], GR_AXES(-1), true)), *var = gr_var(t, in[0], GR_AXES(-1), k->unbiased, true);
    gr_tensor *sigma = k->outside ? gr_add_scalar(t, gr_sqrt(t, var), k->eps) : gr_sqrt(t, gr_add_scalar(t, var, k->eps));
    return gr_add(t, gr_mul(t, gr_div(t, d, sigma), in[1]), in[2]);
}

static const norms_layer_norm_kind kinds[] = {
    { NORMS_ONE_PASS, 1e-3, false, false }, { NORMS_TWO_PASS, 1e-3, true, false }, { NORMS_WELFORD, 1e-3, false, true },
    { NORMS_RESIDUAL, 1e-1, true, true },   { NORMS_WELFORD, 1e-1, true, false },
};

#define INPUTS(rows, N) \
    { \
        { .shape = GR_SHAPE(rows, N), .high = 3 }, { .shape = GR_SHAPE(N) }, { .shape = GR_SHAPE(N) } \
    }

TEST(gradients_match_finite_differences)
{
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (size_t N = 3; N < 40; N += 7) {
            const gr_gradcheck_input in[] = INPUTS(3, N);
            assert_true(gr_gradcheck("norms_layer_norm", other, (void *)(uintptr_t)&kinds[k], in, 3, NULL, stderr));
        }
}

TEST(all_ways_agree_with_plain_operators)
{
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (size_t N = 3; N < 70; N++) {
            const gr_gradcheck_input in[] = INPUTS(5, N);
            void *const kind = (void *)(uintptr_t)&kinds[k];
            assert_agree(other, plain, kind, in, 3, sizeof(gr_real) == 8 ? 1e-11 : 1e-4);
        }
}

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    for (size_t k = 0; k < COUNT(kinds); k++) {
        const gr_gradcheck_input in[] = INPUTS(301, 67);
        assert_bits_stay(other, (void *)(uintptr_t)&kinds[k], in, 3);
    }
}

TEST(bad_shapes_are_reported)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *one = gr_ones(t, GR_SHAPE(3));
    assert_fails(t, norms_layer_norm(t, gr_zeros(t, GR_SHAPE(2, 4)), one, one, &kinds[0]),
                 "norms_layer_norm: x is [2, 4], so gamma and beta must have 4 values; got [3] and [3]");
    gr_tape_free(t);
}

/* ---- The program ---- */

static size_t records(const char *text, const char *kind)
{
    char start_of[64];
    size_t n = 0;
    snprintf(start_of, sizeof start_of, "{\"kind\": \"%s\"", kind);
    for (const char *p = text; (p = strstr(p, start_of)); p++) n++;
    return n;
}

static char first_log[1 << 16], second_log[1 << 16];

TEST(errors_have_the_same_bits_for_any_threads_and_meet_the_check)
{
    assert_run("--rows=8", "--cols=32", "--rounds=2", "--threads=1", "--check", "--log", in_dir("log"));
    assert_non_null(strstr(out, "8 x 32 "));
    assert_concludes("\nTime: the median of 2 rounds. x fused: ", "\n8 x 32 ");
    assert_sees("- Time: in 2 measurements (forward and backward of 1 size) fused is faster than every other way in ");
    assert_sees("- Error: where the mean is 1e4 deviations, the smallest error of y is ");
    assert_sees(" (fused), and the next is ");
    assert_sees("- Conventions: dividing by N - 1 changes y by up to 0.2");
    assert_non_null(strstr(out, "  RMSNorm\n"));
    slurp(in_dir("log"), first_log, sizeof first_log);
    assert_int_equal(records(first_log, "time"), 7);
    assert_int_equal(records(first_log, "error"), 6 * (8 + 12));
    assert_int_equal(records(first_log, "convention"), 3 * 12);
    assert_run("--rows=8", "--cols=32", "--rounds=1", "--threads=3", "--quiet", "--log", in_dir("log"));
    assert_non_null(strstr(out, "at mean / sd 1e4 the error of y is "));
    assert_int_equal(strchr(out, '\n')[1], 0);
    slurp(in_dir("log"), second_log, sizeof second_log);
    assert_string_equal(strstr(first_log, "{\"kind\": \"error\""), strstr(second_log, "{\"kind\": \"error\""));
    unlink(in_dir("log"));
}

TEST(bad_flags_are_refused)
{
    assert_ends(2, "layernorm_speed: --quick and --full exclude each other\n", "--quick", "--full");
    assert_ends(2, "layernorm_speed: --rounds needs a whole number from 0 to 99; got \"100\"\n", "--rounds=100");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(all_ways_agree_with_plain_operators),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(bad_shapes_are_reported),
        cmocka_unit_test(errors_have_the_same_bits_for_any_threads_and_meet_the_check),
        cmocka_unit_test(bad_flags_are_refused),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
