/* tests/conv_case.h - one case of a convolution or a transposed one, and the checks that both pass. */
#ifndef GR_CONV_CASE_H
#define GR_CONV_CASE_H
#include "examples/composed/composed.h"
#include "tests/compare.h"

enum { IN_DOUBLE = sizeof(gr_real) == 8 };

/* The inputs are x, weight, and bias if the case has one. If x has rank three the convolution has one axis. */
typedef struct {
    size_t N, C, H, W, O, kH, kW; /* H 0 means one axis */
    bool bias;
    gr_conv_config c;
} conv_case;

/* The operator and its twin; both take a conv_case. */
typedef struct {
    const char *name;
    gr_gradcheck_function *fused, *composed;
    bool transposed;
} conv_kind;

/* Convolution, and its twin. */
static inline gr_tensor *fused_conv(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const conv_case *c = argument;
    return (c->H ? gr_conv2d : gr_conv1d)(t, in[0], in[1], c->bias ? in[2] : NULL, &c->c);
}

static inline gr_tensor *composed_conv(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const conv_case *c = argument;
    gr_conv_config config = c->c;
    if (c->H) return composed_conv2d(t, in[0], in[1], c->bias ? in[2] : NULL, &config);
    config.stride_w = config.stride, config.dilation_w = config.dilation, config.padding_w = config.padding ? config.padding : GR_NONE;
    config.stride = config.dilation = 1, config.padding = 0;
    gr_tensor *x = gr_reshape(t, in[0], GR_SHAPE(c->N, c->C, 1, c->W)), *w = gr_reshape(t, in[1], GR_SHAPE(c->O, in[1]->dim[1], 1, c->kW));
    gr_tensor *y = composed_conv2d(t, x, w, c->bias ? in[2] : NULL, &config);
    return y ? gr_reshape(t, y, GR_SHAPE(c->N, c->O, GR_INFER)) : NULL;
}

static inline size_t inputs_of(const conv_kind *kind, const conv_case *c, gr_gradcheck_input *in)
{
    const size_t groups = c->c.groups ? (size_t)c->c.groups : 1, first = kind->transposed ? c->C : c->O,
                 second = (kind->transposed ? c->O : c->C) / groups;
    memset(in, 0, 3 * sizeof *in);
    in[0].shape = c->H ? GR_SHAPE(c->N, c->C, c->H, c->W) : GR_SHAPE(c->N, c->C, c->W);
    in[1].shape = c->H ? GR_SHAPE(first, second, c->kH, c->kW) : GR_SHAPE(first, second, c->kW);
    in[2].shape = GR_SHAPE(c->O);
    return 2u + c->bias;
}

static inline void assert_conv_gradients(const conv_kind *kind, const conv_case *c, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        gr_gradcheck_input in[3];
        const size_t n = inputs_of(kind, &c[k], in);
        if (!test_gradcheck(kind->name, kind->fused, (void *)&c[k], in, n, NULL, stderr)) fail_msg("case %zu", k);
    }
}

static inline void assert_conv_gradients_of_some_inputs(const conv_kind *kind, const conv_case *c)
{
    for (int wanted = 1; wanted < 8; wanted++) {
        gr_gradcheck_input in[3];
        inputs_of(kind, c, in);
        for (int i = 0; i < 3; i++) in[i].no_grad = !(wanted >> i & 1);
        assert_true(test_gradcheck(kind->name, kind->fused, (void *)c, in, 3, &(gr_gradcheck_config){ .threads = 2 }, stderr));
    }
}

static inline void assert_conv_twin(const conv_kind *kind, const conv_case *c, size_t count, double tolerance)
{
    for (size_t k = 0; k < count; k++) {
        gr_gradcheck_input in[3];
        const size_t n = inputs_of(kind, &c[k], in);
        assert_agree(kind->fused, kind->composed, (void *)&c[k], in, n, tolerance);
    }
}

static inline void assert_conv_bits(const conv_kind *kind, const conv_case *c, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        gr_gradcheck_input in[3];
        const size_t n = inputs_of(kind, &c[k], in);
        assert_bits_stay(kind->fused, (void *)&c[k], in, n);
    }
}

static inline void assert_conv_alone_as_in_batch(const conv_kind *kind, const conv_case *c, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        gr_gradcheck_input in[3];
        const size_t n = inputs_of(kind, &c[k], in);
        in[1].no_grad = in[2].no_grad = true;
        assert_alone_as_in_batch(kind->fused, (void *)&c[k], in, n, 0);
    }
}

/* No samples, no outputs and no channels; plane is the size of a plane of the result in the last two. */
static inline void assert_conv_of_nothing(const conv_kind *kind, size_t plane)
{
    const conv_case empty[] = {
        { 0, 3, 5, 5, 2, 3, 3, true, { 0 } }, { 2, 3, 5, 5, 0, 3, 3, true, { 0 } },  { 0, 1, 0, 4, 2, 1, 3, false, { 0 } },
        { 2, 0, 5, 5, 3, 2, 2, true, { 0 } }, { 2, 0, 5, 5, 3, 2, 2, false, { 0 } },
    };
    for (size_t k = 0; k < COUNT(empty); k++) {
        const conv_case *c = &empty[k];
        gr_gradcheck_input in[3];
        const size_t n = inputs_of(kind, c, in);
        compared a = compare_start(kind->fused, (void *)c, in, n);
        assert_int_equal(a.y->dim[0], c->N);
        assert_int_equal(a.y->dim[1], c->O);
        if (k >= 3) assert_int_equal(a.y->len, 6 * plane);
        gr_tensor *dy = gr_ones(a.t, gr_shape_of(a.y));
        compare_backward(&a, dy->data);
        for (size_t i = 0; i < a.y->len; i++) assert_true(a.y->data[i] == (c->bias ? a.x[2]->data[i / plane % 3] : 0)); /* no channels */
        for (size_t i = 0; i < a.x[1]->len; i++) assert_true(gr_grad(a.t, a.x[1])[i] == 0);
        for (size_t i = 0; c->bias && i < c->O; i++) assert_true(gr_grad(a.t, a.x[2])[i] == (gr_real)(c->N * plane));
        gr_tape_free(a.t);
    }
}
#endif
