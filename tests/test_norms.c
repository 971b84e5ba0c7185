/* tests/test_norms.c - group, instance and RMS norm and the norm over any axes: gradients, twins, exact facts, bits, messages. */
#include "examples/composed/composed.h"
#include "tests/compare.h"
#include <stdio.h>

enum { IN_DOUBLE = sizeof(gr_real) == 8 };

typedef enum { GROUP, INSTANCE, AXES, RMS } norms_kind;
typedef struct {
    norms_kind kind;
    gr_shape x;
    int n; /* groups, the channels' axis, or how many last axes */
    gr_axes over, affine;
    bool gamma, beta;
    double eps;
} norms;

static gr_tensor *fused(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const norms *n = argument;
    gr_tensor *gamma = n->gamma ? in[1] : NULL, *beta = n->beta ? in[1 + n->gamma] : NULL;
    if (n->kind == GROUP) return gr_group_norm(t, in[0], (size_t)n->n, gamma, beta, n->eps);
    if (n->kind == INSTANCE) return gr_instance_norm(t, in[0], n->n, gamma, beta, n->eps);
    if (n->kind == RMS) return gr_rms_norm(t, in[0], n->n, gamma, n->eps);
    return gr_norm_axes(t, in[0], n->over, n->affine, gamma, beta, n->eps);
}
static gr_tensor *composed(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const norms *n = argument;
    gr_tensor *gamma = n->gamma ? in[1] : NULL, *beta = n->beta ? in[1 + n->gamma] : NULL;
    if (n->kind == GROUP) return composed_group_norm(t, in[0], (size_t)n->n, gamma, beta, n->eps);
    if (n->kind == INSTANCE) return composed_instance_norm(t, in[0], n->n, gamma, beta, n->eps);
    if (n->kind == RMS) return composed_rms_norm(t, in[0], n->n, gamma, n->eps);
    return composed_norm_axes(t, in[0], n->over, n->affine, gamma, beta, n->eps);
}

static size_t inputs_of(const norms *n, gr_gradcheck_input *in)
{
    gr_shape last = { 0 };
    const int rank = n->x.rank;
    if (n->kind == GROUP) last = GR_SHAPE(n->x.dim[1]);
    if (n->kind == INSTANCE) last = GR_SHAPE(n->x.dim[n->n < 0 ? rank + n->n : n->n]);
    for (int i = 0; n->kind == RMS && i < n->n; i++) last.dim[last.rank++] = n->x.dim[rank - n->n + i];
    for (int i = 0; n->kind == AXES && i < rank; i++) {
        bool has = !n->affine.count;
        for (int k = 0; k < n->affine.count; k++) has |= (n->affine.axis[k] + rank) % rank == i;
        if (has) last.dim[last.rank++] = n->x.dim[i];
    }
    for (int i = 0; i < 3; i++) in[i] = (gr_gradcheck_input){ .shape = i ? last : n->x };
    return 1u + n->gamma + n->beta;
}

#define NO_AXES \
    { \
        0, { 0 } \
    }
