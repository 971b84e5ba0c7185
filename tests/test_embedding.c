/* tests/test_embedding.c - embedding and gather: values, gradients of repeated ids, plain-operator twins, bits, messages. */
#include "tests/compare.h"
#include <stdio.h>

enum { IN_DOUBLE = sizeof(gr_real) == 8 };

/* Invented ids below a limit, some of them repeated. */
typedef struct {
    gr_shape shape;
    int limit, padding, axis;
} ids;

static gr_ints *ids_of(gr_tape *t, const ids *d)
{
    gr_ints *k = gr_ints_new(t, NULL, d->shape);
    for (size_t i = 0; k && i < k->len; i++) k->data[i] = (int)((i * i * 7 + i / 3) % (size_t)d->limit);
    return k;
}

static gr_tensor *embedding(gr_tape *t, gr_tensor *const *in, void *d) { return gr_embedding(t, in[0], ids_of(t, d), ((ids *)d)->padding); }
static gr_tensor *gather(gr_tape *t, gr_tensor *const *in, void *d) { return gr_gather(t, in[0], ((ids *)d)->axis, ids_of(t, d)); }

/* A product with a one-hot row picks a row; the padding row is a constant. */
static gr_tensor *one_hot_product(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const ids *d = argument;
    const gr_ints *k = ids_of(t, d);
    const size_t V = in[0]->dim[0];
    gr_tensor *hot = gr_zeros(t, GR_SHAPE(k->len, V)), *padded = gr_zeros(t, GR_SHAPE(k->len, V));
    for (size_t i = 0; i < k->len; i++) (k->data[i] == d->padding ? padded : hot)->data[i * V + (size_t)k->data[i]] = 1;
    gr_shape shape = d->shape;
    shape.dim[shape.rank++] = in[0]->dim[1];
    return gr_reshape(t, gr_add(t, gr_matmul(t, hot, in[0]), gr_matmul(t, padded, gr_detach(t, in[0]))), shape);
}

TEST(gradient_of_embedding_matches_finite_differences)
{
    ids cases[] = { { { 0, { 0 } }, 3, GR_NONE, 0 },
                    { { 1, { 1 } }, 1, GR_NONE, 0 },
                    { { 1, { 9 } }, 4, GR_NONE, 0 },
                    { { 2, { 3, 5 } }, 7, GR_NONE, 0 },
                    { { 3, { 2, 3, 2 } }, 3, GR_NONE, 0 } };
    for (size_t k = 0; k < COUNT(cases); k++)
        for (size_t D = 1; D < 20; D += 8)
            assert_true(test_gradcheck("embedding", embedding, cases + k,
                                     &(gr_gradcheck_input){ .shape = GR_SHAPE((size_t)cases[k].limit, D) }, 1, NULL, stderr));
}

TEST(agrees_with_a_one_hot_product)
{
    for (int padding = GR_NONE; padding < 7; padding += 4)
        for (size_t D = 1; D < 200; D += 66)
            assert_agree(embedding, one_hot_product, &(ids){ { 2, { 5, 40 } }, 7, padding, 0 },
                         &(gr_gradcheck_input){ .shape = GR_SHAPE(7, D) }, 1, IN_DOUBLE ? 1e-14 : 2e-6);
}

TEST(the_padding_row_is_read_but_not_trained)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *w = gr_want_grad(t, gr_input(t, (gr_real[]){ 1, 2, 3, 4, 5, 6 }, GR_SHAPE(3, 2)));
    gr_tensor *y = gr_embedding(t, w, gr_ints_new(t, (int[]){ 2, 0, 2, 1 }, GR_SHAPE(2, 2)), 0);
    assert_true(gr_same_shape(y, gr_empty(t, GR_SHAPE(2, 2, 2))));
    assert_values(y, 0, 5, 6, 1, 2, 5, 6, 3, 4);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 2, 3, 4, 5, 6, 7, 8 }));
    assert_close(gr_grad(t, w), ((gr_real[]){ 0, 0, 7, 8, 6, 8 }), 6, 0);
    gr_tape_free(t);
}

