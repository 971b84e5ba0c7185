/* tests/test_conv_parity.c - convolution, pooling, interpolation, a decoder and three training steps of a CNN against PyTorch. tests/golden/record_conv.py recorded
 * the values and says what the file holds. */
#include "core/files.h"
#include "tests/test.h"

enum { IN_DOUBLE = sizeof(gr_real) == 8 };
static gr_safetensors *golden;
static gr_tape *tape;

static gr_tensor *find(const char *key, const char *what)
{
    char name[128];
    snprintf(name, sizeof name, "%s/%s", key, what);
    const gr_safetensors_entry *e = gr_safetensors_find(golden, name);
    gr_tensor *x = e ? gr_empty(tape, e->shape) : NULL;
    if (x) gr_safetensors_reals(e, x->data);
    return x;
}

static gr_tensor *wanting(const char *key, const char *what)
{
    gr_tensor *x = find(key, what);
    return x ? gr_want_grad(tape, x) : NULL;
}

static void compare(const char *key, gr_tensor *y, gr_tensor *x, gr_tensor *w, gr_tensor *b)
{
    const double tolerance = IN_DOUBLE ? 1e-13 : 3e-6;
    const gr_tensor *leaf[] = { x, w, b };
    const char *const d[] = { "dx", "dw", "db" };
    assert_ok(tape);
    assert_tensors_close(y, find(key, "y"), tolerance);
    assert_true(gr_backward_from(tape, y, find(key, "dy")->data));
    for (int i = 0; i < 3; i++)
        if (leaf[i]) assert_close(gr_grad(tape, leaf[i]), find(key, d[i])->data, leaf[i]->len, tolerance);
}

static bool convolved(const char *key, gr_tensor *x)
{
    int n[8], bias;
    if (sscanf(key, "conv/%d,%d,%d,%d,%d,%d,%d,%d,%d", n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, &bias) != 9) return false;
    const gr_conv_config c = { .stride = n[4], .padding = n[5], .dilation = n[6], .groups = n[7] };
    gr_tensor *w = wanting(key, "w"), *b = wanting(key, "b");
    assert_int_equal(b != NULL, bias);
    compare(key, (x->rank == 4 ? gr_conv2d : gr_conv1d)(tape, x, w, b, &c), x, w, b);
    return true;
}

static bool transposed(const char *key, gr_tensor *x)
{
    gr_conv_config c = { 0 };
    int bias;
    if (sscanf(key, "transpose/%d,%d,%d,%d,%d,%d", &c.stride, &c.padding, &c.dilation, &c.groups, &c.output_padding, &bias) != 6) return false;
    gr_tensor *w = wanting(key, "w"), *b = wanting(key, "b");
    assert_int_equal(b != NULL, bias);
    compare(key, (x->rank == 4 ? gr_conv_transpose2d : gr_conv_transpose1d)(tape, x, w, b, &c), x, w, b);
    return true;
}

static bool interpolated(const char *key, gr_tensor *x)
{
    gr_interpolate_config c = { 0 };
    int linear, corners;
    if (sscanf(key, "interpolate/%d,%d,%zu,%zu,%lf,%lf", &linear, &corners, &c.size, &c.size_w, &c.scale_factor, &c.scale_factor_w) != 6) return false;
    c.mode = linear ? GR_INTERPOLATE_LINEAR : GR_INTERPOLATE_NEAREST, c.align_corners = corners;
    if (x->rank == 3) c.size_w = 0, c.scale_factor_w = 0; /* the recorder did not use them */
    compare(key, gr_interpolate(tape, x, &c), x, NULL, NULL);
    return true;
}

static bool pooled(const char *key, gr_tensor *x)
{
    static const struct { const char *name; gr_tensor *(*f)(gr_tape *, gr_tensor *, const gr_pool_config *); } slide[] = {
        { "max_pool1d", gr_max_pool1d }, { "max_pool2d", gr_max_pool2d }, { "avg_pool1d", gr_avg_pool1d }, { "avg_pool2d", gr_avg_pool2d },
    };
    static const struct { const char *name; gr_tensor *(*f1)(gr_tape *, gr_tensor *, size_t), *(*f2)(gr_tape *, gr_tensor *, size_t, size_t); } adapt[] = {
        { "adaptive_max_pool1d", gr_adaptive_max_pool1d, NULL }, { "adaptive_max_pool2d", NULL, gr_adaptive_max_pool2d },
        { "adaptive_avg_pool1d", gr_adaptive_avg_pool1d, NULL }, { "adaptive_avg_pool2d", NULL, gr_adaptive_avg_pool2d },
    };
    char name[32];
    gr_pool_config c = { 0 };
    int exclude, h, w;
    if (sscanf(key, "%31[a-z0-9_]/%d,%d,%d,%d", name, &c.kernel, &c.stride, &c.padding, &exclude) == 5) {
        c.exclude_padding = exclude;
        for (size_t i = 0; i < COUNT(slide); i++)
            if (!strcmp(slide[i].name, name)) return compare(key, slide[i].f(tape, x, &c), x, NULL, NULL), true;
    } else if (sscanf(key, "%31[a-z0-9_]/%d,%d", name, &h, &w) == 3) {
        for (size_t i = 0; i < COUNT(adapt); i++)
            if (!strcmp(adapt[i].name, name))
                return compare(key, adapt[i].f1 ? adapt[i].f1(tape, x, (size_t)h) : adapt[i].f2(tape, x, (size_t)h, (size_t)w), x, NULL, NULL), true;
    }
    return false;
}

