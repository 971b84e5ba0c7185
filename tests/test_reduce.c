/* tests/test_reduce.c - sum, mean, var, max, min, prod, logsumexp, vector_norm, argmax, over any axes. */
#include "tests/test.h"

#define NaN ((gr_real)NAN)
#define INF ((gr_real)INFINITY)

typedef struct { gr_axes axes; bool keepdim; } how;

#define REDUCTION(name, call) \
    static gr_tensor *name##_of(gr_tape *t, gr_tensor *const *in, void *argument) \
    { \
        const how *h = argument; \
        return call; \
    }
REDUCTION(sum, gr_sum(t, in[0], h->axes, h->keepdim))
REDUCTION(mean, gr_mean(t, in[0], h->axes, h->keepdim))
REDUCTION(var, gr_var(t, in[0], h->axes, 0.5, h->keepdim))
REDUCTION(max, gr_max(t, in[0], h->axes, h->keepdim))
REDUCTION(min, gr_min(t, in[0], h->axes, h->keepdim))
REDUCTION(prod, gr_prod(t, in[0], h->axes, h->keepdim))
REDUCTION(logsumexp, gr_logsumexp(t, in[0], h->axes, h->keepdim))
REDUCTION(norm_1, gr_vector_norm(t, in[0], 1, h->axes, h->keepdim))
REDUCTION(norm_2, gr_vector_norm(t, in[0], 2, h->axes, h->keepdim))
REDUCTION(norm_3, gr_vector_norm(t, in[0], 3, h->axes, h->keepdim))
REDUCTION(norm_inf, gr_vector_norm(t, in[0], HUGE_VAL, h->axes, h->keepdim))

/* The same, by a plain loop over the n values that one result depends on. */
static double plain_sum(const double *x, size_t n) { double s = 0; for (size_t i = 0; i < n; i++) s += x[i]; return s; }
static double plain_mean(const double *x, size_t n) { return plain_sum(x, n) / (double)n; }
static double plain_var(const double *x, size_t n)
{
    const double mean = plain_mean(x, n);
    double s = 0;
    for (size_t i = 0; i < n; i++) s += (x[i] - mean) * (x[i] - mean);
    return s / ((double)n - 0.5);
}
static double plain_max(const double *x, size_t n) { double m = x[0]; for (size_t i = 0; i < n; i++) m = fmax(m, x[i]); return m; }
static double plain_min(const double *x, size_t n) { double m = x[0]; for (size_t i = 0; i < n; i++) m = fmin(m, x[i]); return m; }
static double plain_prod(const double *x, size_t n) { double p = 1; for (size_t i = 0; i < n; i++) p *= x[i]; return p; }
static double plain_lse(const double *x, size_t n) { double s = 0; for (size_t i = 0; i < n; i++) s += exp(x[i]); return log(s); }
static double plain_norm_1(const double *x, size_t n) { double s = 0; for (size_t i = 0; i < n; i++) s += fabs(x[i]); return s; }
static double plain_norm_2(const double *x, size_t n) { double s = 0; for (size_t i = 0; i < n; i++) s += x[i] * x[i]; return sqrt(s); }
static double plain_norm_3(const double *x, size_t n) { double s = 0; for (size_t i = 0; i < n; i++) s += pow(fabs(x[i]), 3); return cbrt(s); }
static double plain_norm_inf(const double *x, size_t n) { double m = 0; for (size_t i = 0; i < n; i++) m = fmax(m, fabs(x[i])); return m; }

