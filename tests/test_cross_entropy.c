/* tests/test_cross_entropy.c - cross_entropy and nll: gradients, PyTorch's values, the twin, ignored samples, bits, messages. */
#include "examples/composed/composed.h"
#include "tests/compare.h"
#include <stdio.h>

enum { IN_DOUBLE = sizeof(gr_real) == 8 };

/* Logits of this shape, with invented targets. With `ignoring`, every third target is ignored. */
typedef struct {
    gr_shape shape;
    gr_reduction reduction;
    bool weighted, ignoring;
    double smoothing;
    int samples_before; /* the number of the first sample, if this is a part of a batch */
} problem;

static const gr_ints *targets(gr_tape *t, const gr_tensor *x, const problem *p)
{
    gr_shape shape = gr_shape_of(x);
    const int axis = shape.rank > 1, C = (int)x->dim[axis];
    shape.rank--;
    for (int i = axis; i < shape.rank; i++) shape.dim[i] = x->dim[i + 1];
    gr_ints *k = gr_ints_new(t, NULL, shape);
    for (size_t i = 0; k && i < k->len; i++) {
        const int n = (int)i + p->samples_before;
        k->data[i] = p->ignoring && n % 3 == 1 ? -100 : n * 7 % C;
    }
    return k;
}

static gr_cross_entropy_config config_of(gr_tape *t, const gr_tensor *x, const problem *p)
{
    gr_tensor *w = p->weighted ? gr_empty(t, GR_SHAPE(x->dim[x->rank > 1])) : NULL;
    for (size_t c = 0; w && c < w->len; c++) w->data[c] = (gr_real)(0.5 + (double)(c % 4) / 3);
    return (gr_cross_entropy_config){ .reduction = p->reduction, .weight = w, .label_smoothing = p->smoothing };
}

static gr_tensor *fused(gr_tape *t, gr_tensor *const *in, void *p)
{
    const gr_cross_entropy_config c = config_of(t, in[0], p);
    return gr_cross_entropy(t, in[0], targets(t, in[0], p), &c);
}
static gr_tensor *composed(gr_tape *t, gr_tensor *const *in, void *p)
{
    const gr_cross_entropy_config c = config_of(t, in[0], p);
    return composed_cross_entropy(t, in[0], targets(t, in[0], p), &c);
}
static gr_tensor *nll(gr_tape *t, gr_tensor *const *in, void *p)
{
    const gr_cross_entropy_config c = config_of(t, in[0], p);
    return gr_nll(t, in[0], targets(t, in[0], p), &c);
}
static gr_tensor *nll_of_log_softmax(gr_tape *t, gr_tensor *const *in, void *p)
{
    return nll(t, (gr_tensor *[]){ gr_log_softmax(t, in[0], in[0]->rank > 1) }, p);
}

static const gr_shape shapes[] = { { 1, { 5 } }, { 2, { 1, 1 } }, { 2, { 3, 10 } }, { 2, { 18, 17 } }, { 3, { 2, 5, 3 } }, { 4, { 2, 3, 4, 5 } } };

/* Call f with every combination of the options and every shape. */
static void for_all_problems(void (*check)(problem *p, const gr_gradcheck_input *in))
{
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int o = 0; o < 24; o++) {
            problem p = { shapes[s], (gr_reduction)(o % 3), o / 3 & 1, o / 6 & 1, o / 12 ? 0.3 : 0, 0 };
            check(&p, &(gr_gradcheck_input){ .shape = shapes[s] });
        }
}

/* ---- Gradients, twins ---- */

static void check_gradient(problem *p, const gr_gradcheck_input *in)
{
    if (!test_gradcheck("cross_entropy", fused, p, in, 1, NULL, stderr))
        fail_msg("reduction %d, weighted %d, ignoring %d, smoothing %g", p->reduction, p->weighted, p->ignoring, p->smoothing);
    if (!(p->smoothing > 0)) assert_true(test_gradcheck("nll", nll, p, in, 1, NULL, stderr));
}
TEST(gradients_match_finite_differences) { for_all_problems(check_gradient); }

static void check_twins(problem *p, const gr_gradcheck_input *in)
{
    if (p->shape.dim[1] == 1 && p->smoothing > 0) return; /* the gradient is 0 up to rounding, so there is nothing to compare */
    assert_agree(fused, composed, p, in, 1, IN_DOUBLE ? 1e-13 : 2e-6);
    if (!(p->smoothing > 0)) assert_agree(fused, nll_of_log_softmax, p, in, 1, IN_DOUBLE ? 1e-13 : 2e-6);
}
TEST(agrees_with_its_composed_twin_and_with_nll_of_log_softmax) { for_all_problems(check_twins); }

