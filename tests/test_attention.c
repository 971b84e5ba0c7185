/* tests/test_attention.c - attention: gradients, its twin, values by hand, bits, messages. */
#include "tests/attention_case.h"

static int few[] = { 2, 0, 5 }, some[] = { 17, 1, 9 };
static gr_ints late = { .data = (int[]){ 2, 0, 5 }, .len = 3, .dim = { 3 }, .rank = 1 };
static attention_case cases[] = {
    { 1, 1, 1, 1, 1, { 0 }, NULL, 0 },
    { 2, 3, 5, 4, 2, { .heads = 1 }, NULL, 0 },
    { 2, 4, 3, 3, 5, { .heads = 3, .scale = 0.7 }, NULL, 0 },
    { 3, 5, 5, 2, 3, { .heads = 2, .causal = true }, NULL, 0 },
    { 3, 2, 6, 4, 4, { .heads = 2, .causal = true }, NULL, 0 },
    { 3, 4, 5, 3, 3, { .heads = 1 }, few, 0 },
    { 3, 18, 17, 4, 2, { .heads = 1, .causal = true }, some, 2 },
    { 3, 4, 7, 3, 2, { .heads = 2 }, NULL, 3 },
    { 2, 6, 4, 2, 2, { .heads = 2 }, NULL, 1 },
    { 1, 67, 19, 3, 2, { .heads = 2 }, NULL, 0 },
    { 3, 3, 5, 4, 2, { .heads = 2, .causal = true, .starts = &late }, NULL, 0 },
    { 3, 5, 5, 3, 3, { .heads = 1, .causal = true, .starts = &late }, few, 3 },
    { 3, 66, 17, 2, 2, { .heads = 1, .causal = true, .starts = &late }, some, 0 },
    { 2, 5, 6, 3, 2, { .heads = 2, .dropout = 0.3, .stream = "m" }, NULL, 2 },
};

/* ---- Gradients ---- */

static gr_tensor *fused_with_one_mask(gr_tape *t, gr_tensor *const *in, void *c) /* so that every call has the same dropout mask */
{
    gr_stream *s = gr_tape_stream(t, "m");
    if (s) s->counter = 3;
    return fused(t, in, c);
}
static gr_tensor *packed_with_one_mask(gr_tape *t, gr_tensor *const *in, void *c)
{
    gr_stream *s = gr_tape_stream(t, "m");
    if (s) s->counter = 3;
    return packed(t, in, c);
}

TEST(gradient_matches_finite_differences)
{
    for (size_t k = 0; k < COUNT(cases); k++) {
        gr_gradcheck_input in[3];
        inputs_of(&cases[k], in);
        if (!test_gradcheck("attention", fused_with_one_mask, &cases[k], in, 3, NULL, stderr)) fail_msg("case %zu", k);
        if (cases[k].Tq != cases[k].Tk || cases[k].d != cases[k].e) continue;
        in[0] = packed_input_of(&cases[k]);
        if (!test_gradcheck("attention", packed_with_one_mask, &cases[k], in, 1, NULL, stderr)) fail_msg("case %zu, packed", k);
    }
    attention_case self = { 2, 9, 9, 5, 5, { .heads = 2, .causal = true, .dropout = 0.4, .stream = "m" }, NULL, 3 };
    const gr_gradcheck_input in = packed_input_of(&self);
    assert_true(test_gradcheck("attention", packed_with_one_mask, &self, &in, 1, NULL, stderr));
}

TEST(gradient_is_right_when_only_some_inputs_want_it)
{
    for (int wanted = 1; wanted < 8; wanted++) {
        gr_gradcheck_input in[3];
        inputs_of(&cases[6], in);
        for (int i = 0; i < 3; i++) in[i].no_grad = !(wanted >> i & 1);
        assert_true(test_gradcheck("attention", fused, &cases[6], in, 3, NULL, stderr));
    }
}

static gr_tensor *of_itself(gr_tape *t, gr_tensor *const *in, void *c)
{
    return gr_attention(t, in[0], in[0], in[0], options_of(t, c, &(gr_attention_config){ 0 }));
}
TEST(one_tensor_may_be_q_k_and_v)
{
    assert_true(test_gradcheck("attention", of_itself, &cases[3], &(gr_gradcheck_input){ .shape = GR_SHAPE(3, 5, 4) }, 1, NULL, stderr));
}