static const struct {
    const char *name;
    gr_gradcheck_function *f;
    double (*plain)(const double *x, size_t n);
    gr_gradcheck_input in;
} ops[] = {
    { "sum", sum_of, plain_sum, { .low = -2, .high = 2 } },
    { "mean", mean_of, plain_mean, { .low = -2, .high = 2 } },
    { "var", var_of, plain_var, { .low = -2, .high = 2 } },
    { "max", max_of, plain_max, { .distinct = true } },
    { "min", min_of, plain_min, { .distinct = true } },
    { "prod", prod_of, plain_prod, { .low = 0.6, .high = 1.5 } },
    { "logsumexp", logsumexp_of, plain_lse, { .low = -2, .high = 2 } },
    { "vector_norm", norm_1_of, plain_norm_1, { .kink = 0, .has_kink = true } },
    { "vector_norm", norm_2_of, plain_norm_2, { .low = 0.3, .high = 2 } },
    { "vector_norm", norm_3_of, plain_norm_3, { .low = -2, .high = -0.3 } },
    { "vector_norm", norm_inf_of, plain_norm_inf, { .low = 0.1, .high = 3, .distinct = true } },
};

static gr_shape shape_of(const gr_shape x, unsigned axes, bool keepdim) /* the set of axes, one bit each */
{
    gr_shape y = { 0 };
    for (int k = 0; k < x.rank; k++)
        if (!(axes >> k & 1) || keepdim) y.dim[y.rank++] = axes >> k & 1 ? 1 : x.dim[k];
    return y;
}

static how how_of(int rank, unsigned axes, bool keepdim)
{
    how h = { .keepdim = keepdim };
    for (int k = rank - 1; k >= 0; k--)
        if (axes >> k & 1) h.axes.axis[h.axes.count++] = k % 2 ? k : k - rank; /* from last to first, some of them negative */
    return h;
}

/* ---- Gradients and values, over every set of axes ---- */

TEST(gradients_match_finite_differences)
{
    const gr_shape shapes[] = { GR_SHAPE(1), GR_SHAPE(5), GR_SHAPE(18), GR_SHAPE(3, 17), GR_SHAPE(2, 3, 5), GR_SHAPE(2, 3, 1, 4) };
    for (size_t k = 0; k < COUNT(ops); k++) {
        gr_gradcheck_input in = ops[k].in;
        in.shape = GR_SCALAR;
        assert_true(test_gradcheck(ops[k].name, ops[k].f, &(how){ GR_ALL_AXES, false }, &in, 1, NULL, stderr));
        for (size_t s = 0; s < COUNT(shapes); s++)
            for (unsigned axes = 1; axes < 1u << shapes[s].rank; axes++) {
                how h = how_of(shapes[s].rank, axes, axes & 1);
                in.shape = shapes[s];
                if (!test_gradcheck(ops[k].name, ops[k].f, &h, &in, 1, NULL, stderr)) fail_msg("op %zu shape %zu axes %x", k, s, axes);
            }
    }
}

TEST(values_and_shapes_match_a_plain_loop)
{
    const gr_shape shapes[] = { GR_SHAPE(3, 4, 5, 2), GR_SHAPE(40, 3, 300), GR_SHAPE(130, 70), GR_SHAPE(9001) };
    double *values = malloc(40000 * sizeof *values);
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (unsigned axes = 1; axes < 1u << shapes[s].rank; axes++)
            for (size_t k = 0; k < COUNT(ops); k++) {
                gr_tape_reset(t);
                gr_tensor *x = gr_rand(t, shapes[s], 0.9, 1.1, "x");
                how h = how_of(shapes[s].rank, axes, axes & 2);
                const gr_tensor *y = ops[k].f(t, &x, &h);
                const gr_shape want = shape_of(shapes[s], axes, axes & 2), ones = shape_of(shapes[s], axes, true);
                assert_true(y && gr_same_shape(y, gr_empty(t, want)));
                for (size_t j = 0; j < y->len; j += 1 + y->len / 7) {
                    size_t n = 0;
                    for (size_t i = 0; i < x->len; i++) {
                        size_t at = 0, stride = 1, index = i;
                        for (int d = shapes[s].rank - 1; d >= 0; index /= shapes[s].dim[d], d--) {
                            if (axes >> d & 1) continue;
                            at += index % shapes[s].dim[d] * stride, stride *= ones.dim[d];
                        }
                        if (at == j) values[n++] = (double)x->data[i];
                    }
                    const double plain = ops[k].plain(values, n);
                    if (!(fabs((double)y->data[j] - plain) <= 1e-5 * fabs(plain)))
                        fail_msg("%s, axes %x: %.9g should be %.9g", ops[k].name, axes, (double)y->data[j], plain);
                }
            }
    assert_ok(t);
    gr_tape_free(t);
    free(values);
}

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    for (size_t k = 0; k < COUNT(ops); k++)
        for (unsigned axes = 1; axes < 8; axes++) {
            how h = how_of(3, axes, false);
            gr_gradcheck_input in = ops[k].in;
            in.shape = axes == 4 ? GR_SHAPE(3, 1, 9001) : axes == 1 ? GR_SHAPE(131, 3, 300) : GR_SHAPE(61, 19, 37);
            in.distinct = false;
            assert_bits_stay(ops[k].f, &h, &in, 1);
        }
    static const gr_real specials[] = { 1, 2, NaN, 0, -0.0, INF, 5, -INF, 3, 0x1p-149, -1, -0x1p-127, 1, 1, 1, 1, 1, 1, 4,
                                        0, 0, 0, -INF, -INF, -INF, 0x1p127, 0x1p127, 0x1p127 };
    for (size_t k = 0; k < COUNT(ops); k++)
        for (unsigned axes = 1; axes < 4; axes++) {
            how h = how_of(2, axes, false);
            assert_bits_stay(ops[k].f, &h, (&(gr_gradcheck_input){ .shape = GR_SHAPE(4, COUNT(specials) / 4), .values = specials }), 1);
        }
}