TEST(its_composed_twin_needs_a_target_for_each_sample)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_fails(t, composed_cross_entropy(t, gr_zeros(t, GR_SHAPE(2, 3)), gr_ints_new(t, NULL, GR_SHAPE(3)), NULL),
                 "composed_cross_entropy: logits is [2, 3]; got 3 targets");
    gr_tape_free(t);
}

/* ---- Values: PyTorch's, float64 ---- */

static const gr_real logits[] = { 1, -2, 0.5, 3, 0, 1, 2, -1, -1, 0.25, 0, 2.5 }, weights[] = { 0.5, 1, 2, 1.5 };
static const int classes[] = { 2, -100, 0 };
static const struct { bool weighted; double smoothing; gr_real mean, sum, each[3], dx[12]; } torch[] = {
    { false, 0, 3.199601088, 6.399202176, { 2.702253448, 0, 3.696948728 },
      { 0.055276875, 0.002752074, -0.46647288, 0.408443932, 0, 0, 0, 0, -0.48760046, 0.043278647, 0.033705444, 0.410616369 } },
    { true, 0, 2.901192504, 7.25298126, { 5.404506895, 0, 1.848474364 },
      { 0.088443, 0.004403318, -0.746356609, 0.653510291, 0, 0, 0, 0, -0.195040184, 0.017311459, 0.013482178, 0.164246548 } },
    { false, 0.2, 3.043351088, 6.086702176, { 2.677253448, 0, 3.409448728 },
      { 0.030276875, -0.022247926, -0.39147288, 0.383443932, 0, 0, 0, 0, -0.41260046, 0.018278647, 0.008705444, 0.385616369 } },
    { true, 0.2, 2.760874221, 6.902185552, { 4.924168878, 0, 1.978016673 },
      { 0.071809775, -0.015926931, -0.630379863, 0.574497019, 0, 0, 0, 0, -0.163552239, 0.002504896, -0.022473169, 0.183520512 } },
};

TEST(values_and_gradients_are_pytorchs)
{
    for (size_t k = 0; k < COUNT(torch); k++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *x = gr_want_grad(t, gr_input(t, logits, GR_SHAPE(3, 4)));
        const gr_ints *target = gr_ints_new(t, classes, GR_SHAPE(3));
        gr_cross_entropy_config c = { .weight = torch[k].weighted ? gr_input(t, weights, GR_SHAPE(4)) : NULL, .label_smoothing = torch[k].smoothing };
        gr_tensor *mean = gr_cross_entropy(t, x, target, &c);
        assert_values(mean, 3e-7, torch[k].mean);
        c.reduction = GR_REDUCE_SUM;
        assert_values(gr_cross_entropy(t, x, target, &c), 3e-7, torch[k].sum);
        c.reduction = GR_REDUCE_NONE;
        assert_close(gr_cross_entropy(t, x, target, &c)->data, torch[k].each, 3, 3e-7);
        assert_true(gr_backward(t, mean));
        assert_close(gr_grad(t, x), torch[k].dx, 12, 3e-7);
        gr_tape_free(t);
    }
}

TEST(defaults_are_those_of_no_config)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_input(t, logits, GR_SHAPE(3, 4));
    const gr_ints *target = gr_ints_new(t, classes, GR_SHAPE(3));
    assert_values(gr_cross_entropy(t, x, target, NULL), 3e-7, torch[0].mean);
    assert_values(gr_nll(t, x, target, &(gr_cross_entropy_config){ .weight = gr_input(t, weights, GR_SHAPE(4)) }), 3e-7, -0.2);
    assert_values(gr_nll(t, x, target, NULL), 0, 0.25); /* -(0.5 - 1) / 2 */
    gr_tape_free(t);
}

/* ---- Extremes ---- */

TEST(huge_logits_neither_overflow_nor_lose_the_loss)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_input(t, (gr_real[]){ 1e30, -1e30, 0, 90 }, GR_SHAPE(2, 2)));
    gr_tensor *loss = gr_cross_entropy(t, x, gr_ints_new(t, (int[]){ 0, 0 }, GR_SHAPE(2)), &(gr_cross_entropy_config){ .reduction = GR_REDUCE_NONE });
    assert_values(loss, 0, 0, 90);
    assert_true(gr_backward_from(t, loss, (gr_real[]){ 1, 1 }));
    assert_close(gr_grad(t, x), ((gr_real[]){ 0, 0, -1, 1 }), 4, 1e-7);
    gr_tape_free(t);
}

