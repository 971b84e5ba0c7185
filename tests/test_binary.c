/* tests/test_binary.c - every line of ops/binary.def, broadcasting, where, prelu. */
#include "tests/test.h"

#define NaN ((gr_real)NAN)
#define INF ((gr_real)INFINITY)

#define BINARY(op, ...) \
    static gr_tensor *op##_of(gr_tape *t, gr_tensor *const *in, void *argument) { (void)argument; return gr_##op(t, in[0], in[1]); }
#define COMPARE BINARY
#include "ops/binary.def"

typedef struct { const char *name; gr_gradcheck_function *f; double low_a, high_a, low_b, high_b; } binary;
static const binary ops[] = {
#define BINARY(op, y, da, db, ...) { #op, op##_of, __VA_ARGS__ },
#define COMPARE(...)
#include "ops/binary.def"
};
static const binary comparisons[] = {
#define BINARY(...)
#define COMPARE(op, holds) { #op, op##_of, -2, 2, -2, 2 },
#include "ops/binary.def"
};

static const gr_real specials[] = { NaN, INF, -INF, 0, -0.0, 1, -1, 0x1p-126, -0x1p-127, 0x1p-149, 0x1p127, -0x1p127,
                                    2, 3, -3, 0.5, -0.5, 1e20, 88.7, -104, 16777217.0, 1e9 };

static const struct { gr_shape a, b; } shapes[] = {
    { { 0 }, { 0 } },                                         { { 1, { 5 } }, { 0 } },
    { { 2, { 3, 17 } }, { 2, { 3, 17 } } },                   { { 2, { 3, 17 } }, { 1, { 17 } } },
    { { 1, { 17 } }, { 2, { 3, 17 } } },                      { { 2, { 3, 17 } }, { 2, { 3, 1 } } },
    { { 2, { 3, 1 } }, { 2, { 1, 5 } } },                     { { 3, { 2, 1, 4 } }, { 2, { 3, 1 } } },
    { { 4, { 4, 1, 1, 3 } }, { 3, { 2, 5, 1 } } },            { { 3, { 2, 3, 1 } }, { 3, { 1, 1, 33 } } },
    { { 1, { 1 } }, { 4, { 1, 1, 1, 1 } } },                  { { 5, { 2, 1, 2, 1, 2 } }, { 5, { 1, 2, 1, 2, 1 } } },
};

static size_t len_of(gr_shape s)
{
    size_t n = 1;
    for (int k = 0; k < s.rank; k++) n *= s.dim[k];
    return n;
}

/* Values in [low, high) on a lattice, one input on odd points and the other on even ones, so that two values are never close to each
 * other. */
static gr_real *lattice(gr_stream *s, size_t n, double low, double high, int odd)
{
    gr_real *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = (gr_real)(low + (high - low) * (2 * (double)gr_stream_below(s, 8) + odd) / 16);
    return x;
}

TEST(gradients_match_finite_differences)
{
    gr_stream s = gr_stream_new(1, "lattice");
    for (size_t k = 0; k < COUNT(ops); k++)
        for (size_t i = 0; i < COUNT(shapes); i++) {
            gr_real *a = lattice(&s, len_of(shapes[i].a), ops[k].low_a, ops[k].high_a, 0);
            gr_real *b = lattice(&s, len_of(shapes[i].b), ops[k].low_b, ops[k].high_b, 1);
            const gr_gradcheck_input in[] = { { .shape = shapes[i].a, .values = a }, { .shape = shapes[i].b, .values = b } };
            assert_true(test_gradcheck(ops[k].name, ops[k].f, NULL, in, 2, NULL, stderr));
            free(a), free(b);
        }
}