static const norms cases[] = {
    { GROUP, { 2, { 3, 4 } }, 2 },
    { GROUP, { 2, { 2, 4 } }, 4 },
    { GROUP, { 3, { 3, 4, 5 } }, 2 },
    { GROUP, { 3, { 2, 6, 17 } }, 3 },
    { GROUP, { 4, { 2, 6, 3, 5 } }, 1 },
    { GROUP, { 4, { 2, 3, 3, 4 } }, 3 },
    { GROUP, { 3, { 1, 66, 3 } }, 1 },
    { GROUP, { 4, { 2, 4, 1, 1 } }, 2 },
    { INSTANCE, { 3, { 2, 3, 5 } }, 1 },
    { INSTANCE, { 4, { 2, 3, 3, 6 } }, 1 },
    { INSTANCE, { 3, { 3, 5, 2 } }, -1 },
    { INSTANCE, { 4, { 2, 3, 3, 66 } }, 3 },
    { INSTANCE, { 3, { 2, 2, 33 } }, 1 },
    { INSTANCE, { 3, { 2, 70, 3 } }, 2 },
    { AXES, { 4, { 2, 3, 4, 5 } }, 0, { 1, { 1 } }, { 1, { 1 } } },              /* channels of images */
    { AXES, { 4, { 2, 3, 4, 5 } }, 0, { 3, { 1, 2, 3 } }, { 1, { 1 } } },        /* all of a sample, a gain for each channel */
    { AXES, { 4, { 2, 3, 4, 5 } }, 0, { 3, { 3, -2, 1 } }, { 3, { 1, 2, 3 } } }, /* the same, a gain for each value */
    { AXES, { 4, { 2, 3, 4, 5 } }, 0, { 3, { 0, 2, 3 } }, { 1, { 1 } } },        /* batch norm */
    { AXES, { 4, { 2, 3, 4, 5 } }, 0, { 2, { 1, 3 } }, { 1, { 1 } } },           /* R and I, gains over R */
    { AXES, { 4, { 2, 3, 4, 5 } }, 0, { 2, { 1, 3 } }, { 2, { 0, 2 } } },        /* over P and K */
    { AXES, { 4, { 2, 3, 4, 5 } }, 0, { 2, { 1, 3 } }, { 1, { 0 } } },           /* over P alone */
    { AXES, { 4, { 2, 3, 4, 5 } }, 0, { 2, { 0, 2 } }, { 2, { 1, 3 } } },        /* more groups of axes than the kernels handle directly */
    { AXES, { 3, { 2, 3, 5 } }, 0, { 1, { 1 } }, { 1, { 2 } } },                 /* columns, a gain for each */
    { AXES, { 3, { 2, 3, 5 } }, 0, { 1, { 1 } }, { 2, { 0, 2 } } },
    { AXES, { 3, { 70, 3, 67 } }, 0, { 1, { 1 } }, { 1, { 1 } } },
    { AXES, { 3, { 70, 3, 5 } }, 0, { 1, { 1 } }, { 1, { 1 } } },
    { AXES, { 3, { 2, 3, 67 } }, 0, { 1, { 1 } }, { 1, { 1 } } },
    { AXES, { 3, { 2, 3, 5 } }, 0, { 2, { 1, 2 } }, { 1, { 2 } } },
    { AXES, { 3, { 2, 3, 5 } }, 0, { 1, { 2 } }, { 1, { 0 } } },
    { AXES, { 3, { 2, 3, 5 } }, 0, NO_AXES, NO_AXES },
    { AXES, { 3, { 3, 1, 5 } }, 0, { 1, { 1 } }, { 1, { 1 } } }, /* each value by itself */
    { RMS, { 1, { 1 } }, 1 },
    { RMS, { 2, { 3, 5 } }, 1 },
    { RMS, { 2, { 5, 17 } }, 1 },
    { RMS, { 3, { 2, 3, 11 } }, 2 },
    { RMS, { 2, { 130, 33 } }, 1 },
    { RMS, { 3, { 2, 3, 16 } }, 1 },
};

static void each_case(double eps, void (*f)(const norms *n, const gr_gradcheck_input *in, size_t ins))
{
    for (size_t k = 0; k < COUNT(cases); k++)
        for (int affine = 0; affine < (cases[k].kind == RMS ? 2 : 4); affine++) {
            norms n = cases[k];
            gr_gradcheck_input in[3];
            n.gamma = affine & 1, n.beta = affine & 2, n.eps = eps;
            f(&n, in, inputs_of(&n, in));
        }
}

/* ---- Gradients, twins, bits ---- */

/* In double gr_gradcheck perturbs every value, which would take a minute in the largest case. */
static bool takes_long(const norms *n) { return IN_DOUBLE && n->x.dim[0] * n->x.dim[n->x.rank - 1] > 4300; }

static void check_gradient(const norms *n, const gr_gradcheck_input *in, size_t ins)
{
    if (takes_long(n)) return;
    if (!test_gradcheck("norm", fused, (void *)n, in, ins, NULL, stderr))
        fail_msg("kind %d, x of rank %d [%zu, ..], gamma %d, beta %d", (int)n->kind, n->x.rank, n->x.dim[0], n->gamma, n->beta);
}
TEST(gradient_matches_finite_differences) { each_case(0.1, check_gradient); }