TEST(an_ignored_sample_counts_for_nothing_whatever_its_logits)
{
    gr_real x[40];
    for (int inner = 1; inner <= 4; inner += 3) /* rows, then a tile */
        for (int kind = 0; kind < 4; kind++) {
            gr_tape *t = gr_tape_new(1, NULL);
            const int ignored = kind == 0 ? -100 : kind == 1 ? 3 : kind == 2 ? -1 : 0;
            for (int i = 0; i < 40; i++) x[i] = (gr_real)(i % 7);
            for (int c = 0; c < 5; c++) x[inner == 1 ? 5 + c : 4 * c + 1] = c % 2 ? (gr_real)NAN : (gr_real)INFINITY; /* all of sample 1 */
            gr_tensor *in = gr_want_grad(t, gr_input(t, x, inner == 1 ? GR_SHAPE(8, 5) : GR_SHAPE(2, 5, 4)));
            gr_ints *target = gr_ints_new(t, (int[]){ 1, ignored, 2, 4, 1, 1, 2, 4 }, inner == 1 ? GR_SHAPE(8) : GR_SHAPE(2, 4));
            gr_tensor *loss = gr_cross_entropy(t, in, target, &(gr_cross_entropy_config){ .ignore_index = kind == 3 ? 0 : ignored, .ignore_class_0 = kind == 3,
                                                                                     .label_smoothing = 0.1, .reduction = GR_REDUCE_NONE });
            assert_ok(t);
            for (int i = 0; i < 8; i++) assert_true(i == 1 ? loss->data[i] == 0 : loss->data[i] > 0 && isfinite(loss->data[i]));
            assert_true(gr_backward_from(t, loss, (gr_real[]){ 1, 1, 1, 1, 1, 1, 1, 1 }));
            for (int c = 0; c < 5; c++) assert_true(gr_grad(t, in)[inner == 1 ? 5 + c : 4 * c + 1] == 0);
            for (int i = 0; i < 40; i++) assert_true(isfinite(gr_grad(t, in)[i]));
            gr_tape_free(t);
        }
}

TEST(a_row_has_the_bits_of_a_column_however_far_its_logits_are_apart)
{
    const double apart[] = { 40, 86, 88, 300 };
    for (size_t a = 0; a < COUNT(apart); a++)
        for (size_t C = 5; C < 700; C += C < 40 ? 3 : 300) {
            gr_tape *t = gr_tape_new(1, NULL);
            gr_tensor *values = gr_rand(t, GR_SHAPE(6, C), -apart[a], 0, "x");
            gr_tensor *turned = gr_want_grad(t, gr_transpose(t, gr_input(t, values->data, GR_SHAPE(1, 6, C)), 1, 2)); /* [1, C, 6] */
            gr_want_grad(t, values);
            const int target[] = { 0, 3, 4, 1, 1, 2 };
            gr_tensor *row = gr_cross_entropy(t, values, gr_ints_new(t, target, GR_SHAPE(6)), NULL);
            gr_tensor *column = gr_cross_entropy(t, turned, gr_ints_new(t, target, GR_SHAPE(1, 6)), NULL);
            assert_same_bits(row->data, column->data, 1);
            assert_true(gr_backward(t, gr_add(t, row, column)));
            assert_same_bits(gr_grad(t, values), gr_transpose(t, gr_input(t, gr_grad(t, turned), GR_SHAPE(C, 6)), 0, 1)->data, values->len);
            gr_tape_free(t);
        }
}

TEST(ignored_samples_alone_give_nan_and_no_gradient)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_zeros(t, GR_SHAPE(2, 3)));
    const gr_ints *target = gr_ints_new(t, (int[]){ -100, -100 }, GR_SHAPE(2));
    gr_tensor *loss = gr_cross_entropy(t, x, target, NULL);
    assert_true(isnan(loss->data[0]));
    assert_true(gr_backward(t, loss));
    for (int i = 0; i < 6; i++) assert_true(gr_grad(t, x)[i] == 0);
    gr_tape_reset(t);
    x = gr_zeros(t, GR_SHAPE(2, 0)), target = gr_ints_new(t, (int[]){ -100, -100 }, GR_SHAPE(2));
    assert_values(gr_cross_entropy(t, x, target, &(gr_cross_entropy_config){ .reduction = GR_REDUCE_NONE }), 0, 0, 0);
    assert_values(gr_cross_entropy(t, x, target, &(gr_cross_entropy_config){ .reduction = GR_REDUCE_SUM }), 0, 0);
    gr_tape_free(t);
}