TEST(agrees_with_its_composed_twin)
{
    attention_case large[] = {
        { 2, 70, 130, 16, 8, { .heads = 2 }, NULL, 2 },
        { 3, 70, 70, 16, 16, { .heads = 2, .causal = true, .dropout = 0.2, .stream = "m" }, some, 0 },
        { 2, 130, 65, 5, 7, { .heads = 3, .causal = true, .dropout = 1, .stream = "m" }, NULL, 3 },
    };
    for (size_t k = 0; k < COUNT(cases) + COUNT(large); k++) {
        attention_case *c = k < COUNT(cases) ? &cases[k] : &large[k - COUNT(cases)];
        gr_gradcheck_input in[3];
        inputs_of(c, in);
        assert_agree(fused, composed, c, in, 3, IN_DOUBLE ? 1e-13 : 1e-5);
        in[0] = packed_input_of(c);
        if (c->Tq == c->Tk && c->d == c->e) assert_agree(packed, packed_composed, c, in, 1, IN_DOUBLE ? 1e-13 : 1e-5);
    }
}

/* ---- Exact facts ---- */

TEST(equal_scores_average_and_their_gradient_sums_to_0)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *q = gr_want_grad(t, gr_zeros(t, GR_SHAPE(1, 2, 2))), *k = gr_want_grad(t, gr_input(t, (gr_real[]){ 1, 2, 3, 4 }, GR_SHAPE(1, 2, 2)));
    gr_tensor *v = gr_want_grad(t, gr_input(t, (gr_real[]){ 1, 3, 5, 11 }, GR_SHAPE(1, 2, 2)));
    gr_tensor *y = gr_attention(t, q, k, v, NULL);
    assert_values(y, 1e-6, 3, 7, 3, 7);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 0, 0, 1 }));
    /* dp = [[1, 5], [3, 11]]: ds = (dp - 3) / 2 and (dp - 7) / 2; dq = ds k / sqrt 2 = [2, 2] / sqrt 2 and [4, 4] / sqrt 2 */
    assert_close(gr_grad(t, q), ((gr_real[]){ 1.41421356, 1.41421356, 2.82842712, 2.82842712 }), 4, 1e-6);
    assert_close(gr_grad(t, v), ((gr_real[]){ 0.5, 0.5, 0.5, 0.5 }), 4, 1e-6);
    for (int i = 0; i < 4; i++) assert_true(gr_grad(t, k)[i] == 0); /* q is 0 */
    gr_tape_free(t);
}

TEST(values_match_hand_computed_ones)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *q = gr_input(t, (gr_real[]){ 1, 2 }, GR_SHAPE(1, 2, 1)), *k = gr_input(t, (gr_real[]){ 0, 1 }, GR_SHAPE(1, 2, 1));
    gr_tensor *v = gr_input(t, (gr_real[]){ 0, 1 }, GR_SHAPE(1, 2, 1));
    assert_values(gr_attention(t, q, k, v, NULL), 1e-6, 0.73105858, 0.88079708); /* sigmoid of 1 and 2 */
    assert_values(gr_attention(t, q, k, v, (&(gr_attention_config){ .scale = 0.5 })), 1e-6, 0.62245933, 0.73105858);
    assert_values(gr_attention(t, q, k, v, (&(gr_attention_config){ .causal = true })), 1e-6, 0, 0.88079708);
    assert_values(gr_attention(t, q, k, v, (&(gr_attention_config){ .mask = gr_input(t, (gr_real[]){ 0, 1, 1, 0 }, GR_SHAPE(1, 2, 2)) })), 1e-6, 1, 0);
    gr_tape_free(t);
}

TEST(scores_of_any_size_do_not_overflow)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *q = gr_input(t, (gr_real[]){ 1e30, -1e30 }, GR_SHAPE(1, 2, 1)), *k = gr_input(t, (gr_real[]){ 1, 2, -3 }, GR_SHAPE(1, 3, 1));
    gr_tensor *v = gr_input(t, (gr_real[]){ 10, 20, 30 }, GR_SHAPE(1, 3, 1));
    assert_values(gr_attention(t, q, k, v, NULL), 0, 20, 30);
    gr_tape_free(t);
}

/* Twice the largest score, whose product with the scale is rounded: each has one half. */
TEST(two_largest_scores_share_the_probability_however_large_they_are)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (int power = 0; power < 120; power += 3)
        for (int s = 0; s < 40; s++) {
            const gr_real a = (gr_real)ldexp(1 + s / 39.0, power / 2), b = (gr_real)ldexp(1 + s * 37 % 39 / 39.0, power - power / 2);
            gr_tensor *q = gr_input(t, &a, GR_SHAPE(1, 1, 1)), *k = gr_input(t, (gr_real[]){ b, b, -b }, GR_SHAPE(1, 3, 1));
            gr_tensor *v = gr_input(t, (gr_real[]){ 1, 3, 2 }, GR_SHAPE(1, 3, 1));
            assert_values(gr_attention(t, q, k, v, (&(gr_attention_config){ .scale = 0.7 + s * 0.01 })), 1e-6, 2);
            gr_tape_reset(t);
        }
    gr_tape_free(t);
}

