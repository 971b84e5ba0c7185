/* tests/test_random.c - streams: known answers, distributions, independence. */
#include "tests/test.h"

TEST(philox_gives_the_published_answers)
{
    static const uint32_t word[] = { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 }; /* Random123's known-answer test for philox4x32-10 */
    gr_stream s = { 0, 0 };
    for (int i = 0; i < 4; i++) assert_int_equal(gr_stream_bits(&s), word[i]);
}

TEST(a_draw_depends_on_seed_name_and_counter_alone)
{
    gr_stream a = gr_stream_new(42, "lstm.weight_hh_l0/init"), b = gr_stream_new(42, "drop2/mask"), c = gr_stream_new(43, "drop2/mask");
    assert_true(a.key != b.key && b.key != c.key && a.counter == 0);
    uint32_t first[10];
    for (int i = 0; i < 10; i++) first[i] = gr_stream_bits(&a);
    gr_stream again = { a.key, 7 };
    assert_int_equal(gr_stream_bits(&again), first[7]);
    assert_int_equal(a.counter, 10);
}

TEST(the_bits_of_a_stream_never_change)
{
    gr_stream s = gr_stream_new(42, "pin");
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 0; i < 1000; i++) {
        const double draws[] = { gr_stream_uniform(&s, -1, 1), gr_stream_normal(&s, 0, 1), (double)gr_stream_below(&s, 1000) };
        for (size_t k = 0; k < COUNT(draws) * sizeof(double); k++) hash = (hash ^ ((const unsigned char *)draws)[k]) * 0x100000001b3u;
    }
    assert_int_equal(hash, 0xce64c29ecefbc636u);
}

TEST(moments_of_uniform_and_normal_are_right)
{
    enum { N = 200000 };
    gr_stream s = gr_stream_new(1, "moments");
    double u1 = 0, u2 = 0, z1 = 0, z2 = 0, z4 = 0, tail = 0;
    for (int i = 0; i < N; i++) {
        const double u = gr_stream_uniform(&s, 0, 1), z = gr_stream_normal(&s, 3, 2), k = (z - 3) / 2;
        assert_true(u >= 0 && u < 1);
        u1 += u / N, u2 += u * u / N, z1 += k / N, z2 += k * k / N, z4 += k * k * k * k / N, tail += fabs(k) > 3;
    }
    assert_true(fabs(u1 - 0.5) < 0.003 && fabs(u2 - 1.0 / 3) < 0.003);
    assert_true(fabs(z1) < 0.01 && fabs(z2 - 1) < 0.02 && fabs(z4 - 3) < 0.1);
    assert_true(fabs(tail / N - 0.0027) < 0.0005);
}

TEST(normals_agree_with_box_and_muller_in_libm)
{
    gr_stream s = gr_stream_new(9, "normal"), copy = s;
    for (int i = 0; i < 10000; i++) {
        const double u = 1 - gr_stream_uniform(&copy, 0, 1), v = gr_stream_uniform(&copy, 0, 1);
        const double want = sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
        assert_true(fabs(gr_stream_normal(&s, 0, 1) - want) < 1e-13);
    }
}

TEST(below_is_unbiased_and_in_range)
{
    gr_stream s = gr_stream_new(1, "below");
    int seen[7] = { 0 };
    for (int i = 0; i < 70000; i++) seen[gr_stream_below(&s, 7)]++;
    for (int i = 0; i < 7; i++) assert_true(abs(seen[i] - 10000) < 400);
    assert_true(gr_stream_below(&s, 0) == 0 && gr_stream_below(&s, 1) == 0);
    assert_true(gr_stream_below(&s, SIZE_MAX) < SIZE_MAX);
    int low = 0; /* n = 3/4 of 2^64: the remainder of all 64-bit draws would be in the first third of n half of the time */
    for (int i = 0; i < 3000; i++) low += gr_stream_below(&s, (size_t)3 << 62) < (size_t)1 << 62;
    assert_true(abs(low - 1000) < 150);
}

TEST(a_permutation_holds_every_number_once)
{
    enum { N = 1000 };
    size_t order[N], where = 0;
    gr_stream s = gr_stream_new(1, "train/shuffle");
    for (int round = 0; round < 100; round++) {
        char seen[N] = { 0 };
        gr_stream_permutation(&s, order, N);
        for (size_t i = 0; i < N; i++) assert_false(seen[order[i]]++);
        where += order[0];
    }
    assert_true(where > 35000 && where < 65000);
    gr_stream_permutation(&s, order, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_answers),
        cmocka_unit_test(a_draw_depends_on_seed_name_and_counter_alone),
        cmocka_unit_test(the_bits_of_a_stream_never_change),
        cmocka_unit_test(moments_of_uniform_and_normal_are_right),
        cmocka_unit_test(normals_agree_with_box_and_muller_in_libm),
        cmocka_unit_test(below_is_unbiased_and_in_range),
        cmocka_unit_test(a_permutation_holds_every_number_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