/* Values and derivatives from PyTorch 2 in float64 at special points. test_parity.c has ordinary points of every operator. */
static const struct { const char *name; gr_real a, b, y, da, db; } known[] = {
    { "add", 1, 2, 3, 1, 1 },
    { "sub", 1, 2.5, -1.5, 1, -1 },
    { "mul", 3, -2, -6, -2, 3 },
    { "div", 3, -2, -1.5, -0.5, -0.75 },
    { "div", 1, 0, INF, INF, -INF },
    { "div", 0, 0, NaN, INF, NaN },
    { "maximum", 1, 2, 2, 0, 1 },
    { "maximum", 2, 1, 2, 1, 0 },
    { "maximum", 3, 3, 3, 0.5, 0.5 },
    { "maximum", NaN, 1, NaN, 1, 1 },
    { "maximum", 1, NaN, NaN, 1, 1 },
    { "minimum", 1, 2, 1, 1, 0 },
    { "minimum", 2, 1, 1, 0, 1 },
    { "minimum", 3, 3, 3, 0.5, 0.5 },
    { "minimum", NaN, 1, NaN, 1, 1 },
    { "minimum", 1, NaN, NaN, 1, 1 },
    { "pow", 2, 3, 8, 12, 5.5451774444795623 },
    { "pow", -2, 3, -8, 12, NaN },
    { "pow", 2, 0.5, 1.4142135623730951, 0.35355339059327379, 0.98025814346854723 },
    { "pow", 0, 0, 1, 0, 0 },
    { "pow", 0, 2, 0, 0, 0 },
    { "pow", 0, 1, 0, 1, 0 },
    { "pow", 0, -1, INF, -INF, -INF },
    { "pow", 3, 0, 1, 0, 1.0986122886681098 },
    { "pow", -3, 0, 1, 0, NaN },
    { "pow", -2, 0.5, NaN, NaN, NaN },
};

TEST(values_and_derivatives_are_the_known_ones)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(known); k++) {
        size_t i = 0;
        while (strcmp(known[k].name, ops[i].name)) assert_true(++i < COUNT(ops));
        gr_tape_reset(t);
        gr_tensor *in[] = { gr_want_grad(t, gr_scalar(t, (double)known[k].a)), gr_want_grad(t, gr_scalar(t, (double)known[k].b)) };
        gr_tensor *y = ops[i].f(t, in, NULL);
        assert_true(gr_backward(t, y));
        assert_values(y, 1e-6, known[k].y);
        assert_close(gr_grad(t, in[0]), &known[k].da, 1, 1e-6);
        assert_close(gr_grad(t, in[1]), &known[k].db, 1, 1e-6);
    }
    gr_tape_free(t);
}

/* ---- Broadcasting ---- */

/* `small` broadcasts to a shape; the index in `small` of that shape's element i, computed axis by axis. */
static size_t place(gr_shape large, gr_shape small, size_t i)
{
    size_t at = 0, stride = 1;
    for (int k = 1; k <= large.rank; k++) {
        const size_t index = i % large.dim[large.rank - k];
        i /= large.dim[large.rank - k];
        if (k > small.rank) continue;
        if (small.dim[small.rank - k] != 1) at += index * stride;
        stride *= small.dim[small.rank - k];
    }
    return at;
}

