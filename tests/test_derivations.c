/* tests/test_derivations.c - the pages that derive gradients: each line is evaluated, and the results are those of the library. */
#include "optim/optim.h"
#include "tests/give.h"
#include "tests/page.h"
#include "tests/test.h"

static page *p;
FIXTURE(begin) { return !(p = page_new()); }
FIXTURE(end) { return page_free(p), p = NULL, 0; }

enum { ROUNDS = 5 };
#define TOLERANCE (sizeof(gr_real) == 8 ? 1e-12 : 1e-6)

static void read_file(const char *path, size_t least) /* and evaluate it: it has at least so many pairs of sides */
{
    static char text[1 << 16];
    FILE *const f = fopen(path, "r");
    if (!f) fail_msg("%s cannot be read", path);
    const size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    const char *const error = page_read(p, text);
    if (error) fail_msg("%s, %s", path, error);
    assert_in_range(page_equations(p), least, 100000);
}

/* In round 0 a page has its own numbers, and in the others random ones. At least so many equations have names on both sides. */
static void read_varied(const char *path, size_t least, unsigned round)
{
    page_free(p), p = page_new();
    page_vary(p, round * 2654435761u);
    read_file(path, least);
}

/* The elements name_{i,j,k}, where i begins at `from`; without k if c is 0, without j and k if b is 0, too. */
static const gr_real *block(const char *name, size_t from, size_t a, size_t b, size_t c)
{
    static gr_real v[64];
    char element[64];
    const size_t inner = c ? c : 1, middle = b ? b : 1;
    for (size_t i = 0; i < a * middle * inner; i++) {
        int n = snprintf(element, sizeof element, "%s_{%zu", name, from + i / (middle * inner));
        if (b) n += snprintf(element + n, sizeof element - (size_t)n, ",%zu", i / inner % middle);
        if (c) n += snprintf(element + n, sizeof element - (size_t)n, ",%zu", i % inner);
        snprintf(element + n, sizeof element - (size_t)n, "}");
        v[i] = (gr_real)page_value(p, element);
        if (isnan(v[i])) fail_msg("%s has no value: %s", element, page_read(p, ""));
    }
    return v;
}
/* The values of a name of the page, row by row. */
static const gr_real *values(const char *name, size_t rows, size_t columns)
{
    return rows > 1 ? block(name, 0, rows, columns, 0) : block(name, 0, columns, 0, 0);
}
static gr_tensor *input(gr_tape *t, const char *name, size_t rows, size_t columns)
{
    const gr_real *const v = values(name, rows, columns);
    return gr_want_grad(t, gr_input(t, v, rows > 1 ? GR_SHAPE(rows, columns) : GR_SHAPE(columns)));
}
static void same(const gr_real *got, const char *name, size_t rows, size_t columns)
{
    assert_close(got, values(name, rows, columns), rows * columns, TOLERANCE);
}

static gr_tensor *number(gr_tape *t, const char *name) /* [1] */
{
    return gr_want_grad(t, gr_input(t, (gr_real[]){ (gr_real)page_value(p, name) }, GR_SHAPE(1)));
}
static void same_number(const gr_real *got, const char *name)
{
    assert_close(got, (gr_real[]){ (gr_real)page_value(p, name) }, 1, TOLERANCE);
}

/* Backward of the five nodes in this order, in which 0 is the newest. */
static void visit(gr_tape *t, gr_tensor *loss, const int *order)
{
    const gr_node *node[5] = { t->now.last };
    for (int i = 1; i < 5; i++) node[i] = node[i - 1]->prev;
    assert_true(gr__reach(t, loss) && gr__mark_and_allocate(t));
    gr_grad(t, loss)[0] += 1;
    for (int i = 0; i < 5; i++) node[order[i]]->op->backward(t, node[order[i]]);
}
TEST(backward_md_is_right_about_a_wrong_order)
{
    static const int order[][5] = { { 0, 1, 2, 3, 4 }, { 0, 1, 4, 2, 3 } };
    static const char *const dx[] = { "dx", "earlyx" }, *const dw[] = { "dw", "earlyw" };
    read_file("core/backward.md", 60);
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(order); k++) {
        gr_tensor *x = input(t, "x", 1, 2), *w = input(t, "w", 1, 2), *m = gr_mul(t, x, w), *s = gr_add(t, m, x);
        visit(t, gr_sum(t, gr_mul(t, gr_sqrt(t, s), m), GR_ALL_AXES, false), order[k]);
        same(gr_grad(t, x), dx[k], 1, 2), same(gr_grad(t, w), dw[k], 1, 2);
        gr_tape_reset(t);
    }
    gr_tape_free(t);
}