TEST(a_sample_gets_the_same_bits_alone_and_in_a_batch)
{
    const unsigned axes[] = { 2, 4, 6 };
    for (size_t k = 0; k < COUNT(ops); k++)
        for (size_t a = 0; a < COUNT(axes); a++) {
            how h = how_of(3, axes[a], false);
            gr_tape *t = gr_tape_new(1, NULL), *alone = gr_tape_new(1, NULL);
            gr_tensor *x = gr_want_grad(t, gr_rand(t, GR_SHAPE(7, 70, 43), 0.9, 1.1, "x")), *y = ops[k].f(t, &x, &h);
            gr_tensor *sample = gr_want_grad(alone, gr_input(alone, x->data + 5 * 70 * 43, GR_SHAPE(1, 70, 43)));
            gr_tensor *z = ops[k].f(alone, &sample, &h), *dy = gr_rand(t, gr_shape_of(y), -1, 1, "dy");
            assert_true(gr_backward_from(t, y, dy->data) && gr_backward_from(alone, z, dy->data + 5 * z->len));
            assert_same_bits(z->data, y->data + 5 * z->len, z->len);
            assert_same_bits(gr_grad(alone, sample), gr_grad(t, x) + 5 * 70 * 43, 70 * 43);
            gr_tape_free(t), gr_tape_free(alone);
        }
}

/* ---- Accuracy ---- */

TEST(long_sums_stay_accurate)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_full(t, GR_SHAPE(1000, 4000), 0.1);
    assert_true(fabs(gr_item(gr_sum(t, x, GR_ALL_AXES, false)) / 4e5 - 1) < 1e-6);
    assert_true(fabs((double)gr_mean(t, gr_reshape(t, x, GR_SHAPE(2000000, 2)), GR_AXES(0), false)->data[1] - 0.1) < 1e-7);
    gr_tape_free(t);
}

/* A single long sum is divided into parts; of two sums, each is added by one thread. */
TEST(a_long_sum_has_the_same_bits_in_parts_and_by_one_thread)
{
    const size_t sizes[][2] = { { 131072, 1 }, { 131073, 1 }, { 64 * 65536, 1 }, { 65 * 65536 + 70000, 1 }, { 8192, 5 },
                                { 9001, 128 }, { 9001, 257 }, { 200, 1025 }, { 65 * 4096 + 5000, 2 }, { 20000, 3 } };
    for (size_t k = 0; k < COUNT(sizes); k++)
        for (int threads = 1; threads < 4; threads += 2) {
            gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .threads = threads }));
            gr_tensor *x = gr_empty(t, GR_SHAPE(2, sizes[k][0], sizes[k][1]));
            fill_random(&(uint64_t){ 1 }, x->data, x->len, -1, 2);
            const gr_tensor *both = gr_sum(t, x, GR_AXES(1), false), *one = gr_sum(t, gr_slice(t, x, 1, 1), GR_AXES(1), false);
            assert_ok(t);
            assert_same_bits(one->data, both->data + sizes[k][1], sizes[k][1]);
            gr_tape_free(t);
        }
}

