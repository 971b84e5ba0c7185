/* tests/test_dive_models.c - the deep dive's models: arms start alike, and their inside can be read. */
#include "examples/dive/models.h"
#include "tests/failing.h"

enum { IMAGES = 40, BATCH = 8 };
static uint8_t pixels[IMAGES * KIT_PIXELS], labels[IMAGES];

/* A program with small data; it also starts r. */
static dive start(kit_run *r, kit_options *o)
{
    static const kit_flags flags = { "prog", "does things", NULL, 0 };
    char name[] = "prog", *argv[] = { name, NULL };
    assert_int_equal(kit_run_start(r, &flags, o, 1, argv), KIT_GO_ON);
    for (size_t i = 0; i < IMAGES; i++) labels[i] = (uint8_t)kit_digit(7, "digits", i, pixels + i * KIT_PIXELS);
    const kit_set set = { { pixels, IMAGES, KIT_PIXELS }, { labels, IMAGES, 1 } };
    return (dive){ .r = r, .seeds = 2, .data = { set, set, NULL }, .figure = "test" };
}

static bool quiet(kit_arms *a, size_t step, bool evaluated)
{
    (void)a, (void)step, (void)evaluated;
    return true;
}

static const dive_spec small[DIVE_ARCHS] = { { .arch = DIVE_MLP, .hidden = 12 },
                                             { .arch = DIVE_LSTM, .hidden = 9 },
                                             { .arch = DIVE_CNN, .hidden = 4 },
                                             { .arch = DIVE_TRANSFORMER, .hidden = 8 } };

/* The three arms after this number of steps. */
static kit_arms trained(dive *d, dive_batches *b, const dive_spec *spec, size_t steps)
{
    kit_arms a = { .title = "test", .steps = steps, .every = 100, .watch = quiet };
    assert_true(dive_batches_open(d, b, &a, spec, BATCH, 0));
    a.source.test = 1;
    dive_arms_add(&a);
    assert_true(kit_arms_run(d->r, &a));
    return a;
}

static void done(dive *d, dive_batches *b, kit_arms *a)
{
    dive_arms_free(a), dive_batches_free(d, b);
    assert_ok(d->r->tape);
}

/* One arm that is built but not trained. */
static kit_arm built(const dive_spec *spec, int kind)
{
    kit_arm arm = { .name = "arm", .kind = kind, .user = (void *)spec, .tape = gr_tape_new(5, NULL) };
    arm.net = gr_module_new(arm.tape);
    dive_build(&arm);
    return arm;
}

static void unbuild(kit_arm *arm)
{
    kit_arms a = { .arm = { *arm }, .n = 1 };
    dive_arms_free(&a);
}

TEST(arms_start_from_the_same_weights)
{
    kit_run r;
    kit_options o = { .seed = 3, .quiet = true };
    dive d = start(&r, &o);
    static const size_t common[DIVE_ARCHS] = { 6, 4, 8, 20 };
    for (size_t arch = 0; arch < DIVE_ARCHS; arch++) {
        dive_batches b;
        kit_arms a = { .title = "" };
        assert_true(dive_batches_open(&d, &b, &a, &small[arch], BATCH, 0));
        kit_arm arm[DIVE_ARMS];
        for (size_t i = 0; i < DIVE_ARMS; i++) {
            arm[i] = built(&b.spec, (int)dive_arm_norm[i]);
            assert_ok(arm[i].tape);
        }
        size_t shared = 0;
        for (const gr_slot *s = gr_slot_first(arm[0].net); s; s = gr_slot_next(arm[0].net, s)) {
            const gr_slot *const bn = gr_slot_find(arm[1].net, s->path), *const ln = gr_slot_find(arm[2].net, s->path);
            if (!bn || !ln) continue;
            assert_same_bits(bn->tensor->data, s->tensor->data, s->tensor->len);
            assert_same_bits(ln->tensor->data, s->tensor->data, s->tensor->len);
            shared++;
        }
        assert_int_equal(shared, common[arch]);
        for (size_t i = 0; i < DIVE_ARMS; i++) unbuild(&arm[i]);
        dive_batches_free(&d, &b);
    }
    assert_int_equal(kit_run_end(&r), 0);
}

