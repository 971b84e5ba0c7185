/* tests/test_inspect.c - seeing inside normalizations: which values share a mean, the terms of the gradient, whether BatchNorms are well. */
#include "tests/test.h"

static gr_tape *t;
static gr_module *net;
FIXTURE(begin)
{
    t = gr_tape_new(3, NULL), net = gr_module_new(t);
    return 0;
}
FIXTURE(end)
{
    gr_module_free(net), gr_tape_free(t);
    return 0;
}

static char printed[4000];
static FILE *paper(void) { return tmpfile(); }
static void read_paper(FILE *f)
{
    rewind(f);
    printed[fread(printed, 1, sizeof printed - 1, f)] = 0;
    fclose(f);
}

/* ---- Which values share a mean? ---- */

#define assert_explains(m, x, text) \
    do { \
        FILE *f_ = paper(); \
        const bool good_ = gr_print_norm(t, m, x, f_); \
        read_paper(f_); \
        assert_ok(t); \
        assert_true(good_); \
        assert_string_equal(printed, text); \
    } while (0)

TEST(layer_norm_shares_along_rows)
{
    gr_norm *ln = gr_layer_norm_new(t, net, "ln", GR_SHAPE(3), NULL),
            *wide = gr_layer_norm_new(t, net, "wide", GR_SHAPE(2, 4, 5), NULL);
    assert_explains(&ln->module, GR_SHAPE(2, 3),
                    "ln (LayerNorm) on [2, 3]: 2 means and 2 variances, each over 3 values\n"
                    "one for each index of axis 0\n"
                    "weight [3], bias [3]: a value for each index of axis 1\n"
                    "axis 0 down, axis 1 across:\n"
                    "    A A A\n"
                    "    B B B\n");
    assert_explains(&ln->module, GR_SHAPE(2, 3, 3),
                    "ln (LayerNorm) on [2, 3, 3]: 6 means and 6 variances, each over 3 values\n"
                    "one for each index of axis 0 and each index of axis 1\n"
                    "weight [3], bias [3]: a value for each index of axis 2\n"
                    "axis 0 down, axis 1 across, axis 2 within a block:\n"
                    "    AAA BBB CCC\n"
                    "    DDD EEE FFF\n");
    assert_explains(&ln->module, GR_SHAPE(3),
                    "ln (LayerNorm) on [3]: 1 means and 1 variances, each over 3 values\n"
                    "one for all\n"
                    "weight [3], bias [3]: a value for each index of axis 0\n"
                    "axis 0 across:\n"
                    "    A A A\n");
    assert_explains(&wide->module, GR_SHAPE(9, 2, 4, 5),
                    "wide (LayerNorm) on [9, 2, 4, 5]: 9 means and 9 variances, each over 40 values\n"
                    "one for each index of axis 0\n"
                    "weight [2, 4, 5], bias [2, 4, 5]: a value for each index of axes 1, 2, 3\n"
                    "axis 0 down, axis 1 across, axes 2 and 3 within a block:\n"
                    "    AA..A AA..A\n"
                    "    AA..A AA..A\n"
                    "    AA..A AA..A\n"
                    "    AA..A AA..A\n"
                    "\n"
                    "    BB..B BB..B\n"
                    "    BB..B BB..B\n"
                    "    BB..B BB..B\n"
                    "    BB..B BB..B\n"
                    "\n"
                    "    ..\n"
                    "\n"
                    "    CC..C CC..C\n"
                    "    CC..C CC..C\n"
                    "    CC..C CC..C\n"
                    "    CC..C CC..C\n");
}

TEST(batch_norm_shares_along_channels)
{
    gr_norm *bn = gr_batch_norm_new(t, net, "bn", 3, NULL);
    gr_norm *last = gr_batch_norm_new(t, net, "last", 3, &(gr_norm_config){ .axis = -1, .no_running = true, .no_affine = true });
    assert_explains(&bn->module, GR_SHAPE(2, 3),
                    "bn (BatchNorm) on [2, 3]: 3 means and 3 variances, each over 2 values\n"
                    "one for each index of axis 1\n"
                    "weight [3], bias [3], running_mean [3], running_var [3]: a value for each index of axis 1\n"
                    "in evaluation mode it uses running_mean and running_var instead\n"
                    "axis 0 down, axis 1 across:\n"
                    "    A B C\n"
                    "    A B C\n");
    assert_explains(&bn->module, GR_SHAPE(2, 3, 2, 2),
                    "bn (BatchNorm) on [2, 3, 2, 2]: 3 means and 3 variances, each over 8 values\n"
                    "one for each index of axis 1\n"
                    "weight [3], bias [3], running_mean [3], running_var [3]: a value for each index of axis 1\n"
                    "in evaluation mode it uses running_mean and running_var instead\n"
                    "axis 0 down, axis 1 across, axes 2 and 3 within a block:\n"
                    "    AA BB CC\n"
                    "    AA BB CC\n"
                    "\n"
                    "    AA BB CC\n"
                    "    AA BB CC\n");
    assert_explains(&last->module, GR_SHAPE(2, 2, 3),
                    "last (BatchNorm) on [2, 2, 3]: 3 means and 3 variances, each over 4 values\n"
                    "one for each index of axis 2\n"
                    "no parameters\n"
                    "axis 0 down, axis 1 across, axis 2 within a block:\n"
                    "    ABC ABC\n"
                    "    ABC ABC\n");
}