TEST(backward_md_is_right)
{
    static const char *const order[] = { "sum", "mul", "sqrt", "add", "mul" };
    read_file("core/backward.md", 60);
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = input(t, "x", 1, 2), *w = input(t, "w", 1, 2), *m = gr_mul(t, x, w), *s = gr_add(t, m, x), *r = gr_sqrt(t, s), *q = gr_mul(t, r, m);
    gr_tensor *const y[] = { x, w, m, s, r, q };
    static const char *const dy[] = { "dx", "dw", "dp", "ds", "dr", "dq" };
    gr_tensor *loss = gr_sum(t, q, GR_ALL_AXES, false);
    assert_true(gr_backward(t, loss));
    assert_true(loss->data[0] == (gr_real)page_value(p, "loss"));
    for (size_t i = 0; i < COUNT(y); i++) same(y[i]->data, dy[i] + 1, 1, 2), same(gr_grad(t, y[i]), dy[i], 1, 2);
    size_t k = 0;
    for (const gr_node *n = t->now.last; n; n = n->prev) assert_string_equal(n->op->name, order[k++]);
    assert_int_equal(k, COUNT(order));
    gr_tape_reset(t);
    x = input(t, "x", 1, 2), w = input(t, "w", 1, 2), m = gr_mul(t, x, w), s = gr_add(t, m, x), q = gr_mul(t, gr_sqrt(t, s), m);
    assert_true(gr_backward_from(t, q, values("v", 1, 2)));
    same(gr_grad(t, x), "gx", 1, 2), same(gr_grad(t, m), "gp", 1, 2);
    gr_tape_free(t);
}

static void check_derivations(unsigned round)
{
    read_varied("ops/derivations.md", 40, round);
    gr_tape *t = gr_tape_new(1, NULL);

    gr_tensor *a = input(t, "a", 2, 3), *b = input(t, "b", 3, 2), *c = gr_matmul(t, a, b);
    same(c->data, "c", 2, 2);
    assert_true(gr_backward_from(t, c, values("dc", 2, 2)));
    same(gr_grad(t, a), "da", 2, 3), same(gr_grad(t, b), "db", 3, 2);
    gr_tape_reset(t);

    gr_tensor *x = input(t, "x", 2, 3), *v = input(t, "v", 1, 3), *f = input(t, "f", 1, 2), *y = gr_add(t, x, v);
    gr_tensor *h = gr_mul(t, y, gr_reshape(t, f, GR_SHAPE(2, 1)));
    same(h->data, "h", 2, 3);
    assert_true(gr_backward_from(t, h, values("dh", 2, 3)));
    same(gr_grad(t, y), "dy", 2, 3), same(gr_grad(t, v), "dv", 1, 3), same(gr_grad(t, f), "df", 1, 2);
    gr_tape_reset(t);

    gr_tensor *z = input(t, "z", 1, 3), *p_of_z = gr_softmax(t, z, -1);
    same(p_of_z->data, "p", 1, 3);
    assert_true(gr_backward_from(t, p_of_z, values("g", 1, 3)));
    same(gr_grad(t, z), "dz", 1, 3);
    for (int smooth = 0; smooth < 2; smooth++) {
        gr_tape_reset(t);
        z = input(t, "z", 1, 3);
        const gr_cross_entropy_config config = { .label_smoothing = smooth ? page_value(p, "e") : 0 };
        gr_tensor *loss = gr_cross_entropy(t, gr_reshape(t, z, GR_SHAPE(1, 3)), gr_ints_new(t, (int[]){ 1 }, GR_SHAPE(1)), &config);
        assert_true(gr_backward(t, loss));
        assert_true(fabs(gr_item(loss) - page_value(p, smooth ? "smooth" : "loss1")) < 1e-6);
        same(gr_grad(t, z), smooth ? "dsmooth" : "dloss1", 1, 3);
    }
    gr_tape_reset(t);

    gr_tensor *row = input(t, "r", 1, 3), *gamma = input(t, "gamma", 1, 3), *out = gr_rms_norm(t, row, 1, gamma, GR_NONE);
    same(out->data, "out", 1, 3);
    assert_true(gr_backward_from(t, out, values("dout", 1, 3)));
    same(gr_grad(t, row), "dr", 1, 3), same(gr_grad(t, gamma), "dgamma", 1, 3);
    gr_tape_free(t);
}

