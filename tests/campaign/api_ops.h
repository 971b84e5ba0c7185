/* tests/campaign/api_ops.h - the operators as api_sequences.c calls them: with tensors that it has, and with random other arguments,
 * most of which fit. A tensor that may be dead is given as a handle, whose shape the campaign has noted, because only its address may be
 * used. */
#ifndef GR_API_OPS_H
#define GR_API_OPS_H
#include "tests/campaign/campaign.h"

typedef struct { gr_tensor *x; gr_shape shape; int tape; uint64_t stamp; } handle;
/* rank: the rank that the operator needs for the first tensor; 0 means any. mate: the kind of the second tensor. */
typedef enum { ANY, ALIKE, ROWS, CLASSES, PLACES, KEYS } api_mate;
typedef struct {
    const char *name;
    size_t tensors;
    int rank;
    api_mate mate;
    gr_tensor *(*call)(gr_tape *t, gr_stream *s, const handle *h);
} api_op;

enum { MOST_VALUES = 1 << 14 };

/* Zero, one and sizes near the widths of vectors; now and then enough for a second thread. */
static size_t draw_size(gr_stream *s)
{
    static const size_t sizes[] = { 0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 130 };
    return sizes[gr_stream_below(s, COUNT(sizes))];
}
static gr_shape draw_shape(gr_stream *s)
{
    gr_shape shape = { .rank = (int)gr_stream_below(s, 5) };
    size_t len = 1;
    for (int i = 0; i < shape.rank; i++) {
        shape.dim[i] = draw_size(s);
        if (len * shape.dim[i] > MOST_VALUES) shape.dim[i] = 1;
        len *= shape.dim[i];
    }
    return shape;
}
/* An axis of h; once in a while any number. */
static int draw_axis(gr_stream *s, const handle *h)
{
    const int rank = h->shape.rank;
    if (!rank || gr_stream_below(s, 32) == 0) return (int)gr_stream_below(s, 5) - 2;
    return (int)gr_stream_below(s, (size_t)rank) - (gr_stream_below(s, 2) ? rank : 0);
}
static gr_axes draw_axes(gr_stream *s, const handle *h)
{
    if (h->shape.rank < 2 || gr_stream_below(s, 3) == 0) return h->shape.rank && gr_stream_below(s, 2) ? GR_AXES(draw_axis(s, h)) : GR_ALL_AXES;
    const int first = (int)gr_stream_below(s, (size_t)h->shape.rank - 1);
    return gr_stream_below(s, 2) ? GR_AXES(first, -1) : GR_AXES(first + 1, first);
}
static bool draw_bool(gr_stream *s) { return gr_stream_below(s, 2); }
static size_t dim_of(const handle *h, int axis) /* as gr_size, but 1 for an axis that does not exist */
{
    const int k = axis < 0 ? axis + h->shape.rank : axis;
    return k >= 0 && k < h->shape.rank ? h->shape.dim[k] : 1;
}
static gr_tensor *normal(gr_tape *t, gr_shape shape) { return gr_randn(t, shape, 0, 1, "operands"); }
static gr_tensor *learned(gr_tape *t, gr_shape shape) { return gr_want_grad(t, normal(t, shape)); }
static gr_ints *draw_ints(gr_tape *t, gr_stream *s, gr_shape shape, size_t below)
{
    gr_ints *const ids = gr_ints_new(t, NULL, shape);
    for (size_t i = 0; ids && i < ids->len; i++) ids->data[i] = (int)gr_stream_below(s, below);
    return ids;
}

#define CALL(name) static gr_tensor *call_##name(gr_tape *t, gr_stream *s, const handle *h)
#define UNARY(name, ...) CALL(name) { return (void)s, gr_##name(t, h[0].x); }
#define UNARY_1(name, a, ...) CALL(name) { return gr_##name(t, h[0].x, gr_stream_uniform(s, 0, 1)); }
#define UNARY_2(name, a, b, ...) CALL(name) { return gr_##name(t, h[0].x, gr_stream_uniform(s, -1, 0), gr_stream_uniform(s, 0, 1)); }
#define UNARY_NEAR UNARY
#include "ops/unary.def"
#define BINARY(name, ...) CALL(name) { return (void)s, gr_##name(t, h[0].x, h[1].x); }
#define COMPARE BINARY
#include "ops/binary.def"