TEST(gradient_of_gather_matches_finite_differences)
{
    const struct {
        gr_shape x;
        ids d;
    } cases[] = {
        { { 1, { 4 } }, { { 1, { 7 } }, 4, 0, 0 } },
        { { 2, { 3, 5 } }, { { 2, { 3, 2 } }, 5, 0, 1 } },
        { { 2, { 3, 5 } }, { { 2, { 6, 4 } }, 3, 0, -2 } },
        { { 3, { 2, 3, 4 } }, { { 3, { 2, 5, 3 } }, 3, 0, 1 } },
        { { 4, { 2, 3, 2, 3 } }, { { 4, { 1, 3, 2, 6 } }, 3, 0, -1 } },
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        ids d = cases[k].d;
        assert_true(test_gradcheck("gather", gather, &d, &(gr_gradcheck_input){ .shape = cases[k].x }, 1, NULL, stderr));
    }
}

TEST(gather_picks_what_the_formula_says)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_reshape(t, gr_arange(t, 24), GR_SHAPE(2, 3, 4)));
    for (int axis = 0; axis < 3; axis++) {
        gr_shape shape = GR_SHAPE(1, 2, 3);
        shape.dim[axis] = 5;
        const gr_ints *k = ids_of(t, &(ids){ shape, (int)x->dim[axis], 0, 0 });
        const gr_tensor *y = gr_gather(t, x, axis, k);
        assert_true(gr_same_shape(y, gr_empty(t, shape)));
        for (size_t a = 0, i = 0; a < shape.dim[0]; a++)
            for (size_t b = 0; b < shape.dim[1]; b++)
                for (size_t c = 0; c < shape.dim[2]; c++, i++) {
                    size_t at[] = { a, b, c };
                    at[axis] = (size_t)k->data[i];
                    assert_true(y->data[i] == x->data[(at[0] * 3 + at[1]) * 4 + at[2]]);
                }
    }
    gr_tensor *y =
        gr_gather(t, gr_want_grad(t, gr_reshape(t, x, GR_SHAPE(6, 4))), 1, gr_ints_new(t, (int[]){ 2, 2, 0, 3 }, GR_SHAPE(2, 2)));
    assert_values(y, 0, 2, 2, 4, 7);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 10, 100, 1000 }));
    assert_close(gr_grad(t, x), ((gr_real[]){ 0, 0, 11, 0, 100, 0, 0, 1000, 0, 0 }), 10, 0);
    gr_tape_free(t);
}

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    ids rows = { { 1, { 3000 } }, 11, 5, 0 }, values = { { 2, { 300, 70 } }, 11, 0, 0 };
    for (size_t D = 3; D < 400; D += 130) assert_bits_stay(embedding, &rows, (&(gr_gradcheck_input){ .shape = GR_SHAPE(11, D) }), 1);
    assert_bits_stay(gather, &values, (&(gr_gradcheck_input){ .shape = GR_SHAPE(11, 70) }), 1);
}

TEST(no_rows_no_columns_and_no_ids_are_accepted)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *w = gr_want_grad(t, gr_ones(t, GR_SHAPE(3, 2))), *none = gr_zeros(t, GR_SHAPE(0, 2)), *flat = gr_zeros(t, GR_SHAPE(3, 0));
    gr_ints *empty = gr_ints_new(t, NULL, GR_SHAPE(0, 4)), *two = gr_ints_new(t, NULL, GR_SHAPE(2));
    assert_true(gr_same_shape(gr_embedding(t, none, empty, GR_NONE), gr_empty(t, GR_SHAPE(0, 4, 2))));
    assert_true(gr_same_shape(gr_embedding(t, flat, two, GR_NONE), gr_empty(t, GR_SHAPE(2, 0))));
    assert_true(gr_same_shape(gr_gather(t, w, 0, gr_ints_new(t, NULL, GR_SHAPE(0, 2))), gr_empty(t, GR_SHAPE(0, 2))));
    gr_tensor *y = gr_embedding(t, w, empty, GR_NONE);
    assert_true(gr_backward_from(t, y, &(gr_real){ 1 }));
    for (int i = 0; i < 6; i++) assert_true(gr_grad(t, w)[i] == 0);
    assert_ok(t);
    gr_tape_free(t);
}