/* Rows that are longer and shorter than a block, and of its size; more than one chunk; broadcast axes between others. */
TEST(broadcasting_matches_indexing)
{
    static const struct { gr_shape a, b, y; } large[] = {
        { { 2, { 40, 1024 } }, { 1, { 1024 } }, { 2, { 40, 1024 } } },      { { 1, { 700 } }, { 2, { 60, 700 } }, { 2, { 60, 700 } } },
        { { 2, { 9000, 3 } }, { 1, { 3 } }, { 2, { 9000, 3 } } },            { { 2, { 9000, 3 } }, { 2, { 9000, 1 } }, { 2, { 9000, 3 } } },
        { { 3, { 20, 30, 40 } }, { 2, { 30, 1 } }, { 3, { 20, 30, 40 } } },  { { 3, { 5, 1, 7000 } }, { 2, { 3, 1 } }, { 3, { 5, 3, 7000 } } },
        { { 2, { 300, 1 } }, { 1, { 100 } }, { 2, { 300, 100 } } },          { { 1, { 40000 } }, { 0 }, { 1, { 40000 } } },
        { { 2, { 130, 512 } }, { 2, { 1, 512 } }, { 2, { 130, 512 } } },     { { 4, { 3, 1, 50, 1 } }, { 4, { 1, 7, 1, 60 } }, { 4, { 3, 7, 50, 60 } } },
        { { 2, { 20000, 2 } }, { 2, { 1, 1 } }, { 2, { 20000, 2 } } },       { { 2, { 3, 20000 } }, { 1, { 20000 } }, { 2, { 3, 20000 } } },
        { { 2, { 1025, 4096 } }, { 2, { 1025, 1 } }, { 2, { 1025, 4096 } } }, { { 2, { 3, 20000 } }, { 2, { 3, 1 } }, { 2, { 3, 20000 } } },
        { { 2, { 130, 512 } }, { 2, { 130, 1 } }, { 2, { 130, 512 } } },     { { 3, { 40, 33, 129 } }, { 3, { 40, 33, 1 } }, { 3, { 40, 33, 129 } } },
        { { 2, { 70, 513 } }, { 2, { 70, 1 } }, { 2, { 70, 513 } } },        { { 2, { 90, 1 } }, { 1, { 600 } }, { 2, { 90, 600 } } },
        { { 1, { 600 } }, { 2, { 90, 1 } }, { 2, { 90, 600 } } },            { { 1, { 64 } }, { 2, { 700, 1 } }, { 2, { 700, 64 } } },
        { { 3, { 20, 1, 1 } }, { 1, { 600 } }, { 3, { 20, 1, 600 } } },      { { 3, { 20, 1, 1 } }, { 2, { 3, 600 } }, { 3, { 20, 3, 600 } } },
        { { 1, { 600 } }, { 3, { 20, 3, 1 } }, { 3, { 20, 3, 600 } } },      { { 3, { 20, 3, 600 } }, { 3, { 20, 1, 1 } }, { 3, { 20, 3, 600 } } },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(large); k++) {
        gr_tape_reset(t);
        const size_t n = len_of(large[k].y);
        gr_tensor *a = gr_want_grad(t, gr_rand(t, large[k].a, -1, 1, "a")), *b = gr_want_grad(t, gr_rand(t, large[k].b, -1, 1, "b"));
        gr_tensor *y = gr_mul(t, a, b);
        gr_tensor *dy = gr_rand(t, large[k].y, -1, 1, "dy");
        assert_true(y && y->len == n && gr_backward_from(t, y, dy->data));
        double *da = calloc(a->len, sizeof *da), *db = calloc(b->len, sizeof *db);
        for (size_t i = 0; i < n; i++) {
            const size_t at_a = place(large[k].y, large[k].a, i), at_b = place(large[k].y, large[k].b, i);
            assert_true(y->data[i] == a->data[at_a] * b->data[at_b]);
            da[at_a] += (double)dy->data[i] * (double)b->data[at_b];
            db[at_b] += (double)dy->data[i] * (double)a->data[at_a];
        }
        for (size_t i = 0; i < a->len; i++) assert_true(fabs((double)gr_grad(t, a)[i] - da[i]) < 1e-4);
        for (size_t i = 0; i < b->len; i++) assert_true(fabs((double)gr_grad(t, b)[i] - db[i]) < 1e-4);
        free(da), free(db);
    }
    gr_tape_free(t);
}

TEST(three_inputs_that_lack_different_axes_broadcast)
{
    const gr_shape shape[] = { GR_SHAPE(600), GR_SHAPE(20, 1, 600), GR_SHAPE(20, 3, 1), GR_SHAPE(3, 600) }, y_shape = GR_SHAPE(20, 3, 600);
    gr_tape *t = gr_tape_new(1, NULL);
    for (int k = 0; k < 64; k++, gr_tape_reset(t)) {
        gr_tensor *in[3] = { gr_round(t, gr_rand(t, shape[k % 4], -1, 1, "c")), gr_rand(t, shape[k / 4 % 4], -1, 1, "a"), gr_rand(t, shape[k / 16], -1, 1, "b") };
        gr_tensor *y = gr_add(t, gr_zeros(t, y_shape), gr_where(t, in[0], in[1], in[2]));
        for (size_t i = 0; i < y->len; i++)
            assert_true(y->data[i] == (in[0]->data[place(y_shape, shape[k % 4], i)] != 0 ? in[1]->data[place(y_shape, shape[k / 4 % 4], i)]
                                                                                          : in[2]->data[place(y_shape, shape[k / 16], i)]));
    }
    gr_tape_free(t);
}

TEST(bits_do_not_depend_on_threads_or_instruction_set)
{
    const gr_shape b[] = { GR_SHAPE(301, 133), GR_SHAPE(133), GR_SHAPE(301, 1), GR_SCALAR };
    for (size_t k = 0; k < COUNT(ops); k++) {
        for (size_t i = 0; i < COUNT(b); i++) {
            const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(301, 133), .low = ops[k].low_a, .high = ops[k].high_a },
                                              { .shape = b[i], .low = ops[k].low_b, .high = ops[k].high_b } };
            assert_bits_stay(ops[k].f, NULL, in, 2);
        }
        const gr_gradcheck_input each_with_each[] = { { .shape = GR_SHAPE(COUNT(specials)), .values = specials },
                                                      { .shape = GR_SHAPE(COUNT(specials), 1), .values = specials } };
        assert_bits_stay(ops[k].f, NULL, each_with_each, 2);
    }
}