TEST(derivations_md_is_right) { for (unsigned round = 0; round < ROUNDS; round++) check_derivations(round); }

TEST(layer_norm_md_is_right)
{
    read_file("ops/layer_norm.md", 30);
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = input(t, "x", 1, 3), *gamma = input(t, "gamma", 1, 3), *beta = input(t, "beta", 1, 3);
    gr_tensor *y = gr_layer_norm(t, x, 1, gamma, beta, GR_NONE); /* no eps: the page's is 0 */
    assert_true(page_value(p, "eps") == 0);
    same(y->data, "y", 1, 3);
    assert_true(gr_backward_from(t, y, values("dy", 1, 3)));
    same(gr_grad(t, x), "dx", 1, 3), same(gr_grad(t, gamma), "dgamma", 1, 3), same(gr_grad(t, beta), "dbeta", 1, 3);
    gr_tape_free(t);
}

TEST(batch_norm_md_is_right)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        read_varied("ops/batch_norm.md", 30, round);
        gr_tape *t = gr_tape_new(1, NULL);
        const gr_batch_norm_config training = { .running_mean = number(t, "oldmean"), .running_var = number(t, "oldvar"),
                                                .momentum = page_value(p, "momentum"), .eps = page_value(p, "eps") };
        gr_tensor *x = input(t, "x", 1, 4), *gamma = number(t, "gamma"), *beta = number(t, "beta");
        gr_tensor *y = gr_batch_norm(t, gr_reshape(t, x, GR_SHAPE(4, 1)), 1, gamma, beta, &training);
        same(y->data, "y", 1, 4);
        assert_true(gr_backward_from(t, y, values("dy", 1, 4)));
        same(gr_grad(t, x), "dx", 1, 4), same_number(gr_grad(t, gamma), "dgamma"), same_number(gr_grad(t, beta), "dbeta");
        same_number(training.running_mean->data, "newmean"), same_number(training.running_var->data, "newvar");

        gr_tape_reset(t), gr_tape_set_training(t, false);
        const gr_batch_norm_config evaluation = { .running_mean = number(t, "rmean"), .running_var = number(t, "rvar"), .eps = training.eps };
        x = input(t, "x", 1, 4), gamma = number(t, "gamma"), beta = number(t, "beta");
        y = gr_batch_norm(t, gr_reshape(t, x, GR_SHAPE(4, 1)), 1, gamma, beta, &evaluation);
        same(y->data, "out", 1, 4);
        assert_true(gr_backward_from(t, y, values("dout", 1, 4)));
        same(gr_grad(t, x), "ex", 1, 4), same_number(gr_grad(t, gamma), "egamma"), same_number(gr_grad(t, beta), "ebeta");
        gr_tape_free(t);
    }
}