static void check_some(const norms *n, const gr_gradcheck_input *in, size_t ins)
{
    for (int wanted = 1; wanted < 1 << ins && !takes_long(n); wanted++) {
        gr_gradcheck_input some[3];
        for (size_t i = 0; i < ins; i++) some[i] = in[i], some[i].no_grad = !(wanted >> i & 1);
        assert_true(test_gradcheck("norm", fused, (void *)n, some, ins, NULL, stderr));
    }
}
TEST(gradient_is_right_when_only_some_inputs_want_it) { each_case(0.1, check_some); }

static void check_twin(const norms *n, const gr_gradcheck_input *in, size_t ins)
{
    assert_agree(fused, composed, (void *)n, in, ins, IN_DOUBLE ? 1e-11 : 3e-5);
}
TEST(agrees_with_its_composed_twin) { each_case(1e-2, check_twin); }

static void check_alone(const norms *n, const gr_gradcheck_input *in, size_t ins)
{
    bool batch = n->x.rank < 2 || !n->over.count;
    for (int k = 0; k < n->over.count; k++) batch |= n->over.axis[k] == 0;
    for (int k = 0; k < n->affine.count; k++) batch |= n->affine.axis[k] == 0;
    if (n->kind == AXES ? !batch : n->x.rank > n->n || n->kind != RMS) assert_alone_as_in_batch(fused, (void *)n, in, ins, 0);
}
TEST(a_sample_alone_has_the_same_bits_as_in_a_batch) { each_case(1e-5, check_alone); }

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    const norms large[] = {
        { GROUP, { 4, { 21, 12, 9, 7 } }, 3 },
        { GROUP, { 2, { 130, 96 } }, 3 },
        { INSTANCE, { 3, { 21, 35, 50 } }, 1 },
        { INSTANCE, { 3, { 21, 35, 70 } }, 2 },
        { AXES, { 4, { 9, 33, 17, 11 } }, 0, { 1, { 1 } }, { 1, { 1 } } },
        { AXES, { 4, { 9, 13, 17, 11 } }, 0, { 2, { 0, 2 } }, { 2, { 1, 3 } } },
        { RMS, { 2, { 301, 133 } }, 1 },
    };
    for (size_t k = 0; k < COUNT(large); k++) {
        norms n = large[k];
        gr_gradcheck_input in[3];
        n.gamma = true, n.beta = n.kind != RMS, n.eps = 1e-5;
        const size_t ins = inputs_of(&n, in);
        assert_bits_stay(fused, &n, in, ins);
    }
}

TEST(out_of_memory_is_an_error_anywhere)
{
    for (size_t k = 0; k < COUNT(cases); k++) {
        norms n = cases[k];
        gr_gradcheck_input in[3];
        n.gamma = true, n.beta = n.kind != RMS, n.eps = 1e-5;
        const size_t ins = inputs_of(&n, in);
        assert_survives_failing_memory(fused, &n, in, ins);
    }
}

TEST(empty_inputs_give_empty_results_and_gradients_of_0)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_shape shapes[] = { GR_SHAPE(0, 4, 3), GR_SHAPE(2, 4, 0), GR_SHAPE(0, 4, 0) };
    for (size_t k = 0; k < COUNT(shapes); k++) {
        gr_tensor *gamma = gr_want_grad(t, gr_ones(t, GR_SHAPE(4)));
        gr_tensor *y[] = { gr_group_norm(t, gr_zeros(t, shapes[k]), 2, gamma, NULL, 1e-5),
                           gr_instance_norm(t, gr_zeros(t, shapes[k]), 1, gamma, NULL, 1e-5),
                           gr_norm_axes(t, gr_zeros(t, shapes[k]), GR_AXES(1), GR_AXES(1), gamma, NULL, 1e-5),
                           gr_rms_norm(t, gr_zeros(t, shapes[k]), 1, NULL, 1e-5) };
        assert_ok(t);
        gr_tensor *sum = gr_zeros(t, GR_SCALAR);
        for (size_t i = 0; i < COUNT(y); i++) assert_int_equal(y[i]->len, 0), sum = gr_add(t, sum, gr_sum(t, y[i], GR_ALL_AXES, false));
        assert_true(gr_backward(t, sum));
        for (size_t i = 0; i < 4; i++) assert_true(gr_grad(t, gamma)[i] == 0);
        gr_tape_reset(t);
    }
    gr_tape_free(t);
}