TEST(a_row_gets_the_same_bits_alone_and_in_a_batch)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(ops); k++) {
        gr_tape_reset(t);
        gr_tensor *a = gr_want_grad(t, gr_rand(t, GR_SHAPE(9, 43), ops[k].low_a, ops[k].high_a, "a"));
        gr_tensor *b = gr_rand(t, GR_SHAPE(43), ops[k].low_b, ops[k].high_b, "b"), *dy = gr_rand(t, GR_SHAPE(9, 43), -1, 1, "dy");
        gr_tensor *y = ops[k].f(t, (gr_tensor *[]){ a, b }, NULL);
        assert_true(gr_backward_from(t, y, dy->data));
        gr_tape *alone = gr_tape_new(1, NULL);
        gr_tensor *row = gr_want_grad(alone, gr_input(alone, a->data + 5 * 43, GR_SHAPE(1, 43)));
        gr_tensor *z = ops[k].f(alone, (gr_tensor *[]){ row, gr_input(alone, b->data, GR_SHAPE(43)) }, NULL);
        assert_true(gr_backward_from(alone, z, dy->data + 5 * 43));
        assert_same_bits(z->data, y->data + 5 * 43, 43);
        assert_same_bits(gr_grad(alone, row), gr_grad(t, a) + 5 * 43, 43);
        gr_tape_free(alone);
    }
    gr_tape_free(t);
}

TEST(one_tensor_may_be_both_inputs)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_input(t, (gr_real[]){ 1, 2, -3 }, GR_SHAPE(3)));
    assert_true(gr_backward_from(t, gr_mul(t, x, x), (gr_real[]){ 1, 1, 10 }));
    assert_close(gr_grad(t, x), ((gr_real[]){ 2, 4, -60 }), 3, 0);
    gr_tape_free(t);
}

TEST(empty_inputs_give_empty_results_and_gradients)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(ops); k++) {
        gr_tape_reset(t);
        gr_tensor *a = gr_want_grad(t, gr_zeros(t, GR_SHAPE(2, 0))), *b = gr_want_grad(t, gr_ones(t, GR_SHAPE(2, 1)));
        gr_tensor *y = ops[k].f(t, (gr_tensor *[]){ a, b }, NULL);
        assert_true(gr_same_shape(y, a) && gr_backward_from(t, y, (gr_real[]){ 0 }));
        assert_close(gr_grad(t, b), ((gr_real[]){ 0, 0 }), 2, 0);
    }
    gr_tape_free(t);
}

TEST(shapes_that_do_not_broadcast_are_reported)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *in[] = { gr_zeros(t, GR_SHAPE(2, 3)), gr_zeros(t, GR_SHAPE(2, 1, 2)) };
    for (size_t k = 0; k < COUNT(ops) + COUNT(comparisons); k++) {
        const binary *op = k < COUNT(ops) ? &ops[k] : &comparisons[k - COUNT(ops)];
        char message[160];
        gr_tape_recover(t);
        in[0] = gr_zeros(t, GR_SHAPE(2, 3)), in[1] = gr_zeros(t, GR_SHAPE(2, 1, 2));
        assert_null(op->f(t, in, NULL));
        snprintf(message, sizeof message, "%s: a [2, 3] and b [2, 1, 2] do not broadcast: counted from the last axis, sizes must be equal or 1",
                 op->name);
        assert_message(t, message);
        gr_tape_recover(t);
        assert_null(op->f(t, (gr_tensor *[]){ gr_scalar(t, 1), NULL }, NULL));
        snprintf(message, sizeof message, "%s: input 2 is NULL", op->name);
        assert_message(t, message);
    }
    gr_tape_recover(t);
    assert_fails(t, gr_where(t, gr_zeros(t, GR_SHAPE(2)), gr_scalar(t, 0), gr_zeros(t, GR_SHAPE(3))),
                 "where: cond [2], a [] and b [3] do not broadcast: counted from the last axis, sizes must be equal or 1");
    gr_tape_free(t);
}

