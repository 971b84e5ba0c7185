/* tests/bench/operators.c - the operators: the leaves of each kind, and its call. peers/torch_operators.py has the same names. */
#include "tests/bench/bench.h"

typedef gr_tensor *const leaves;
#define OP(name, call) \
    static gr_tensor *name##_op(bench_work *w, leaves *x) { return (void)x, call; }

static bool leaf(bench_work *w, gr_shape shape) { return bench_values(w, "x", shape) >= 0; }
static gr_ints *ints(bench_work *w, int i) { return gr_ints_new(w->t, w->in[i].data, w->in[i].shape); }

/* ---- rows columns ---- */

static bool one(bench_work *w) { return leaf(w, GR_SHAPE(w->size[0], w->size[1])); }
static bool two(bench_work *w) { return one(w) && one(w); }
static bool with_row(bench_work *w) { return one(w) && leaf(w, GR_SHAPE(w->size[1])); }
static bool with_column(bench_work *w) { return one(w) && leaf(w, GR_SHAPE(w->size[0], 1)); }
static bool outer(bench_work *w) { return leaf(w, GR_SHAPE(w->size[0], 1)) && leaf(w, GR_SHAPE(w->size[1])); }
static bool with_rows(bench_work *w) { return with_row(w) && leaf(w, GR_SHAPE(w->size[1])); }
static bool with_labels(bench_work *w) { return one(w) && bench_ints(w, "labels", GR_SHAPE(w->size[0]), w->size[1]) >= 0; }

#define UNARY_KIND(name) OP(name, gr_##name(w->t, x[0]))
UNARY_KIND(gelu)
UNARY_KIND(gelu_tanh)
UNARY_KIND(silu)
UNARY_KIND(sigmoid)
UNARY_KIND(tanh)
UNARY_KIND(exp)
UNARY_KIND(relu)
UNARY_KIND(square)
UNARY_KIND(erf)
UNARY_KIND(sin)
UNARY_KIND(softplus)
UNARY_KIND(mish)
OP(add, gr_add(w->t, x[0], x[1]))
OP(mul, gr_mul(w->t, x[0], x[1]))
OP(div, gr_div(w->t, x[0], x[1]))
OP(mse, gr_mse(w->t, x[0], x[1], GR_REDUCE_MEAN))
OP(softmax, gr_softmax(w->t, x[0], -1))
OP(log_softmax, gr_log_softmax(w->t, x[0], -1))
OP(cross_entropy, gr_cross_entropy(w->t, x[0], ints(w, 1), NULL))
OP(sum_all, gr_sum(w->t, x[0], GR_ALL_AXES, false))
OP(sum_0, gr_sum(w->t, x[0], GR_AXES(0), false))
OP(sum_1, gr_sum(w->t, x[0], GR_AXES(1), false))
OP(max_0, gr_max(w->t, x[0], GR_AXES(0), false))
OP(max_1, gr_max(w->t, x[0], GR_AXES(1), false))
OP(var_0, gr_var(w->t, x[0], GR_AXES(0), 1, false))
OP(transpose, gr_transpose(w->t, x[0], 0, 1))
OP(cat_1, gr_cat(w->t, x, 2, 1))
OP(narrow, gr_narrow(w->t, x[0], 1, (ptrdiff_t)(w->size[1] / 4), w->size[1] / 2))
OP(dropout, gr_dropout(w->t, x[0], 0.1, "mask"))
OP(layer_norm, gr_layer_norm(w->t, x[0], 1, x[1], x[2], 1e-5))
OP(rms_norm, gr_rms_norm(w->t, x[0], 1, x[1], 1e-5))

/* ---- Others ---- */

static bool lookup(bench_work *w) /* rows columns ids */
{
    return one(w) && bench_ints(w, "ids", GR_SHAPE(w->size[2]), w->size[0]) >= 0;
}
OP(embedding, gr_embedding(w->t, x[0], ints(w, 1), GR_NONE))

static bool product(bench_work *w) /* M K N */
{
    const size_t M = w->size[0], K = w->size[1], N = w->size[2];
    w->flop = 2 * (double)M * (double)K * (double)N;
    return leaf(w, GR_SHAPE(M, K)) && leaf(w, GR_SHAPE(K, N));
}
static bool layer(bench_work *w) /* M K N: x [M, K], weight [N, K] */
{
    const size_t M = w->size[0], K = w->size[1], N = w->size[2];
    w->flop = 2 * (double)M * (double)K * (double)N;
    return leaf(w, GR_SHAPE(M, K)) && leaf(w, GR_SHAPE(N, K)) && leaf(w, GR_SHAPE(N));
}
OP(matmul, gr_matmul(w->t, x[0], x[1]))
OP(linear, gr_linear(w->t, x[0], x[1], x[2]))

