/* tests/test_transformer_module.c - Transformer modules without PyTorch: initial values, norms by kind, dropout, positions, residuals,
 * messages, the summary, bits, failing allocations, and the sums at initialization that theory predicts. */
#include "ops/attention_packed.h"
#include "examples/kit/program.h"
#include "tests/failing.h"

enum { IN_DOUBLE = sizeof(gr_real) == 8 };

/* ---- Initial values and names ---- */

static double largest(const gr_tensor *x)
{
    double most = 0;
    for (size_t i = 0; i < x->len; i++) most = kit_larger(most, fabs((double)x->data[i]));
    return most;
}

TEST(attention_starts_as_pytorch_does)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    const gr_multihead_attention *m = gr_multihead_attention_new(t, net, "attn", 48, 4, NULL);
    const gr_multihead_attention *bare = gr_multihead_attention_new(t, net, "bare", 6, 2, &(gr_multihead_attention_config){ .no_bias = true });
    assert_ok(t);
    const double xavier = sqrt(6.0 / (4 * 48)), bound = 1 / sqrt(48);
    assert_true(largest(m->in_proj_weight) <= xavier && largest(m->in_proj_weight) > 0.99 * xavier);
    assert_true(largest(m->out_weight) <= bound * 1.000001 && largest(m->out_weight) > 0.99 * bound);
    assert_true(largest(m->in_proj_bias) == 0 && largest(m->out_bias) == 0);
    assert_string_equal(m->in_proj_weight->path, "attn.in_proj_weight");
    assert_string_equal(m->out_bias->path, "attn.out_proj.bias");
    assert_true(gr_slot_find(net, "attn.in_proj_bias")->no_decay);
    assert_true(!bare->in_proj_bias && !bare->out_bias && bare->out_weight);
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(a_layer_has_pytorchs_names_in_its_order)
{
    static const char *const names[] = {
        "body.layers.0.self_attn.in_proj_weight", "body.layers.0.self_attn.in_proj_bias", "body.layers.0.self_attn.out_proj.weight",
        "body.layers.0.self_attn.out_proj.bias",  "body.layers.0.linear1.weight",         "body.layers.0.linear1.bias",
        "body.layers.0.linear2.weight",           "body.layers.0.linear2.bias",           "body.layers.0.norm1.weight",
        "body.layers.0.norm1.bias",               "body.layers.0.norm2.weight",           "body.layers.0.norm2.bias",
        "body.norm.weight",                       "body.norm.bias",
    };
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    const gr_transformer *m = gr_transformer_new(t, net, "body", 6, 2, 1, &(gr_transformer_config){ .final_norm = true });
    assert_ok(t);
    size_t n = 0;
    for (const gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s), n++) assert_string_equal(s->path, names[n]);
    assert_int_equal(n, COUNT(names));
    assert_int_equal(m->layer[0]->config.feedforward, 24);
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(the_summary_counts_multiply_adds)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    gr_transformer_new(t, net, "body", 6, 2, 1, &(gr_transformer_config){ .feedforward = 10, .no_norm = true });
    size_t work = 0;
    for (const gr_module *m = net; m; m = gr_module_next(net, m)) work += m->multiply_adds;
    assert_int_equal(work, 3 * 6 * 6 + 6 * 6 + 2 * 6 * 10);
    assert_int_equal(gr_module_parameters(net), 4 * 6 * 6 + 4 * 6 + 2 * 6 * 10 + 10 + 6);
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- Forward ---- */

static gr_tensor *plain_norm(gr_tape *t, gr_tensor *x) { return gr_layer_norm(t, x, 1, NULL, NULL, 1e-5); }

