/* tests/test_misuse.c - NULL, 0 and nonsense as arguments: an error that says what is needed, or no output. */
#include "core/library.h"
#include "tests/test.h"
#include <stdio.h>

TEST(a_layer_of_size_0_is_refused)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    assert_fails(t, gr_linear_new(t, net, "fc", 0, 2, NULL), "fc: in must be 1 or more; got 0");
    assert_fails(t, gr_linear_new(t, net, "fc", 2, 0, NULL), "fc: out must be 1 or more; got 0");
    assert_fails(t, gr_conv1d_new(t, net, "c", 0, 2, 1, NULL), "c: in must be 1 or more; got 0");
    assert_fails(t, gr_conv2d_new(t, net, "c", 2, 0, 1, NULL), "c: out must be 1 or more; got 0");
    assert_fails(t, gr_embedding_new(t, net, "e", 0, 2, NULL), "e: count must be 1 or more; got 0");
    assert_fails(t, gr_embedding_new(t, net, "e", 2, 0, NULL), "e: size must be 1 or more; got 0");
    assert_fails(t, gr_positions_new(t, net, "p", 0, 2), "p: count must be 1 or more; got 0");
    assert_fails(t, gr_positions_new(t, net, "p", 2, 0), "p: size must be 1 or more; got 0");
    assert_fails(t, gr_lstm_new(t, net, "l", 0, 2, NULL), "l: input must be 1 or more; got 0");
    assert_fails(t, gr_gru_new(t, net, "g", 0, 2, NULL), "g: input must be 1 or more; got 0");
    assert_fails(t, gr_rnn_new(t, net, "r", 2, 0, NULL), "r: hidden must be 1 or more; got 0");
    assert_fails(t, gr_multihead_attention_new(t, net, "m", 0, 1, NULL), "m: size must be 1 or more; got 0");
    assert_fails(t, gr_transformer_layer_new(t, net, "t", 0, 1, NULL), "t.self_attn: size must be 1 or more; got 0");
    assert_fails(t, gr_layer_norm_new(t, net, "n", GR_SHAPE(3, 0), NULL), "n: the sizes of a LayerNorm must be 1 or more; got [3, 0]");
    assert_fails(t, gr_rms_norm_new(t, net, "n", GR_SHAPE(0), NULL), "n: the sizes of an RMSNorm must be 1 or more; got [0]");
    assert_fails(t, gr_norm_new(t, net, "n", GR_NORM_LAYER, 0, NULL), "n: the sizes of a LayerNorm must be 1 or more; got [0]");
    assert_fails(t, gr_layer_norm_new(t, net, "n", (gr_shape){ 9, { 1, 1, 1, 1, 1, 1, 1, 1 } }, &(gr_norm_config){ .no_affine = true }),
                 "n: a LayerNorm has 1 to 8 axes; got rank 9");
    assert_fails(t, gr_rms_norm_new(t, net, "n", (gr_shape){ 9, { 1, 1, 1, 1, 1, 1, 1, 1 } }, &(gr_norm_config){ .no_affine = true }),
                 "n: an RMSNorm has 1 to 8 axes; got rank 9");
    assert_fails(t, gr_layer_norm_new(t, net, "n", GR_SHAPE(2), &(gr_norm_config){ .eps = (double)NAN }), "n: eps must be 0 or more, or GR_NONE; got nan");
    assert_null(net->child);
    gr_module_free(net), gr_tape_free(t);
}

/* ---- NULL ---- */

static void segment(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    (void)argument;
    out[0] = gr_tanh(t, in[0]);
}

static gr_tensor *product(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    return gr_mul(t, in[0], in[0]);
}