TEST(every_case_agrees)
{
    size_t convolutions = 0, transposes = 0, interpolations = 0, pools = 0;
    for (size_t i = 0; i < golden->count; i++) {
        const gr_safetensors_entry *e = &golden->entry[i];
        const size_t n = strlen(e->name);
        char key[96];
        if (n < 3 || strcmp(e->name + n - 2, "/y") != 0 || !strcmp(e->name, "decoder/y")) continue;
        snprintf(key, sizeof key, "%.*s", (int)(n - 2), e->name);
        gr_tape_reset(tape);
        gr_tensor *x = wanting(key, "x");
        print_message("%s\n", key);
        if (convolved(key, x)) convolutions++;
        else if (transposed(key, x)) transposes++;
        else if (interpolated(key, x)) interpolations++;
        else if (pooled(key, x)) pools++;
        else fail_msg("this test has no case for %s", key);
    }
    assert_int_equal(convolutions, 75);
    assert_int_equal(transposes, 36);
    assert_int_equal(interpolations, 48);
    assert_int_equal(pools, 42);
}

/* ---- A decoder whose state_dict PyTorch wrote ---- */

TEST(a_decoder_loads_the_state_dict_of_pytorch)
{
    gr_tape_reset(tape);
    gr_module *root = gr_module_new(tape), *net = gr_sequential_new(tape, root, "net");
    gr_conv_transpose2d_new(tape, net, NULL, 3, 4, 4, &(gr_conv_config){ .stride = 2, .padding = 1, .no_bias = true });
    gr_activation_new(tape, net, NULL, "ReLU", gr_relu);
    gr_upsample_new(tape, net, NULL, &(gr_interpolate_config){ .scale_factor = 2, .mode = GR_INTERPOLATE_LINEAR });
    gr_conv_transpose2d_new(tape, net, NULL, 4, 2, 3, &(gr_conv_config){ .kernel_w = 2, .groups = 2, .stride = 2, .output_padding = 1 });
    assert_true(gr_state_load(tape, net, "tests/golden/decoder_state.safetensors", NULL));
    assert_tensors_close(gr_forward(tape, net, find("decoder", "x")), find("decoder", "y"), IN_DOUBLE ? 1e-13 : 3e-6);
    gr_module_free(root);
}

/* ---- Three training steps ---- */

static void compare_state(const char *when, const gr_module *net, bool fill)
{
    for (const gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s)) {
        if (!s->tensor) continue;
        const gr_tensor *want = find(when, s->path + strlen("net."));
        if (!want) fail_msg("the file lacks %s/%s", when, s->path);
        if (fill) memcpy(s->tensor->data, want->data, want->len * sizeof *want->data);
        else assert_tensors_close(s->tensor, want, IN_DOUBLE ? 1e-10 : 1e-5);
    }
}

TEST(three_steps_of_a_cnn_agree)
{
    gr_tape_reset(tape);
    gr_module *root = gr_module_new(tape), *net = gr_sequential_new(tape, root, "net");
    gr_conv2d_new(tape, net, NULL, 1, 4, 3, &(gr_conv_config){ .padding = 1, .no_bias = true });
    gr_batch_norm_new(tape, net, NULL, 4, NULL);
    gr_activation_new(tape, net, NULL, "ReLU", gr_relu);
    gr_max_pool2d_new(tape, net, NULL, &(gr_pool_config){ .kernel = 2 });
    gr_conv2d_new(tape, net, NULL, 4, 6, 3, &(gr_conv_config){ .stride = 2, .groups = 2, .no_bias = true });
    gr_activation_new(tape, net, NULL, "ReLU", gr_relu);
    gr_avg_pool2d_new(tape, net, NULL, &(gr_pool_config){ .kernel = 2, .stride = 1 });
    gr_flatten_new(tape, net, NULL);
    gr_linear_new(tape, net, NULL, 6, 3, NULL);
    gr_optim *adam = gr_adam_new(tape, net, &(gr_adam_config){ .lr = 0.01 });
    assert_ok(tape);
    compare_state("cnn/start", net, true);
    int64_t classes[15];
    int labels[15];
    gr_safetensors_integers(gr_safetensors_find(golden, "cnn/labels"), classes);
    for (size_t i = 0; i < 15; i++) labels[i] = (int)classes[i];
    for (size_t step = 0; step < 3; step++) {
        gr_tape_reset(tape);
        gr_tensor *x = gr_reshape(tape, gr_slice(tape, find("cnn", "x"), step, 1), GR_SHAPE(5, 1, 10, 10));
        gr_tensor *loss = gr_cross_entropy(tape, gr_forward(tape, net, x), gr_ints_new(tape, labels + 5 * step, GR_SHAPE(5)), NULL);
        gr_optim_zero_grad(adam);
        gr_backward(tape, loss);
        gr_optim_step(tape, adam);
        assert_ok(tape);
        assert_close(loss->data, find("cnn", "loss")->data + step, 1, IN_DOUBLE ? 1e-11 : 1e-5);
    }
    compare_state("cnn/end", net, false);
    gr_tape_set_training(tape, false);
    gr_tensor *x = gr_reshape(tape, gr_slice(tape, find("cnn", "x"), 0, 1), GR_SHAPE(5, 1, 10, 10));
    assert_tensors_close(gr_forward(tape, net, x), find("cnn", "eval"), IN_DOUBLE ? 1e-10 : 1e-5);
    gr_optim_free(adam), gr_module_free(root);
}

FIXTURE(open_file)
{
    tape = gr_tape_new(1, NULL);
    golden = gr_safetensors_open(tape, "tests/golden/conv.safetensors");
    return !golden;
}
FIXTURE(close_file)
{
    gr_safetensors_free(golden), gr_tape_free(tape);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_agrees),
        cmocka_unit_test(a_decoder_loads_the_state_dict_of_pytorch),
        cmocka_unit_test(three_steps_of_a_cnn_agree),
    };
    return cmocka_run_group_tests(tests, open_file, close_file);
}