/* A layer in plain operators, without dropout and with the norms at their initial values. */
static gr_tensor *written_out(gr_tape *t, const gr_transformer_layer *l, gr_tensor *x, bool first)
{
    const gr_multihead_attention *m = l->self_attn;
    const gr_linear_module *l1 = (const gr_linear_module *)l->linear1, *l2 = (const gr_linear_module *)l->linear2;
    gr_tensor *a = gr__attention_packed(t, gr_linear(t, first ? plain_norm(t, x) : x, m->in_proj_weight, m->in_proj_bias),
                                       &(gr_attention_config){ .heads = m->heads, .causal = m->causal });
    x = gr_add(t, x, gr_linear(t, a, m->out_weight, m->out_bias));
    if (!first) x = plain_norm(t, x);
    gr_tensor *f = gr_linear_forward(t, l2, gr_gelu(t, gr_linear_forward(t, l1, first ? plain_norm(t, x) : x)));
    x = gr_add(t, x, f);
    return first ? x : plain_norm(t, x);
}

TEST(a_layer_agrees_with_plain_operators)
{
    for (int first = 0; first < 2; first++) {
        gr_tape *t = gr_tape_new(3, NULL);
        gr_module *net = gr_module_new(t);
        const gr_transformer_config c = { .norm_first = first, .causal = true, .activation = gr_gelu };
        gr_transformer_layer *l = gr_transformer_layer_new(t, net, "l", 12, 3, &c);
        gr_tensor *x = gr_randn(t, GR_SHAPE(2, 7, 12), 0, 1, "x"), *y = gr_transformer_layer_forward(t, l, x, NULL);
        assert_ok(t);
        assert_tensors_close(y, written_out(t, l, x, first), IN_DOUBLE ? 1e-14 : 1e-6);
        assert_same_bits(gr_forward(t, &l->module, x)->data, y->data, y->len);
        gr_module_free(net), gr_tape_free(t);
    }
}

static const gr_norm_kind kinds[] = { GR_NORM_NONE, GR_NORM_BATCH, GR_NORM_LAYER, GR_NORM_RMS, GR_NORM_GROUP, GR_NORM_INSTANCE };

TEST(any_norm_makes_a_layer_whose_parameters_all_learn)
{
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (int first = 0; first < 2; first++) {
            gr_tape *t = gr_tape_new(3, NULL);
            gr_module *net = gr_module_new(t);
            const gr_transformer_config c = { .norm = kinds[k], .no_norm = !k, .norm_first = first, .final_norm = first, .dropout = 0.1 };
            gr_transformer *m = gr_transformer_new(t, net, "body", 8, 2, 2, &c);
            gr_tensor *x = gr_randn(t, GR_SHAPE(3, 5, 8), 0, 1, "x"), *dy = gr_randn(t, GR_SHAPE(3, 5, 8), 0, 1, "dy");
            gr_tensor *y = gr_transformer_forward(t, m, x, NULL);
            assert_ok(t);
            assert_true(gr_backward_from(t, y, dy->data));
            for (const gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s)) {
                if (s->kind != GR_PARAMETER) continue;
                const gr_real *dx = gr_grad(t, s->tensor);
                double sum = 0;
                if (!dx) fail_msg("norm %d: nothing reaches %s", (int)kinds[k], s->path);
                for (size_t i = 0; i < s->tensor->len; i++) sum += fabs((double)dx[i]);
                if (!(sum > 0 && isfinite(sum))) fail_msg("norm %d: %s has a gradient of %g", (int)kinds[k], s->path, sum);
            }
            gr_module_free(net), gr_tape_free(t);
        }
}