TEST(group_instance_and_rms_norm_share_as_documented)
{
    gr_norm *gn = gr_group_norm_new(t, net, "gn", 2, 4, NULL),
            *rows = gr_group_norm_new(t, net, "rows", 2, 4, &(gr_norm_config){ .axis = -1 });
    gr_norm *in = gr_instance_norm_new(t, net, "in", 2, &(gr_norm_config){ .dims = 1 });
    gr_norm *rms = gr_rms_norm_new(t, net, "rms", GR_SHAPE(10), NULL);
    assert_explains(&gn->module, GR_SHAPE(2, 4, 3),
                    "gn (GroupNorm) on [2, 4, 3]: 4 means and 4 variances, each over 6 values\n"
                    "one for each index of axis 0 and each of 2 parts of axis 1\n"
                    "weight [4], bias [4]: a value for each index of axis 1\n"
                    "axis 0 down, axis 1 across, axis 2 within a block:\n"
                    "    AAA AAA BBB BBB\n"
                    "    CCC CCC DDD DDD\n");
    assert_explains(&rows->module, GR_SHAPE(1, 2, 4),
                    "rows (GroupNorm) on [1, 2, 4]: 4 means and 4 variances, each over 2 values\n"
                    "one for each index of axis 0 and each index of axis 1 and each of 2 parts of axis 2\n"
                    "weight [4], bias [4]: a value for each index of axis 2\n"
                    "axis 0 down, axis 1 across, axis 2 within a block:\n"
                    "    AABB CCDD\n");
    assert_explains(&in->module, GR_SHAPE(2, 2, 3),
                    "in (InstanceNorm1d) on [2, 2, 3]: 4 means and 4 variances, each over 3 values\n"
                    "one for each index of axis 0 and each index of axis 1\n"
                    "no parameters\n"
                    "axis 0 down, axis 1 across, axis 2 within a block:\n"
                    "    AAA BBB\n"
                    "    CCC DDD\n");
    assert_explains(&rms->module, GR_SHAPE(2, 10),
                    "rms (RMSNorm) on [2, 10]: 2 mean squares, each over 10 values\n"
                    "one for each index of axis 0\n"
                    "weight [10]: a value for each index of axis 1\n"
                    "axis 0 down, axis 1 across:\n"
                    "    A A A A A A .. A\n"
                    "    B B B B B B .. B\n");
    assert_explains(&rms->module, GR_SHAPE(1, 1, 1, 2, 10),
                    "rms (RMSNorm) on [1, 1, 1, 2, 10]: 2 mean squares, each over 10 values\n"
                    "one for each index of axis 0 and each index of axis 1 and each index of axis 2 and each index of axis 3\n"
                    "weight [10]: a value for each index of axis 4\n");
}

/* Print the norm, and put the letter of each element of x into letter, row by row. The picture of a rank 4 x has axis 2 before axis 1. */
static void read_letters(const gr_module *m, gr_shape x, char *letter, size_t *means, size_t *values)
{
    FILE *f = paper();
    assert_true(gr_print_norm(t, m, x, f));
    read_paper(f);
    assert_int_equal(sscanf(strstr(printed, "]: "), "]: %zu mean%*[^,], each over %zu", means, values), 2);
    const size_t C = x.dim[1], H = x.rank > 3 ? x.dim[2] : 1, W = x.dim[x.rank - 1];
    size_t k = 0;
    for (const char *p = strstr(printed, "block:\n") + 7; *p; p++) {
        if (*p == ' ' || *p == '\n') continue;
        const size_t n = k / (H * C * W), h = k / (C * W) % H, c = k / W % C, w = k % W;
        letter[((n * C + c) * H + h) * W + w] = *p;
        k++;
    }
}