TEST(the_variance_of_values_far_from_0_is_accurate)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_real x[1024];
    for (int i = 0; i < 1024; i++) x[i] = (gr_real)(10000 + i % 2); /* exact in float; variance 1/4 */
    assert_values(gr_var(t, gr_input(t, x, GR_SHAPE(1024)), GR_AXES(0), 0, false), 1e-6, 0.25);
    for (int i = 0; i < 1024; i++) x[i] = (gr_real)(99999 + i % 3 * 0.5);
    assert_values(gr_var(t, gr_input(t, x, GR_SHAPE(1023)), GR_AXES(0), 0, false), 1e-5, (gr_real)(0.5 / 3));
    gr_tape_free(t);
}

/* ---- Conventions, by hand ---- */

static void known(gr_tensor *f(gr_tape *t, gr_tensor *const *in, void *argument), size_t n, const gr_real *x, gr_real y, const gr_real *dx)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in = gr_want_grad(t, gr_input(t, x, GR_SHAPE(n))), *out = f(t, &in, &(how){ GR_AXES(0), false });
    assert_true(gr_backward(t, out));
    assert_values(out, 1e-6, y);
    assert_close(gr_grad(t, in), dx, n, 1e-6);
    gr_tape_free(t);
}
#define V(...) ((gr_real[]){ __VA_ARGS__ })

TEST(special_cases_follow_the_documented_conventions)
{
    known(max_of, 4, V(3, 1, 3, 3), 3, V(1 / (gr_real)3, 0, 1 / (gr_real)3, 1 / (gr_real)3));
    known(min_of, 4, V(3, 1, 1, 3), 1, V(0, 0.5, 0.5, 0));
    known(max_of, 3, V(-INF, -INF, -INF), -INF, V(1 / (gr_real)3, 1 / (gr_real)3, 1 / (gr_real)3));
    known(prod_of, 3, V(2, 5, -3), -30, V(-15, -6, 10));
    known(prod_of, 3, V(2, 0, -3), 0, V(0, -6, 0));
    known(prod_of, 3, V(0, 2, 0), 0, V(0, 0, 0));
    known(logsumexp_of, 2, V(4, 4), (gr_real)4.6931471805599453, V(0.5, 0.5));
    known(logsumexp_of, 2, V(-INF, 3), 3, V(0, 1));
    known(logsumexp_of, 2, V(-INF, -INF), -INF, V(0, 0));
    known(logsumexp_of, 2, V(INF, 3), INF, V(NaN, 0));
    known(norm_1_of, 3, V(2, 0, -3), 5, V(1, 0, -1));
    known(norm_2_of, 2, V(3, -4), 5, V((gr_real)0.6, (gr_real)-0.8));
    known(norm_2_of, 2, V(0, 0), 0, V(0, 0));
    known(norm_3_of, 2, V(0, 0), 0, V(0, 0));
    known(norm_3_of, 2, V(0, -2), 2, V(0, -1));
    known(norm_inf_of, 3, V(-4, 2, 4), 4, V(-0.5, 0, 0.5));
    known(norm_inf_of, 2, V(0, 0), 0, V(0, 0));
    known(var_of, 3, V(1, 2, 3), (gr_real)0.8, V((gr_real)-0.8, 0, (gr_real)0.8));
    known(mean_of, 4, V(1, 2, 3, 6), 3, V(0.25, 0.25, 0.25, 0.25));
    known(sum_of, 2, V(INF, 1), INF, V(1, 1));
}

