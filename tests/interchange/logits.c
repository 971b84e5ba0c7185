/* tests/interchange/logits.c - the logits of a row-reading LSTM, for tests/interchange/check.py to compare with PyTorch's.
 *
 *     logits WEIGHTS IMAGES OUT
 *
 * WEIGHTS is a state_dict with the modules lstm and fc (examples/seq_mnist_lstm --save, or a PyTorch module); IMAGES holds the tensor
 * "images" [N, T, I], OUT gets the tensor "logits" [N, C]. The sizes, and whether the layer has the paper's norms, follow from WEIGHTS. */
#include "core/files.h"
#include "gradus.h"

typedef struct { gr_module *net; gr_lstm *lstm; gr_linear_module *fc; } row_reader;

static row_reader make(gr_tape *t, const gr_safetensors *weights)
{
    row_reader r = { 0 };
    const gr_safetensors_entry *ih = gr_safetensors_find(weights, "lstm.weight_ih_l0"), *fc = gr_safetensors_find(weights, "fc.weight");
    if (!ih || !fc || ih->shape.rank != 2 || fc->shape.rank != 2) return r;
    const bool norms = gr_safetensors_find(weights, "lstm.ln_c_l0.weight");
    const size_t hidden = ih->shape.dim[0] / 4;
    r.net = gr_module_new(t);
    r.lstm = gr_lstm_new(t, r.net, "lstm", ih->shape.dim[1], hidden,
                         &(gr_lstm_config){ .norm = norms ? GR_LSTM_LN_BA2016 : 0, .batch_first = true });
    r.fc = gr_linear_new(t, r.net, "fc", fc->shape.dim[1], fc->shape.dim[0], NULL);
    return r;
}

static bool run(gr_tape *t, const char *weights_path, const char *images_path, const char *out_path)
{
    gr_safetensors *weights = gr_safetensors_open(t, weights_path), *file = gr_safetensors_open(t, images_path);
    const gr_safetensors_entry *images = file ? gr_safetensors_find(file, "images") : NULL;
    row_reader r = weights ? make(t, weights) : (row_reader){ 0 };
    gr_tensor *x = images ? gr_empty(t, images->shape) : NULL, *z = NULL;
    if (x && r.net && gr_state_load(t, r.net, weights_path, NULL)) {
        gr_safetensors_reals(images, x->data);
        gr_tape_set_recording(t, false);
        z = gr_linear_forward(t, r.fc, gr_select(t, gr_lstm_forward(t, r.lstm, x, NULL).h, 0, -1));
    }
    const bool written = z && gr_safetensors_write(t, out_path, &(gr_safetensors_item){ "logits", GR_REAL_DTYPE, gr_shape_of(z), z->data }, 1, NULL);
    gr_module_free(r.net);
    gr_safetensors_free(weights), gr_safetensors_free(file);
    return written;
}

int main(int argc, char **argv)
{
    if (argc != 4) return fprintf(stderr, "usage: logits WEIGHTS IMAGES OUT\n"), 2;
    gr_tape *t = gr_tape_new(1, NULL);
    const bool good = run(t, argv[1], argv[2], argv[3]);
    if (!good) fprintf(stderr, "logits: %s\n", gr_failed(t) ? gr_message(t) : "the files lack lstm.weight_ih_l0, fc.weight or images");
    gr_tape_free(t);
    return !good;
}