/* The letters are the operator's: moving one value of x changes those outputs that share its letter, and no others. */
TEST(the_picture_is_true)
{
    const gr_norm_kind kinds[] = { GR_NORM_BATCH, GR_NORM_LAYER, GR_NORM_RMS, GR_NORM_GROUP, GR_NORM_INSTANCE };
    const gr_shape shapes[] = { GR_SHAPE(3, 4, 4), GR_SHAPE(3, 4, 2, 3), GR_SHAPE(3, 2, 3, 4) };
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (size_t i = 0; i < COUNT(shapes); i++) {
            const bool first = i < 2;
            const gr_shape shape = shapes[i];
            if (kinds[k] == GR_NORM_RMS && first) continue;
            gr_module *m = gr_norm_new(t, net, NULL, kinds[k], 4, &(gr_norm_config){ .axis = first ? 1 : -1, .groups = 2 });
            gr_tensor *x = gr_rand(t, shape, -1, 1, "x"), *moved = gr_input(t, x->data, shape);
            moved->data[17] += 3;
            gr_tensor *y = gr_forward(t, m, x), *z = gr_forward(t, m, moved);
            char letter[72];
            size_t means, values, shared = 0;
            read_letters(m, shape, letter, &means, &values);
            assert_ok(t);
            for (size_t at = 0; at < x->len; at++) {
                const bool same = letter[at] == letter[17];
                shared += same;
                assert_true((y->data[at] != z->data[at]) == same);
            }
            assert_int_equal(shared, values);
            assert_int_equal(values * means, x->len);
        }
}

/* ---- The gradient's terms ---- */

TEST(the_terms_are_those_of_a_worked_example)
{
    gr_norm *ln = gr_layer_norm_new(t, net, "ln", GR_SHAPE(3), &(gr_norm_config){ .eps = GR_NONE });
    const gr_tensor *x = gr_input(t, (gr_real[]){ 1, 2, 4 }, GR_SHAPE(3));
    const gr_norm_terms y = gr_norm_gradient(t, &ln->module, x, (gr_real[]){ 1, 0, 0 });
    assert_ok(t);
    /* rstd = 0.801784; xhat = -1.06904, -0.26726, 1.33631; mean(g) = 1/3; mean(g xhat) = -0.356348 */
    assert_values(y.direct, 1e-5, (gr_real)0.801784, 0, 0);
    assert_values(y.mean, 1e-5, (gr_real)-0.267261, (gr_real)-0.267261, (gr_real)-0.267261);
    assert_values(y.variance, 1e-5, (gr_real)-0.305441, (gr_real)-0.0763604, (gr_real)0.381802);
    assert_values(y.dx, 1e-4, (gr_real)0.22908, (gr_real)-0.34362, (gr_real)0.11454);
    assert_true(fabs(y.direct_norm - 0.801784) < 1e-5 && fabs(y.mean_norm - 0.462910) < 1e-5 && fabs(y.variance_norm - 0.494872) < 1e-5);
    assert_true(fabs(y.dx_norm - 0.428571) < 1e-4);
}

TEST(the_terms_add_up_to_the_gradient_of_every_norm)
{
    const gr_norm_kind kinds[] = { GR_NORM_BATCH, GR_NORM_LAYER, GR_NORM_RMS, GR_NORM_GROUP, GR_NORM_INSTANCE };
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (int first = 0; first < 2; first++) {
            if (kinds[k] == GR_NORM_RMS && first) continue;
            const gr_shape shape = first ? GR_SHAPE(3, 4, 2, 5) : GR_SHAPE(3, 7, 4);
            gr_module *m = gr_norm_new(t, net, NULL, kinds[k], 4, &(gr_norm_config){ .axis = first ? 1 : -1, .groups = 2 });
            for (gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s))
                for (size_t i = 0; s->kind == GR_PARAMETER && i < s->tensor->len; i++) s->tensor->data[i] += (gr_real)i / 3;
            gr_tensor *x = gr_want_grad(t, gr_randn(t, shape, 2, 3, "x")), *dy = gr_randn(t, shape, 0, 1, "dy");
            gr_tensor *y = gr_forward(t, m, x);
            assert_true(gr_backward_from(t, y, dy->data));
            const gr_norm_terms terms = gr_norm_gradient(t, m, x, gr_grad(t, y));
            assert_ok(t);
            const double tolerance = (sizeof(gr_real) == 4 ? 1e-6 : 1e-14) * terms.direct_norm; /* in groups of two values the terms cancel */
            for (size_t i = 0; i < x->len; i++) {
                const gr_real sum = terms.direct->data[i] + terms.mean->data[i] + terms.variance->data[i];
                assert_true(fabs((double)(terms.dx->data[i] - gr_grad(t, x)[i])) <= tolerance);
                assert_true(fabs((double)(terms.dx->data[i] - sum)) <= tolerance);
            }
            assert_true((terms.mean_norm == 0) == (kinds[k] == GR_NORM_RMS));
            gr_tape_reset(t);
        }
}