/* ---- Dropout ---- */

TEST(dropout_keeps_the_mean_and_is_off_in_evaluation)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *q = gr_zeros(t, GR_SHAPE(2, 40, 3)), *k = gr_zeros(t, GR_SHAPE(2, 300, 3)), *v = gr_ones(t, GR_SHAPE(2, 300, 1));
    const gr_attention_config o = { .dropout = 0.25, .stream = "m" };
    double sum = 0;
    gr_tensor *y = gr_attention(t, q, k, v, &o);
    for (size_t i = 0; i < y->len; i++) sum += (double)y->data[i], assert_true(y->data[i] != 1);
    assert_true(fabs(sum / 80 - 1) < 0.02);
    assert_int_equal(gr_tape_stream(t, "m")->counter, 2 * 40 * 300);
    gr_tape_set_recording(t, false);
    gr_tape_stream(t, "m")->counter = 0;
    assert_same_bits(gr_attention(t, q, k, v, &o)->data, y->data, y->len);
    gr_tape_set_training(t, false);
    y = gr_attention(t, q, k, v, &o);
    for (size_t i = 0; i < y->len; i++) assert_true(fabs((double)y->data[i] - 1) < 1e-6);
    gr_tape_free(t);
}

/* ---- Bits ---- */

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    attention_case large[] = {
        { 3, 70, 130, 19, 8, { .heads = 2 }, NULL, 2 },
        { 3, 131, 131, 32, 32, { .heads = 2, .causal = true, .dropout = 0.2, .stream = "m" }, (int[]){ 131, 64, 3 }, 0 },
        { 2, 64, 64, 16, 16, { .heads = 4, .causal = true }, NULL, 3 },
    };
    for (size_t k = 0; k < COUNT(large); k++) {
        gr_gradcheck_input in[3];
        inputs_of(&large[k], in);
        assert_bits_stay(fused, &large[k], in, 3);
        in[0] = packed_input_of(&large[k]);
        if (k) assert_bits_stay(packed, &large[k], in, 1);
    }
}

/* Each of the later segments attends to the one before, so q shares most of its gradient with k and v. */
static gr_tensor *to_the_segment_before(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const size_t n = in[0]->dim[0] - 1;
    gr_tensor *now = gr_slice(t, in[0], 1, n), *before = gr_slice(t, in[0], 0, n);
    (void)argument;
    return gr_attention(t, now, before, before, NULL);
}
TEST(q_k_and_v_may_overlap)
{
    const gr_gradcheck_input small = { .shape = GR_SHAPE(4, 3, 2) }, large = { .shape = GR_SHAPE(9, 64, 32) };
    assert_true(test_gradcheck("attention to the segment before", to_the_segment_before, NULL, &small, 1, NULL, stderr));
    for (int i = 0; i < 3; i++) assert_bits_stay(to_the_segment_before, NULL, &large, 1);
}

static gr_tensor *of_batch(gr_tape *t, gr_tensor *const *in, void *c)
{
    return gr__attention_packed(t, in[0], &((attention_case *)c)->o);
}
TEST(a_sample_has_the_same_bits_alone_and_in_a_batch)
{
    attention_case c = { 5, 71, 71, 6, 6, { .heads = 2, .causal = true }, NULL, 0 };
    const gr_gradcheck_input in = packed_input_of(&c);
    assert_alone_as_in_batch(of_batch, &c, &in, 1, 0);
}

TEST(bits_do_not_depend_on_recording)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_randn(t, GR_SHAPE(2, 90, 24), 0, 1, "x"));
    const gr_attention_config o = { .heads = 2, .causal = true };
    gr_tensor *y = gr__attention_packed(t, x, &o);
    gr_tape_set_recording(t, false);
    assert_same_bits(gr__attention_packed(t, x, &o)->data, y->data, y->len);
    gr_tape_free(t);
}

/* ---- Edges ---- */