TEST(out_of_memory_is_an_error_anywhere)
{
    assert_survives_failing_memory(embedding, &(ids){ { 1, { 90000 } }, 11, 5, 0 }, &(gr_gradcheck_input){ .shape = GR_SHAPE(11, 2) }, 1);
    assert_survives_failing_memory(gather, &(ids){ { 2, { 90000, 1 } }, 11, 0, 0 }, &(gr_gradcheck_input){ .shape = GR_SHAPE(11, 2) }, 1);
}

TEST(ids_that_are_no_rows_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
#define X(...) gr_zeros(t, GR_SHAPE(__VA_ARGS__))
#define IDS(shape, ...) gr_ints_new(t, (int[]){ __VA_ARGS__ }, shape)
    assert_fails(t, gr_embedding(t, X(5), IDS(GR_SHAPE(1), 0), GR_NONE), "embedding: weight must be [V, D]; got [5]");
    assert_fails(t, gr_embedding(t, NULL, IDS(GR_SHAPE(1), 0), GR_NONE), "embedding: input 1 is NULL");
    assert_fails(t, gr_embedding(t, X(5, 2), NULL, GR_NONE), "embedding: ids is NULL");
    assert_fails(t, gr_embedding(t, X(5, 2), IDS(GR_SHAPE(2, 2), 0, 1, 4, 5), GR_NONE),
                 "embedding: ids[1, 1] is 5, but weight is [5, 2]: on axis 0 it must be 0 .. 4");
    assert_fails(t, gr_embedding(t, X(5, 2), IDS(GR_SHAPE(1), -1), GR_NONE),
                 "embedding: ids[0] is -1, but weight is [5, 2]: on axis 0 it must be 0 .. 4");
    assert_fails(t, gr_embedding(t, X(5, 2), IDS(GR_SHAPE(1), 0), 5), "embedding: padding must be 0 .. 4, or GR_NONE; got 5");
    assert_fails(t, gr_embedding(t, X(5, 2), IDS(GR_SHAPE(1, 1, 1, 1, 1, 1, 1, 1), 0), GR_NONE),
                 "embedding: ids is [1, 1, 1, 1, 1, 1, 1, 1], so the result would have more than 8 axes");
    assert_fails(t, gr_gather(t, X(2, 3), 2, IDS(GR_SHAPE(1, 1), 0)), "gather: x is [2, 3], so an axis must be in -2 .. 1; got 2");
    assert_fails(t, gr_gather(t, X(2, 3), 1, NULL), "gather: ids is NULL");
    assert_fails(t, gr_gather(t, X(2, 3), 1, IDS(GR_SHAPE(2), 0, 0)),
                 "gather: x is [2, 3], so ids must have rank 2 and be no larger than x except on axis 1; got [2]");
    assert_fails(t, gr_gather(t, X(2, 3), 1, IDS(GR_SHAPE(3, 1), 0, 0, 0)),
                 "gather: x is [2, 3], so ids must have rank 2 and be no larger than x except on axis 1; got [3, 1]");
    assert_fails(t, gr_gather(t, X(2, 3), -1, IDS(GR_SHAPE(2, 1), 0, 3)),
                 "gather: ids[1, 0] is 3, but x is [2, 3]: on axis 1 it must be 0 .. 2");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_of_embedding_matches_finite_differences),
        cmocka_unit_test(agrees_with_a_one_hot_product),
        cmocka_unit_test(the_padding_row_is_read_but_not_trained),
        cmocka_unit_test(gradient_of_gather_matches_finite_differences),
        cmocka_unit_test(gather_picks_what_the_formula_says),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(no_rows_no_columns_and_no_ids_are_accepted),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(ids_that_are_no_rows_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