TEST(a_nan_reaches_the_result)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_real x[70];
    for (int at = 0; at < 70; at++) {
        for (int i = 0; i < 70; i++) x[i] = i == at ? NaN : (gr_real)i;
        gr_tensor *in = gr_input(t, x, GR_SHAPE(70));
        for (size_t k = 0; k < COUNT(ops); k++) assert_true(isnan(gr_item(ops[k].f(t, &in, &(how){ GR_AXES(0), false }))));
    }
    assert_ok(t);
    gr_tape_free(t);
}

TEST(a_correction_that_leaves_no_degrees_of_freedom_gives_nan)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_arange(t, 3);
    assert_values(gr_var(t, x, GR_ALL_AXES, 1, false), 1e-6, 1);
    assert_values(gr_var(t, x, GR_ALL_AXES, 3, false), 0, NaN);
    assert_values(gr_var(t, x, GR_ALL_AXES, 4, false), 0, NaN);
    assert_values(gr_var(t, gr_scalar(t, 2), GR_ALL_AXES, 1, false), 0, NaN);
    assert_ok(t);
    gr_tape_free(t);
}

TEST(empty_inputs_reduce_to_the_documented_constants)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_real want[] = { 0, NaN, NaN, NaN, NaN, 1, -INF, 0, 0, 0, 0 };
    for (size_t k = 0; k < COUNT(ops); k++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_want_grad(t, gr_zeros(t, GR_SHAPE(2, 0, 3))), *none = ops[k].f(t, &x, &(how){ GR_AXES(0), false });
        assert_true(gr_same_shape(none, gr_zeros(t, GR_SHAPE(0, 3)))); /* there are no results, each of two values */
        if (!strcmp(ops[k].name, "max") || !strcmp(ops[k].name, "min")) {
            char message[80];
            snprintf(message, sizeof message, "%s: x is [2, 0, 3]: the %s of no values does not exist", ops[k].name, ops[k].name);
            assert_fails(t, ops[k].f(t, &x, &(how){ GR_AXES(1), false }), message);
            continue;
        }
        gr_tensor *y = ops[k].f(t, &x, &(how){ GR_AXES(1), true });
        assert_true(gr_same_shape(y, gr_zeros(t, GR_SHAPE(2, 1, 3))));
        for (int i = 0; i < 6; i++) assert_close(y->data + i, &want[k], 1, 0);
        assert_true(gr_backward_from(t, y, (gr_real[6]){ 0 }));
    }
    assert_ok(t);
    gr_tape_free(t);
}

/* ---- Argmax ---- */

/* A batch of one sample is reduced over its leading axis, and a larger batch is not. */
TEST(a_zero_that_is_the_largest_or_smallest_has_one_sign_in_any_batch)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_real v[] = { 0, (gr_real)-0.0, (gr_real)-0.0, 0, 0, (gr_real)-0.0, (gr_real)-0.0, 0 };
    for (size_t batch = 1; batch < 3; batch++) {
        gr_tensor *const x = gr_input(t, v, GR_SHAPE(batch, 2, 2)), *const y[] = { gr_max(t, x, GR_AXES(1), false), gr_min(t, x, GR_AXES(1), false) };
        for (size_t i = 0; i < 4; i++) assert_true(y[i / 2]->data[i % 2] == 0 && !signbit(y[i / 2]->data[i % 2]));
    }
    gr_tape_free(t);
}