TEST(the_learning_rate_warms_up)
{
    kit_arm arm = built(&(dive_spec){ .arch = DIVE_MLP, .hidden = 4, .lr = 0.1, .warmup = 4 }, GR_NORM_LAYER);
    const double rate[] = { 0.025, 0.05, 0.075, 0.1, 0.1 };
    const kit_batch batch = { .n = 1, .pixels = (gr_real[KIT_PIXELS]){ 0 }, .labels = (int[]){ 3 } };
    for (size_t k = 0; k < COUNT(rate); k++) {
        kit_score score = { 0 };
        assert_true(fabs(gr_optim_lr(arm.optim) - rate[k]) < 1e-12);
        assert_true(gr_backward(arm.tape, dive_loss(&arm, &batch, &score)) && gr_optim_step(arm.tape, arm.optim));
        gr_tape_reset(arm.tape);
    }
    unbuild(&arm);
}

/* The cell's norm applied to c [B, H]. */
static gr_tensor *cell_norm(gr_tape *t, gr_tensor *c, const gr_recurrent_weights *w, size_t step)
{
    if (w->norm & GR_LSTM_LN_C) return gr_layer_norm(t, c, 1, w->ln_c.weight, w->ln_c.bias, 1e-5);
    if (w->norm != GR_LSTM_BN) return c;
    gr_batch_norm_config o = { 0 };
    if (!gr_tape_training(t)) {
        o.running_mean = gr_select(t, w->bn_c.running_mean, 0, (ptrdiff_t)step);
        o.running_var = gr_select(t, w->bn_c.running_var, 0, (ptrdiff_t)step);
    }
    return gr_batch_norm(t, c, -1, w->bn_c.weight, w->bn_c.bias, &o);
}

static void check_gates(kit_arm *arm, const void *batch, bool training)
{
    gr_tape *const t = arm->tape;
    const dive_model *const m = arm->model;
    gr_tape_set_training(t, training), gr_tape_set_recording(t, false);
    gr_tape_reset(t);
    dive_logits(arm, batch);
    const size_t T = gr_size(m->x, 1), H = m->spec.hidden;
    gr_tensor *c = gr_zeros(t, GR_SHAPE(BATCH, H));
    for (size_t step = 0; step < T; step++) {
        gr_tensor *const a = dive_lstm_gates(arm, step);
        gr_tensor *const i = gr_sigmoid(t, gr_narrow(t, a, 1, 0, H)), *const f = gr_sigmoid(t, gr_narrow(t, a, 1, H, H));
        gr_tensor *const g = gr_tanh(t, gr_narrow(t, a, 1, 2 * H, H)), *const o = gr_sigmoid(t, gr_narrow(t, a, 1, 3 * H, H));
        c = gr_add(t, gr_mul(t, f, c), gr_mul(t, i, g));
        gr_tensor *const h = gr_mul(t, o, gr_tanh(t, cell_norm(t, c, m->lstm->recurrent.weights, step)));
        assert_ok(t);
        assert_tensors_close(h, gr_select(t, m->state.y, 1, (ptrdiff_t)step), 1e-4);
    }
    gr_tape_set_training(t, true), gr_tape_set_recording(t, true);
}

TEST(gates_make_the_state_that_follows)
{
    kit_run r;
    kit_options o = { .seed = 3, .quiet = true };
    dive d = start(&r, &o);
    for (size_t pooled = 0; pooled <= 4; pooled += 4) {
        dive_batches b;
        dive_spec spec = small[DIVE_LSTM];
        size_t n;
        spec.pooled = pooled;
        kit_arms a = trained(&d, &b, &spec, 3);
        for (size_t i = 0; i < DIVE_ARMS; i++) {
            const void *const batch = a.source.batch(a.source.data, true, 0, &n);
            check_gates(&a.arm[i], batch, true), check_gates(&a.arm[i], batch, false);
            assert_int_equal(gr_size(((dive_model *)a.arm[i].model)->x, 1), pooled ? 49 : 28);
        }
        done(&d, &b, &a);
    }
    assert_int_equal(kit_run_end(&r), 0);
}