TEST(a_result_too_large_for_the_machine_is_reported)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor a = *gr_zeros(t, GR_SHAPE(1, 1)), b = *gr_zeros(t, GR_SHAPE(1)); /* never read */
    a.dim[0] = b.dim[0] = SIZE_MAX / 4;
    assert_fails(t, gr_add(t, &a, &b), "add: [4611686018427387903, 4611686018427387903] is too large for this machine");
    gr_tape_free(t);
}

/* ---- Comparisons, where ---- */

TEST(comparisons_give_0_and_1_and_pass_no_gradient)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *a = gr_want_grad(t, gr_input(t, (gr_real[]){ 1, 2, NaN }, GR_SHAPE(3)));
    gr_tensor *b = gr_want_grad(t, gr_input(t, (gr_real[]){ 2, 1, NaN }, GR_SHAPE(3, 1)));
    assert_values(gr_eq(t, a, b), 0, 0, 1, 0, 1, 0, 0, 0, 0, 0);
    assert_values(gr_ne(t, a, b), 0, 1, 0, 1, 0, 1, 1, 1, 1, 1);
    assert_values(gr_lt(t, a, b), 0, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    assert_values(gr_le(t, a, b), 0, 1, 1, 0, 1, 0, 0, 0, 0, 0);
    assert_values(gr_gt(t, a, b), 0, 0, 0, 0, 0, 1, 0, 0, 0, 0);
    assert_values(gr_ge(t, a, b), 0, 0, 1, 0, 1, 1, 0, 0, 0, 0);
    assert_int_equal(gr_tape_nodes(t), 0);
    assert_ok(t);
    assert_false(gr_backward_from(t, gr_lt(t, a, b), (gr_real[9]){ 0 }));
    gr_tape_free(t);
}

static gr_tensor *where_of(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    return gr_where(t, in[0], in[1], in[2]);
}

TEST(where_has_the_right_gradient)
{
    const gr_real cond[] = { 1, 0, 0, 1, 1, -2, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0.5, 0, 0, 1, 0 };
    const gr_shape shape[][3] = { { GR_SHAPE(20), GR_SHAPE(20), GR_SHAPE(20) }, { GR_SHAPE(4, 5), GR_SCALAR, GR_SHAPE(5) },
                                  { GR_SHAPE(4, 1), GR_SHAPE(1, 33), GR_SHAPE(2, 1, 1) }, { GR_SCALAR, GR_SHAPE(3, 2), GR_SHAPE(3, 2) } };
    for (size_t k = 0; k < COUNT(shape); k++) {
        const gr_gradcheck_input in[] = { { .shape = shape[k][0], .values = cond, .no_grad = true }, { .shape = shape[k][1] }, { .shape = shape[k][2] } };
        assert_true(test_gradcheck("where", where_of, NULL, in, 3, NULL, stderr));
    }
    const gr_gradcheck_input large[] = { { .shape = GR_SHAPE(2, 3, 1), .values = cond }, { .shape = GR_SHAPE(2, 3, 7001) }, { .shape = GR_SHAPE(7001) } };
    assert_bits_stay(where_of, NULL, large, 3);
}

TEST(a_nan_that_where_does_not_choose_stays_out)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_input(t, (gr_real[]){ 4, 0, -1 }, GR_SHAPE(3)));
    gr_tensor *cond = gr_want_grad(t, gr_gt(t, x, gr_scalar(t, 0)));
    gr_tensor *y = gr_where(t, cond, x, gr_scalar(t, (double)NaN));
    assert_values(y, 0, 4, NaN, NaN);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 2, NaN, INF }));
    assert_close(gr_grad(t, x), ((gr_real[]){ 2, 0, 0 }), 3, 0);
    assert_null(gr_grad(t, cond));
    gr_tape_free(t);
}

/* ---- prelu ---- */

static gr_tensor *prelu_of(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    return gr_prelu(t, in[0], in[1]);
}