TEST(batch_norm_counts_real_positions_only)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    gr_transformer *m = gr_transformer_new(t, net, "body", 8, 2, 1, &(gr_transformer_config){ .norm = GR_NORM_BATCH, .norm_first = true, .final_norm = true });
    gr_tensor *x = gr_randn(t, GR_SHAPE(2, 5, 8), 0, 1, "x"), *other = gr_input(t, x->data, gr_shape_of(x));
    for (size_t i = 8 * 8; i < 10 * 8; i++) other->data[i] = 1e6;
    const gr_attention_input in = { .lengths = gr_ints_new(t, (int[]){ 5, 3 }, GR_SHAPE(2)) };
    assert_same_bits(gr_transformer_forward(t, m, x, &in)->data, gr_transformer_forward(t, m, other, &in)->data, 8 * 8);
    assert_ok(t);
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(attention_to_others_is_cross_attention)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    gr_multihead_attention *m = gr_multihead_attention_new(t, net, "m", 8, 2, NULL);
    gr_tensor *x = gr_randn(t, GR_SHAPE(2, 5, 8), 0, 1, "x"), *copy = gr_input(t, x->data, gr_shape_of(x));
    gr_tensor *self = gr_multihead_attention_forward(t, m, x, NULL, NULL, NULL), *cross = gr_multihead_attention_forward(t, m, x, copy, NULL, NULL);
    assert_same_bits(self->data, cross->data, self->len); /* three products or one have the same sums */
    assert_int_equal(gr_multihead_attention_forward(t, m, gr_slice(t, x, 0, 2), gr_narrow(t, copy, 1, 0, 3), NULL, NULL)->dim[1], 5);
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(each_dropout_has_its_own_stream)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    gr_transformer *m = gr_transformer_new(t, net, "body", 8, 2, 1, &(gr_transformer_config){ .dropout = 0.5 });
    gr_tensor *x = gr_randn(t, GR_SHAPE(2, 5, 8), 0, 1, "x");
    gr_transformer_forward(t, m, x, NULL);
    assert_int_equal(gr_tape_stream(t, "body.layers.0.self_attn/mask")->counter, 2 * 2 * 5 * 5);
    assert_int_equal(gr_tape_stream(t, "body.layers.0.dropout/mask")->counter, 2 * 5 * 32);
    assert_int_equal(gr_tape_stream(t, "body.layers.0.dropout1/mask")->counter, 2 * 5 * 8);
    assert_int_equal(gr_tape_stream(t, "body.layers.0.dropout2/mask")->counter, 2 * 5 * 8);
    const gr_transformer_layer *d = gr_transformer_layer_new(t, net, "d", 8, 2, &(gr_transformer_config){ .decoder = true, .dropout = 0.5 });
    gr_transformer_layer_forward(t, d, x, &(gr_attention_input){ .memory = gr_narrow(t, x, 1, 0, 3) });
    assert_int_equal(gr_tape_stream(t, "d.multihead_attn/mask")->counter, 2 * 2 * 5 * 3);
    const char *const own[] = { "d.dropout1/mask", "d.dropout2/mask", "d.dropout3/mask" };
    for (size_t k = 0; k < COUNT(own); k++) assert_int_equal(gr_tape_stream(t, own[k])->counter, 2 * 5 * 8);
    gr_tape_set_training(t, false);
    gr_tensor *a = gr_transformer_forward(t, m, x, NULL), *b = gr_transformer_forward(t, m, x, NULL);
    assert_same_bits(a->data, b->data, a->len);
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- Positions, residual ---- */

TEST(positions_are_sines_and_cosines)
{
    const size_t sizes[] = { 1, 2, 5, 128 };
    for (size_t k = 0; k < COUNT(sizes); k++) {
        gr_tape *t = gr_tape_new(3, NULL);
        gr_tensor *y = gr_add_positions(t, gr_zeros(t, GR_SHAPE(2, 300, sizes[k])));
        assert_ok(t);
        for (size_t n = 0; n < y->len; n++) {
            const size_t i = n % sizes[k], p = n / sizes[k] % 300;
            const double angle = (double)p / pow(10000, (double)(i - i % 2) / (double)sizes[k]);
            assert_true(fabs((double)y->data[n] - (i % 2 ? cos(angle) : sin(angle))) < (IN_DOUBLE ? 1e-11 : 1e-7));
        }
        gr_tape_free(t);
    }
}

TEST(learned_positions_add_a_row_to_each_step)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    gr_positions *m = gr_positions_new(t, net, "pos", 4, 2);
    memcpy(m->weight->data, ((gr_real[]){ 1, 2, 3, 4, 5, 6, 7, 8 }), 8 * sizeof(gr_real));
    gr_tensor *y = gr_forward(t, &m->module, gr_full(t, GR_SHAPE(2, 3, 2), 10));
    assert_values(y, 0, 11, 12, 13, 14, 15, 16, 11, 12, 13, 14, 15, 16);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }));
    assert_close(gr_grad(t, m->weight), ((gr_real[]){ 8, 10, 12, 14, 16, 18, 0, 0 }), 8, 0);
    assert_string_equal(m->weight->path, "pos.weight");
    gr_module_free(net);
    gr_tape_free(t);
}

