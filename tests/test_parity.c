/* tests/test_parity.c - the operators and three training steps against PyTorch. The values were recorded in float64 by
 * tests/golden/record_ops.py and record_training.py; inputs are exact in float. */
#include "core/files.h"
#include "tests/test.h"
#include <stdio.h>

static gr_safetensors *golden;
static gr_tape *tape;

/* ---- A case of the file ---- */

typedef struct { gr_tensor *in[4]; size_t ins; gr_ints *ints; const gr_tensor *weight; } inputs;

static const gr_safetensors_entry *find(const char *name, const char *what, size_t i)
{
    char key[256];
    snprintf(key, sizeof key, i == SIZE_MAX ? "%s/%s" : "%s/%s%zu", name, what, i);
    return gr_safetensors_find(golden, key);
}

static gr_tensor *tensor_of(const gr_safetensors_entry *e)
{
    gr_tensor *x = e ? gr_empty(tape, e->shape) : NULL;
    if (x) gr_safetensors_reals(e, x->data);
    return x;
}

static gr_ints *ints_of(const gr_safetensors_entry *e)
{
    gr_ints *x = e ? gr_ints_new(tape, NULL, e->shape) : NULL;
    int64_t *wide = e ? gr_save(tape, (e->len + 1) * sizeof *wide) : NULL;
    if (!wide) return NULL;
    gr_safetensors_integers(e, wide);
    for (size_t i = 0; i < e->len; i++) x->data[i] = (int)wide[i];
    return x;
}

/* ---- The functions that the cases call ---- */

#define CASE(name) static gr_tensor *case_##name(gr_tape *t, const inputs *c)
#define A c->in[0]
#define B c->in[1]
#define C c->in[2]

