/* tests/test_empty.c - tensors without values whose other axes have size 2^40: every operator, forward and backward, ends at once and
 * allocates nothing but a result that has values. A loop that counts to 2^40 would not end. */
#include "ops/attention_packed.h"
#include "tests/test.h"

/* The axes of x: 2^40, 0 and 3 in all orders, called a to f. */
#define H ((size_t)1 << 40)
static const size_t (*sizes(void))[3]
{
    static const size_t all[6][3] = { { H, 0, 3 }, { H, 3, 0 }, { 0, H, 3 },
                                      { 3, H, 0 }, { 0, 3, H }, { 3, 0, H } };
    return all;
}

static gr_tensor *zeros(gr_tape *t, gr_shape shape) { return gr_want_grad(t, gr_zeros(t, shape)); }
static gr_tensor *one(gr_tape *t) { return gr_want_grad(t, gr_scalar(t, 1)); }
#define X zeros(t, GR_SHAPE(d[0], d[1], d[2]))

static gr_tensor *part(gr_tape *t, const size_t *d, int axis)
{
    gr_tensor *out[2];
    return gr_split(t, X, axis, (size_t[]){ d[axis] / 2, d[axis] - d[axis] / 2 }, 2, out) ? out[1] : NULL;
}

typedef gr_recurrent_out sequence(gr_tape *t, gr_tensor *x, const gr_recurrent_weights *weights, const gr_sequence_config *options);
static gr_tensor *recurrent(gr_tape *t, const size_t *d, sequence *f, size_t gates, unsigned norm, bool batch_first)
{
    gr_recurrent_weights w = { .norm = norm, .w_ih = zeros(t, GR_SHAPE(2 * gates, d[2])), .w_hh = zeros(t, GR_SHAPE(2 * gates, 2)) };
    if (norm) w.ln_ih = w.ln_hh = (gr_lstm_ln){ zeros(t, GR_SHAPE(2 * gates)), zeros(t, GR_SHAPE(2 * gates)) };
    if (norm) w.ln_c = (gr_lstm_ln){ zeros(t, GR_SHAPE(2)), zeros(t, GR_SHAPE(2)) };
    return f(t, X, &w, &(gr_sequence_config){ .batch_first = batch_first }).y;
}

/* CALL(name, orders, call): `orders` are those for which the result has few values or none. In the others the result or an argument has
 * 2^40 values or more, or the shape does not fit. */
