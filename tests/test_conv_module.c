/* tests/test_conv_module.c - the modules of convolution and pooling, and a small CNN: parameters, initial values, a training step while
 * allocations fail. */
#include "tests/failing.h"

/* Two blocks of conv, norm, ReLU and pool, and a linear layer, under a root. The input is x [N, 1, 8, 8]. */
static gr_module *cnn(gr_tape *t, gr_norm_kind norm)
{
    gr_module *root = gr_module_new(t), *net = gr_sequential_new(t, root, "net");
    gr_conv2d_new(t, net, "conv1", 1, 4, 3, &(gr_conv_config){ .padding = 1 });
    gr_norm_new(t, net, "norm1", norm, 4, &(gr_norm_config){ .axis = 1, .groups = 2 });
    gr_activation_new(t, net, NULL, "ReLU", gr_relu);
    gr_max_pool2d_new(t, net, "pool1", &(gr_pool_config){ .kernel = 2 });
    gr_conv2d_new(t, net, "conv2", 4, 6, 3, &(gr_conv_config){ .groups = 2, .no_bias = true });
    gr_activation_new(t, net, NULL, "ReLU", gr_relu);
    gr_avg_pool2d_new(t, net, "pool2", &(gr_pool_config){ .kernel = 2, .padding = 1 });
    gr_flatten_new(t, net, "flatten");
    gr_linear_new(t, net, "fc", 24, 3, NULL);
    return root;
}

TEST(names_shapes_and_initial_values_are_those_of_pytorch)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *root = gr_module_new(t);
    gr_conv_module *c = gr_conv2d_new(t, root, "c", 6, 32, 5, &(gr_conv_config){ .groups = 2, .kernel_w = 3 });
    gr_conv_module *line = gr_conv1d_new(t, root, "line", 4, 8, 3, &(gr_conv_config){ .no_bias = true });
    assert_ok(t);
    assert_ptr_equal(gr_slot_find(root, "c.weight")->tensor, c->weight);
    assert_ptr_equal(gr_slot_find(root, "c.bias")->tensor, c->bias);
    assert_string_equal(gr_shape_text(t, c->weight), "[32, 3, 5, 3]");
    assert_string_equal(gr_shape_text(t, line->weight), "[8, 4, 3]");
    assert_null(line->bias);
    assert_int_equal(c->module.multiply_adds, 32 * 45);
    const double bound = 1 / sqrt(45);
    double largest = 0, square = 0;
    for (size_t i = 0; i < c->weight->len; i++) {
        largest = fmax(largest, fabs((double)c->weight->data[i]));
        square += (double)c->weight->data[i] * (double)c->weight->data[i] / (double)c->weight->len;
    }
    for (size_t i = 0; i < c->bias->len; i++) assert_true(fabs((double)c->bias->data[i]) <= bound);
    assert_true(largest <= bound && largest > 0.99 * bound);
    assert_true(fabs(square / (bound * bound / 3) - 1) < 0.1);
    gr_module_free(root), gr_tape_free(t);
}

/* PyTorch takes axis 1 of the weight as the inputs here too, so that the range depends on the outputs. */
TEST(a_transposed_convolution_has_the_names_shapes_and_values_of_pytorch)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *root = gr_module_new(t);
    gr_conv_module *c = gr_conv_transpose2d_new(t, root, "c", 32, 6, 5, &(gr_conv_config){ .groups = 2, .kernel_w = 3 });
    gr_conv_module *line = gr_conv_transpose1d_new(t, root, "line", 4, 8, 3, &(gr_conv_config){ .no_bias = true });
    assert_ok(t);
    assert_ptr_equal(gr_slot_find(root, "c.weight")->tensor, c->weight);
    assert_ptr_equal(gr_slot_find(root, "c.bias")->tensor, c->bias);
    assert_string_equal(gr_shape_text(t, c->weight), "[32, 3, 5, 3]");
    assert_string_equal(gr_shape_text(t, c->bias), "[6]");
    assert_string_equal(gr_shape_text(t, line->weight), "[4, 8, 3]");
    assert_string_equal(c->module.kind, "ConvTranspose2d");
    assert_string_equal(line->module.kind, "ConvTranspose1d");
    assert_null(line->bias);
    assert_int_equal(c->module.multiply_adds, 32 * 45);
    double largest = 0, largest_bias = 0;
    for (size_t i = 0; i < c->weight->len; i++) largest = fmax(largest, fabs((double)c->weight->data[i]));
    for (size_t i = 0; i < c->bias->len; i++) largest_bias = fmax(largest_bias, fabs((double)c->bias->data[i]));
    assert_true(largest <= 1 / sqrt(45) && largest > 0.99 / sqrt(45));
    assert_true(largest_bias <= 1 / sqrt(45) && largest_bias > 0.3 / sqrt(45));
    gr_module_free(root), gr_tape_free(t);
}