TEST(a_tensor_of_size_0_is_accepted)
{
    attention_case empty[] = {
        { 0, 2, 3, 4, 5, { 0 }, NULL, 0 }, { 2, 0, 3, 4, 5, { .heads = 2 }, NULL, 0 }, { 2, 3, 0, 4, 5, { .heads = 2, .causal = true }, NULL, 0 },
        { 2, 3, 4, 0, 5, { .heads = 2 }, NULL, 2 }, { 2, 3, 4, 5, 0, { .causal = true }, NULL, 0 },
    };
    for (size_t k = 0; k < COUNT(empty); k++) {
        gr_gradcheck_input in[3];
        inputs_of(&empty[k], in);
        assert_agree(fused, composed, &empty[k], in, 3, IN_DOUBLE ? 1e-14 : 1e-6);
    }
}

TEST(a_call_without_gradients_keeps_only_its_result)
{
    const size_t calls = 40, y = 4 * 64 * 64 * sizeof(gr_real);
    for (int drops = 0; drops < 2; drops++) {
        gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .threads = 4, .max_bytes = 3 * calls * y / 2 });
        gr_tensor *x = gr_ones(t, GR_SHAPE(4, 64, 64));
        for (size_t i = 0; i < calls; i++) x = gr_attention(t, x, x, x, &(gr_attention_config){ .dropout = 0.5 * drops, .stream = "m" });
        assert_ok(t);
        gr_tape_free(t);
    }
}

TEST(out_of_memory_is_an_error_anywhere)
{
    attention_case c = { 2, 300, 300, 4, 4, { .heads = 2, .causal = true, .dropout = 0.1, .stream = "m" }, NULL, 0 };
    gr_gradcheck_input in[3];
    assert_survives_failing_memory(fused, &c, in, inputs_of(&c, in));
}

TEST(shapes_heads_masks_and_dropout_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
#define BAD(message, ...) \
    do { \
        gr_tensor *q = gr_zeros(t, GR_SHAPE(2, 3, 6)), *k = gr_zeros(t, GR_SHAPE(2, 5, 6)), *v = gr_zeros(t, GR_SHAPE(2, 5, 4)); \
        gr_ints *n = gr_ints_new(t, (int[]){ 5, 6, 0 }, GR_SHAPE(2)); \
        (void)q, (void)k, (void)v, (void)n; \
        assert_fails(t, (__VA_ARGS__), "attention: " message); \
    } while (0)
#define WITH(...) (&(gr_attention_config){ __VA_ARGS__ })
    BAD("input 2 is NULL", gr_attention(t, q, NULL, v, NULL));
    BAD("heads is 4, so q must be [B, Tq, 4 * d]; got [2, 3, 6]", gr_attention(t, q, k, v, WITH(.heads = 4)));
    BAD("heads is 1, so q must be [B, Tq, 1 * d]; got [6]", gr_attention(t, gr_zeros(t, GR_SHAPE(6)), k, v, NULL));
    BAD("q is [2, 3, 6], so k must be [2, Tk, 6]; got [2, 5, 4]", gr_attention(t, q, v, v, NULL));
    BAD("heads is 3 and k is [2, 5, 6], so v must be [2, 5, 3 * e]; got [2, 5, 4]", gr_attention(t, q, k, v, WITH(.heads = 3)));
    BAD("heads is 1 and k is [2, 5, 6], so v must be [2, 5, 1 * e]; got [2, 3, 6]", gr_attention(t, q, k, q, NULL));
    BAD("k is [2, 5, 6], so lengths must be [2]; got [3]", gr_attention(t, q, k, v, WITH(.lengths = gr_ints_new(t, NULL, GR_SHAPE(3)))));
    BAD("k is [2, 5, 6], so lengths[1] must be in 0 .. 5; got 6", gr_attention(t, q, k, v, WITH(.lengths = n)));
    BAD("qkv is [2, 3, 6], so lengths[0] must be in 0 .. 3; got 5", gr__attention_packed(t, q, WITH(.lengths = n)));
    BAD("k is [2, 5, 6], so starts must be [2]; got [3]", gr_attention(t, q, k, v, WITH(.causal = true, .starts = &late)));
    BAD("k is [2, 5, 6], so starts[1] must be in 0 .. 5; got 6", gr_attention(t, q, k, v, WITH(.causal = true, .starts = n)));
    BAD("starts is for causal attention, and causal is not set", gr_attention(t, q, k, v, WITH(.starts = gr_ints_new(t, NULL, GR_SHAPE(2)))));
    BAD("mask must be [2, 5], [2, 3, 5] or [1, 3, 5]; got [3, 5]",
        gr_attention(t, q, k, v, WITH(.mask = gr_zeros(t, GR_SHAPE(3, 5)))));
    BAD("scale must be above 0 and finite, or 0 for the default; got -1", gr_attention(t, q, k, v, WITH(.scale = -1)));
    BAD("scale must be above 0 and finite, or 0 for the default; got inf", gr_attention(t, q, k, v, WITH(.scale = HUGE_VAL)));
    if (!IN_DOUBLE) BAD("scale must be above 0 and finite, or 0 for the default; got 1e-60", gr_attention(t, q, k, v, WITH(.scale = 1e-60)));
    if (!IN_DOUBLE) BAD("scale must be above 0 and finite, or 0 for the default; got 1e+60", gr_attention(t, q, k, v, WITH(.scale = 1e60)));
    BAD("dropout must be in 0 .. 1; got 1.5", gr_attention(t, q, k, v, WITH(.dropout = 1.5)));
    BAD("dropout is 0.5, so stream must not be NULL", gr_attention(t, q, k, v, WITH(.dropout = 0.5)));
    BAD("input 1 is NULL", gr__attention_packed(t, NULL, NULL));
    BAD("heads is 4, so qkv must be [B, T, 3 * 4 * d]; got [2, 3, 6]", gr__attention_packed(t, q, WITH(.heads = 4)));
    BAD("heads is 1, so qkv must be [B, T, 3 * 1 * d]; got [2, 5, 4]", gr__attention_packed(t, v, NULL));
    gr_tape_free(t);
}