/* clang-format off */
#define CALLS \
    CALL(matmul_w, "a.c...", gr_matmul(t, X, zeros(t, GR_SHAPE(d[2], 2)))) \
    CALL(matmul_b, "a...ef", gr_matmul(t, X, zeros(t, GR_SHAPE(d[0], d[2], d[1])))) \
    CALL(matmul_t, "..c.e.", gr_matmul_t(t, X, true, zeros(t, GR_SHAPE(d[0], d[1], 2)), false)) \
    CALL(matmul_one, ".b..e.", gr_matmul(t, zeros(t, GR_SHAPE(2, d[1])), X)) \
    CALL(linear, "a.c...", gr_linear(t, X, zeros(t, GR_SHAPE(2, d[2])), zeros(t, GR_SHAPE(2)))) \
    CALL(exp, "abcdef", gr_exp(t, X)) \
    CALL(sin, "abcdef", gr_sin(t, X)) \
    CALL(add, "abcdef", gr_add(t, X, one(t))) \
    CALL(add_row, "ab..ef", gr_add(t, X, zeros(t, GR_SHAPE(d[1], 1)))) \
    CALL(where, "abcdef", gr_where(t, X, X, one(t))) \
    CALL(prelu, "abcdef", gr_prelu(t, X, one(t))) \
    CALL(prelu_c, "ab..ef", gr_prelu(t, X, zeros(t, GR_SHAPE(d[1])))) \
    CALL(softmax0, "abcdef", gr_softmax(t, X, 0)) \
    CALL(softmax1, "abcdef", gr_softmax(t, X, 1)) \
    CALL(softmax2, "abcdef", gr_softmax(t, X, 2)) \
    CALL(log_softmax1, "abcdef", gr_log_softmax(t, X, 1)) \
    CALL(layer_norm1, "abcdef", gr_layer_norm(t, X, 1, NULL, NULL, 1e-5)) \
    CALL(layer_norm2, "abcdef", gr_layer_norm(t, X, 2, NULL, NULL, 1e-5)) \
    CALL(layer_norm_g, "abcdef", gr_layer_norm(t, X, 1, d[2] < 9 ? zeros(t, GR_SHAPE(d[2])) : NULL, NULL, 1e-5)) \
    CALL(rms, "abcdef", gr_rms_norm(t, X, 1, NULL, 1e-5)) \
    CALL(bn1, "abcdef", gr_batch_norm(t, X, 1, NULL, NULL, NULL)) \
    CALL(bn_last, "abcdef", gr_batch_norm(t, X, -1, NULL, NULL, NULL)) \
    CALL(bn0, "abcdef", gr_batch_norm(t, X, 0, NULL, NULL, NULL)) \
    CALL(bn_len, "abc.ef", d[0] < 9 ? gr_batch_norm(t, X, 1, NULL, NULL, &(gr_batch_norm_config){ .lengths = gr_ints_new(t, (int[]){ 1, 2, 1 }, GR_SHAPE(d[0])) }): gr_exp(t, X)) \
    CALL(gn1, "abcdef", gr_group_norm(t, X, 1, NULL, NULL, 1e-5)) \
    CALL(gn3, "abcdef", d[1] % 3 ? gr_exp(t, X): gr_group_norm(t, X, 3, NULL, NULL, 1e-5)) \
    CALL(gn_rows, "abcdef", gr_group_norm(t, gr_reshape(t, X, GR_SHAPE(d[0], d[1] * d[2])), 1, NULL, NULL, 1e-5)) \
    CALL(in1, "abcdef", gr_instance_norm(t, X, 1, NULL, NULL, 1e-5)) \
    CALL(in2, "abcdef", gr_instance_norm(t, X, -1, NULL, NULL, 1e-5)) \
    CALL(norm_axes1, "abcdef", gr_norm_axes(t, X, GR_AXES(1), GR_AXES(1), NULL, NULL, 1e-5)) \
    CALL(norm_axes02, "abcdef", gr_norm_axes(t, X, GR_AXES(0, 2), GR_AXES(1), NULL, NULL, 1e-5)) \
    CALL(norm_axes0, "abcdef", gr_norm_axes(t, X, GR_AXES(0), GR_AXES(1), NULL, NULL, 1e-5)) \
    CALL(sum0, "ab.d.f", gr_sum(t, X, GR_AXES(0), false)) \
    CALL(sum1, ".bcde.", gr_sum(t, X, GR_AXES(1), false)) \
    CALL(sum2, "a.c.ef", gr_sum(t, X, GR_AXES(2), false)) \
    CALL(sum02, "ab..ef", gr_sum(t, X, GR_AXES(0, 2), false)) \
    CALL(sumall, "abcdef", gr_sum(t, X, GR_ALL_AXES, false)) \
    CALL(mean02, "ab..ef", gr_mean(t, X, GR_AXES(0, 2), true)) \
    CALL(mean01, "abcd..", gr_mean(t, X, GR_AXES(0, 1), true)) \
    CALL(mean12, "..cdef", gr_mean(t, X, GR_AXES(1, 2), true)) \
    CALL(var0, "ab.d.f", gr_var(t, X, GR_AXES(0), 1, false)) \
    CALL(var1, ".bcde.", gr_var(t, X, GR_AXES(1), 1, false)) \
    CALL(var2, "a.c.ef", gr_var(t, X, GR_AXES(2), 1, false)) \
    CALL(max0, "ab.d.f", gr_max(t, X, GR_AXES(0), false)) \
    CALL(max1, ".bcde.", gr_max(t, X, GR_AXES(1), false)) \
    CALL(max2, "a.c.ef", gr_max(t, X, GR_AXES(2), false)) \
    CALL(prod0, "ab.d.f", gr_prod(t, X, GR_AXES(0), false)) \
    CALL(prod02, "ab..ef", gr_prod(t, X, GR_AXES(0, 2), false)) \
    CALL(prod01, "abcd..", gr_prod(t, X, GR_AXES(0, 1), false)) \
    CALL(prod12, "..cdef", gr_prod(t, X, GR_AXES(1, 2), false)) \
    CALL(lse1, ".bcde.", gr_logsumexp(t, X, GR_AXES(1), false)) \
    CALL(lse02, "ab..ef", gr_logsumexp(t, X, GR_AXES(0, 2), false)) \
    CALL(norm2, ".bcde.", gr_vector_norm(t, X, 2, GR_AXES(1), false)) \
    CALL(norm3, "ab.d.f", gr_vector_norm(t, X, 3, GR_AXES(0), false)) \
    CALL(normall, "abcdef", gr_vector_norm(t, X, (double)INFINITY, GR_ALL_AXES, false)) \
    CALL(permute, "abcdef", gr_permute(t, X, GR_AXES(1, 2, 0))) \
    CALL(transpose02, "abcdef", gr_transpose(t, X, 0, 2)) \
    CALL(transpose01, "abcdef", gr_transpose(t, X, 0, 1)) \
    CALL(transpose12, "abcdef", gr_transpose(t, X, 1, 2)) \
    CALL(narrow0, "abcdef", gr_narrow(t, X, 0, 0, d[0] / 2)) \
    CALL(narrow1, "abcdef", gr_narrow(t, X, 1, 0, d[1] / 2)) \
    CALL(narrow2, "abcdef", gr_narrow(t, X, 2, d[2] / 3, d[2] / 3)) \
    CALL(select0, "abcdef", d[0] ? gr_select(t, X, 0, -1): gr_exp(t, X)) \
    CALL(select1, "abcdef", d[1] ? gr_select(t, X, 1, -1): gr_exp(t, X)) \
    CALL(select2, "abcdef", d[2] ? gr_select(t, X, 2, -1): gr_exp(t, X)) \
    CALL(flip, "abcdef", gr_flip(t, X, GR_AXES(0))) \
    CALL(flip2, "abcdef", gr_flip(t, X, GR_AXES(1, 2))) \
    CALL(masked_fill, "abcdef", gr_masked_fill(t, X, X, 1)) \
    CALL(tril, "abcdef", gr_tril(t, X, 0)) \
    CALL(pad, "a.c.ef", gr_pad(t, X, (int[]){ 1, 2, -1, 1 }, 2 + 2 * (d[1] == 3), 1)) \
    CALL(slice_step, "abcdef", gr_slice_step(t, X, 1, 1, PTRDIFF_MAX, 2)) \
    CALL(cumsum0, "abcdef", gr_cumsum(t, X, 0)) \
    CALL(cumsum2, "abcdef", gr_cumsum(t, X, 2)) \
    CALL(std1, ".bcde.", gr_std(t, X, GR_AXES(1), 1, false)) \
    CALL(index_select0, "abcdef", gr_index_select(t, X, 0, gr_ints_new(t, NULL, GR_SHAPE(0)))) \
    CALL(index_select1, "abcdef", gr_index_select(t, X, 1, gr_ints_new(t, NULL, GR_SHAPE(0)))) \
    CALL(scatter_add, "abcdef", gr_scatter_add(t, X, 1, gr_ints_new(t, NULL, GR_SHAPE(0, 0, 0)), zeros(t, GR_SHAPE(0, 0, 0)))) \
    CALL(sort1, "ab..ef", gr_sort(t, X, 1, true).values) \
    CALL(topk1, "ab..ef", gr_topk(t, X, 1, 0, true).values) \
    CALL(expand, "abcdef", gr_expand(t, X, GR_SHAPE(5, d[0], d[1], d[2]))) \
    CALL(expand_h, "abcd..", gr_expand(t, zeros(t, GR_SHAPE(d[2])), GR_SHAPE(d[0], d[1], d[2]))) \
    CALL(expand_1, "ab..ef", gr_expand(t, zeros(t, GR_SHAPE(d[1], 1)), GR_SHAPE(d[0], d[1], d[2]))) \
    CALL(cat0, "abcdef", gr_cat(t, (gr_tensor *[]){ X, X }, 2, 0)) \
    CALL(cat1, "abcdef", gr_cat(t, (gr_tensor *[]){ X, X }, 2, 1)) \
    CALL(cat2, "abcdef", gr_cat(t, (gr_tensor *[]){ X, X }, 2, 2)) \
    CALL(stack0, "abcdef", gr_stack(t, (gr_tensor *[]){ X, X }, 2, 0)) \
    CALL(stack1, "abcdef", gr_stack(t, (gr_tensor *[]){ X, X }, 2, 1)) \
    CALL(stack3, "abcdef", gr_stack(t, (gr_tensor *[]){ X, X }, 2, 3)) \
    CALL(split0, "abcdef", part(t, d, 0)) \
    CALL(split1, "abcdef", part(t, d, 1)) \
    CALL(split2, "abcdef", part(t, d, 2)) \
    CALL(embed, "abcdef", gr_embedding(t, zeros(t, GR_SHAPE(5, 2)), gr_ints_new(t, NULL, GR_SHAPE(d[0], d[1], d[2])), -1)) \
    CALL(gather0, "abcdef", gr_gather(t, X, 0, gr_ints_new(t, NULL, GR_SHAPE(0, d[1], d[2])))) \
    CALL(gather1, "abcdef", gr_gather(t, X, 1, gr_ints_new(t, NULL, GR_SHAPE(d[0], 0, d[2])))) \
    CALL(gather2, "abcdef", gr_gather(t, X, 2, gr_ints_new(t, NULL, GR_SHAPE(d[0], d[1], 0)))) \
    CALL(gatherx, "abcdef", gr_gather(t, X, 1, gr_ints_new(t, NULL, GR_SHAPE(d[0], d[1], d[2])))) \
    CALL(dropout, "abcdef", gr_dropout(t, X, 0.5, "d")) \
    CALL(mse, "abcdef", gr_mse(t, X, X, GR_REDUCE_MEAN)) \
    CALL(mse_none, "abcdef", gr_mse(t, X, X, GR_REDUCE_NONE)) \
    CALL(bce, "abcdef", gr_bce_with_logits(t, X, X, NULL, GR_REDUCE_MEAN)) \
    CALL(ce, ".bcde.", gr_cross_entropy(t, X, gr_ints_new(t, NULL, GR_SHAPE(d[0], d[2])), NULL)) \
    CALL(ce_none, ".bcde.", gr_cross_entropy(t, X, gr_ints_new(t, NULL, GR_SHAPE(d[0], d[2])), &(gr_cross_entropy_config){ .reduction = GR_REDUCE_NONE, .label_smoothing = 0.1 })) \
    CALL(nll, ".bcde.", gr_nll(t, X, gr_ints_new(t, NULL, GR_SHAPE(d[0], d[2])), NULL)) \
    CALL(conv1d, "....e.", gr_conv1d(t, X, zeros(t, GR_SHAPE(2, d[1], 1)), zeros(t, GR_SHAPE(2)), NULL)) \
    CALL(conv1d_k, "....e.", gr_conv1d(t, X, zeros(t, GR_SHAPE(2, d[1], 3)), NULL, &(gr_conv_config){ .padding = 1 })) \
    CALL(conv1d_o, "a.c.ef", gr_conv1d(t, X, zeros(t, GR_SHAPE(0, d[1], 3)), NULL, &(gr_conv_config){ .padding = 1 })) \
    CALL(conv2d, "....e.", gr_conv2d(t, zeros(t, GR_SHAPE(d[0], d[1], d[2], 3)), zeros(t, GR_SHAPE(2, d[1], 1, 3)), NULL, NULL)) \
    CALL(conv2d_p, "....e.", gr_conv2d(t, zeros(t, GR_SHAPE(d[0], d[1], 3, d[2])), zeros(t, GR_SHAPE(2, d[1], 3, 3)), zeros(t, GR_SHAPE(2)), &(gr_conv_config){ .padding = 1 })) \
    CALL(convt1d, "....e.", gr_conv_transpose1d(t, X, zeros(t, GR_SHAPE(d[1], 2, 1)), zeros(t, GR_SHAPE(2)), NULL)) \
    CALL(convt2d, "....e.", gr_conv_transpose2d(t, zeros(t, GR_SHAPE(d[0], d[1], d[2], 3)), zeros(t, GR_SHAPE(d[1], 2, 3, 3)), NULL, &(gr_conv_config){ .padding = 1 })) \
    CALL(interp1, "a.c.ef", gr_interpolate(t, X, &(gr_interpolate_config){ .scale_factor = 2 })) \
    CALL(interp2, "a.c.ef", gr_interpolate(t, zeros(t, GR_SHAPE(d[0], d[1], 3, d[2])), &(gr_interpolate_config){ .size = 2, .mode = GR_INTERPOLATE_LINEAR })) \
    CALL(dropout2d, "a.c.ef", gr_dropout2d(t, X, 0.5, "d")) \
    CALL(maxpool1, "a.c.ef", gr_max_pool1d(t, X, &(gr_pool_config){ .kernel = 2 })) \
    CALL(maxpool2, "a.c.ef", gr_max_pool2d(t, zeros(t, GR_SHAPE(d[0], d[1], d[2], 3)), &(gr_pool_config){ .kernel = 2 })) \
    CALL(avgpool2, "a.c.ef", gr_avg_pool2d(t, zeros(t, GR_SHAPE(d[0], d[1], 3, d[2])), &(gr_pool_config){ .kernel = 3 })) \
    CALL(avgpool_all, "a.c.ef", gr_avg_pool2d(t, zeros(t, GR_SHAPE(d[0], d[1], 3, d[2])), &(gr_pool_config){ .kernel = 2, .padding = 1 })) \
    CALL(adapt1, "a.c.ef", gr_adaptive_avg_pool1d(t, X, 2)) \
    CALL(adapt2, "a.c.ef", gr_adaptive_max_pool2d(t, zeros(t, GR_SHAPE(d[0], d[1], 3, 3)), 2, 2)) \
    CALL(attn3, "abcdef", gr_attention(t, X, X, X, NULL)) \
    CALL(attnp, "abcdef", gr__attention_packed(t, zeros(t, GR_SHAPE(d[0], d[1], 3 * (d[2] % 9))), &(gr_attention_config){ .heads = 1 })) \
    CALL(lstm, "a.....", recurrent(t, d, gr_lstm_sequence, 4, 0, false)) \
    CALL(lstm_bf, "..c...", recurrent(t, d, gr_lstm_sequence, 4, 0, true)) \
    CALL(lstm_bn, "a.....", recurrent(t, d, gr_lstm_sequence, 4, GR_LSTM_LN_BA2016, false)) \
    CALL(gru, "a.....", recurrent(t, d, gr_gru_sequence, 3, 0, false)) \
    CALL(rnn, "a.....", recurrent(t, d, gr_rnn_sequence, 1, 0, false)) \
    CALL(rnn_bf, "..c...", recurrent(t, d, gr_rnn_sequence, 1, 0, true))