TEST(each_module_calls_its_operator)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    const gr_pool_config p = { .kernel = 3, .stride = 2, .padding = 1 };
    gr_tensor *image = gr_randn(t, GR_SHAPE(2, 4, 7, 9), 0, 1, "image"), *line = gr_randn(t, GR_SHAPE(2, 4, 11), 0, 1, "line");
    const struct { gr_module *m; gr_tensor *x, *y; } c[] = {
        { gr_max_pool2d_new(t, net, NULL, &p), image, gr_max_pool2d(t, image, &p) },
        { gr_avg_pool2d_new(t, net, NULL, &p), image, gr_avg_pool2d(t, image, &p) },
        { gr_max_pool1d_new(t, net, NULL, &p), line, gr_max_pool1d(t, line, &p) },
        { gr_avg_pool1d_new(t, net, NULL, &p), line, gr_avg_pool1d(t, line, &p) },
        { gr_adaptive_max_pool2d_new(t, net, NULL, 3, 2), image, gr_adaptive_max_pool2d(t, image, 3, 2) },
        { gr_adaptive_avg_pool2d_new(t, net, NULL, 1, 4), image, gr_adaptive_avg_pool2d(t, image, 1, 4) },
        { gr_adaptive_max_pool1d_new(t, net, NULL, 3), line, gr_adaptive_max_pool1d(t, line, 3) },
        { gr_adaptive_avg_pool1d_new(t, net, NULL, 2), line, gr_adaptive_avg_pool1d(t, line, 2) },
        { gr_flatten_new(t, net, NULL), image, gr_flatten(t, image, 1) },
    };
    assert_ok(t);
    for (size_t i = 0; i < COUNT(c); i++) assert_tensors_close(gr_forward(t, c[i].m, c[i].x), c[i].y, 0);
    const gr_conv_config two = { .stride = 2, .groups = 2, .padding = 1 };
    const gr_conv_config wide = { .kernel_w = 5, .no_bias = true }; /* these two are of the module, not of the operator */
    gr_conv_module *w = gr_conv2d_new(t, net, "wide", 4, 6, 3, &wide);
    assert_tensors_close(gr_forward(t, &w->module, image), gr_conv2d(t, image, w->weight, NULL, NULL), 0);
    gr_conv_module *conv = gr_conv2d_new(t, net, "conv", 4, 6, 3, &two), *along = gr_conv1d_new(t, net, "along", 4, 6, 3, &two);
    assert_tensors_close(gr_forward(t, &conv->module, image), gr_conv2d(t, image, conv->weight, conv->bias, &two), 0);
    assert_tensors_close(gr_forward(t, &along->module, line), gr_conv1d(t, line, along->weight, along->bias, &two), 0);
    const gr_conv_config back = { .stride = 2, .groups = 2, .padding = 1, .output_padding = 1 };
    gr_conv_module *up = gr_conv_transpose2d_new(t, net, "up", 4, 6, 3, &back), *longer = gr_conv_transpose1d_new(t, net, "longer", 4, 6, 3, &back);
    assert_tensors_close(gr_forward(t, &up->module, image), gr_conv_transpose2d(t, image, up->weight, up->bias, &back), 0);
    assert_tensors_close(gr_forward(t, &longer->module, line), gr_conv_transpose1d(t, line, longer->weight, longer->bias, &back), 0);
    gr_module_free(net), gr_tape_free(t);
}