TEST(attention_md_is_right)
{
    static const char *const dy[] = { "dY", "dZ" }, *const y[] = { "Y", "Z" }, *const dq[] = { "dQ", "cQ" }, *const dk[] = { "dK", "cK" };
    static const char *const dv[] = { "dV", "cV" };
    for (unsigned round = 0; round < ROUNDS; round++) {
        read_varied("ops/attention.md", 20, round);
        gr_tape *t = gr_tape_new(1, NULL);
        for (int causal = 0; causal < 2; causal++) {
            gr_tensor *q = input(t, "Q", 3, 2), *k = input(t, "K", 3, 2), *v = input(t, "V", 3, 2);
            gr_tensor *out = gr_attention(t, gr_reshape(t, q, GR_SHAPE(1, 3, 2)), gr_reshape(t, k, GR_SHAPE(1, 3, 2)), gr_reshape(t, v, GR_SHAPE(1, 3, 2)),
                                          &(gr_attention_config){ .causal = causal });
            same(out->data, y[causal], 3, 2);
            assert_true(gr_backward_from(t, out, values(dy[causal], 3, 2)));
            same(gr_grad(t, q), dq[causal], 3, 2), same(gr_grad(t, k), dk[causal], 3, 2), same(gr_grad(t, v), dv[causal], 3, 2);
            gr_tape_reset(t);
        }
        gr_tape_free(t);
    }
}

TEST(conv_md_is_right)
{
    static const struct { const char *y, *dy, *dx, *dw, *dbias; size_t len; gr_conv_config config; } ways[] = {
        { "y", "dy", "dx", "dw", "dbias", 5, { .padding = 1 } },
        { "z", "dz", "sx", "sw", "sbias", 3, { .padding = 1, .stride = 2 } },
        { "v", "dv", "tx", "tw", "tbias", 3, { .padding = 1, .dilation = 2 } },
    };
    for (unsigned round = 0; round < ROUNDS; round++) {
        read_varied("ops/conv.md", 20, round);
        gr_tape *t = gr_tape_new(1, NULL);
        for (size_t k = 0; k < COUNT(ways); k++) {
            gr_tensor *x = input(t, "x", 2, 5), *bias = input(t, "bias", 1, 2), *w = gr_want_grad(t, gr_input(t, block("w", 0, 2, 2, 3), GR_SHAPE(2, 2, 3)));
            gr_tensor *y = gr_conv1d(t, gr_reshape(t, x, GR_SHAPE(1, 2, 5)), w, bias, &ways[k].config);
            same(y->data, ways[k].y, 2, ways[k].len);
            assert_true(gr_backward_from(t, y, values(ways[k].dy, 2, ways[k].len)));
            same(gr_grad(t, x), ways[k].dx, 2, 5), same(gr_grad(t, bias), ways[k].dbias, 1, 2);
            assert_close(gr_grad(t, w), block(ways[k].dw, 0, 2, 2, 3), 12, TOLERANCE);
            gr_tape_reset(t);
        }
        gr_tape_free(t);
    }
}

/* [rows, columns] tensor of the elements name_{i,j}, with i from `from`; the weights of gates are blocks of rows */
static gr_tensor *matrix(gr_tape *t, const char *name, size_t from, size_t rows, size_t columns)
{
    return gr_want_grad(t, gr_input(t, block(name, from, rows, columns, 0), GR_SHAPE(rows, columns)));
}

