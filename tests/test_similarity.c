/* tests/test_similarity.c - normalize and cosine_similarity: gradients, PyTorch's values, broadcasting, zero vectors, errors. */
#include "tests/compare.h"

typedef struct { int axis; double p, eps; } similarity;
static gr_tensor *normalized(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const similarity *s = argument;
    return gr_normalize(t, in[0], s->p, s->axis, s->eps);
}
static gr_tensor *cosine(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const similarity *s = argument;
    return gr_cosine_similarity(t, in[0], in[1], s->axis, s->eps);
}

TEST(gradients_match_finite_differences)
{
    const gr_shape shapes[] = { GR_SHAPE(17), GR_SHAPE(3, 5), GR_SHAPE(2, 3, 11), GR_SHAPE(4, 1, 3) };
    for (size_t k = 0; k < COUNT(shapes); k++)
        for (int axis = -1; axis < shapes[k].rank; axis++) {
            const gr_gradcheck_input in[] = { { .shape = shapes[k], .low = 0.5, .high = 2 }, { .shape = shapes[k], .low = -2, .high = -0.5 } };
            for (int p = 1; p <= 3; p++) assert_true(test_gradcheck("normalize", normalized, &(similarity){ axis, p, 0 }, in, 1, NULL, stderr));
            assert_true(test_gradcheck("cosine_similarity", cosine, &(similarity){ axis, 2, 0 }, in, 2, NULL, stderr));
        }
    const gr_gradcheck_input wide[] = { { .shape = GR_SHAPE(2, 1, 7), .low = 0.5, .high = 2 }, { .shape = GR_SHAPE(1, 3, 7) } };
    assert_true(test_gradcheck("cosine_similarity", cosine, &(similarity){ 2, 2, 0 }, wide, 2, NULL, stderr));
    assert_true(test_gradcheck("a large eps", normalized, &(similarity){ -1, 2, 100 }, wide, 1, NULL, stderr));
}

/* PyTorch's float64 values. */
static const gr_real as[] = { 0.75, -1.5, -0.375, 0.875, -2.5, -2.5, -2.5, -1.875, 0.125, -0.125, 1.75, -1.125,
                              0.625, -1.375, 0.75, 1.125, -0.625, -0.75, -2.5, -2, 2, 1.125, 1.375, -1.75 };
static const gr_real bs[] = { 1.5, -0.25, -0.375, 1.75, -0.75, -1.25, -1.25, 1.375, -2, 1.625, -0.125, -2.25,
                              -0.875, -2.5, 0.25, -2.375, -0.875, 1.75, -0.5, 1.875, -0.75, 1.375, -0.5, -2.125 };
static const gr_real weights[] = { -1.75, 0.75, 1.75, -2, -0.75, -1, 1.5, -1.75 };