/* clang-format on */

#define CALL(name, orders, call) \
    static gr_tensor *name##_call(gr_tape *t, const size_t *d) { return (void)d, call; }
CALLS
#undef CALL
#define CALL(name, orders, call) { #name, orders, name##_call },
static const struct { const char *name, *orders; gr_tensor *(*f)(gr_tape *t, const size_t *d); } calls[] = { CALLS };
#undef CALL

/* At most 1 GiB, because Linux may grant an allocation that it cannot provide. */
static void *modest_alloc(void *context, size_t bytes) { return (void)context, bytes >> 30 ? NULL : gr_default_allocator().alloc(NULL, bytes); }
static void modest_release(void *context, void *p, size_t bytes) { (void)context, gr_default_allocator().release(NULL, p, bytes); }

static gr_tape *modest_tape(void)
{
    const gr_allocator allocator = { modest_alloc, modest_release, NULL };
    return gr_tape_new(1, (&(gr_tape_config){ .allocator = &allocator }));
}

TEST(every_operator_ends_on_a_tensor_without_values)
{
    const gr_real dy[1000] = { 0 };
    gr_tape *t = modest_tape();
    for (size_t k = 0; k < COUNT(calls); k++)
        for (size_t i = 0; i < 6; i++) {
            gr_tensor *y = calls[k].f(t, sizes()[i]);
            if (calls[k].orders[i] == '.') assert_true(!y && gr_failed(t));
            else if (!y || y->len > COUNT(dy) || !gr_backward_from(t, y, dy)) fail_msg("%s, order %c: %s", calls[k].name, "abcdef"[i], gr_message(t));
            gr_tape_recover(t);
        }
    gr_tape_free(t);
}