/* A page of a recurrent layer with 3 steps, 2 inputs, 2 units: x_t, h_0, W, R, b, and dy_t are given; h_t, dW .. are computed. */
static void check_recurrent(const char *path, bool lstm, unsigned round)
{
    const size_t G = lstm ? 4 : 3;
    read_varied(path, 30, round);
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_input(t, block("x", 1, 3, 2, 0), GR_SHAPE(3, 1, 2))), *h0 = matrix(t, "h", 0, 1, 2);
    gr_tensor *c0 = lstm ? matrix(t, "c", 0, 1, 2) : NULL;
    gr_recurrent_weights w = { .w_ih = gr_want_grad(t, gr_input(t, block("W", 0, G, 2, 2), GR_SHAPE(2 * G, 2))),
                               .w_hh = gr_want_grad(t, gr_input(t, block("R", 0, G, 2, 2), GR_SHAPE(2 * G, 2))),
                               .b_ih = gr_want_grad(t, gr_input(t, block("b", 0, G, 2, 0), GR_SHAPE(2 * G))) };
    if (!lstm) w.b_hh = gr_want_grad(t, gr_input(t, block("s", 0, G, 2, 0), GR_SHAPE(2 * G)));
    const gr_sequence_config config = { .h0 = h0, .c0 = c0 };
    const gr_recurrent_out out = lstm ? gr_lstm_sequence(t, x, &w, &config) : gr_gru_sequence(t, x, &w, &config);
    assert_close(out.y->data, block("h", 1, 3, 2, 0), 6, TOLERANCE);
    assert_true(gr_backward_from(t, out.y, block("dy", 1, 3, 2, 0)));
    assert_close(gr_grad(t, x), block("dx", 1, 3, 2, 0), 6, TOLERANCE);
    assert_close(gr_grad(t, w.w_ih), block("dW", 0, G, 2, 2), G * 4, TOLERANCE);
    assert_close(gr_grad(t, w.w_hh), block("dR", 0, G, 2, 2), G * 4, TOLERANCE);
    assert_close(gr_grad(t, w.b_ih), block("db", 0, G, 2, 0), G * 2, TOLERANCE);
    if (!lstm) assert_close(gr_grad(t, w.b_hh), block("ds", 0, G, 2, 0), G * 2, TOLERANCE);
    assert_close(gr_grad(t, h0), block("p", 1, 1, 2, 0), 2, TOLERANCE);
    if (lstm) assert_close(gr_grad(t, c0), block("e", 1, 1, 2, 0), 2, TOLERANCE);
    gr_tape_free(t);
}
TEST(gru_md_is_right) { for (unsigned round = 0; round < ROUNDS; round++) check_recurrent("ops/gru.md", false, round); }
TEST(lstm_md_is_right) { for (unsigned round = 0; round < ROUNDS; round++) check_recurrent("ops/lstm.md", true, round); }

TEST(adam_md_is_right)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        read_varied("optim/adam.md", 15, round);
        gr_tape *t = gr_tape_new(1, NULL);
        gr_module *net = gr_module_new(t);
        gr_tensor *x = gr_param(t, net, "x", GR_SHAPE(2), (gr_init){ GR_INIT_CONSTANT, 0, 0, GR_FAN_IN });
        gr_optim *o = gr_adam_new(t, net, &(gr_adam_config){ .lr = page_value(p, "lr"), .beta1 = page_value(p, "b"), .beta2 = page_value(p, "c"),
                                                             .eps = page_value(p, "eps") });
        memcpy(x->data, block("x", 0, 1, 2, 0), 2 * sizeof(gr_real));
        for (size_t step = 1; step <= 4; step++) {
            gr_optim_zero_grad(o), give(t, x, block("g", step, 1, 2, 0));
            assert_true(gr_optim_step(t, o));
            assert_close(x->data, block("x", step, 1, 2, 0), 2, TOLERANCE);
        }
        gr_optim_free(o), gr_module_free(net), gr_tape_free(t);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(backward_md_is_right, begin, end),
        cmocka_unit_test_setup_teardown(derivations_md_is_right, begin, end),
        cmocka_unit_test_setup_teardown(layer_norm_md_is_right, begin, end),
        cmocka_unit_test_setup_teardown(batch_norm_md_is_right, begin, end),
        cmocka_unit_test_setup_teardown(attention_md_is_right, begin, end),
        cmocka_unit_test_setup_teardown(conv_md_is_right, begin, end),
        cmocka_unit_test_setup_teardown(lstm_md_is_right, begin, end),
        cmocka_unit_test_setup_teardown(gru_md_is_right, begin, end),
        cmocka_unit_test_setup_teardown(adam_md_is_right, begin, end),
        cmocka_unit_test_setup_teardown(backward_md_is_right_about_a_wrong_order, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