TEST(a_residual_adds_its_input)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t), *r = gr_residual_new(t, net, "r");
    gr_tensor *x = gr_want_grad(t, gr_input(t, (gr_real[]){ 1, -2 }, GR_SHAPE(2)));
    assert_values(gr_forward(t, r, x), 0, 2, -4); /* without a child f is the identity */
    gr_activation_new(t, r, NULL, "ReLU", gr_relu), gr_activation_new(t, r, NULL, "Square", gr_square);
    gr_tensor *y = gr_forward(t, r, x);
    assert_values(y, 0, 2, -2);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 1 }));
    assert_close(gr_grad(t, x), ((gr_real[]){ 3, 1 }), 2, 0);
    gr_linear_new(t, r, NULL, 2, 1, NULL);
    gr_tape_reset(t);
    assert_null(gr_forward(t, r, gr_ones(t, GR_SHAPE(3, 2))));
    assert_message(t, "residual in r: f(x) must be shaped as x; got [3, 1] and [3, 2]");
    gr_module_free(net);
    gr_tape_free(t);
}

/* ---- The expected |x|^2 in a stack at initialization: Xiong et al. 2020, lemmas 1 and 2 ---- */

static double mean_square(const gr_tensor *x)
{
    double sum = 0;
    for (size_t i = 0; i < x->len; i++) sum += (double)x->data[i] * (double)x->data[i];
    return sum / (double)x->len;
}

TEST(sums_grow_with_depth_in_pre_norm_and_do_not_in_post_norm)
{
    enum { D = 64, LAYERS = 16 };
    double average = 0;
    gr_tape *t = gr_tape_new(5, NULL);
    assert_true(fabs(mean_square(gr_relu(t, gr_randn(t, GR_SHAPE(200000), 0, 1, "x"))) - 0.5) < 0.005); /* lemma 1 */
    for (int first = 0; first < 2; first++) {
        gr_module *net = gr_module_new(t);
        const gr_transformer_config c = { .norm_first = first, .feedforward = D };
        gr_transformer *m = gr_transformer_new(t, net, first ? "pre" : "post", D, 1, LAYERS, &c);
        gr_tensor *x = plain_norm(t, gr_randn(t, GR_SHAPE(4, 16, D), 0, 1, "x"));
        for (size_t l = 0; l < LAYERS; l++) {
            gr_multihead_attention *a = m->layer[l]->self_attn; /* the paper's initialization: W_Q and W_K are 0, the others Xavier, biases 0 */
            memset(a->in_proj_weight->data, 0, 2 * D * D * sizeof(gr_real));
            const gr_real wider = (gr_real)sqrt(2); /* Xavier for W_V alone, not for the three stacked matrices */
            for (size_t i = 2 * D * D; i < a->in_proj_weight->len; i++) a->in_proj_weight->data[i] *= wider;
            gr_param_init(t, m->layer[l]->linear1, "weight", gr_init_xavier_uniform(1)), gr_param_init(t, m->layer[l]->linear1, "bias", gr_init_constant(0));
            gr_param_init(t, m->layer[l]->linear2, "weight", gr_init_xavier_uniform(1)), gr_param_init(t, m->layer[l]->linear2, "bias", gr_init_constant(0));
            const double depth = (double)l + 1;
            gr_tensor *mid = gr_forward(t, m->layer[l]->norm1, gr_add(t, x, gr_multihead_attention_forward(t, a, x, NULL, NULL, NULL)));
            gr_tensor *sum = gr_add(t, mid, gr_forward(t, m->layer[l]->linear2, gr_relu(t, gr_forward(t, m->layer[l]->linear1, mid))));
            x = gr_transformer_layer_forward(t, m->layer[l], x, NULL);
            const double got = mean_square(first ? x : sum);
            if (first) assert_true(got >= (1 + depth / 2) * 0.93 && got <= (1 + 1.5 * depth) * 1.07); /* lemma 2, pre-norm */
            average += got / LAYERS;
        }
        if (!first) assert_true(fabs(average - 1.5) < 0.1); /* lemma 2, post-norm: before the layers' last norms, at any depth */
        assert_ok(t);
        gr_module_free(net), gr_tape_reset(t);
    }
    gr_tape_free(t);
}

