/* tests/test_attention_masks.c - attention with masks, lengths and causal order: keys that a query may not see never matter, and keys that
 * it may see always do. */
#include "tests/attention_case.h"

TEST(a_query_without_visible_keys_gives_0_and_no_gradient)
{
    attention_case c = { 3, 4, 5, 3, 2, { .heads = 2 }, (int[]){ 3, 0, 5 }, 0 };
    gr_gradcheck_input in[3];
    inputs_of(&c, in);
    compared a = compare_start(fused, &c, in, 3);
    gr_tensor *dy = gr_rand(a.t, gr_shape_of(a.y), -1, 1, "dy");
    compare_backward(&a, dy->data);
    for (size_t x = 0; x < 3; x++) {
        const size_t n = a.x[x]->len / 3;
        for (size_t i = 0; i < a.x[x]->len; i++) assert_true((gr_grad(a.t, a.x[x])[i] == 0) == (i / n == 1 || (x && i / n == 0 && i % n >= n / 5 * 3)));
    }
    for (size_t i = 0; i < a.y->len; i++) assert_true((a.y->data[i] == 0) == (i / (a.y->len / 3) == 1));
    gr_tape_free(a.t);
    gr_tape *t = gr_tape_new(1, NULL); /* all keys masked, and no keys at all */
    gr_tensor *q = gr_want_grad(t, gr_ones(t, GR_SHAPE(1, 2, 3))), *mask = gr_zeros(t, GR_SHAPE(1, 2, 2)), *none = gr_zeros(t, GR_SHAPE(1, 0, 3));
    mask->data[3] = 1;
    gr_tensor *y = gr_attention(t, q, q, q, (&(gr_attention_config){ .mask = mask }));
    assert_values(y, 0, 0, 0, 0, 1, 1, 1);
    assert_values(gr_attention(t, q, none, none, NULL), 0, 0, 0, 0, 0, 0, 0);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 2, 3, 4, 5, 6 }));
    assert_close(gr_grad(t, q), ((gr_real[]){ 0, 0, 0, 4, 5, 6 }), 6, 1e-6);
    gr_tape_free(t);
}

/* A hash of y and of the gradients, with the value `unseen` in all keys that are masked or past the length. It must not depend on
 * `unseen`. */
static uint64_t run_with(const attention_case *c, double unseen, const int *lengths)
{
    gr_tape *t = gr_tape_new(1, NULL);
    attention_case own = *c;
    own.lengths = NULL;
    gr_attention_config o;
    options_of(t, &own, &o);
    gr_tensor *q = gr_want_grad(t, gr_randn(t, GR_SHAPE(c->B, c->Tq, c->d), 0, 1, "q")), *k = gr_want_grad(t, gr_randn(t, GR_SHAPE(c->B, c->Tk, c->d), 0, 1, "k"));
    gr_tensor *v = gr_want_grad(t, gr_randn(t, GR_SHAPE(c->B, c->Tk, c->e), 0, 1, "v")), *dy = gr_randn(t, GR_SHAPE(c->B, c->Tq, c->e), 0, 1, "dy");
    if (lengths) o.lengths = gr_ints_new(t, lengths, GR_SHAPE(c->B));
    for (size_t n = 0; n < c->B * c->Tk; n++) {
        const bool out = lengths ? n % c->Tk >= (size_t)lengths[n / c->Tk] : o.mask->data[n] == 0;
        for (size_t i = 0; out && i < c->d; i++) k->data[n * c->d + i] = (gr_real)unseen;
        for (size_t i = 0; out && i < c->e; i++) v->data[n * c->e + i] = (gr_real)-unseen;
    }
    gr_tensor *y = gr_attention(t, q, k, v, &o);
    assert_true(gr_backward_from(t, y, dy->data));
    uint64_t hash = hash_reals(1, y->data, y->len);
    hash = hash_reals(hash, gr_grad(t, q), q->len), hash = hash_reals(hash, gr_grad(t, k), k->len), hash = hash_reals(hash, gr_grad(t, v), v->len);
    for (size_t i = 0; i < y->len; i++) assert_true(isfinite(y->data[i]));
    for (size_t i = 0; i < q->len; i++) assert_true(isfinite(gr_grad(t, q)[i]));
    gr_tape_free(t);
    return hash;
}