TEST(channels_kernels_and_groups_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    assert_fails(t, gr_conv2d_new(t, net, "c", 3, 4, 3, &(gr_conv_config){ .groups = 2 }),
                 "c: 3 channels in and 4 out do not fall into 2 groups");
    assert_fails(t, gr_conv1d_new(t, net, "c", 3, 4, 0, NULL), "c: the kernel must be 1 or more; got 0");
    assert_fails(t, gr_conv1d_new(t, net, "c", 3, 4, 1, &(gr_conv_config){ .padding = -1 }),
                 "c: padding must be 0 or more; got -1");
    assert_fails(t, gr_conv2d_new(t, net, "c", 3, 4, 1, &(gr_conv_config){ .kernel_w = -2 }), "c: kernel_w must be 1 or more; got -2");
    assert_fails(t, gr_conv2d_new(t, net, "c", 3, 4, 1, &(gr_conv_config){ .output_padding_w = 1 }),
                 "c: output_padding is for a transposed convolution; got 1");
    assert_fails(t, gr_conv_transpose1d_new(t, net, "c", 3, 4, 1, &(gr_conv_config){ .output_padding = -1 }),
                 "c: output_padding must be 0 or more; got -1");
    const struct { gr_conv_config config; const char *message; } along[] = { /* of one axis */
        { { .stride_w = 2 }, "c: stride_w is for two axes, and here is one; got 2" },
        { { .padding_w = GR_NONE }, "c: padding_w is for two axes, and here is one; got -1" },
        { { .dilation_w = 1 }, "c: dilation_w is for two axes, and here is one; got 1" },
        { { .kernel_w = 3 }, "c: kernel_w is for two axes, and here is one; got 3" },
        { { .output_padding_w = 1 }, "c: output_padding_w is for two axes, and here is one; got 1" },
    };
    for (size_t k = 0; k < COUNT(along); k++) {
        assert_fails(t, gr_conv1d_new(t, net, "c", 3, 4, 1, &along[k].config), along[k].message);
        assert_fails(t, gr_conv_transpose1d_new(t, net, "c", 3, 4, 1, &along[k].config), along[k].message);
    }
    assert_fails(t, gr_conv_transpose1d_new(t, net, "c", 3, 4, 1, &(gr_conv_config){ .stride = 2, .output_padding = 2 }),
                 "c: output_padding must be smaller than the stride or the dilation; got 2 with stride 2 and dilation 1");
    assert_fails(t, gr_conv_transpose2d_new(t, net, "c", 3, 4, 1, &(gr_conv_config){ .stride = 2, .stride_w = 1, .output_padding = 1 }),
                 "c: output_padding must be smaller than the stride or the dilation; got 1 with stride 1 and dilation 1");
    assert_fails(t, gr_conv_transpose2d_new(t, net, "c", 4, 3, 3, &(gr_conv_config){ .groups = 2 }),
                 "c: 4 channels in and 3 out do not fall into 2 groups");
    assert_fails(t, gr_max_pool2d_new(t, net, "p", NULL), "p: the kernel of MaxPool2d must be 1 or more; got 0");
    assert_fails(t, gr_adaptive_avg_pool2d_new(t, net, "p", 1, 0), "p: the output size of AdaptiveAvgPool2d must not be 0");
    assert_null(gr_conv_forward(t, NULL, gr_zeros(t, GR_SHAPE(1, 1, 1))));
    assert_message(t, "conv: the module is NULL");
    assert_null(net->child);
    gr_module_free(net), gr_tape_free(t);
}

TEST(a_cnn_learns)
{
    for (gr_norm_kind norm = GR_NORM_NONE; norm <= GR_NORM_INSTANCE; norm++) {
        if (norm == GR_NORM_RMS) continue;
        gr_tape *t = gr_tape_new(3, NULL);
        gr_module *net = cnn(t, norm);
        gr_optim *adam = gr_adam_new(t, net, &(gr_adam_config){ .lr = 0.01 });
        double loss = 0;
        for (int step = 0; step < 60; step++) {
            int labels[12];
            gr_tape_reset(t);
            gr_tensor *x = gr_rand(t, GR_SHAPE(12, 1, 8, 8), -0.2, 0.2, "noise");
            for (size_t i = 0; x && i < 12; i++) { /* a bright row, column or corner */
                labels[i] = (int)i % 3;
                for (size_t k = 0; k < 8; k++) x->data[64 * i + (i % 3 == 0 ? 8 * (i / 3 + 2) + k : i % 3 == 1 ? 8 * k + i / 3 + 2 : k % 3 + 8 * (k / 3))] += 1;
            }
            gr_tensor *l = gr_cross_entropy(t, gr_forward(t, net->child, x), gr_ints_new(t, labels, GR_SHAPE(12)), NULL);
            gr_optim_zero_grad(adam);
            gr_backward(t, l);
            gr_optim_step(t, adam);
            loss = gr_item(l);
        }
        assert_ok(t);
        if (!(loss < 0.1)) fail_msg("norm %d: the loss is %g", (int)norm, loss);
        gr_optim_free(adam), gr_module_free(net), gr_tape_free(t);
    }
}