TEST(cosine_similarity_is_that_of_pytorch)
{
    static const gr_real want[] = { 0.4032075956, 0.5470195912, 0.7558934489, 0.1991500473, -0.4740870808, 0.5688788739, 0.3389708789, -0.2533252454 };
    static const gr_real da[] = { -0.3073755427, 0.04115668945, -0.1103325721, -0.406744411, -0.06590812736, -0.03510591402, -0.1928577479, -0.5035883184,
                                  0.5260907093, 0.2082380071, -0.2991537625, 0.5229570999, 0.1609339723, 0.176980018, 0.125668737, 0.329620351,
                                  0.2538922234, -0.3858571242, -0.192915204, -0.2010414906, 0.02904945348, -0.04092917197, -0.4193015001, 0.4416605007 };
    static const gr_real db[] = { -0.03707559417, -0.1626158964, 0.1258060425, -0.1651936479, 0.563784432, -0.1908771033, -0.1233392574, 0.5577967333,
                                  -0.2392258576, -0.1718463712, 0.8559744463, 0.2123918331, 0.0004422454112, 0.0860805114, 0.2824757324, -0.1074919053,
                                  0.2967466709, 0.2050590657, -1.242893223, 0.2672068832, -0.3467204023, -0.1044742448, 1.384131089, 0.3559087911 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *a = gr_want_grad(t, gr_input(t, as, GR_SHAPE(2, 3, 4))), *b = gr_want_grad(t, gr_input(t, bs, GR_SHAPE(2, 3, 4)));
    gr_tensor *c = gr_cosine_similarity(t, a, b, -2, 0);
    assert_tensors_close(c, gr_input(t, want, GR_SHAPE(2, 4)), 1e-6);
    assert_true(gr_backward_from(t, c, weights));
    assert_close(gr_grad(t, a), da, COUNT(da), 1e-6);
    assert_close(gr_grad(t, b), db, COUNT(db), 1e-6);
    gr_tape_free(t);
}

TEST(normalize_is_that_of_pytorch)
{
    static const struct { double p; gr_real y[4], dx[4]; } c[] = { /* of the first row, with bs as dy */
        { 2, { 0.3889222341, -0.7778444683, -0.1944611171, 0.4537426065 }, { 0.4461166803, 0.5338148312, -0.0285972231, 0.5204694604 } },
        { 1, { 0.2142857143, -0.4285714286, -0.1071428571, 0.25 }, { 0.1696428571, 0.1875, 0.1517857143, 0.2410714286 } },
        { 3, { 0.4536248095, -0.907249619, -0.2268124048, 0.5292289444 }, { 0.668479084, 0.8038738702, -0.167119771, 0.7334646607 } },
    };
    for (size_t k = 0; k < COUNT(c); k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *x = gr_want_grad(t, gr_input(t, as, GR_SHAPE(6, 4))), *y = gr_normalize(t, x, c[k].p, -1, 0);
        assert_close(y->data, c[k].y, 4, 1e-6);
        assert_true(gr_backward_from(t, y, bs));
        assert_close(gr_grad(t, x), c[k].dx, 4, 1e-6);
        gr_tape_free(t);
    }
}

TEST(short_vectors_are_divided_by_eps)
{
    gr_tape *t = gr_tape_new(1, NULL); /* values and gradients of the zero vector are PyTorch's */
    gr_tensor *a = gr_want_grad(t, gr_input(t, (gr_real[]){ 0, 0, 3, 4 }, GR_SHAPE(2, 2))), *b = gr_want_grad(t, gr_input(t, (gr_real[]){ 1, 2, 1, 2 }, GR_SHAPE(2, 2)));
    gr_tensor *c = gr_cosine_similarity(t, a, b, 1, 0);
    assert_values(c, 1e-6, 0, (gr_real)0.9838699101);
    assert_true(gr_backward_from(t, c, (gr_real[]){ 1, 1 }));
    assert_close(gr_grad(t, a), ((gr_real[]){ 44721359.55, 89442719.1 }), 2, 1e-6);
    assert_close(gr_grad(t, a) + 2, ((gr_real[]){ -0.02862167011, 0.02146625258 }), 2, 1e-6);
    assert_close(gr_grad(t, b), ((gr_real[]){ 0, 0, 0.07155417528, -0.03577708764 }), 4, 1e-6);
    assert_values(gr_normalize(t, a, 2, 1, 10), 1e-6, 0, 0, (gr_real)0.3, (gr_real)0.4);
    assert_values(gr_normalize(t, a, 2, 1, GR_NONE), 1e-6, (gr_real)NAN, (gr_real)NAN, (gr_real)0.6, (gr_real)0.8);
    assert_values(gr_cosine_similarity(t, a, b, 1, 10), 1e-6, 0, (gr_real)0.11); /* 11 / (10 * 10) */
    assert_values(gr_cosine_similarity(t, a, b, 1, GR_NONE), 1e-6, (gr_real)NAN, (gr_real)0.9838699101);
    assert_int_equal(gr_cosine_similarity(t, gr_zeros(t, GR_SHAPE(0, 3)), gr_zeros(t, GR_SHAPE(0, 3)), 1, 0)->len, 0);
    assert_values(gr_cosine_similarity(t, gr_zeros(t, GR_SHAPE(1, 0)), gr_zeros(t, GR_SHAPE(1, 0)), 1, 0), 0, 0);
    gr_tape_free(t);
}

TEST(vectors_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_fails(t, gr_cosine_similarity(t, gr_zeros(t, GR_SHAPE(2, 3)), gr_zeros(t, GR_SHAPE(3)), 0, 0),
                 "cosine_similarity: a is [2, 3], so b must have rank 2 and size 2 along axis 0; got [3]");
    assert_fails(t, gr_cosine_similarity(t, gr_zeros(t, GR_SHAPE(2, 3)), gr_zeros(t, GR_SHAPE(2, 1)), -1, 0),
                 "cosine_similarity: a is [2, 3], so b must have rank 2 and size 3 along axis 1; got [2, 1]");
    assert_fails(t, gr_cosine_similarity(t, gr_zeros(t, GR_SHAPE(2)), NULL, 0, 0), "cosine_similarity: input 2 is NULL");
    assert_fails(t, gr_cosine_similarity(t, gr_zeros(t, GR_SHAPE(2)), gr_zeros(t, GR_SHAPE(2)), 1, 0), "cosine_similarity: x is [2], so an axis must be in -1 .. 0; got 1");
    assert_fails(t, gr_cosine_similarity(t, gr_zeros(t, GR_SHAPE(2)), gr_zeros(t, GR_SHAPE(2)), 0, -2),
                 "cosine_similarity: eps must be 0 or more, or GR_NONE; got -2");
    assert_fails(t, gr_cosine_similarity(t, gr_zeros(t, GR_SHAPE(2)), gr_zeros(t, GR_SHAPE(2)), 0, (double)NAN),
                 "cosine_similarity: eps must be 0 or more, or GR_NONE; got nan");
    assert_fails(t, gr_normalize(t, gr_zeros(t, GR_SHAPE(2)), 2, 0, -0.5), "normalize: eps must be 0 or more, or GR_NONE; got -0.5");
    assert_fails(t, gr_normalize(t, gr_zeros(t, GR_SHAPE(2)), 2, 0, (double)NAN), "normalize: eps must be 0 or more, or GR_NONE; got nan");
    assert_fails(t, gr_normalize(t, gr_zeros(t, GR_SHAPE(2)), 0, 0, 0), "vector_norm: p must be above 0; got 0");
    gr_tape_free(t);
}

TEST(out_of_memory_is_an_error_anywhere)
{
    const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(300, 200) }, { .shape = GR_SHAPE(300, 200) } };
    assert_survives_failing_memory(cosine, &(similarity){ 1, 2, 0 }, in, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_finite_differences), cmocka_unit_test(cosine_similarity_is_that_of_pytorch),
        cmocka_unit_test(normalize_is_that_of_pytorch),       cmocka_unit_test(short_vectors_are_divided_by_eps),
        cmocka_unit_test(vectors_that_do_not_fit_are_named),  cmocka_unit_test(out_of_memory_is_an_error_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