/* Xu et al. 2019: without eps the gradient of the values that share a statistic sums to 0, and so does its product with xhat. */
TEST(the_gradient_is_centred_and_orthogonal_to_xhat)
{
    gr_norm *ln = gr_layer_norm_new(t, net, "ln", GR_SHAPE(19), &(gr_norm_config){ .eps = GR_NONE });
    gr_norm *bn = gr_batch_norm_new(t, net, "bn", 19, &(gr_norm_config){ .eps = GR_NONE });
    gr_module *both[] = { &ln->module, &bn->module };
    for (size_t k = 0; k < COUNT(both); k++) {
        const size_t statistics = k ? 19 : 40, values = k ? 40 : 19;
        gr_tensor *x = gr_randn(t, GR_SHAPE(40, 19), 1, 2, "x"), *dy = gr_randn(t, GR_SHAPE(40, 19), 0, 1, "dy");
        const gr_norm_terms y = gr_norm_gradient(t, both[k], x, dy->data);
        assert_ok(t);
        for (size_t s = 0; s < statistics; s++) {
            double sum = 0, dot = 0, mean = 0, var = 0, size = 0;
            for (size_t i = 0; i < x->len; i++)
                if ((k ? i % 19 : i / 19) == s) mean += (double)x->data[i] / (double)values;
            for (size_t i = 0; i < x->len; i++) {
                if ((k ? i % 19 : i / 19) != s) continue;
                const double d = (double)x->data[i] - mean, dx = (double)y.dx->data[i];
                var += d * d / (double)values, sum += dx, dot += d * dx, size += fabs(dx);
            }
            const double tolerance = sizeof(gr_real) == 4 ? 1e-6 : 1e-12;
            assert_true(fabs(sum) <= tolerance * size && fabs(dot / sqrt(var)) <= tolerance * size);
        }
    }
}

/* ---- BatchNorms ---- */

TEST(a_batch_norm_is_compared_with_its_batch)
{
    gr_norm *bn = gr_batch_norm_new(t, net, "bn", 2, &(gr_norm_config){ .eps = 1e-6 });
    gr_tensor *x = gr_input(t, (gr_real[]){ 1, 10, 3, 10 }, GR_SHAPE(2, 2)); /* means 2 and 10, variances 1 and 0 */
    gr_tape_set_tracing(t, true), gr_tape_set_training(t, false);
    gr_norm_forward(t, bn, x, NULL);
    bn->running_mean->data[1] = 4, bn->running_var->data[1] = 4, *bn->batches = 1;
    FILE *f = paper();
    assert_int_equal(gr_print_batch_norms(t, net, f), 1);
    read_paper(f);
    assert_ok(t);
    assert_string_equal(printed, /* mean off (10 - 4) / 2; gap sqrt((4 + 9 + 4 + 9) / 4) */
                        "BatchNorm    values   updates  mean off   sd from     sd to       gap\n"
                        "bn                2         1         3    0.0005         1      2.55  few values; constant channels; the batch's mean "
                        "is far from the running one; the batch's deviation is far from the running one\n");
}

TEST(the_report_prints_every_batch_norm)
{
    gr_norm *good = gr_batch_norm_new(t, net, "good", 2, NULL), *small = gr_batch_norm_new(t, net, "small", 2, NULL);
    gr_norm *fresh = gr_batch_norm_new(t, net, "fresh", 2, &(gr_norm_config){ .dims = 1 }),
            *none = gr_batch_norm_new(t, net, "none", 2, &(gr_norm_config){ .no_running = true });
    gr_batch_norm_new(t, net, "idle", 2, NULL);
    gr_real flat[40];
    for (size_t i = 0; i < 40; i++) flat[i] = (gr_real)(i % 2 ? 9 : 0) + (gr_real)(i / 2 % 2 ? 1 : -1);
    gr_tensor *x = gr_input(t, flat, GR_SHAPE(20, 2)), *few = gr_input(t, flat, GR_SHAPE(2, 2));
    for (int i = 0; i < 40; i++) gr_norm_forward(t, good, x, NULL);
    gr_tape_set_tracing(t, true);
    gr_norm_forward(t, good, x, NULL), gr_norm_forward(t, small, few, NULL), gr_norm_forward(t, none, x, NULL);
    gr_tape_set_training(t, false);
    gr_norm_forward(t, fresh, x, NULL);
    FILE *f = paper();
    assert_int_equal(gr_print_batch_norms(t, net, f), 3);
    assert_int_equal(gr_print_batch_norms(t, net, NULL), 3);
    read_paper(f);
    assert_ok(t);
    assert_string_equal(printed,
                        "BatchNorm    values   updates  mean off   sd from     sd to       gap\n"
                        "good             20        41     0.117     0.975     0.975    0.0862  well\n"
                        "small             2         1      7.72     0.953     0.953      5.46  few values; the batch's mean is far "
                        "from the running one\n"
                        "fresh            20         0         9         1         1      6.36  never updated: evaluation uses mean 0 "
                        "and variance 1\n"
                        "none             20         -         -         -         -         -  well\n"
                        "idle       did not run while gr_tape_set_tracing was on\n");
}

