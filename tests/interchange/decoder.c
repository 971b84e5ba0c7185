/* tests/interchange/decoder.c - a decoder of transposed convolutions, for tests/interchange/check.py to compare with PyTorch's.
 *
 *     decoder save WEIGHTS CODES OUT      writes its own first values to WEIGHTS
 *     decoder load WEIGHTS CODES OUT      reads WEIGHTS, the state_dict of a PyTorch module
 *
 * CODES holds the tensor "codes" [N, 6, 5, 4], OUT gets the tensor "images" [N, 2, 41, 32]. */
#include "core/files.h"
#include "gradus.h"
#include <string.h>

static gr_module *make(gr_tape *t, gr_module *root)
{
    gr_module *net = gr_sequential_new(t, root, "net");
    gr_conv_transpose2d_new(t, net, NULL, 6, 8, 4, &(gr_conv_config){ .stride = 2, .padding = 1 });
    gr_activation_new(t, net, NULL, "ReLU", gr_relu);
    gr_upsample_new(t, net, NULL, &(gr_interpolate_config){ .scale_factor = 2, .mode = GR_INTERPOLATE_LINEAR });
    gr_conv_transpose2d_new(t, net, NULL, 8, 4, 3, &(gr_conv_config){ .kernel_w = 2, .groups = 2, .stride = 2, .stride_w = 2, .padding = 1, .padding_w = GR_NONE,
                                                                      .output_padding = 1, .output_padding_w = GR_NONE, .no_bias = true });
    gr_upsample_new(t, net, NULL, &(gr_interpolate_config){ .size = 41, .size_w = 32 });
    gr_conv_transpose2d_new(t, net, NULL, 4, 2, 3, &(gr_conv_config){ .dilation = 2, .padding = 2 });
    return net;
}

static bool run(gr_tape *t, gr_module *root, bool save, const char *weights, const char *codes_path, const char *out_path)
{
    gr_module *net = make(t, root);
    gr_safetensors *file = gr_safetensors_open(t, codes_path);
    const gr_safetensors_entry *codes = file ? gr_safetensors_find(file, "codes") : NULL;
    gr_tensor *x = codes ? gr_empty(t, codes->shape) : NULL;
    if (!x || !(save ? gr_state_save(t, net, weights, NULL) : gr_state_load(t, net, weights, NULL))) return gr_safetensors_free(file), false;
    gr_safetensors_reals(codes, x->data);
    gr_safetensors_free(file);
    gr_tape_set_recording(t, false);
    const gr_tensor *y = gr_forward(t, net, x);
    return y && gr_safetensors_write(t, out_path, &(gr_safetensors_item){ "images", GR_REAL_DTYPE, gr_shape_of(y), y->data }, 1, NULL);
}

int main(int argc, char **argv)
{
    const bool save = argc == 5 && !strcmp(argv[1], "save");
    if (argc != 5 || (!save && strcmp(argv[1], "load"))) return fprintf(stderr, "usage: decoder save|load WEIGHTS CODES OUT\n"), 2;
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *root = gr_module_new(t);
    const bool good = run(t, root, save, argv[2], argv[3], argv[4]);
    if (!good) fprintf(stderr, "decoder: %s\n", gr_failed(t) ? gr_message(t) : "the file lacks codes");
    gr_module_free(root), gr_tape_free(t);
    return !good;
}