TEST(no_samples_are_accepted)
{
    const gr_shape empty[] = { GR_SHAPE(0, 3), GR_SHAPE(0, 3, 4), GR_SHAPE(2, 3, 0) };
    for (size_t s = 0; s < COUNT(empty); s++)
        for (int r = 0; r < 3; r++) {
            problem p = { .shape = empty[s], .reduction = (gr_reduction)r };
            compared c = compare_start(r % 2 ? nll : fused, &p, &(gr_gradcheck_input){ .shape = empty[s] }, 1);
            if (r == GR_REDUCE_SUM) assert_true(c.y->data[0] == 0);
            if (r == GR_REDUCE_MEAN) assert_true(isnan(c.y->data[0]));
            if (r == GR_REDUCE_NONE) assert_int_equal(c.y->len, 0);
            compare_backward(&c, &(gr_real){ 1 });
            gr_tape_free(c.t);
        }
}

/* ---- Bits ---- */

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    const gr_shape large[] = { GR_SHAPE(1000, 10), GR_SHAPE(70, 301), GR_SHAPE(21, 11, 37) };
    for (size_t s = 0; s < COUNT(large); s++)
        for (int o = 0; o < 6; o++) {
            problem p = { large[s], (gr_reduction)(o % 3), o / 3, o / 3, o / 3 ? 0.1 : 0, 0 };
            assert_bits_stay(fused, &p, &(gr_gradcheck_input){ .shape = large[s] }, 1);
            p.smoothing = 0;
            assert_bits_stay(nll, &p, &(gr_gradcheck_input){ .shape = large[s] }, 1);
        }
}

/* One sample of the batch by itself, also as the only fibre of a tile. */
TEST(a_sample_has_the_same_bits_alone_and_in_a_batch)
{
    gr_tape *t = gr_tape_new(1, NULL);
    problem p = { .reduction = GR_REDUCE_NONE, .weighted = true, .smoothing = 0.1 };
    gr_tensor *x = gr_want_grad(t, gr_randn(t, GR_SHAPE(21, 37), 0, 3, "x")), *y = fused(t, &x, &p);
    gr_tensor *x3 = gr_want_grad(t, gr_reshape(t, gr_detach(t, gr_transpose(t, x, 0, 1)), GR_SHAPE(1, 37, 21))), *y3 = fused(t, &x3, &p);
    gr_tensor *dy = gr_randn(t, GR_SHAPE(21), 0, 1, "dy");
    assert_same_bits(y3->data, y->data, 21);
    assert_true(gr_backward(t, gr_sum(t, gr_add(t, gr_mul(t, y, dy), gr_mul(t, gr_reshape(t, y3, GR_SHAPE(21)), dy)), GR_ALL_AXES, false)));
    for (size_t i = 0; i < 21; i++) {
        gr_tape *u = gr_tape_new(1, NULL);
        gr_tensor *xi = gr_want_grad(u, gr_input(u, x->data + 37 * i, GR_SHAPE(1, 37)));
        p.samples_before = (int)i;
        gr_tensor *yi = fused(u, &xi, &p);
        assert_same_bits(yi->data, y->data + i, 1);
        assert_true(gr_backward_from(u, yi, dy->data + i));
        assert_same_bits(gr_grad(u, xi), gr_grad(t, x) + 37 * i, 37);
        for (size_t c = 0; c < 37; c++) assert_same_bits(gr_grad(t, x3) + 21 * c + i, gr_grad(u, xi) + c, 1);
        gr_tape_free(u);
    }
    gr_tape_free(t);
}

TEST(out_of_memory_is_an_error_anywhere)
{
    for (int r = 0; r < 3; r++) {
        problem p = { .reduction = (gr_reduction)r, .weighted = true, .smoothing = 0 };
        assert_survives_failing_memory(fused, &p, &(gr_gradcheck_input){ .shape = GR_SHAPE(90000, 3) }, 1);
        assert_survives_failing_memory(nll, &p, &(gr_gradcheck_input){ .shape = GR_SHAPE(90000, 3) }, 1);
    }
}

/* ---- Messages ---- */