/* ---- Exact facts ---- */

static gr_real two_of(size_t i) { return (gr_real)(i * i % 17) - 8; }
static gr_tensor *some(gr_tape *t, gr_shape shape)
{
    gr_tensor *x = gr_empty(t, shape);
    for (size_t i = 0; x && i < x->len; i++) x->data[i] = two_of(i);
    return x;
}

TEST(values_match_hand_computed_ones)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_input(t, (gr_real[]){ 3, 4 }, GR_SHAPE(2));
    assert_values(gr_rms_norm(t, x, 1, NULL, GR_NONE), 1e-6, (gr_real)0.8485281, (gr_real)1.1313708);
    const gr_real third = (gr_real)0.57735027;
    assert_values(gr_layer_norm(t, gr_input(t, (gr_real[]){ 1, 0, 0, 0 }, GR_SHAPE(4)), 1, NULL, NULL, GR_NONE), 1e-6, 3 * third, -third, -third, -third);
    const gr_real one_to_8[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, a = (gr_real)1.3416408, b = (gr_real)0.4472136;
    assert_values(gr_group_norm(t, gr_input(t, one_to_8, GR_SHAPE(1, 4, 2)), 2, NULL, NULL, GR_NONE), 1e-6, -a, -b, b, a, -a, -b, b, a);
    assert_values(gr_instance_norm(t, gr_input(t, one_to_8, GR_SHAPE(1, 4, 2)), 1, NULL, NULL, GR_NONE), 1e-6, -1, 1, -1, 1, -1, 1, -1, 1);
    assert_values(gr_norm_axes(t, gr_input(t, one_to_8, GR_SHAPE(1, 2, 4)), GR_AXES(1), GR_AXES(1), NULL, NULL, GR_NONE), 1e-6, -1, -1, -1, -1, 1,
                  1, 1, 1);
    gr_tape_free(t);
}

/* Two different values are normalized to +1 and -1, whatever they are, so x gets no gradient: layer norm over 2 features, group norm over 2
 * channels, instance norm over 2 pixels. */
TEST(two_values_give_plus_and_minus_1_and_no_gradient)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (int k = 0; k < 4; k++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_want_grad(t, gr_randn(t, k == 3 ? GR_SHAPE(5, 2, 9) : GR_SHAPE(5, 9, 2), 5, 3, "x"));
        gr_tensor *dy = gr_randn(t, gr_shape_of(x), 0, 1, "dy");
        gr_tensor *y = k == 0   ? gr_layer_norm(t, x, 1, NULL, NULL, GR_NONE)
                       : k == 1 ? gr_instance_norm(t, x, 1, NULL, NULL, GR_NONE)
                       : k == 2 ? gr_group_norm(t, x, 9, NULL, NULL, GR_NONE)
                                : gr_norm_axes(t, x, GR_AXES(1), GR_AXES(1), NULL, NULL, GR_NONE);
        assert_true(gr_backward_from(t, y, dy->data));
        for (size_t i = 0; i < x->len; i++) {
            assert_true(fabs(fabs((double)y->data[i]) - 1) < 1e-6);
            assert_true(fabs((double)gr_grad(t, x)[i]) < 2e-5);
        }
    }
    gr_tape_free(t);
}