/* ---- A BatchNorm inside its convolution ---- */

static void vary(gr_tensor *x, gr_real least) /* x[i]: least + 0.37 i, between least and least + 2 */
{
    for (size_t i = 0; x && i < x->len; i++) x->data[i] = least + (gr_real)(37 * i % 200) / 100;
}

TEST(a_fused_batch_norm_computes_the_same)
{
    const struct { int dims; gr_conv_config conv; gr_norm_config bn; } c[] = {
        { 2, { 0 }, { 0 } },
        { 2, { .stride = 2, .padding = 1, .groups = 2, .kernel_w = 2 }, { .eps = 0.1 } },
        { 2, { .padding = 1, .no_bias = true }, { .no_bias = true, .eps = GR_NONE } },
        { 2, { .dilation = 2 }, { .no_affine = true } },
        { 1, { .stride = 2, .groups = 4 }, { .dims = 1 } },
        { 1, { .no_bias = true }, { .no_affine = true, .momentum = 0.5 } },
    };
    for (size_t i = 0; i < COUNT(c); i++) {
        gr_tape *t = gr_tape_new(3, NULL);
        gr_module *net = gr_module_new(t);
        gr_conv_module *conv = (c[i].dims == 2 ? gr_conv2d_new : gr_conv1d_new)(t, net, "conv", 4, 8, 3, &c[i].conv);
        gr_norm *bn = gr_batch_norm_new(t, net, "bn", 8, &c[i].bn);
        assert_ok(t);
        vary(bn->running_mean, -1), vary(bn->running_var, (gr_real)0.3), vary(bn->weight, (gr_real)-0.7), vary(bn->bias, -1);
        gr_conv_module *fused = gr_fuse_conv_bn_eval(t, net, "fused", conv, bn);
        assert_ok(t);
        gr_tensor *x = gr_randn(t, c[i].dims == 2 ? GR_SHAPE(3, 4, 9, 7) : GR_SHAPE(3, 4, 11), 0, 1, "x");
        gr_tape_set_training(t, false);
        assert_tensors_close(gr_conv_forward(t, fused, x), gr_norm_forward(t, bn, gr_conv_forward(t, conv, x), NULL), sizeof(gr_real) == 4 ? 1e-6 : 1e-14);
        assert_string_equal(gr_slot_find(net, "fused.bias")->path, "fused.bias");
        const gr_real before = fused->bias->data[7];
        bn->running_mean->data[7] += 1, conv->weight->data[0] += 1; /* they do not reach it */
        assert_true(fused->bias->data[7] == before);
        gr_tape_reset(t);
        gr_module_free(net), gr_tape_free(t);
    }
}

/* A program may fuse between a forward and its backward: what the tape has recorded stays. */
TEST(fusing_leaves_the_tape_as_it_was)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    gr_conv_module *conv = gr_conv2d_new(t, net, "conv", 1, 2, 1, NULL);
    gr_norm *bn = gr_batch_norm_new(t, net, "bn", 2, NULL);
    gr_tensor *loss = gr_sum(t, gr_conv_forward(t, conv, gr_ones(t, GR_SHAPE(1, 1, 2, 2))), GR_ALL_AXES, false);
    assert_non_null(gr_fuse_conv_bn_eval(t, net, NULL, conv, bn));
    assert_true(gr_backward(t, loss));
    for (size_t i = 0; i < 2; i++) assert_true(gr_grad(t, conv->weight)[i] == 4);
    assert_null(gr_grad(t, bn->weight));
    gr_tape_reset(t);
    gr_module_free(net), gr_tape_free(t);
}