TEST(layer_norm_keeps_the_grey_values_of_single_pixels)
{
    gr_real grey[KIT_PIXELS], dark[KIT_PIXELS];
    for (size_t i = 0; i < KIT_PIXELS; i++) grey[i] = (gr_real)(0.1 + 0.8 * (double)(i % 7) / 6), dark[i] = grey[i] / 4;
    const dive_spec spec = { .arch = DIVE_LSTM, .hidden = 9, .pooled = 4 };
    kit_arm arm = built(&spec, GR_NORM_LAYER);
    const gr_tensor *const y = dive_logits(&arm, &(kit_batch){ .n = 1, .pixels = grey }),
                           *const other = dive_logits(&arm, &(kit_batch){ .n = 1, .pixels = dark });
    double most = 0;
    assert_ok(arm.tape);
    for (size_t i = 0; i < y->len; i++) most = fmax(most, fabs((double)(y->data[i] - other->data[i])));
    assert_true(most > 0.01);
    unbuild(&arm);
}

static void assert_all(const gr_tensor *x, double value)
{
    for (size_t i = 0; i < x->len; i++) assert_true(fabs((double)x->data[i] - value) < 1e-6);
}

TEST(gain_shift_and_scale_reach_their_parameters)
{
    const dive_spec plain = small[DIVE_MLP],
                    s = { .arch = DIVE_MLP, .hidden = 12, .gain = 0.5, .shift = -1, .scale = 3, .depth = 3, .logits = true };
    kit_arm arm = built(&s, GR_NORM_LAYER), old = built(&plain, GR_NORM_LAYER);
    static const char *const norm[] = { "norm1", "norm2", "norm3", "norm_out" };
    for (size_t k = 0; k < COUNT(norm); k++) {
        char path[32];
        snprintf(path, sizeof path, "%s.weight", norm[k]), assert_all(gr_slot_find(arm.net, path)->tensor, 0.5);
        snprintf(path, sizeof path, "%s.bias", norm[k]), assert_all(gr_slot_find(arm.net, path)->tensor, -1);
    }
    assert_all(gr_slot_find(arm.net, "fc1.bias")->tensor, 0), assert_null(gr_slot_find(old.net, "norm_out.weight"));
    const gr_tensor *const w = gr_slot_find(arm.net, "fc2.weight")->tensor, *const was = gr_slot_find(old.net, "fc2.weight")->tensor;
    for (size_t i = 0; i < w->len; i++) assert_true(w->data[i] == 3 * was->data[i]);
    unbuild(&arm), unbuild(&old);

    for (int k = 0; k < 2; k++) { /* in the LSTM: once to the gates, once to the cell */
        const dive_spec shifted = { .arch = DIVE_LSTM, .hidden = 9, .gain = 2, .shift = 0.5 };
        const int kind = k ? GR_NORM_BATCH : GR_NORM_LAYER;
        arm = built(&shifted, kind), old = built(&small[DIVE_LSTM], kind);
        const gr_recurrent_weights *const x = ((dive_model *)arm.model)->lstm->recurrent.weights, *const y = ((dive_model *)old.model)->lstm->recurrent.weights;
        for (size_t i = 0; i < x->b_ih->len; i++) assert_true(fabs((double)(x->b_ih->data[i] - y->b_ih->data[i]) - 0.5) < 1e-6);
        assert_all(k ? x->bn_c.bias : x->ln_c.bias, 0.5), assert_all(k ? y->bn_ih.weight : y->ln_ih.weight, k ? 0.1 : 1);
        assert_all(k ? x->bn_hh.weight : x->ln_hh.weight, 2), assert_all(k ? x->bn_c.weight : x->ln_c.weight, 2);
        if (!k) assert_all(x->ln_ih.bias, 0), assert_all(x->ln_hh.bias, 0);
        unbuild(&arm), unbuild(&old);
    }
}