/* One group is layer norm over C, H, W; C groups are instance norm; and each is gr_norm_axes over those axes. */
TEST(group_norm_lies_between_layer_and_instance_norm)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = some(t, GR_SHAPE(3, 6, 5, 4)), *gamma = some(t, GR_SHAPE(6)), *beta = some(t, GR_SHAPE(6));
    const double tolerance = IN_DOUBLE ? 1e-14 : 1e-6;
    gr_tensor *one = gr_group_norm(t, x, 1, NULL, NULL, 1e-5), *each = gr_group_norm(t, x, 6, gamma, beta, 1e-5);
    assert_tensors_close(one, gr_layer_norm(t, x, 3, NULL, NULL, 1e-5), tolerance);
    assert_tensors_close(one, gr_norm_axes(t, x, GR_AXES(1, 2, 3), GR_AXES(1), NULL, NULL, 1e-5), tolerance);
    gr_tensor *instance = gr_instance_norm(t, x, 1, gamma, beta, 1e-5);
    assert_same_bits(each->data, instance->data, each->len);
    assert_tensors_close(each, gr_norm_axes(t, x, GR_AXES(2, 3), GR_AXES(1), gamma, beta, 1e-5), tolerance);
    gr_tensor *batch = gr_batch_norm(t, x, 1, gamma, beta, NULL);
    assert_same_bits(batch->data, gr_norm_axes(t, x, GR_AXES(0, 2, 3), GR_AXES(1), gamma, beta, 1e-5)->data, x->len);
    gr_tape_free(t);
}

TEST(equal_values_give_beta_and_a_finite_gradient)
{
    const double values[] = { 0, 0.1, -1e4 / 3, 3e38, 1e-40 };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t v = 0; v < COUNT(values); v++)
        for (int k = 0; k < 8; k++) {
            const double eps = k < 4 ? 1e-5 : 0;
            gr_tape_reset(t);
            gr_tensor *x = gr_want_grad(t, gr_full(t, GR_SHAPE(3, 4, 37), values[v])), *dy = gr_randn(t, GR_SHAPE(3, 4, 37), 0, 1, "dy");
            gr_tensor *gamma = gr_want_grad(t, gr_randn(t, GR_SHAPE(4), 0, 1, "g")), *beta = gr_randn(t, GR_SHAPE(4), 0, 1, "b");
            gr_tensor *y = k % 4 == 0   ? gr_group_norm(t, x, 2, gamma, beta, eps)
                           : k % 4 == 1 ? gr_instance_norm(t, x, 1, gamma, beta, eps)
                           : k % 4 == 2 ? gr_norm_axes(t, x, GR_AXES(1), GR_AXES(1), gamma, beta, eps)
                                        : gr_norm_axes(t, x, GR_AXES(0, 2), GR_AXES(1), gamma, beta, eps);
            for (size_t i = 0; i < y->len; i++) assert_true(y->data[i] == beta->data[i / 37 % 4]);
            assert_true(gr_backward_from(t, y, dy->data));
            for (size_t i = 0; i < x->len; i++) assert_true(isfinite(gr_grad(t, x)[i]));
            for (size_t i = 0; i < 4; i++) assert_true(gr_grad(t, gamma)[i] == 0);
        }
    gr_tape_free(t);
}

TEST(rms_norm_of_zeros_is_0_and_its_gradient_finite)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (int k = 0; k < 2; k++) {
        gr_tensor *x = gr_want_grad(t, gr_zeros(t, GR_SHAPE(3, 20))), *dy = gr_randn(t, GR_SHAPE(3, 20), 0, 1, "dy");
        gr_tensor *y = gr_rms_norm(t, x, 1, NULL, k ? 0 : 1e-5);
        assert_true(gr_backward_from(t, y, dy->data));
        for (size_t i = 0; i < x->len; i++) assert_true(y->data[i] == 0 && isfinite(gr_grad(t, x)[i]));
        gr_tape_reset(t);
    }
    gr_tape_free(t);
}