/* ---- The cache, and another module at the same address ---- */

/* Memory that gives the block of a size that was released last to the next that asks for that size. */
typedef struct { void *block[400]; size_t bytes[400], count; } last_released;
static void *last_alloc(void *context, size_t bytes)
{
    last_released *const r = context;
    for (size_t i = r->count; i-- > 0;)
        if (r->block[i] && r->bytes[i] == bytes) {
            void *const p = r->block[i];
            return r->block[i] = NULL, p;
        }
    return gr_default_allocator().alloc(NULL, bytes);
}
static void last_release(void *context, void *p, size_t bytes)
{
    last_released *const r = context;
    assert_true(r->count < COUNT(r->block));
    r->block[r->count] = p, r->bytes[r->count++] = bytes;
}

TEST(a_module_at_the_address_of_a_freed_one_is_another)
{
    last_released memory = { .count = 0 };
    gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .allocator = &(gr_allocator){ last_alloc, last_release, &memory } });
    const gr_multihead_attention_config causal = { .causal = true };
    gr_module *net = gr_module_new(t);
    const gr_multihead_attention *m = gr_multihead_attention_new(t, net, "m", 4, 2, &causal);
    gr_attention_cache *cache = gr_attention_cache_new(t, net, 1, 4);
    gr_module_free(net);
    net = gr_module_new(t);
    gr_multihead_attention *other = gr_multihead_attention_new(t, net, "m", 64, 2, &causal);
    assert_ptr_equal(other, m);
    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
    assert_fails(t, gr_multihead_attention_forward(t, other, gr_ones(t, GR_SHAPE(1, 2, 64)), NULL, NULL, &(gr_attention_input){ .cache = cache }),
                 "multihead_attention in m: the cache was made for another module, or this attention is not causal");
    gr_attention_cache_free(cache), gr_module_free(net), gr_tape_free(t);
    for (size_t i = 0; i < memory.count; i++)
        if (memory.block[i]) gr_default_allocator().release(NULL, memory.block[i], memory.bytes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_matches_finite_differences),
        cmocka_unit_test(gradient_is_right_when_only_some_inputs_want_it),
        cmocka_unit_test(one_tensor_may_be_q_k_and_v),
        cmocka_unit_test(agrees_with_its_composed_twin),
        cmocka_unit_test(equal_scores_average_and_their_gradient_sums_to_0),
        cmocka_unit_test(values_match_hand_computed_ones),
        cmocka_unit_test(scores_of_any_size_do_not_overflow),
        cmocka_unit_test(two_largest_scores_share_the_probability_however_large_they_are),
        cmocka_unit_test(dropout_keeps_the_mean_and_is_off_in_evaluation),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(q_k_and_v_may_overlap),
        cmocka_unit_test(a_sample_has_the_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(bits_do_not_depend_on_recording),
        cmocka_unit_test(a_tensor_of_size_0_is_accepted),
        cmocka_unit_test(a_call_without_gradients_keeps_only_its_result),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(shapes_heads_masks_and_dropout_that_do_not_fit_are_named),
        cmocka_unit_test(a_module_at_the_address_of_a_freed_one_is_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