TEST(prelu_has_the_right_gradient)
{
    const gr_shape shape[][2] = { { GR_SCALAR, GR_SHAPE(1) },           { GR_SHAPE(7), GR_SCALAR },         { GR_SHAPE(4, 5), GR_SHAPE(1) },
                                  { GR_SHAPE(4, 5), GR_SHAPE(5) },      { GR_SHAPE(3, 4, 17), GR_SHAPE(4) }, { GR_SHAPE(2, 3, 2, 5), GR_SHAPE(3) },
                                  { GR_SHAPE(2, 1, 33), GR_SHAPE(1) }, { GR_SHAPE(0, 3, 2), GR_SHAPE(3) }, { GR_SHAPE(2, 0), GR_SHAPE(0) } };
    for (size_t k = 0; k < COUNT(shape); k++) {
        const gr_gradcheck_input in[] = { { .shape = shape[k][0], .kink = 0, .has_kink = true }, { .shape = shape[k][1] } };
        assert_true(test_gradcheck("prelu", prelu_of, NULL, in, 2, NULL, stderr));
    }
    const gr_gradcheck_input large[] = { { .shape = GR_SHAPE(2, 3, 7001) }, { .shape = GR_SHAPE(3) } };
    assert_bits_stay(prelu_of, NULL, large, 2);
}

/* As in PyTorch: 0 and NaN belong to the side of weight; an infinite x above 0 adds nothing to the gradient of weight. */
TEST(prelu_at_zero_nan_and_infinities_is_pytorchs)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_input(t, (gr_real[]){ INF, 3, 0, -2, NaN, -INF, 1, -0.0 }, GR_SHAPE(2, 4)));
    gr_tensor *weight = gr_want_grad(t, gr_input(t, (gr_real[]){ 0.25, 0.5, -1, 2 }, GR_SHAPE(4))), *y = gr_prelu(t, x, weight);
    assert_values(y, 0, INF, 3, 0, -4, NaN, -INF, 1, 0);
    assert_true(signbit(y->data[7]));
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 2, 3, 4, 0, 1, 7, 8 }));
    assert_close(gr_grad(t, x), ((gr_real[]){ 1, 2, -3, 8, 0, 0.5, 7, 16 }), 8, 0);
    assert_close(gr_grad(t, weight), ((gr_real[]){ NaN, -INF, 0, -8 }), 4, 0);
    gr_tape_reset(t);
    x = gr_want_grad(t, gr_input(t, (gr_real[]){ INF, -2 }, GR_SHAPE(2)));
    weight = gr_want_grad(t, gr_input(t, (gr_real[]){ 0.25 }, GR_SHAPE(1)));
    assert_true(gr_backward(t, gr_sum(t, gr_prelu(t, x, weight), GR_ALL_AXES, false)));
    assert_close(gr_grad(t, weight), ((gr_real[]){ -2 }), 1, 0);
    gr_tape_free(t);
}

TEST(prelu_says_which_weight_it_needs)
{
    gr_tape *t = gr_tape_new(1, NULL);
    static const struct { gr_shape x, weight; const char *shapes; } cases[] = {
        { { 2, { 2, 3 } }, { 1, { 2 } }, "weight [2] and x [2, 3]" },         { { 1, { 3 } }, { 1, { 3 } }, "weight [3] and x [3]" },
        { { 2, { 2, 3 } }, { 2, { 1, 1 } }, "weight [1, 1] and x [2, 3]" }, { { 0 }, { 1, { 0 } }, "weight [0] and x []" },
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        char message[128];
        snprintf(message, sizeof message, "prelu: weight must be [1], or [C] for an x of [N, C, ..]; got %s", cases[k].shapes);
        assert_fails(t, gr_prelu(t, gr_zeros(t, cases[k].x), gr_zeros(t, cases[k].weight)), message);
    }
    assert_fails(t, gr_prelu(t, NULL, gr_scalar(t, 1)), "prelu: input 1 is NULL");
    assert_fails(t, gr_prelu(t, gr_scalar(t, 1), NULL), "prelu: input 2 is NULL");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(values_and_derivatives_are_the_known_ones),
        cmocka_unit_test(broadcasting_matches_indexing),
        cmocka_unit_test(three_inputs_that_lack_different_axes_broadcast),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(a_row_gets_the_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(one_tensor_may_be_both_inputs),
        cmocka_unit_test(empty_inputs_give_empty_results_and_gradients),
        cmocka_unit_test(shapes_that_do_not_broadcast_are_reported),
        cmocka_unit_test(a_result_too_large_for_the_machine_is_reported),
        cmocka_unit_test(comparisons_give_0_and_1_and_pass_no_gradient),
        cmocka_unit_test(where_has_the_right_gradient),
        cmocka_unit_test(a_nan_that_where_does_not_choose_stays_out),
        cmocka_unit_test(prelu_has_the_right_gradient),
        cmocka_unit_test(prelu_at_zero_nan_and_infinities_is_pytorchs),
        cmocka_unit_test(prelu_says_which_weight_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