CALL(scalar_add) { return gr_add(t, h[0].x, gr_scalar(t, gr_stream_uniform(s, -1, 1))); }
CALL(row_mul) { return (void)s, gr_mul(t, h[0].x, learned(t, GR_SHAPE(dim_of(h, -1)))); }
CALL(prelu) { return gr_prelu(t, h[0].x, learned(t, GR_SHAPE(draw_bool(s) ? 1 : dim_of(h, 1)))); }
CALL(where) { return (void)s, gr_where(t, h[0].x, h[1].x, h[2].x); }
CALL(sum) { return gr_sum(t, h[0].x, draw_axes(s, h), draw_bool(s)); }
CALL(mean) { return gr_mean(t, h[0].x, draw_axes(s, h), draw_bool(s)); }
CALL(prod) { return gr_prod(t, h[0].x, draw_axes(s, h), draw_bool(s)); }
CALL(var) { return gr_var(t, h[0].x, draw_axes(s, h), (double)gr_stream_below(s, 2), draw_bool(s)); }
CALL(max) { return gr_max(t, h[0].x, draw_axes(s, h), draw_bool(s)); }
CALL(min) { return gr_min(t, h[0].x, draw_axes(s, h), draw_bool(s)); }
CALL(logsumexp) { return gr_logsumexp(t, h[0].x, draw_axes(s, h), draw_bool(s)); }
CALL(vector_norm) { return gr_vector_norm(t, h[0].x, gr_stream_below(s, 3) ? 2 : (double)INFINITY, draw_axes(s, h), draw_bool(s)); }
CALL(argmax)
{
    const gr_ints *const at = gr_argmax(t, h[0].x, draw_axis(s, h), draw_bool(s));
    return at ? gr_full(t, GR_SCALAR, at->len && at->data[0] >= 0) : NULL;
}
CALL(permute) { return (void)s, gr_permute(t, h[0].x, GR_AXES(2, 0, 1)); }
CALL(transpose) { return gr_transpose(t, h[0].x, draw_axis(s, h), draw_axis(s, h)); }
CALL(narrow)
{
    const int axis = draw_axis(s, h);
    const size_t n = dim_of(h, axis), start = gr_stream_below(s, n + 1);
    return gr_narrow(t, h[0].x, axis, start, gr_stream_below(s, n - start + 1));
}
CALL(select) { return gr_select(t, h[0].x, draw_axis(s, h), (ptrdiff_t)gr_stream_below(s, 2) - 1); }
CALL(flip) { return gr_flip(t, h[0].x, draw_axes(s, h)); }
CALL(expand)
{
    gr_shape shape = h[0].shape;
    if (shape.rank < GR_MAX_RANK && draw_bool(s)) {
        memmove(shape.dim + 1, shape.dim, (size_t)shape.rank * sizeof *shape.dim);
        shape.dim[0] = 1 + gr_stream_below(s, 3), shape.rank++;
    }
    return gr_expand(t, h[0].x, shape);
}
CALL(reshape) { return gr_reshape(t, h[0].x, draw_bool(s) ? GR_SHAPE(GR_INFER) : GR_SHAPE(draw_size(s), GR_INFER)); }
CALL(flatten) { return gr_flatten(t, h[0].x, draw_axis(s, h)); }
CALL(slice)
{
    const size_t n = dim_of(h, 0), start = gr_stream_below(s, n + 1);
    return gr_slice(t, h[0].x, start, gr_stream_below(s, n - start + 1));
}
CALL(detach) { return (void)s, gr_detach(t, h[0].x); }
CALL(cat) { return gr_cat(t, (gr_tensor *[]){ h[0].x, h[1].x, h[0].x }, 2 + gr_stream_below(s, 2), draw_axis(s, h)); }
CALL(stack) { return gr_stack(t, (gr_tensor *[]){ h[0].x, h[1].x, h[0].x }, 2 + gr_stream_below(s, 2), draw_axis(s, h)); }
CALL(split)
{
    gr_tensor *out[2] = { NULL };
    const int axis = draw_axis(s, h);
    const size_t n = dim_of(h, axis), first = gr_stream_below(s, n + 1);
    gr_split(t, h[0].x, axis, (size_t[]){ first, n - first }, 2, out);
    return out[1];
}
CALL(matmul) { return (void)s, gr_matmul(t, h[0].x, h[1].x); }
CALL(matmul_t) { return (void)s, gr_matmul_t(t, h[0].x, false, h[1].x, true); }
CALL(matmul_fit) { return gr_matmul(t, h[0].x, learned(t, GR_SHAPE(dim_of(h, -1), draw_size(s)))); }
CALL(linear_op)
{
    const size_t out = 1 + gr_stream_below(s, 20);
    return gr_linear(t, h[0].x, learned(t, GR_SHAPE(out, dim_of(h, -1))), draw_bool(s) ? NULL : learned(t, GR_SHAPE(out)));
}
CALL(softmax) { return gr_softmax(t, h[0].x, draw_axis(s, h)); }
CALL(log_softmax) { return gr_log_softmax(t, h[0].x, draw_axis(s, h)); }
CALL(cross_entropy)
{
    const gr_cross_entropy_config config = { .reduction = (gr_reduction)gr_stream_below(s, 3), .label_smoothing = draw_bool(s) ? 0.1 : 0 };
    return gr_cross_entropy(t, h[0].x, draw_ints(t, s, GR_SHAPE(dim_of(h, 0)), dim_of(h, 1) + (gr_stream_below(s, 8) == 0)), &config);
}
CALL(weighted_nll)
{
    return gr_nll(t, h[0].x, draw_ints(t, s, GR_SHAPE(dim_of(h, 0)), dim_of(h, 1)), &(gr_cross_entropy_config){ .weight = h[1].x });
}
CALL(mse) { return gr_mse(t, h[0].x, h[1].x, (gr_reduction)gr_stream_below(s, 3)); }
CALL(l1) { return gr_l1(t, h[0].x, h[1].x, (gr_reduction)gr_stream_below(s, 3)); }
CALL(huber) { return gr_huber(t, h[0].x, h[0].x, gr_stream_uniform(s, 0.1, 2), (gr_reduction)gr_stream_below(s, 3)); }
CALL(bce) { return gr_bce_with_logits(t, h[0].x, h[0].x, NULL, (gr_reduction)gr_stream_below(s, 3)); }
CALL(embedding) { return gr_embedding(t, h[0].x, draw_ints(t, s, GR_SHAPE(3, 2), dim_of(h, 0)), draw_bool(s) ? GR_NONE : 0); }
CALL(gather) { return gr_gather(t, h[0].x, 0, draw_ints(t, s, h[0].shape, dim_of(h, 0))); }
CALL(masked_fill) { return gr_masked_fill(t, h[0].x, h[1].x, gr_stream_uniform(s, -1, 1)); }
CALL(tril) { return gr_tril(t, h[0].x, (int)gr_stream_below(s, 5) - 2); }
CALL(triu) { return gr_triu(t, h[0].x, (int)gr_stream_below(s, 5) - 2); }
CALL(std) { return gr_std(t, h[0].x, draw_axes(s, h), (double)gr_stream_below(s, 2), draw_bool(s)); }
CALL(cumsum) { return gr_cumsum(t, h[0].x, draw_axis(s, h)); }
CALL(slice_step) { return gr_slice_step(t, h[0].x, draw_axis(s, h), (ptrdiff_t)gr_stream_below(s, 9) - 4, PTRDIFF_MAX, 1 + (ptrdiff_t)gr_stream_below(s, 3)); }
CALL(pad) { return gr_pad(t, h[0].x, (int[]){ (int)gr_stream_below(s, 4) - 1, (int)gr_stream_below(s, 3) - 1, 1, 0 }, 2 + 2 * gr_stream_below(s, 2), 1); }
CALL(index_select)
{
    const int axis = draw_axis(s, h);
    return gr_index_select(t, h[0].x, axis, draw_ints(t, s, GR_SHAPE(1 + gr_stream_below(s, 4)), dim_of(h, axis)));
}
CALL(scatter_add) { return gr_scatter_add(t, h[0].x, 0, draw_ints(t, s, h[1].shape, dim_of(h, 0)), h[1].x); }
CALL(sort) { return gr_sort(t, h[0].x, draw_axis(s, h), draw_bool(s)).values; }
CALL(topk) { return gr_topk(t, h[0].x, draw_axis(s, h), gr_stream_below(s, 4), draw_bool(s)).values; }
CALL(categorical) { return (void)s, gr_one_hot(t, gr_categorical(t, h[0].x, "api/draws"), dim_of(h, -1)); }
CALL(dropout) { return gr_dropout(t, h[0].x, gr_stream_uniform(s, 0, 0.6), "api/mask"); }
CALL(layer_norm)
{
    const size_t n = dim_of(h, -1);
    return gr_layer_norm(t, h[0].x, 1, draw_bool(s) ? NULL : learned(t, GR_SHAPE(n)), draw_bool(s) ? NULL : learned(t, GR_SHAPE(n)), 1e-5);
}
CALL(rms_norm) { return gr_rms_norm(t, h[0].x, 1 + (int)gr_stream_below(s, 2), NULL, 1e-5); }
CALL(batch_norm) { return gr_batch_norm(t, h[0].x, draw_axis(s, h), NULL, NULL, NULL); }
CALL(masked_batch_norm) { return (void)s, gr_batch_norm(t, h[0].x, 1, NULL, NULL, &(gr_batch_norm_config){ .mask = h[1].x }); }
CALL(group_norm) { return gr_group_norm(t, h[0].x, 1 + gr_stream_below(s, 3), NULL, NULL, 1e-5); }
CALL(instance_norm) { return (void)s, gr_instance_norm(t, h[0].x, 1, NULL, NULL, 1e-5); }
CALL(norm_axes) { return gr_norm_axes(t, h[0].x, draw_axes(s, h), GR_AXES(0), NULL, NULL, 1e-5); }
CALL(conv1d)
{
    const gr_conv_config config = { .stride = 1 + (int)gr_stream_below(s, 2), .padding = (int)gr_stream_below(s, 2) };
    return gr_conv1d(t, h[0].x, learned(t, GR_SHAPE(3, dim_of(h, 1) < 40 ? dim_of(h, 1) : 40, 1 + gr_stream_below(s, 3))), NULL, &config);
}
CALL(conv2d)
{
    const size_t k = 1 + gr_stream_below(s, 3);
    return gr_conv2d(t, h[0].x, learned(t, GR_SHAPE(2, dim_of(h, 1) < 40 ? dim_of(h, 1) : 40, k, k)), NULL, &(gr_conv_config){ .padding = (int)gr_stream_below(s, 2) });
}
CALL(conv_transpose)
{
    const size_t k = 1 + gr_stream_below(s, 3);
    const gr_conv_config config = { .stride = 1 + (int)gr_stream_below(s, 2) };
    return gr_conv_transpose2d(t, h[0].x, learned(t, GR_SHAPE(dim_of(h, 1) < 40 ? dim_of(h, 1) : 40, 2, k, k)), learned(t, GR_SHAPE(2)), &config);
}
CALL(interpolate)
{
    return gr_interpolate(t, h[0].x, &(gr_interpolate_config){ .size = 1 + gr_stream_below(s, 6), .mode = (gr_interpolate_mode)gr_stream_below(s, 2) });
}
CALL(dropout2d) { return gr_dropout2d(t, h[0].x, gr_stream_uniform(s, 0, 0.6), "api/mask2d"); }
static gr_pool_config draw_pool(gr_stream *s) { return (gr_pool_config){ .kernel = 1 + (int)gr_stream_below(s, 3), .padding = (int)gr_stream_below(s, 2) }; }
CALL(max_pool) { const gr_pool_config c = draw_pool(s); return h[0].shape.rank == 3 ? gr_max_pool1d(t, h[0].x, &c) : gr_max_pool2d(t, h[0].x, &c); }
CALL(avg_pool) { const gr_pool_config c = draw_pool(s); return h[0].shape.rank == 3 ? gr_avg_pool1d(t, h[0].x, &c) : gr_avg_pool2d(t, h[0].x, &c); }
CALL(adaptive_pool) { return gr_adaptive_avg_pool2d(t, h[0].x, 1 + gr_stream_below(s, 3), 1 + gr_stream_below(s, 3)); }
CALL(attention)
{
    gr_tensor *const q = normal(t, GR_SHAPE(dim_of(h, 0), 3, dim_of(h, -1)));
    return gr_attention(t, q, h[0].x, h[0].x, &(gr_attention_config){ .causal = draw_bool(s), .mask = h[1].x });
}
CALL(add_positions) { return (void)s, gr_add_positions(t, h[0].x); }
CALL(want_grad) { return (void)s, gr_want_grad(t, h[0].x); }