static void train_all(uint64_t threads, uint64_t print[DIVE_ARCHS][DIVE_ARMS])
{
    kit_run r;
    kit_options o = { .seed = 3, .quiet = true, .threads = threads };
    dive d = start(&r, &o);
    for (size_t arch = 0; arch < DIVE_ARCHS; arch++) {
        dive_batches b;
        kit_arms a = trained(&d, &b, &small[arch], 4);
        for (size_t i = 0; i < DIVE_ARMS; i++) print[arch][i] = kit_fingerprint(a.arm[i].net), assert_int_equal(a.arm[i].diverged, 0);
        done(&d, &b, &a);
    }
    assert_int_equal(kit_run_end(&r), 0);
}

TEST(bits_do_not_depend_on_threads)
{
    uint64_t one[DIVE_ARCHS][DIVE_ARMS], two[DIVE_ARCHS][DIVE_ARMS];
    train_all(1, one), train_all(2, two);
    assert_memory_equal(one, two, sizeof one);
    for (size_t arch = 0; arch < DIVE_ARCHS; arch++) assert_true(one[arch][0] != one[arch][1] && one[arch][1] != one[arch][2]);
}

TEST(activations_inside_a_model_can_be_read)
{
    kit_run r;
    kit_options o = { .seed = 3, .quiet = true };
    dive d = start(&r, &o);
    size_t n;
    for (size_t arch = 0; arch < DIVE_ARCHS; arch++) {
        dive_batches b;
        kit_arms a = trained(&d, &b, &small[arch], 1);
        kit_arm *const arm = &a.arm[2];
        const dive_model *const m = arm->model;
        kit_score score = { 0 };
        gr_tape_reset(arm->tape);
        gr_tensor *const loss = dive_loss(arm, a.source.batch(a.source.data, true, 1, &n), &score);
        assert_true(gr_backward(arm->tape, loss));
        assert_int_equal(score.images, n);
        for (size_t k = 0; arch == DIVE_MLP && k < 2; k++) assert_tensors_close(m->pre[k], gr_forward(arm->tape, m->norm[k], m->raw[k]), 0);
        if (arch == DIVE_LSTM)
            assert_true(m->state.dh_norm[27] > 0 && m->state.dc_norm[0] > 0 && m->state.dh_norm[26] != m->state.dh_norm[27]);
        for (size_t k = 0; arch == DIVE_TRANSFORMER && k < 2; k++)
            assert_int_equal(m->block[k]->len, n * 8), assert_non_null(gr_grad(arm->tape, m->block[k]));
        done(&d, &b, &a);
    }
    assert_int_equal(kit_run_end(&r), 0);
}

TEST(batches_depend_on_the_seed_alone)
{
    kit_run r;
    kit_options o = { .seed = 3, .quiet = true };
    dive d = start(&r, &o);
    for (int text = 0; text < 2; text++) {
        int first[3][BATCH];
        static const size_t seed[] = { 0, 1, 0 };
        for (size_t i = 0; i < 3; i++) {
            dive_batches b;
            kit_arms a = { .title = "" };
            size_t n;
            assert_true(dive_batches_open(&d, &b, &a, &small[text ? DIVE_TRANSFORMER : DIVE_MLP], BATCH, seed[i]));
            assert_int_equal(a.seed, 3 + seed[i]);
            assert_true(a.clip == (text ? 1 : 0));
            const void *const batch = a.source.batch(a.source.data, true, 0, &n);
            memcpy(first[i], text ? ((const kit_text *)batch)->in : ((const kit_batch *)batch)->labels, sizeof first[i]);
            dive_batches_free(&d, &b);
        }
        assert_memory_equal(first[0], first[2], sizeof first[0]);
        assert_memory_not_equal(first[0], first[1], sizeof first[0]);
    }
    assert_int_equal(kit_run_end(&r), 0);
}