static bool attends(bench_work *w) /* batch heads time size */
{
    const size_t *s = w->size;
    w->flop = 2 * (double)(s[0] * s[1] * s[3]) * (double)(s[2] * (s[2] + 1)); /* both products, half of each */
    const gr_shape shape = GR_SHAPE(s[0], s[2], s[1] * s[3]);
    return leaf(w, shape) && leaf(w, shape) && leaf(w, shape);
}
OP(attention, gr_attention(w->t, x[0], x[1], x[2], &(gr_attention_config){ .heads = w->size[1], .causal = true }))

static bool convolution(bench_work *w) /* batch in side out kernel padding stride groups */
{
    const size_t *s = w->size, side = (s[2] + 2 * s[5] - s[4]) / s[6] + 1;
    w->flop = 2 * (double)(s[0] * s[3] * side * side) * (double)(s[1] / s[7] * s[4] * s[4]);
    return leaf(w, GR_SHAPE(s[0], s[1], s[2], s[2])) && leaf(w, GR_SHAPE(s[3], s[1] / s[7], s[4], s[4])) && leaf(w, GR_SHAPE(s[3]));
}
OP(conv2d, gr_conv2d(w->t, x[0], x[1], x[2], &(gr_conv_config){ .padding = (int)w->size[5], .stride = (int)w->size[6], .groups = (int)w->size[7] }))

static bool images(bench_work *w) /* batch channels side */
{
    return leaf(w, GR_SHAPE(w->size[0], w->size[1], w->size[2], w->size[2]));
}
static bool images_and_rows(bench_work *w) { return images(w) && leaf(w, GR_SHAPE(w->size[1])) && leaf(w, GR_SHAPE(w->size[1])); }
OP(max_pool2d, gr_max_pool2d(w->t, x[0], &(gr_pool_config){ .kernel = 2 }))
OP(avg_pool2d, gr_avg_pool2d(w->t, x[0], &(gr_pool_config){ .kernel = 2 }))
OP(batch_norm, gr_batch_norm(w->t, x[0], 1, x[1], x[2], NULL))
OP(instance_norm, gr_instance_norm(w->t, x[0], 1, x[1], x[2], 1e-5))
OP(group_norm, gr_group_norm(w->t, x[0], 8, x[1], x[2], 1e-5))
OP(to_nhwc, gr_permute(w->t, x[0], GR_AXES(0, 2, 3, 1)))

#define MATRIX "rows columns"
#define IMAGES "batch channels side"
#define ROW(name, sizes, make) { #name, sizes, make, name##_op, false }
#define LINEAR(name, sizes, make) { #name, sizes, make, name##_op, true }
#define PICK(name, sizes, make) { #name, sizes, make, name##_op, true, true }
#define NAMED(name, op, make) { #name, MATRIX, make, op##_op, true }
const bench_kind bench_operators[] = {
    ROW(gelu, MATRIX, one), ROW(gelu_tanh, MATRIX, one), ROW(silu, MATRIX, one), ROW(sigmoid, MATRIX, one), ROW(tanh, MATRIX, one),
    ROW(exp, MATRIX, one), ROW(relu, MATRIX, one), ROW(square, MATRIX, one), ROW(erf, MATRIX, one), ROW(sin, MATRIX, one),
    ROW(softplus, MATRIX, one), ROW(mish, MATRIX, one), ROW(dropout, MATRIX, one), LINEAR(add, MATRIX, two),
    NAMED(add_row, add, with_row), NAMED(add_column, add, with_column), NAMED(add_outer, add, outer), ROW(mul, MATRIX, two),
    { "mul_row", MATRIX, with_row, mul_op, false }, { "mul_column", MATRIX, with_column, mul_op, false }, ROW(div, MATRIX, two),
    ROW(mse, MATRIX, two), ROW(softmax, MATRIX, one), ROW(log_softmax, MATRIX, one), ROW(cross_entropy, MATRIX, with_labels),
    LINEAR(sum_all, MATRIX, one), LINEAR(sum_0, MATRIX, one), LINEAR(sum_1, MATRIX, one), ROW(max_0, MATRIX, one), ROW(max_1, MATRIX, one),
    ROW(var_0, MATRIX, one), LINEAR(transpose, MATRIX, one), LINEAR(cat_1, MATRIX, two), PICK(narrow, MATRIX, one),
    ROW(layer_norm, MATRIX, with_rows), ROW(rms_norm, MATRIX, with_row), PICK(embedding, "rows columns ids", lookup),
    ROW(matmul, "M K N", product), ROW(linear, "M K N", layer), ROW(attention, "batch heads time size", attends),
    ROW(conv2d, "batch in side out kernel padding? stride groups", convolution), ROW(max_pool2d, IMAGES, images),
    LINEAR(avg_pool2d, IMAGES, images), ROW(batch_norm, IMAGES, images_and_rows), ROW(group_norm, IMAGES, images_and_rows),
    ROW(instance_norm, IMAGES, images_and_rows),
    LINEAR(to_nhwc, IMAGES, images), { NULL },
};