TEST(argmax_ends_on_a_tensor_without_values)
{
    gr_tape *t = modest_tape();
    for (size_t i = 0; i < 6; i++)
        for (int axis = 0; axis < 3; axis++) {
            const size_t *d = sizes()[i];
            const gr_ints *y = gr_argmax(t, X, axis, false);
            assert_true(d[axis] && d[axis] <= INT32_MAX ? y && y->len == 0 : !y && gr_failed(t));
            gr_tape_recover(t);
        }
    gr_tape_free(t);
}

TEST(lengths_of_channels_without_values_are_not_counted)
{
    gr_tape *t = modest_tape();
    gr_tensor *x = zeros(t, GR_SHAPE(2, 0, H));
    const gr_ints *lengths = gr_ints_new(t, (int[]){ 1, 2 }, GR_SHAPE(2));
    gr_tensor *y = gr_batch_norm(t, x, 1, NULL, NULL, &(gr_batch_norm_config){ .lengths = lengths });
    assert_ok(t);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 0 }));
    gr_tape_free(t);
}

static gr_tensor *checked(gr_tape *t, gr_tensor *const *in, void *argument)
{
    return (void)argument, gr_matmul(t, gr_softmax(t, in[0], 1), gr_layer_norm(t, in[1], 1, NULL, NULL, 1e-5));
}
TEST(a_gradient_check_ends_on_a_tensor_without_values)
{
    const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(H, 0, 3) }, { .shape = GR_SHAPE(H, 3, 0) } };
    assert_true(test_gradcheck("empty", checked, NULL, in, 2, NULL, stderr));
}