TEST(wrong_models_are_named)
{
    const dive_spec deep = { .arch = DIVE_MLP, .depth = 32 };
    kit_arm arm = built(&small[DIVE_LSTM], GR_NORM_GROUP);
    assert_message(arm.tape, "an LSTM has no norm, batch norm or layer norm; got kind 4"), unbuild(&arm);
    arm = built(&small[DIVE_TRANSFORMER], GR_NORM_NONE);
    assert_message(arm.tape, "a Transformer needs a text"), unbuild(&arm);
    arm = built(&deep, GR_NORM_NONE);
    assert_message(arm.tape, "a model has up to 31 layers; got 32"), unbuild(&arm);
}

static bool one_step(gr_tape *t, void *spec)
{
    static gr_real x[2 * KIT_PIXELS];
    static const int label[] = { 3, 7 };
    for (size_t i = 0; i < COUNT(x); i++) x[i] = (gr_real)(i % 7) / 7;
    const kit_batch batch = { 2, x, label };
    kit_arm arm = { .name = "arm", .kind = GR_NORM_BATCH, .user = spec, .tape = t };
    kit_score score = { 0 };
    arm.net = gr_module_new(t);
    dive_build(&arm);
    gr_optim_zero_grad(arm.optim);
    bool well = gr_backward(t, dive_loss(&arm, &batch, &score));
    if (well && ((dive_spec *)spec)->arch == DIVE_LSTM) well = dive_lstm_gates(&arm, 1) != NULL;
    well = gr_optim_step(t, arm.optim) && well;
    if (arm.model) gr_memory_free(gr_tape_allocator(t), arm.model, sizeof(dive_model));
    gr_optim_free(arm.optim), gr_module_free(arm.net);
    return well;
}

TEST(any_allocation_may_fail)
{
    for (size_t arch = 0; arch < DIVE_TRANSFORMER; arch++) {
        dive_spec spec = small[arch];
        fail_every_allocation(one_step, &spec);
    }
}

TEST(a_spec_is_written_in_words)
{
    gr_tape *t = gr_tape_new(1, NULL);
    plot_figure *f = plot_figure_new(t, "x", "x");
    assert_string_equal(dive_spec_text(f, &(dive_spec){ .arch = DIVE_MLP }, 32),
                        "784-128-128-10, ReLU, norm before ReLU on the hidden layers, He's weights, biases 0, Adam, learning rate 0.001 "
                        "constant, batch 32");
    assert_string_equal(
        dive_spec_text(f, &(dive_spec){ .arch = DIVE_MLP, .hidden = 5, .depth = 7, .logits = true, .sgd = true, .lr = 0.1 }, 1),
        "784, then 7 layers of 5, then 10, ReLU, norm before ReLU on the hidden layers and on the logits, He's weights, biases 0, SGD, learning "
        "rate 0.1 constant, batch 1");
    assert_string_equal(dive_spec_text(f, &(dive_spec){ .arch = DIVE_MLP, .hidden = 5, .curve = gr_sigmoid, .bare = true }, 0),
                        "784-5-5-10, sigmoid, no norm, He's weights, biases 0, Adam, learning rate 0.001 constant, batch 0");
    assert_string_equal(dive_spec_text(f, &(dive_spec){ .arch = DIVE_CNN, .hidden = 4, .lr = (double)NAN, .bare = true }, 0),
                        "conv4-pool-conv8-pool-fc32-fc10, no norm, uniform weights and biases, Adam");
    assert_string_equal(
        dive_spec_text(f, &(dive_spec){ .arch = DIVE_TRANSFORMER, .lr = (double)NAN, .post = true }, 0),
        "causal Transformer on characters, 2 blocks of 32, 4 heads, post-norm, GELU, windows of 32, PyTorch's initial values, Adam");
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arms_start_from_the_same_weights),
        cmocka_unit_test(the_learning_rate_warms_up),
        cmocka_unit_test(gates_make_the_state_that_follows),
        cmocka_unit_test(layer_norm_keeps_the_grey_values_of_single_pixels),
        cmocka_unit_test(gain_shift_and_scale_reach_their_parameters),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(activations_inside_a_model_can_be_read),
        cmocka_unit_test(batches_depend_on_the_seed_alone),
        cmocka_unit_test(wrong_models_are_named),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(a_spec_is_written_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