/* ---- A training step: bits, memory ---- */

static const gr_transformer_config small = { .norm_first = true, .causal = true, .activation = gr_gelu, .final_norm = true, .dropout = 0.1 };
enum { B = 3, T = 9, V = 5, SIZE = 16 };

static bool train(gr_tape *t, int steps, uint64_t *hash)
{
    gr_module *net = gr_module_new(t);
    gr_embedding_module *token = gr_embedding_new(t, net, "token", V, SIZE, NULL);
    gr_transformer *body = gr_transformer_new(t, net, "body", SIZE, 4, 2, &small);
    gr_linear_module *head = gr_linear_new(t, net, "head", SIZE, V, NULL);
    gr_optim *adam = gr_adam_new(t, net, NULL);
    int ids[B * T], next[B * T];
    bool well = !gr_failed(t);
    for (int i = 0; i < B * T; i++) ids[i] = i * 7 % V, next[i] = (i * 7 + 1) % V;
    for (int step = 0; step < steps && well; step++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_add_positions(t, gr_embedding_forward(t, token, gr_ints_new(t, ids, GR_SHAPE(B, T))));
        const gr_attention_input in = { .lengths = gr_ints_new(t, (int[B]){ T, 4, 7 }, GR_SHAPE(B)) };
        gr_tensor *z = gr_linear_forward(t, head, gr_transformer_forward(t, body, x, &in));
        gr_tensor *loss = gr_cross_entropy(t, gr_reshape(t, z, GR_SHAPE(B * T, V)), gr_ints_new(t, next, GR_SHAPE(B * T)), NULL);
        gr_optim_zero_grad(adam);
        gr_backward(t, loss);
        gr_clip_grad_norm(t, adam, 1);
        well = gr_optim_step(t, adam);
    }
    for (const gr_slot *s = well && hash ? gr_slot_first(net) : NULL; s; s = gr_slot_next(net, s))
        *hash = hash_reals(*hash, s->tensor->data, s->tensor->len);
    gr_optim_free(adam), gr_module_free(net);
    return well;
}

TEST(training_bits_do_not_depend_on_threads_or_instruction_set)
{
    uint64_t want = 0;
    EACH_ISA(isa)
        for (int threads = 1; threads <= 4; threads += 3) {
            uint64_t hash = 1;
            if (IN_DOUBLE && test_isa_after(isa)) continue;
            gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .threads = threads, .isa = isa }));
            assert_true(train(t, 3, &hash));
            assert_true(!want || hash == want);
            want = hash;
            gr_tape_free(t);
        }
}

static bool one_step(gr_tape *t, void *argument) { return (void)argument, train(t, 1, NULL); }
TEST(out_of_memory_is_an_error_anywhere)
{
    fail_every_allocation(one_step, NULL);
}

/* ---- Messages ---- */