/* A second tensor that fits h. */
static gr_shape mate_of(const handle *h, api_mate mate)
{
    switch (mate) {
    case ROWS: return GR_SHAPE(dim_of(h, -1), 3);
    case CLASSES: return GR_SHAPE(dim_of(h, 1));
    case PLACES: return GR_SHAPE(dim_of(h, 0), dim_of(h, 2));
    case KEYS: return GR_SHAPE(dim_of(h, 0), dim_of(h, 1));
    default: return h->shape;
    }
}

static const api_op api_ops[] = {
#define UNARY(name, ...) { #name, 1, 0, ANY, call_##name },
#define UNARY_1 UNARY
#define UNARY_2 UNARY
#define UNARY_NEAR UNARY
#include "ops/unary.def"
#define BINARY(name, ...) { #name, 2, 0, ALIKE, call_##name },
#define COMPARE BINARY
#include "ops/binary.def"
#define OP(name, tensors, rank, mate) { #name, tensors, rank, mate, call_##name }
#define ONE(name) OP(name, 1, 0, ANY)
    ONE(scalar_add), ONE(row_mul), ONE(prelu), ONE(sum), ONE(mean), ONE(prod), ONE(var), ONE(max), ONE(min), ONE(logsumexp), ONE(vector_norm), ONE(argmax),
    ONE(transpose), ONE(narrow), ONE(select), ONE(flip), ONE(expand), ONE(reshape), ONE(flatten), ONE(slice), ONE(detach), ONE(split),
    ONE(matmul_fit), ONE(linear_op), ONE(softmax), ONE(log_softmax), ONE(huber), ONE(bce), ONE(gather), ONE(dropout), ONE(layer_norm), ONE(rms_norm),
    ONE(tril), ONE(triu), ONE(std), ONE(cumsum), ONE(slice_step), ONE(pad), ONE(index_select), ONE(sort), ONE(topk), ONE(categorical),
    OP(masked_fill, 2, 0, ALIKE), OP(scatter_add, 2, 0, ALIKE), ONE(want_grad), ONE(batch_norm), OP(permute, 1, 3, ANY), OP(cross_entropy, 1, 2, ANY), OP(embedding, 1, 2, ANY), OP(group_norm, 1, 3, ANY),
    OP(instance_norm, 1, 4, ANY), OP(norm_axes, 1, 3, ANY), OP(conv1d, 1, 3, ANY), OP(conv2d, 1, 4, ANY), OP(max_pool, 1, 4, ANY),
    OP(conv_transpose, 1, 4, ANY), OP(interpolate, 1, 4, ANY), OP(dropout2d, 1, 3, ANY), OP(avg_pool, 1, 3, ANY), OP(adaptive_pool, 1, 4, ANY), OP(add_positions, 1, 3, ANY), OP(where, 3, 0, ALIKE), OP(cat, 2, 0, ALIKE),
    OP(stack, 2, 0, ALIKE), OP(matmul, 2, 2, ROWS), OP(matmul_t, 2, 2, ALIKE), OP(weighted_nll, 2, 2, CLASSES), OP(mse, 2, 0, ALIKE),
    OP(l1, 2, 0, ALIKE), OP(masked_batch_norm, 2, 3, PLACES), OP(attention, 2, 3, KEYS),
#undef ONE
#undef OP
};
#undef CALL
#endif