#define UNARY(name, ...) CASE(name) { return gr_##name(t, A); }
#define UNARY_NEAR UNARY
#define UNARY_1(name, p, y, dx, value, ...) CASE(name) { return gr_##name(t, A, value); }
#define UNARY_2(name, p, q, y, dx, value, other, ...) CASE(name) { return gr_##name(t, A, value, other); }
#include "ops/unary.def"
#define BINARY(name, ...) \
    CASE(name) { return gr_##name(t, A, B); } \
    CASE(name##_broadcast) { return gr_##name(t, A, B); }
#define COMPARE(name, ...)
#include "ops/binary.def"

CASE(pow_scalar) { return gr_pow(t, A, gr_scalar(t, 2.5)); }
CASE(prelu) { return gr_prelu(t, A, B); }
CASE(prelu_channels) { return gr_prelu(t, A, B); }
CASE(where) { return gr_where(t, gr_gt(t, A, B), gr_scale(t, A, 2), B); }

static gr_tensor *norm_2(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim) { return gr_vector_norm(t, x, 2, axes, keepdim); }
static gr_tensor *var_1(gr_tape *t, gr_tensor *x, gr_axes axes, bool keepdim) { return gr_var(t, x, axes, 1, keepdim); }
#define REDUCTIONS(X) X(sum, gr_sum) X(mean, gr_mean) X(var, var_1) X(max, gr_max) X(min, gr_min) X(logsumexp, gr_logsumexp) X(vector_norm, norm_2)
#define OVER(X, name, f) \
    X(name##_all, f, GR_ALL_AXES, false) X(name##_last, f, GR_AXES(2), false) X(name##_first, f, GR_AXES(0), false) \
    X(name##_middle, f, GR_AXES(-2), false) X(name##_outer, f, GR_AXES(2, 0), false) X(name##_all_keep, f, GR_AXES(0, 1, 2), true) \
    X(name##_last_keep, f, GR_AXES(-1), true) X(name##_first_keep, f, GR_AXES(-3), true) X(name##_middle_keep, f, GR_AXES(1), true) \
    X(name##_outer_keep, f, GR_AXES(0, -1), true)
#define REDUCE(name, f, axes, keepdim) CASE(name) { return f(t, c->in[0], axes, keepdim); }
#define REDUCTION(name, f) OVER(REDUCE, name, f)
REDUCTIONS(REDUCTION)
CASE(prod_last) { return gr_prod(t, A, GR_AXES(2), false); }
static gr_tensor *reals_of(gr_tape *t, const gr_ints *k)
{
    gr_tensor *y = k ? gr_empty(t, (gr_shape){ k->rank, { k->dim[0], k->dim[1] } }) : NULL;
    for (size_t i = 0; y && i < y->len; i++) y->data[i] = (gr_real)k->data[i];
    return y;
}
CASE(argmax_last) { return reals_of(t, gr_argmax(t, A, 2, false)); }
CASE(argmin_last) { return reals_of(t, gr_argmin(t, A, 2, false)); }
CASE(std_last) { return gr_std(t, A, GR_AXES(2), 1, false); }
CASE(std_outer_keep) { return gr_std(t, A, GR_AXES(0, 2), 0, true); }

CASE(masked_fill) { return gr_masked_fill(t, A, gr_gt(t, B, gr_scalar(t, 0.3)), -1.5); }
CASE(pad) { return gr_pad(t, A, (int[]){ 1, 2, 0, 3 }, 4, 0.5); }
CASE(pad_crop) { return gr_pad(t, A, (int[]){ -1, 2, 3, -2, -1, 0 }, 6, 0); }
CASE(tril) { return gr_tril(t, A, 1); }
CASE(triu) { return gr_triu(t, A, -1); }
CASE(cumsum_last) { return gr_cumsum(t, A, 2); }
CASE(cumsum_first) { return gr_cumsum(t, A, 0); }
CASE(index_select) { return gr_index_select(t, A, 1, c->ints); }
CASE(scatter_add) { return gr_scatter_add(t, A, 1, c->ints, B); }
CASE(slice_step) { return gr_slice_step(t, A, 1, -6, -1, 2); }
CASE(sort) { return gr_sort(t, A, 1, false).values; }
CASE(sort_descending) { return gr_sort(t, A, 0, true).values; }
static gr_tensor *rounded_with_nan(gr_tape *t, const gr_tensor *x)
{
    gr_tensor *y = gr_input(t, x->data, gr_shape_of(x));
    for (size_t i = 0; i < x->len; i++) y->data[i] = fabs((double)x->data[i]) < 0.5 ? (gr_real)NAN : (gr_real)rint((double)x->data[i]);
    return y;
}
CASE(argsort_nan) { return reals_of(t, gr_argsort(t, rounded_with_nan(t, A), 1, false)); }
CASE(argsort_nan_descending) { return reals_of(t, gr_argsort(t, rounded_with_nan(t, A), 1, true)); }
CASE(topk) { return gr_topk(t, A, 1, 3, true).values; }
CASE(topk_smallest) { return gr_topk(t, A, 0, 2, false).values; }

CASE(permute) { return gr_permute(t, A, GR_AXES(2, 0, 1)); }
CASE(transpose) { return gr_transpose(t, A, 0, 2); }
CASE(narrow) { return gr_narrow(t, A, 1, 1, 2); }
CASE(select) { return gr_select(t, A, 1, -1); }
CASE(cat) { return gr_cat(t, c->in, 2, 1); }
CASE(stack) { return gr_stack(t, c->in, 2, 1); }
CASE(expand) { return gr_expand(t, A, GR_SHAPE(4, 2, 3)); }
CASE(flip) { return gr_flip(t, A, GR_AXES(0, 2)); }
CASE(matmul) { return gr_matmul(t, A, B); }
CASE(matmul_batched) { return gr_matmul(t, A, B); }
CASE(linear) { return gr_linear(t, A, B, C); }

CASE(softmax) { return gr_softmax(t, A, -1); }
CASE(softmax_axis1) { return gr_softmax(t, A, 1); }
CASE(log_softmax) { return gr_log_softmax(t, A, -1); }
CASE(cross_entropy) { return gr_cross_entropy(t, A, c->ints, NULL); }
CASE(cross_entropy_smooth) { return gr_cross_entropy(t, A, c->ints, &(gr_cross_entropy_config){ .label_smoothing = 0.1 }); }
CASE(cross_entropy_weight)
{
    return gr_cross_entropy(t, A, c->ints, &(gr_cross_entropy_config){ .weight = c->weight, .label_smoothing = 0.2 });
}
CASE(cross_entropy_sum) { return gr_cross_entropy(t, A, c->ints, &(gr_cross_entropy_config){ .reduction = GR_REDUCE_SUM }); }
CASE(cross_entropy_none) { return gr_cross_entropy(t, A, c->ints, &(gr_cross_entropy_config){ .reduction = GR_REDUCE_NONE }); }
CASE(nll) { return gr_nll(t, gr_log_softmax(t, A, 1), c->ints, NULL); }
CASE(mse) { return gr_mse(t, A, B, GR_REDUCE_MEAN); }
CASE(l1) { return gr_l1(t, A, B, GR_REDUCE_MEAN); }
CASE(huber) { return gr_huber(t, A, B, 0.7, GR_REDUCE_MEAN); }
CASE(bce_with_logits) { return gr_bce_with_logits(t, A, gr_detach(t, B), NULL, GR_REDUCE_MEAN); }
CASE(embedding) { return gr_embedding(t, A, c->ints, GR_NONE); }
CASE(gather) { return gr_gather(t, A, 1, c->ints); }
CASE(layer_norm) { return gr_layer_norm(t, A, 1, B, C, 1e-5); }
CASE(layer_norm_2d) { return gr_layer_norm(t, A, 2, B, C, 1e-5); }
CASE(layer_norm_plain) { return gr_layer_norm(t, A, 1, NULL, NULL, 1e-5); }

typedef gr_tensor *case_function(gr_tape *t, const inputs *c);
static const struct { const char *name; case_function *f; bool is_line; } cases[] = { /* is_line: it is a line of a .def file, so its record may be missing */
#define ROW(name) { #name, case_##name, false },
#define LINE(name) { #name, case_##name, true },
#define UNARY(name, ...) LINE(name)
#define UNARY_NEAR UNARY
#define UNARY_1 UNARY
#define UNARY_2 UNARY
#include "ops/unary.def"
#define BINARY(name, ...) LINE(name) LINE(name##_broadcast)
#define COMPARE(name, ...)
#include "ops/binary.def"
#define REDUCE_ROW(name, ...) ROW(name)
#define REDUCTION_ROWS(name, f) OVER(REDUCE_ROW, name, f)
    REDUCTIONS(REDUCTION_ROWS) ROW(prod_last) ROW(argmax_last)
    ROW(pow_scalar) ROW(prelu) ROW(prelu_channels) ROW(where) ROW(permute) ROW(transpose) ROW(narrow) ROW(select) ROW(cat) ROW(stack) ROW(expand) ROW(flip)
    ROW(matmul) ROW(matmul_batched) ROW(linear) ROW(softmax) ROW(softmax_axis1) ROW(log_softmax) ROW(cross_entropy)
    ROW(cross_entropy_smooth) ROW(cross_entropy_weight) ROW(cross_entropy_sum) ROW(cross_entropy_none) ROW(nll) ROW(mse) ROW(l1) ROW(huber)
    ROW(argmin_last) ROW(std_last) ROW(std_outer_keep) ROW(masked_fill) ROW(pad) ROW(pad_crop) ROW(tril) ROW(triu) ROW(cumsum_last)
    ROW(cumsum_first) ROW(index_select) ROW(scatter_add) ROW(slice_step) ROW(sort) ROW(sort_descending) ROW(argsort_nan)
    ROW(argsort_nan_descending) ROW(topk) ROW(topk_smallest)
    ROW(bce_with_logits) ROW(embedding) ROW(gather) ROW(layer_norm) ROW(layer_norm_2d) ROW(layer_norm_plain)
};

static void compare_case(const char *name, case_function *f, double tolerance)
{
    gr_tape_reset(tape);
    inputs c = { .ints = ints_of(find(name, "int", 0)), .weight = tensor_of(find(name, "weight", SIZE_MAX)) };
    for (gr_tensor *x; c.ins < COUNT(c.in) && (x = tensor_of(find(name, "in", c.ins))); c.ins++)
        c.in[c.ins] = find(name, "d", c.ins) ? gr_want_grad(tape, x) : x;
    if (!c.ins) fail_msg("%s is not in the file", name);
    gr_tensor *y = f(tape, &c), *want = tensor_of(find(name, "y", SIZE_MAX)), *dy = tensor_of(find(name, "dy", SIZE_MAX));
    assert_ok(tape);
    assert_tensors_close(y, want, tolerance);
    if (!dy) return;
    assert_true(gr_backward_from(tape, y, dy->data));
    for (size_t i = 0; i < c.ins; i++) {
        const gr_tensor *d = tensor_of(find(name, "d", i));
        if (d) assert_close(gr_grad(tape, c.in[i]), d->data, d->len, tolerance);
    }
}

TEST(every_operator_agrees)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("%s\n", cases[i].name);
        if (cases[i].is_line && !find(cases[i].name, "y", SIZE_MAX)) test_lacks("record", cases[i].name);
        else compare_case(cases[i].name, cases[i].f, sizeof(gr_real) == 8 ? 1e-12 : 1e-5);
    }
}

/* ---- Three training steps: forward, cross-entropy, backward, clip by global norm, Adam ---- */

static gr_tensor *last_of_layer_norm(gr_tape *t, const gr_lstm *lstm, gr_tensor *x)
{
    return gr_select(t, gr_lstm_forward(t, lstm, x, NULL).h, 0, -1);
}
static gr_tensor *last_of_plain(gr_tape *t, const gr_lstm *lstm, gr_tensor *x)
{
    return gr_select(t, gr_lstm_forward(t, lstm, x, NULL).y, 1, -1);
}

static void compare_parameters(const char *name, const char *when, const gr_module *net, bool fill, double tolerance)
{
    for (const gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s)) {
        char key[128];
        snprintf(key, sizeof key, "%s/%s", when, s->path);
        const gr_tensor *want = tensor_of(find(name, key, SIZE_MAX));
        if (!want) fail_msg("the file lacks %s/%s", name, key);
        assert_true(gr_same_shape(s->tensor, want));
        if (fill) memcpy(s->tensor->data, want->data, want->len * sizeof *want->data);
        else assert_tensors_close(s->tensor, want, tolerance);
    }
}

static void train(const char *name, const gr_lstm_config *config, gr_tensor *(*last)(gr_tape *, const gr_lstm *, gr_tensor *))
{
    const double tolerance = sizeof(gr_real) == 8 ? 1e-12 : 2e-5; /* Adam turns a small error of a small gradient into a large one of a step */
    gr_module *net = gr_module_new(tape);
    const gr_safetensors_entry *fc_weight = find(name, "start/fc.weight", SIZE_MAX), *x_entry = find(name, "x", SIZE_MAX);
    assert_true(fc_weight && x_entry);
    gr_lstm *lstm = gr_lstm_new(tape, net, "lstm", x_entry->shape.dim[3], 9, config);
    gr_linear_module *fc = gr_linear_new(tape, net, "fc", fc_weight->shape.dim[1], fc_weight->shape.dim[0], NULL);
    gr_optim *adam = gr_adam_new(tape, net, &(gr_adam_config){ .lr = 0.02 });
    assert_ok(tape);
    compare_parameters(name, "start", net, true, 0);
    for (size_t step = 0; step < x_entry->shape.dim[0]; step++) {
        gr_tape_reset(tape);
        gr_tensor *all = tensor_of(x_entry), *losses = tensor_of(find(name, "loss", SIZE_MAX)), *norms = tensor_of(find(name, "norm", SIZE_MAX));
        gr_tensor *x = gr_reshape(tape, gr_slice(tape, all, step, 1), GR_SHAPE(all->dim[1], all->dim[2], all->dim[3]));
        const gr_ints *labels = ints_of(find(name, "labels", SIZE_MAX));
        gr_tensor *z = gr_linear_forward(tape, fc, last(tape, lstm, x));
        gr_tensor *loss = gr_cross_entropy(tape, z, gr_ints_new(tape, labels->data + step * all->dim[1], GR_SHAPE(all->dim[1])), NULL);
        gr_optim_zero_grad(adam);
        gr_backward(tape, loss);
        const gr_real norm = (gr_real)gr_clip_grad_norm(tape, adam, 0.5);
        gr_optim_step(tape, adam);
        assert_ok(tape);
        assert_close(loss->data, losses->data + step, 1, tolerance);
        assert_close(&norm, norms->data + step, 1, tolerance);
    }
    compare_parameters(name, "end", net, false, tolerance);
    gr_optim_free(adam), gr_module_free(net);
}

TEST(three_steps_of_the_layer_norm_lstm_agree)
{
    train("layer_norm", &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016, .batch_first = true }, last_of_layer_norm);
}

TEST(three_steps_of_a_plain_lstm_agree)
{
    train("plain", &(gr_lstm_config){ .layers = 2, .bidirectional = true, .batch_first = true }, last_of_plain);
}

static int open_file(const char *path)
{
    tape = gr_tape_new(1, NULL);
    golden = gr_safetensors_open(tape, path);
    if (!golden) print_error("%s\n", gr_message(tape));
    return !golden;
}
FIXTURE(open_ops) { return open_file("tests/golden/ops.safetensors"); }
FIXTURE(open_training) { return open_file("tests/golden/training.safetensors"); }
FIXTURE(close_file)
{
    gr_safetensors_free(golden);
    gr_tape_free(tape);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_operator_agrees, open_ops, close_file),
        cmocka_unit_test_setup_teardown(three_steps_of_the_layer_norm_lstm_agree, open_training, close_file),
        cmocka_unit_test_setup_teardown(three_steps_of_a_plain_lstm_agree, open_training, close_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