TEST(argmax_finds_the_first_largest)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_input(t, V(1, 5, 5, 2, 0, -1, 7, NaN, NaN, -INF, -INF, -INF), GR_SHAPE(4, 3));
    const gr_ints *rows = gr_argmax(t, x, -1, false), *columns = gr_argmax(t, x, 0, true);
    assert_true(rows->rank == 1 && rows->len == 4);
    assert_memory_equal(rows->data, ((int[]){ 1, 0, 1, 0 }), 4 * sizeof(int));
    assert_true(columns->rank == 2 && columns->dim[0] == 1 && columns->dim[1] == 3);
    assert_memory_equal(columns->data, ((int[]){ 2, 2, 2 }), 3 * sizeof(int));
    assert_int_equal(gr_argmax(t, gr_zeros(t, GR_SHAPE(0, 3)), 1, false)->len, 0);
    assert_ok(t);

    gr_tensor *large = gr_zeros(t, GR_SHAPE(300, 101));
    for (size_t r = 0; r < 300; r++) large->data[r * 101 + r % 101] = 1;
    const gr_ints *where = gr_argmax(t, large, 1, false);
    for (int r = 0; r < 300; r++) assert_int_equal(where->data[r], r % 101);

    assert_fails(t, gr_argmax(t, gr_zeros(t, GR_SHAPE(2, 0)), 1, false), "argmax: x is [2, 0]: an empty axis has no largest value");
    assert_fails(t, gr_argmax(t, gr_zeros(t, GR_SHAPE(0, (size_t)1 << 31)), 1, false),
                 "argmax: x is [0, 2147483648]: an index of axis 1 does not fit into an int");
    assert_fails(t, gr_argmax(t, gr_scalar(t, 1), 0, false), "argmax: x is [] and has no axis; got axis 0");
    assert_fails(t, gr_argmax(t, NULL, 0, false), "argmax: input 1 is NULL");
    gr_tape_free(t);
}

/* ---- Errors ---- */

TEST(bad_axes_are_reported)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(ops); k++) {
        const struct { gr_axes axes; const char *text; } bad[] = {
            { GR_AXES(2), "x is [2, 3], so an axis must be in -2 .. 1; got 2" },
            { GR_AXES(0, -3), "x is [2, 3], so an axis must be in -2 .. 1; got -3" },
            { GR_AXES(1, -1), "axis 1 is given twice" },
            { { 9, { 0 } }, "there can be 8 axes at most; got 9" },
            { { -1, { 0 } }, "there can be 8 axes at most; got -1" },
        };
        for (size_t i = 0; i < COUNT(bad); i++) {
            char message[100];
            gr_tape_recover(t);
            gr_tensor *x = gr_zeros(t, GR_SHAPE(2, 3));
            assert_null(ops[k].f(t, &x, &(how){ bad[i].axes, false }));
            snprintf(message, sizeof message, "%s: %s", ops[k].name, bad[i].text);
            assert_message(t, message);
        }
        char message[40];
        gr_tape_recover(t);
        assert_null(ops[k].f(t, (gr_tensor *[]){ NULL }, &(how){ GR_ALL_AXES, false }));
        snprintf(message, sizeof message, "%s: input 1 is NULL", ops[k].name);
        assert_message(t, message);
    }
    gr_tape_recover(t);
    assert_fails(t, gr_vector_norm(t, gr_zeros(t, GR_SHAPE(2)), 0, GR_ALL_AXES, false), "vector_norm: p must be above 0; got 0");
    assert_fails(t, gr_vector_norm(t, gr_zeros(t, GR_SHAPE(2)), -HUGE_VAL, GR_ALL_AXES, false), "vector_norm: p must be above 0; got -inf");
    if (sizeof(gr_real) == 4)
        assert_fails(t, gr_vector_norm(t, gr_zeros(t, GR_SHAPE(2)), 1e-60, GR_ALL_AXES, false), "vector_norm: p must be above 0; got 1e-60");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(values_and_shapes_match_a_plain_loop),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_sample_gets_the_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(a_zero_that_is_the_largest_or_smallest_has_one_sign_in_any_batch),
        cmocka_unit_test(long_sums_stay_accurate),
        cmocka_unit_test(a_long_sum_has_the_same_bits_in_parts_and_by_one_thread),
        cmocka_unit_test(the_variance_of_values_far_from_0_is_accurate),
        cmocka_unit_test(special_cases_follow_the_documented_conventions),
        cmocka_unit_test(a_nan_reaches_the_result),
        cmocka_unit_test(a_correction_that_leaves_no_degrees_of_freedom_gives_nan),
        cmocka_unit_test(empty_inputs_reduce_to_the_documented_constants),
        cmocka_unit_test(argmax_finds_the_first_largest),
        cmocka_unit_test(bad_axes_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