/* Zhang, Sennrich 2019: RMS norm is invariant to a scale but not to a shift, and equals layer norm if the mean is 0. */
TEST(rms_norm_is_layer_norm_of_a_row_whose_mean_is_0)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_empty(t, GR_SHAPE(4, 66)), *scaled = gr_empty_like(t, x), *shifted = gr_empty_like(t, x);
    for (size_t i = 0; i < x->len; i++) x->data[i] = (i & 1 ? -1 : 1) * two_of(i / 2 + 3);
    for (size_t i = 0; i < x->len; i++) scaled->data[i] = 1000 * x->data[i], shifted->data[i] = x->data[i] + 5;
    gr_tensor *y = gr_rms_norm(t, x, 1, NULL, GR_NONE);
    assert_tensors_close(y, gr_layer_norm(t, x, 1, NULL, NULL, GR_NONE), IN_DOUBLE ? 4e-16 : 2.4e-7);
    assert_tensors_close(gr_rms_norm(t, scaled, 1, NULL, GR_NONE), y, IN_DOUBLE ? 1e-15 : 1e-6);
    double off = 0;
    for (size_t i = 0; i < x->len; i++) off = fmax(off, fabs((double)(gr_rms_norm(t, shifted, 1, NULL, GR_NONE)->data[i] - y->data[i])));
    assert_true(off > 0.1);
    gr_tape_free(t);
}

/* ---- Messages ---- */

TEST(channels_groups_axes_and_eps_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_tensor *x = lasting(t, net, GR_SHAPE(2, 4, 3), 1), *two = lasting(t, net, GR_SHAPE(2), 1), *four = lasting(t, net, GR_SHAPE(4), 1);
    assert_fails(t, gr_group_norm(t, NULL, 2, four, four, GR_NONE), "group_norm: input 1 is NULL");
    assert_fails(t, gr_group_norm(t, four, 2, four, four, GR_NONE), "group_norm: x is [4], and must be [N, C] or [N, C, ..]");
    assert_fails(t, gr_group_norm(t, x, 3, four, four, GR_NONE), "group_norm: x is [2, 4, 3], so its 4 channels cannot make 3 groups");
    assert_fails(t, gr_group_norm(t, x, 0, four, four, GR_NONE), "group_norm: x is [2, 4, 3], so its 4 channels cannot make 0 groups");
    assert_fails(t, gr_group_norm(t, x, 2, two, four, GR_NONE),
                 "group_norm: x is [2, 4, 3], so gamma and beta must hold 4 values; got [2] and [4]");
    assert_fails(t, gr_group_norm(t, x, 2, four, NULL, -2), "group_norm: eps must be 0 or more, or GR_NONE; got -2");
    assert_fails(t, gr_instance_norm(t, NULL, 1, NULL, NULL, GR_NONE), "instance_norm: input 1 is NULL");
    assert_fails(t, gr_instance_norm(t, gr_ones(t, GR_SHAPE(2, 3)), 1, NULL, NULL, GR_NONE),
                 "instance_norm: x is [2, 3], and must have 3 axes or more: samples, channels, and what is normalized");
    assert_fails(t, gr_instance_norm(t, x, 3, NULL, NULL, GR_NONE), "instance_norm: x is [2, 4, 3], so an axis must be in -3 .. 2; got 3");
    assert_fails(t, gr_instance_norm(t, x, 0, NULL, NULL, GR_NONE), "instance_norm: x is [2, 4, 3], so axis must be 1 or -1; got 0");
    assert_fails(t, gr_instance_norm(t, x, 1, four, two, GR_NONE),
                 "instance_norm: x is [2, 4, 3], so gamma and beta must hold 4 values; got [4] and [2]");
    assert_fails(t, gr_instance_norm(t, x, 1, NULL, NULL, NAN), "instance_norm: eps must be 0 or more, or GR_NONE; got nan");
    assert_fails(t, gr_instance_norm(t, gr_ones(t, GR_SHAPE(2, 4, 1)), 1, NULL, NULL, GR_NONE),
                 "instance_norm: x is [2, 4, 1], so each channel of a sample has 1 value, which has no variance: normalize by gr_layer_norm");
    assert_fails(t, gr_norm_axes(t, NULL, GR_AXES(1), GR_AXES(1), NULL, NULL, GR_NONE), "norm_axes: input 1 is NULL");
    assert_fails(t, gr_norm_axes(t, x, GR_AXES(3), GR_AXES(1), NULL, NULL, GR_NONE),
                 "norm_axes: x is [2, 4, 3], so an axis must be in -3 .. 2; got 3");
    assert_fails(t, gr_norm_axes(t, x, GR_AXES(1), GR_AXES(1, -2), NULL, NULL, GR_NONE), "norm_axes: axis 1 is given twice");
    assert_fails(t, gr_norm_axes(t, x, GR_AXES(1), GR_AXES(1), two, NULL, GR_NONE),
                 "norm_axes: x is [2, 4, 3], so gamma and beta must hold 4 values; got [2] and NULL");
    assert_fails(t, gr_norm_axes(t, x, GR_AXES(1), GR_AXES(1), four, NULL, -2), "norm_axes: eps must be 0 or more, or GR_NONE; got -2");
    assert_fails(t, gr_rms_norm(t, NULL, 1, NULL, GR_NONE), "rms_norm: input 1 is NULL");
    assert_fails(t, gr_rms_norm(t, gr_scalar(t, 1), 1, NULL, GR_NONE), "rms_norm: x is [], which has no axis to normalize");
    assert_fails(t, gr_rms_norm(t, x, 4, NULL, GR_NONE), "rms_norm: x is [2, 4, 3], so trailing must be in 1 .. 3; got 4");
    assert_fails(t, gr_rms_norm(t, x, 1, four, GR_NONE), "rms_norm: x is [2, 4, 3], so gamma must hold 3 values; got [4]");
    assert_fails(t, gr_rms_norm(t, x, 1, NULL, -2), "rms_norm: eps must be 0 or more, or GR_NONE; got -2");
    gr_module_free(net), gr_tape_free(t);
}