/* ---- Errors ---- */

TEST(modules_without_a_norm_and_inputs_that_do_not_fit_are_refused)
{
    gr_linear_module *fc = gr_linear_new(t, net, "fc", 2, 2, NULL);
    gr_norm *ln = gr_layer_norm_new(t, net, "ln", GR_SHAPE(4), NULL);
    gr_norm *bn = gr_batch_norm_new(t, net, "bn", 4, NULL);
    gr_tensor *x = gr_ones(t, GR_SHAPE(2, 3));
#define SAYS(call, text) ((void)(call), assert_message(t, text), gr_tape_recover(t), x = gr_ones(t, GR_SHAPE(2, 3)))
    SAYS(gr_print_norm(t, NULL, GR_SHAPE(2), NULL), "print_norm: the module is NULL");
    SAYS(gr_print_norm(t, net, GR_SHAPE(2), NULL), "print_norm: the root (Module) is not a norm");
    SAYS(gr_print_norm(t, &fc->module, GR_SHAPE(2, 2), stderr), "print_norm: fc (Linear) is not a norm");
    SAYS(gr_print_norm(t, &ln->module, GR_SCALAR, NULL), "print_norm in ln: x is [], and its last axes must be [4]");
    SAYS(gr_print_norm(t, &ln->module, (gr_shape){ GR_MAX_RANK + 1, { 0 } }, NULL), "print_norm in ln: x is rank 9");
    SAYS(gr_print_norm(t, &ln->module, GR_SHAPE(2, 3), NULL), "print_norm in ln: x is [2, 3], and its last axes must be [4]");
    SAYS(gr_print_norm(t, &bn->module, GR_SHAPE(2, 3), NULL),
         "print_norm in bn: x is [2, 3], and its second axis must hold 4 features; for x [.., C] make it with .axis = -1");
    SAYS(gr_print_norm(t, &bn->module, GR_SCALAR, NULL),
         "print_norm in bn: x is [], and its second axis must hold 4 features; for x [.., C] make it with .axis = -1");
    SAYS(gr_norm_gradient(t, &ln->module, x, x->data), "norm_gradient in ln: x is [2, 3], and its last axes must be [4]");
    SAYS(gr_norm_gradient(t, &ln->module, gr_ones(t, GR_SHAPE(4)), NULL), "norm_gradient: dy is NULL");
    SAYS(gr_norm_gradient(t, &ln->module, NULL, x->data), "norm_gradient: input 1 is NULL");
    assert_false(gr_print_norm(NULL, net, GR_SHAPE(1), NULL));
    assert_null(gr_norm_gradient(NULL, net, x, x->data).dx);
    assert_int_equal(gr_print_batch_norms(NULL, NULL, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(layer_norm_shares_along_rows, begin, end),
        cmocka_unit_test_setup_teardown(batch_norm_shares_along_channels, begin, end),
        cmocka_unit_test_setup_teardown(group_instance_and_rms_norm_share_as_documented, begin, end),
        cmocka_unit_test_setup_teardown(the_picture_is_true, begin, end),
        cmocka_unit_test_setup_teardown(the_terms_are_those_of_a_worked_example, begin, end),
        cmocka_unit_test_setup_teardown(the_terms_add_up_to_the_gradient_of_every_norm, begin, end),
        cmocka_unit_test_setup_teardown(the_gradient_is_centred_and_orthogonal_to_xhat, begin, end),
        cmocka_unit_test_setup_teardown(a_batch_norm_is_compared_with_its_batch, begin, end),
        cmocka_unit_test_setup_teardown(the_report_prints_every_batch_norm, begin, end),
        cmocka_unit_test_setup_teardown(modules_without_a_norm_and_inputs_that_do_not_fit_are_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