TEST(an_empty_parameter_learns_nothing_and_ends)
{
    gr_tape *t = modest_tape();
    gr_module *m = gr_module_new(t);
    gr_tensor *w = gr_param(t, m, "w", GR_SHAPE(H, 0), gr_init_orthogonal(1)), *v = gr_param(t, m, "v", GR_SHAPE(0, H), gr_init_orthogonal(1));
    gr_optim *adam = gr_adam_new(t, m, &(gr_adam_config){ .lr = 0.1 });
    gr_tensor *loss = gr_add(t, gr_sum(t, w, GR_ALL_AXES, false), gr_sum(t, v, GR_ALL_AXES, false));
    assert_true(gr_backward(t, loss));
    assert_true(gr_clip_grad_norm(t, adam, 1) == 0);
    gr_optim_step(t, adam);
    assert_ok(t);
    gr_optim_free(adam), gr_module_free(m), gr_tape_free(t);
}

TEST(printing_a_tensor_without_values_ends)
{
    gr_tape *t = modest_tape();
    FILE *out = tmpfile();
    char text[512] = { 0 };
    assert_non_null(out);
    gr_print(gr_zeros(t, GR_SHAPE(H, 0)), out);
    gr_print(gr_zeros(t, GR_SHAPE(0, H)), out);
    gr_print(gr_zeros(t, GR_SHAPE(2, 0)), out);
    rewind(out);
    assert_true(fread(text, 1, sizeof text - 1, out) > 0);
    assert_string_equal(text, "[1099511627776, 0]\n[[],\n [],\n [],\n ...,\n [],\n [],\n []]\n[0, 1099511627776]\n[]\n[2, 0]\n[[],\n []]\n");
    fclose(out), gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_ends_on_a_tensor_without_values),
        cmocka_unit_test(argmax_ends_on_a_tensor_without_values),
        cmocka_unit_test(lengths_of_channels_without_values_are_not_counted),
        cmocka_unit_test(a_gradient_check_ends_on_a_tensor_without_values),
        cmocka_unit_test(an_empty_parameter_learns_nothing_and_ends),
        cmocka_unit_test(printing_a_tensor_without_values_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