TEST(an_eps_of_0_means_the_default)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_randn(t, GR_SHAPE(2, 4, 3), 0, 1e-3, "x");
    for (int k = 0; k < 10; k++) {
        const double usual = k % 5 == 4 ? GR_RMS_NORM_EPS : GR_NORM_EPS;
        gr_tensor *y[2];
        for (int i = 0; i < 2; i++) {
            const double eps = i ? usual : 0;
            if (k == 0) y[i] = gr_layer_norm(t, x, 1, NULL, NULL, eps);
            if (k == 1) y[i] = gr_group_norm(t, x, 2, NULL, NULL, eps);
            if (k == 2) y[i] = gr_instance_norm(t, x, 1, NULL, NULL, eps);
            if (k == 3) y[i] = gr_norm_axes(t, x, GR_AXES(1), GR_AXES(1), NULL, NULL, eps);
            if (k == 4) y[i] = gr_rms_norm(t, x, 1, NULL, eps);
            if (k == 5) y[i] = composed_layer_norm(t, x, 1, NULL, NULL, eps);
            if (k == 6) y[i] = composed_group_norm(t, x, 2, NULL, NULL, eps);
            if (k == 7) y[i] = composed_instance_norm(t, x, 1, NULL, NULL, eps);
            if (k == 8) y[i] = composed_norm_axes(t, x, GR_AXES(1), GR_AXES(1), NULL, NULL, eps);
            if (k == 9) y[i] = composed_rms_norm(t, x, 1, NULL, eps);
        }
        assert_ok(t);
        assert_same_bits(y[0]->data, y[1]->data, x->len);
    }
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_matches_finite_differences),
        cmocka_unit_test(gradient_is_right_when_only_some_inputs_want_it),
        cmocka_unit_test(agrees_with_its_composed_twin),
        cmocka_unit_test(a_sample_alone_has_the_same_bits_as_in_a_batch),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(empty_inputs_give_empty_results_and_gradients_of_0),
        cmocka_unit_test(values_match_hand_computed_ones),
        cmocka_unit_test(two_values_give_plus_and_minus_1_and_no_gradient),
        cmocka_unit_test(group_norm_lies_between_layer_and_instance_norm),
        cmocka_unit_test(equal_values_give_beta_and_a_finite_gradient),
        cmocka_unit_test(rms_norm_of_zeros_is_0_and_its_gradient_finite),
        cmocka_unit_test(rms_norm_is_layer_norm_of_a_row_whose_mean_is_0),
        cmocka_unit_test(channels_groups_axes_and_eps_that_do_not_fit_are_named),
        cmocka_unit_test(an_eps_of_0_means_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