TEST(values_of_masked_keys_never_matter)
{
    const int some[] = { 17, 1, 9 };
    const double others[] = { 1e6, -3e38, HUGE_VAL, (double)NAN };
    const attention_case c = { 3, 7, 17, 5, 4, { .heads = 1 }, NULL, 2 };
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_true(run_with(&c, others[i], NULL) == run_with(&c, 0, NULL));
        assert_true(run_with(&c, others[i], some) == run_with(&c, 0, some));
    }
}

TEST(causal_attention_does_not_depend_on_later_keys)
{
    enum { T = 70, AT = 66, W = 12 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_randn(t, GR_SHAPE(1, T, 3 * W), 0, 1, "x"), *other = gr_input(t, x->data, gr_shape_of(x));
    for (size_t i = AT * 3 * W; i < x->len; i++) other->data[i] = i % 2 ? (gr_real)NAN : (gr_real)1e30;
    const gr_attention_config o = { .heads = 3, .causal = true };
    assert_same_bits(gr__attention_packed(t, x, &o)->data, gr__attention_packed(t, other, &o)->data, AT * W);
    gr_tape_free(t);
}

/* Queries that start late have the bits that they have among all queries, even if later keys and those of other samples are not numbers. */
TEST(queries_that_start_late_have_the_bits_of_all)
{
    enum { B = 3, T = 70, W = 12, NEW = 3 };
    const int starts[B] = { 66, 0, 31 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_randn(t, GR_SHAPE(B, T, W), 0, 1, "x"), *v = gr_randn(t, GR_SHAPE(B, T, W), 0, 1, "v"), *late = gr_empty(t, GR_SHAPE(B, NEW, W));
    const gr_attention_config all = { .heads = 3, .causal = true }, few = { .heads = 3, .causal = true, .starts = gr_ints_new(t, starts, GR_SHAPE(B)) };
    gr_tensor *want = gr_attention(t, x, x, v, &all);
    for (size_t b = 0; b < B; b++) {
        const size_t end = (size_t)starts[b] + NEW;
        memcpy(late->data + b * NEW * W, x->data + (b * T + (size_t)starts[b]) * W, NEW * W * sizeof(gr_real));
        for (size_t i = (b * T + end) * W; i < (b + 1) * T * W; i++) x->data[i] = v->data[i] = (gr_real)NAN;
    }
    gr_tensor *y = gr_attention(t, late, x, v, &few);
    for (size_t b = 0; b < B; b++) assert_same_bits(y->data + b * NEW * W, want->data + (b * T + (size_t)starts[b]) * W, NEW * W);
    gr_tape_free(t);
}

TEST(a_nan_in_a_visible_key_reaches_the_result)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *q = gr_ones(t, GR_SHAPE(1, 2, 1)), *mask = gr_zeros(t, GR_SHAPE(1, 2, 20));
    mask->data[3] = mask->data[20 + 4] = 1;
    gr_tensor *k = gr_ones(t, GR_SHAPE(1, 20, 1)), *v = gr_ones(t, GR_SHAPE(1, 20, 1));
    k->data[3] = (gr_real)NAN;
    gr_tensor *y = gr_attention(t, q, k, v, (&(gr_attention_config){ .mask = mask }));
    assert_true(isnan(y->data[0]) && y->data[1] == 1);
    gr_tape_free(t);
}

TEST(padding_does_not_change_a_bit)
{
    enum { B = 3, T = 75, W = 8 };
    const int lengths[B] = { 75, 33, 1 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_randn(t, GR_SHAPE(B, T, 3 * W), 0, 1, "x");
    gr_tensor *y = gr__attention_packed(t, x, (&(gr_attention_config){ .heads = 2, .lengths = gr_ints_new(t, lengths, GR_SHAPE(B)) }));
    for (size_t b = 0; b < B; b++) {
        gr_tensor *alone = gr_narrow(t, gr_slice(t, x, b, 1), 1, 0, (size_t)lengths[b]);
        assert_same_bits(y->data + b * T * W, gr__attention_packed(t, alone, (&(gr_attention_config){ .heads = 2 }))->data, (size_t)lengths[b] * W);
    }
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_without_visible_keys_gives_0_and_no_gradient),
        cmocka_unit_test(values_of_masked_keys_never_matter),
        cmocka_unit_test(causal_attention_does_not_depend_on_later_keys),
        cmocka_unit_test(queries_that_start_late_have_the_bits_of_all),
        cmocka_unit_test(a_nan_in_a_visible_key_reaches_the_result),
        cmocka_unit_test(padding_does_not_change_a_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