TEST(what_cannot_be_fused_is_named)
{
    gr_tape *t = gr_tape_new(3, NULL);
    gr_module *net = gr_module_new(t);
    const gr_conv_module *conv = gr_conv2d_new(t, net, "conv", 2, 4, 3, NULL), *up = gr_conv_transpose2d_new(t, net, "up", 2, 4, 3, NULL);
    const gr_norm *bn = gr_batch_norm_new(t, net, "bn", 4, NULL), *other = gr_batch_norm_new(t, net, "other", 5, NULL);
    const gr_norm *last = gr_batch_norm_new(t, net, "last", 4, &(gr_norm_config){ .axis = -1 });
    const gr_norm *batch = gr_batch_norm_new(t, net, "batch", 4, &(gr_norm_config){ .no_running = true });
    const gr_norm *row = gr_batch_norm_new(t, net, "row", 4, &(gr_norm_config){ .dims = 1 });
    const gr_norm *group = gr_group_norm_new(t, net, "group", 2, 4, NULL);
    assert_fails(t, gr_fuse_conv_bn_eval(t, net, "f", NULL, bn), "fuse_conv_bn_eval: conv is NULL");
    assert_fails(t, gr_fuse_conv_bn_eval(t, net, "f", conv, NULL), "fuse_conv_bn_eval: bn is NULL");
#define KINDS "fuse_conv_bn_eval: conv must be a Conv1d or Conv2d, and bn a BatchNorm; got "
    gr_module *plain = gr_norm_new(t, net, "plain", GR_NORM_NONE, 4, NULL);
    assert_fails(t, gr_fuse_conv_bn_eval(t, net, "f", up, bn), KINDS "ConvTranspose2d and BatchNorm");
    assert_fails(t, gr_fuse_conv_bn_eval(t, net, "f", (const gr_conv_module *)bn, bn), KINDS "BatchNorm and BatchNorm");
    assert_fails(t, gr_fuse_conv_bn_eval(t, net, "f", conv, group), KINDS "Conv2d and GroupNorm");
    assert_fails(t, gr_fuse_conv_bn_eval(t, net, "f", conv, (gr_norm *)plain), KINDS "Conv2d and Identity");
#define NEEDS "fuse_conv_bn_eval: bn must normalize the 4 channels of a Conv2d's output, on axis 1 and with running statistics; got a "
    assert_fails(t, gr_fuse_conv_bn_eval(t, net, "f", conv, other), NEEDS "BatchNorm of 5 features on axis 1");
    assert_fails(t, gr_fuse_conv_bn_eval(t, net, "f", conv, last), NEEDS "BatchNorm of 4 features on axis -1");
    assert_fails(t, gr_fuse_conv_bn_eval(t, net, "f", conv, batch), NEEDS "BatchNorm of 4 features on axis 1, without running statistics");
    assert_fails(t, gr_fuse_conv_bn_eval(t, net, "f", conv, row), NEEDS "BatchNorm1d of 4 features on axis 1");
    assert_fails(t, gr_fuse_conv_bn_eval(t, net, "bn", conv, bn), "'bn' under the root: there is one already");
    assert_null(gr_slot_find(net, "f.weight"));
    gr_tape_recover(t);
    gr_module_free(net), gr_tape_free(t);
}

/* ---- A training step without memory ---- */

static bool cnn_step(gr_tape *t, gr_module *net, gr_optim *adam)
{
    const int labels[] = { 0, 1, 2, 0, 1 };
    gr_tape_reset(t);
    gr_tensor *x = gr_randn(t, GR_SHAPE(5, 1, 8, 8), 0, 1, "x");
    gr_tensor *loss = gr_cross_entropy(t, gr_forward(t, net->child, x), gr_ints_new(t, labels, GR_SHAPE(5)), NULL);
    gr_optim_zero_grad(adam);
    gr_backward(t, loss);
    return gr_optim_step(t, adam);
}

static bool cnn_without_memory(gr_tape *t, void *nothing)
{
    (void)nothing;
    gr_module *net = cnn(t, GR_NORM_BATCH);
    gr_optim *adam = gr_adam_new(t, net, NULL);
    bool good = !gr_failed(t);
    for (int step = 0; good && step < 3; step++) good = cnn_step(t, net, adam);
    gr_module *const parts = good ? net->child->child : NULL;
    good = good && gr_fuse_conv_bn_eval(t, net, "fused", (gr_conv_module *)parts, gr_norm_of(parts->next));
    gr_optim_free(adam), gr_module_free(net);
    return good;
}

TEST(out_of_memory_is_an_error_anywhere)
{
    fail_every_allocation(cnn_without_memory, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_shapes_and_initial_values_are_those_of_pytorch),
        cmocka_unit_test(a_transposed_convolution_has_the_names_shapes_and_values_of_pytorch),
        cmocka_unit_test(each_module_calls_its_operator),
        cmocka_unit_test(channels_kernels_and_groups_that_do_not_fit_are_named),
        cmocka_unit_test(a_cnn_learns),
        cmocka_unit_test(a_fused_batch_norm_computes_the_same),
        cmocka_unit_test(fusing_leaves_the_tape_as_it_was),
        cmocka_unit_test(what_cannot_be_fused_is_named),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