TEST(sizes_heads_and_shapes_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_multihead_attention *m = gr_multihead_attention_new(t, net, "m", 6, 2, NULL);
    gr_transformer_layer *l = gr_transformer_layer_new(t, net, "l", 6, 2, NULL);
    gr_transformer *body = gr_transformer_new(t, net, "body", 6, 2, 0, NULL);
    gr_positions *p = gr_positions_new(t, net, "p", 3, 6);
#define BAD(message, call) \
    do { \
        gr_tensor *x = gr_zeros(t, GR_SHAPE(2, 4, 6)), *y = gr_zeros(t, GR_SHAPE(2, 4, 5)); \
        (void)x, (void)y; \
        assert_fails(t, call, message); \
    } while (0)
    BAD("bad: the size must be a multiple of the heads; got 6 and 4", gr_multihead_attention_new(t, net, "bad", 6, 4, NULL));
    BAD("bad: the size must be a multiple of the heads; got 6 and 0", gr_multihead_attention_new(t, net, "bad", 6, 0, NULL));
    BAD("bad: the probability of dropout must be in [0, 1]; got 2",
        gr_multihead_attention_new(t, net, "bad", 6, 2, &(gr_multihead_attention_config){ .dropout = 2 }));
    BAD("bad.self_attn: the size must be a multiple of the heads; got 6 and 4", gr_transformer_layer_new(t, net, "bad", 6, 4, NULL));
    BAD("bad.layers.0.self_attn: the probability of dropout must be in [0, 1]; got -1",
        gr_transformer_new(t, net, "bad", 6, 2, 2, &(gr_transformer_config){ .dropout = -1 }));
    BAD("bad: too many layers: 18446744073709551615", gr_transformer_new(t, net, "bad", 6, 2, SIZE_MAX, NULL));
    BAD("multihead_attention: the module is NULL", gr_multihead_attention_forward(t, NULL, x, NULL, NULL, NULL));
    BAD("multihead_attention in m: input 1 is NULL", gr_multihead_attention_forward(t, m, NULL, NULL, NULL, NULL));
    BAD("multihead_attention in m: query must be [B, T, 6]; got [2, 4, 5]", gr_multihead_attention_forward(t, m, y, NULL, NULL, NULL));
    BAD("multihead_attention in m: key must be [B, T, 6]; got [2, 4, 5]", gr_multihead_attention_forward(t, m, x, y, NULL, NULL));
    BAD("multihead_attention in m: value must be [B, T, 6]; got [2, 4, 5]", gr_multihead_attention_forward(t, m, x, x, y, NULL));
    BAD("transformer: the layer is NULL", gr_transformer_layer_forward(t, NULL, x, NULL));
    BAD("transformer in l: input 1 is NULL", gr_transformer_layer_forward(t, l, NULL, NULL));
    BAD("transformer in l: x must be [B, T, 6]; got [2, 4, 5]", gr_transformer_layer_forward(t, l, y, NULL));
    BAD("transformer: the module is NULL", gr_transformer_forward(t, NULL, x, NULL));
    BAD("transformer in body: input 1 is NULL", gr_transformer_forward(t, body, NULL, NULL));
    BAD("add_positions: x must be [.., T, size]; got [3]", gr_add_positions(t, gr_zeros(t, GR_SHAPE(3))));
    BAD("positions: the module is NULL", gr_positions_forward(t, NULL, x));
    BAD("positions in p: input 1 is NULL", gr_positions_forward(t, p, NULL));
    BAD("positions in p: x must be [.., T, 6] with T at most 3; got [2, 4, 6]", gr_positions_forward(t, p, x));
    gr_tensor *x = gr_zeros(t, GR_SHAPE(2, 4, 6));
    assert_true(gr_transformer_forward(t, body, x, NULL) == x); /* no layers */
    const gr_transformer *only = gr_transformer_new(t, net, "only", 2, 1, 0, &(gr_transformer_config){ .final_norm = true });
    assert_values(gr_transformer_forward(t, only, gr_input(t, (gr_real[]){ 1, 3 }, GR_SHAPE(1, 1, 2)), NULL), 1e-5, -1, 1);
    gr_module_free((gr_module *)only);
    assert_int_equal(gr_module_parameters(net), gr_module_parameters(&m->module) + gr_module_parameters(&l->module) + 18);
    gr_module_free(net), gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_starts_as_pytorch_does),
        cmocka_unit_test(a_layer_has_pytorchs_names_in_its_order),
        cmocka_unit_test(the_summary_counts_multiply_adds),
        cmocka_unit_test(a_layer_agrees_with_plain_operators),
        cmocka_unit_test(any_norm_makes_a_layer_whose_parameters_all_learn),
        cmocka_unit_test(batch_norm_counts_real_positions_only),
        cmocka_unit_test(attention_to_others_is_cross_attention),
        cmocka_unit_test(each_dropout_has_its_own_stream),
        cmocka_unit_test(positions_are_sines_and_cosines),
        cmocka_unit_test(learned_positions_add_a_row_to_each_step),
        cmocka_unit_test(a_residual_adds_its_input),
        cmocka_unit_test(sums_grow_with_depth_in_pre_norm_and_do_not_in_post_norm),
        cmocka_unit_test(training_bits_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
        cmocka_unit_test(sizes_heads_and_shapes_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
