/* tests/test_kit_digits.c - the digits that the programs draw when there is no data set. */
#include "tests/test.h"
#include "examples/kit/digits.h"

TEST(a_digit_depends_on_seed_name_and_index_alone)
{
    uint8_t a[KIT_PIXELS], b[KIT_PIXELS];
    const int label = kit_digit(42, "digits/train", 77, a);
    kit_digit(42, "digits/train", 3, b);
    assert_int_equal(kit_digit(42, "digits/train", 77, b), label);
    assert_memory_equal(a, b, KIT_PIXELS);
    kit_digit(42, "digits/train", 78, b);
    assert_memory_not_equal(a, b, KIT_PIXELS);
    kit_digit(42, "digits/test", 77, b);
    assert_memory_not_equal(a, b, KIT_PIXELS);
    kit_digit(43, "digits/train", 77, b);
    assert_memory_not_equal(a, b, KIT_PIXELS);
}

/* The hash was taken on x86-64; it holds for every machine, compiler and element type. */
TEST(the_bytes_are_the_same_everywhere)
{
    uint8_t pixels[KIT_PIXELS];
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < 1000; i++) {
        hash = (hash ^ (uint64_t)kit_digit(42, "digits/train", i, pixels)) * 0x100000001b3u;
        for (int k = 0; k < KIT_PIXELS; k++) hash = (hash ^ pixels[k]) * 0x100000001b3u;
    }
    assert_int_equal(hash, 0xf662f04902b19b91u);
}

TEST(labels_are_even_and_images_hold_ink_of_all_strengths)
{
    enum { N = 5000 };
    uint8_t pixels[KIT_PIXELS];
    int count[10] = { 0 }, lowest = KIT_PIXELS, highest = 0;
    for (size_t i = 0; i < N; i++) {
        const int label = kit_digit(7, "digits/test", i, pixels);
        int inked = 0;
        assert_in_range(label, 0, 9);
        count[label]++;
        for (int k = 0; k < KIT_PIXELS; k++) inked += pixels[k] > 0;
        if (inked < lowest) lowest = inked;
        if (inked > highest) highest = inked;
    }
    for (int label = 0; label < 10; label++) assert_in_range(count[label], N / 10 - 80, N / 10 + 80);
    assert_in_range(lowest, 15, 60);
    assert_in_range(highest, 250, 450);
}

/* A classifier that compares an image with the mean image of each label recognizes most digits, but far from all. So the digits can be told
 * apart, and there is something to learn. */
TEST(digits_are_neither_trivial_nor_hopeless)
{
    static double mean[10][KIT_PIXELS];
    int count[10] = { 0 }, hits = 0;
    uint8_t pixels[KIT_PIXELS];
    for (size_t i = 0; i < 5000; i++) {
        const int label = kit_digit(1, "digits/train", i, pixels);
        count[label]++;
        for (int k = 0; k < KIT_PIXELS; k++) mean[label][k] += pixels[k];
    }
    for (size_t i = 0; i < 1000; i++) {
        const int label = kit_digit(1, "digits/test", i, pixels);
        int best = 0;
        double least = HUGE_VAL;
        for (int c = 0; c < 10; c++) {
            double d = 0;
            for (int k = 0; k < KIT_PIXELS; k++) d += (pixels[k] - mean[c][k] / count[c]) * (pixels[k] - mean[c][k] / count[c]);
            if (d < least) least = d, best = c;
        }
        hits += best == label;
    }
    assert_in_range(hits, 500, 850);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_digit_depends_on_seed_name_and_index_alone),
        cmocka_unit_test(the_bytes_are_the_same_everywhere),
        cmocka_unit_test(labels_are_even_and_images_hold_ink_of_all_strengths),
        cmocka_unit_test(digits_are_neither_trivial_nor_hopeless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