TEST(a_list_that_is_null_is_refused)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *out[2];
#define X gr_ones(t, GR_SHAPE(2, 2))
    assert_fails(t, gr_cat(t, NULL, 2, 0), "cat: the list of inputs is NULL");
    assert_fails(t, gr_stack(t, NULL, 2, 0), "stack: the list of inputs is NULL");
    assert_fails(t, gr_split(t, X, 0, NULL, 2, out), "split: the list of sizes is NULL");
    assert_true(!out[0] && !out[1]);
    assert_fails(t, gr_split(t, X, 0, (size_t[]){ 1, 1 }, 2, NULL), "split: the list for the results is NULL");
    assert_true(gr_split(t, gr_ones(t, GR_SHAPE(0, 2)), 0, NULL, 0, NULL)); /* an empty list may be NULL */
    assert_fails(t, gr_recompute(t, NULL, NULL, 0, (gr_tensor *[]){ X }, 1, out, 1), "recompute: the function is NULL");
    assert_fails(t, gr_recompute(t, segment, NULL, 0, NULL, 1, out, 1), "recompute: the list of inputs is NULL");
    assert_fails(t, gr_recompute(t, segment, NULL, 8, (gr_tensor *[]){ X }, 1, out, 1), "recompute: the argument is NULL, and 8 bytes of it are to be copied");
    assert_fails(t, gr_recompute(t, segment, NULL, 0, (gr_tensor *[]){ X }, 1, NULL, 1), "recompute: the function must have an output");
    assert_fails(t, gr_activation_new(t, net, "a", NULL, gr_relu), "'a': the kind is NULL");
    assert_fails(t, gr_module_make(t, net, "a", NULL, sizeof(gr_module)), "'a': the kind is NULL");
    char text[80];
    snprintf(text, sizeof text, "'a' (A): a module begins with a gr_module of %zu bytes; got 1", sizeof(gr_module));
    assert_fails(t, gr_module_make(t, net, "a", "A", 1), text);
    static const gr_op op = { .name = "own" };
    assert_fails(t, gr_ready_list(t, &op, NULL, 1), "own: the list of inputs is NULL");
    assert_fails(t, gr_record(t, NULL, NULL, 0, GR_OUT(NULL), GR_IN(NULL)), "record: gr_record needs an operator and an output, and no list may be NULL");
    assert_fails(t, gr_record(t, &op, NULL, 0, GR_OUT(NULL), NULL, 1), "own: gr_record needs an operator and an output, and no list may be NULL");
    assert_fails(t, gr_undo_note(t, NULL, 4), "undo_note: p is NULL");
    assert_fails(t, gr_axis(t, &op, NULL, 0) == 0, "own: x is NULL");
    assert_fails(t, gr_fail_as(t, GR_MISUSE, NULL, "so"), "so");
    assert_true(!gr_will_record(t, NULL, 2) && !gr_isa(NULL));
    assert_true(!gr_slot_next(net, NULL) && !gr_slot_next(NULL, NULL) && !gr_module_next(NULL, NULL) && !gr_module_next(net, NULL));
    gr_module *other = gr_module_new(t);
    assert_null(gr_module_next(other, net));
    assert_true(gr_undo_note(t, NULL, 0));
    gr_tape_recover(t);
    assert_null(net->child);
    gr_module_free(net), gr_module_free(other), gr_tape_free(t);
}

TEST(functions_without_a_tape_take_null)
{
    gr_stream named = gr_stream_new(1, NULL), empty = gr_stream_new(1, "");
    assert_true(named.key == empty.key);
    assert_true(gr_stream_bits(NULL) == 0 && gr_stream_uniform(NULL, 1, 2) == 1 && gr_stream_below(NULL, 9) == 0 && gr_stream_normal(NULL, 3, 0) == 3);
    gr_stream_permutation(&named, NULL, 9);
    assert_true(gr_size_add(1, 2, NULL) && gr_size_mul(1, 2, NULL) && !gr_size_mul(SIZE_MAX, 2, NULL));
    gr__pool_run(NULL, 3, NULL, NULL);
    gr_parallel(NULL, 3, 0, NULL, NULL);
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    assert_false(gr_gradcheck(NULL, NULL, NULL, NULL, 0, NULL, f));
    assert_false(gr_gradcheck("g", product, NULL, NULL, 1, NULL, f));
    fclose(f);
    assert_string_equal(text, "gradcheck: the function is NULL\ng: the list of inputs is NULL\n");
    free(text);
}

/* ---- Printing without a file prints nothing ---- */

TEST(nothing_is_printed_without_a_file)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_linear_module *fc = gr_linear_new(t, net, "fc", 2, 2, NULL);
    gr_batch_norm_new(t, net, "bn", 2, NULL);
    gr_optim *o = gr_adam_new(t, net, NULL);
    gr_tensor *y = gr_linear_forward(t, fc, X);
    gr_print(y, NULL), gr_print(NULL, NULL);
    gr_print_graph(t, NULL), gr_print_graph(NULL, NULL), gr_print_graph_values(t, NULL), gr_print_dot(t, NULL), gr_print_dot(NULL, NULL);
    gr_print_summary(net, NULL), gr_print_summary(NULL, NULL), gr_print_init(net, NULL), gr_print_init(NULL, NULL);
    gr_print_optim(o, NULL), gr_print_optim(NULL, NULL);
    assert_int_equal(gr_print_audit(t, net, o, NULL), 4); /* there was no backward */
    assert_int_equal(gr_print_audit(t, NULL, o, NULL), 0);
    assert_int_equal(gr_print_audit(NULL, NULL, NULL, NULL), 0);
    assert_int_equal(gr_print_batch_norms(t, net, NULL), 1);
    assert_int_equal(gr_print_batch_norms(t, NULL, NULL), 0);
    assert_true(gr_print_norm(t, net->child->next, GR_SHAPE(4, 2), NULL));
    assert_ok(t);
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    gr_print_graph(NULL, f), gr_print_dot(NULL, f), gr_print_init(NULL, f);
    fclose(f);
    assert_string_equal(text, "");
    free(text);
    gr_optim_free(o), gr_module_free(net), gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_of_size_0_is_refused),
        cmocka_unit_test(a_list_that_is_null_is_refused),
        cmocka_unit_test(functions_without_a_tape_take_null),
        cmocka_unit_test(nothing_is_printed_without_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