TEST(targets_weights_and_smoothing_that_do_not_fit_are_named)
{
    static const struct { gr_shape x, target; int classes[6]; gr_cross_entropy_config c; size_t weights; const char *text; } bad[] = {
        { { 2, { 2, 3 } }, { 1, { 3 } }, { 0 }, { 0 }, 0, "cross_entropy: logits is [2, 3], so target must be [2]; got [3]" },
        { { 3, { 2, 3, 4 } }, { 2, { 4, 2 } }, { 0 }, { 0 }, 0, "cross_entropy: logits is [2, 3, 4], so target must be [2, 4]; got [4, 2]" },
        { { 3, { 2, 3, 4 } }, { 2, { 2, 3 } }, { 0 }, { 0 }, 0,
          "cross_entropy: logits is [2, 3, 4], so axis 1 has the classes; if it is the last axis, reshape to [6, 4], and target to [6]" },
        { { 1, { 3 } }, { 1, { 1 } }, { 0 }, { 0 }, 0, "cross_entropy: logits is [3], so target must be []; got [1]" },
        { { 0, { 0 } }, { 0, { 0 } }, { 0 }, { 0 }, 0, "cross_entropy: logits is [], but needs an axis of classes: [N, C], [N, C, d1 ..] or [C]" },
        { { 2, { 2, 3 } }, { 1, { 2 } }, { 0, 3 }, { 0 }, 0, "cross_entropy: target[1] is 3; it must be 0 .. 2, or ignore_index (-100)" },
        { { 3, { 2, 3, 2 } }, { 2, { 2, 2 } }, { 0, 1, -1, 0 }, { .ignore_index = 7 }, 0, "cross_entropy: target[1, 0] is -1; it must be 0 .. 2, or ignore_index (7)" },
        { { 2, { 2, 3 } }, { 1, { 2 } }, { 0 }, { 0 }, 2, "cross_entropy: logits is [2, 3], so weight must hold 3 values; got [2]" },
        { { 2, { 2, 3 } }, { 1, { 2 } }, { 0 }, { .label_smoothing = 1.5 }, 0, "cross_entropy: label_smoothing must be in 0 .. 1; got 1.5" },
        { { 2, { 2, 3 } }, { 1, { 2 } }, { 0 }, { .reduction = (gr_reduction)3 }, 0, "cross_entropy: reduction must be GR_REDUCE_MEAN, GR_REDUCE_SUM or GR_REDUCE_NONE; got 3" },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(bad); k++) {
        gr_tape_recover(t);
        gr_cross_entropy_config c = bad[k].c;
        c.weight = bad[k].weights ? gr_ones(t, GR_SHAPE(bad[k].weights)) : NULL;
        assert_null(gr_cross_entropy(t, gr_zeros(t, bad[k].x), gr_ints_new(t, bad[k].classes, bad[k].target), &c));
        assert_message(t, bad[k].text);
    }
    gr_tape_recover(t);
    assert_fails(t, gr_cross_entropy(t, gr_zeros(t, GR_SHAPE(2, 3)), NULL, NULL), "cross_entropy: target is NULL");
    assert_fails(t, gr_cross_entropy(t, NULL, gr_ints_new(t, classes, GR_SHAPE(2)), NULL), "cross_entropy: input 1 is NULL");
    assert_fails(t, gr_nll(t, gr_zeros(t, GR_SHAPE(2, 3)), gr_ints_new(t, classes, GR_SHAPE(3)), NULL),
                 "nll: logp is [2, 3], so target must be [2]; got [3]");
    assert_fails(t, gr_nll(t, gr_zeros(t, GR_SHAPE(2, 3)), gr_ints_new(t, NULL, GR_SHAPE(2)), &(gr_cross_entropy_config){ .label_smoothing = 0.1 }),
                 "nll: only cross_entropy takes label_smoothing; got 0.1");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(agrees_with_its_composed_twin_and_with_nll_of_log_softmax),
        cmocka_unit_test(its_composed_twin_needs_a_target_for_each_sample),
        cmocka_unit_test(values_and_gradients_are_pytorchs),
        cmocka_unit_test(defaults_are_those_of_no_config),
        cmocka_unit_test(huge_logits_neither_overflow_nor_lose_the_loss),
        cmocka_unit_test(an_ignored_sample_counts_for_nothing_whatever_its_logits),
        cmocka_unit_test(a_row_has_the_bits_of_a_column_however_far_its_logits_are_apart),
        cmocka_unit_test(ignored_samples_alone_give_nan_and_no_gradient),
        cmocka_unit_test(no_samples_are_accepted),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_sample_has_the_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(targets_weights_and_smoothing_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
