/* tests/bits/fingerprint.c - a few training steps of the main job's network, of other recurrent layers, of a CNN and of a Transformer on
 * drawn digits, and a hash of the weights: small enough for the scalar code and for an emulated processor, and without dependencies.
 *
 *     fingerprint [THREADS]          prints the hash of tests/golden/fingerprint; $GRADUS_ISA chooses the instruction set */
#include "examples/kit/digits.h"
#include "gradus.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3, BATCH = 20, HIDDEN = 64 };

static uint64_t hash_of(uint64_t hash, const gr_module *net) /* FNV-1a over the bytes of the weights, low byte first */
{
    for (const gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s))
        for (size_t i = 0; s->tensor && i < s->tensor->len; i++) {
            uint32_t bits;
            const float x = (float)s->tensor->data[i];
            memcpy(&bits, &x, sizeof bits);
            for (int byte = 0; byte < 4; byte++, bits >>= 8) hash = (hash ^ (bits & 255)) * 0x100000001b3u;
        }
    return hash;
}

static void draw(size_t first, gr_real *pixels, int *labels)
{
    uint8_t image[KIT_PIXELS];
    for (size_t i = 0; i < BATCH; i++) {
        labels[i] = kit_digit(42, "digits/train", first + i, image);
        for (size_t p = 0; p < KIT_PIXELS; p++) pixels[i * KIT_PIXELS + p] = (gr_real)image[p] / 255;
    }
}

typedef gr_tensor *network(gr_tape *t, const gr_module *net, gr_tensor *x); /* of images [BATCH, 28, 28] */

static gr_module *lstm_new(gr_tape *t)
{
    gr_module *net = gr_module_new(t);
    gr_lstm_new(t, net, "lstm", KIT_SIDE, HIDDEN, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016, .batch_first = true, .forget_bias = 1 });
    gr_linear_new(t, net, "fc", HIDDEN, 10, NULL);
    return net;
}
static gr_tensor *lstm_forward(gr_tape *t, const gr_module *net, gr_tensor *x)
{
    if (gr_failed(t)) return NULL;
    return gr_forward(t, net->child->next, gr_select(t, gr_lstm_forward(t, (gr_lstm *)net->child, x, NULL).h, 0, -1));
}

static gr_module *recurrent_new(gr_tape *t)
{
    gr_module *net = gr_module_new(t);
    gr_lstm_new(t, net, "bn_lstm", KIT_SIDE, 40, &(gr_lstm_config){ .norm = GR_LSTM_BN, .bn_steps = 20, .batch_first = true });
    gr_gru_new(t, net, "ln_gru", 40, 24, &(gr_gru_config){ .norm = GR_GRU_LN_BA2016, .batch_first = true });
    gr_gru_new(t, net, "gru", 24, 12, &(gr_gru_config){ .bidirectional = true, .batch_first = true });
    gr_rnn_new(t, net, "rnn", 24, 20, &(gr_rnn_config){ .norm = GR_RNN_LN_SUM, .relu = true, .batch_first = true });
    gr_linear_new(t, net, "fc", 20, 10, NULL);
    return net;
}
static gr_tensor *recurrent_forward(gr_tape *t, const gr_module *net, gr_tensor *x)
{
    int length[BATCH];
    if (gr_failed(t)) return NULL;
    for (int i = 0; i < BATCH; i++) length[i] = KIT_SIDE - i / 2;
    const gr_recurrent_input in = { .lengths = gr_ints_new(t, length, GR_SHAPE(BATCH)) };
    const gr_module *bn_lstm = net->child, *ln_gru = bn_lstm->next, *gru = ln_gru->next, *rnn = gru->next;
    x = gr_lstm_forward(t, (const gr_lstm *)bn_lstm, x, &in).y;
    x = gr_gru_forward(t, (const gr_gru *)gru, gr_gru_forward(t, (const gr_gru *)ln_gru, x, &in).y, NULL).y;
    return gr_forward(t, rnn->next, gr_select(t, gr_rnn_forward(t, (const gr_rnn *)rnn, x, &in).h, 0, -1));
}

static gr_module *cnn_new(gr_tape *t)
{
    gr_module *root = gr_module_new(t), *net = gr_sequential_new(t, root, "cnn");
    gr_conv2d_new(t, net, "conv1", 1, 8, 3, &(gr_conv_config){ .padding = 1 });
    gr_batch_norm_new(t, net, "norm1", 8, NULL);
    gr_activation_new(t, net, "relu1", "ReLU", gr_relu);
    gr_max_pool2d_new(t, net, "pool1", &(gr_pool_config){ .kernel = 2 });
    gr_conv2d_new(t, net, "deep", 8, 8, 3, &(gr_conv_config){ .padding = 1, .groups = 8 });
    gr_conv2d_new(t, net, "conv2", 8, 12, 3, &(gr_conv_config){ .stride = 2, .groups = 2, .padding = 1 });
    gr_avg_pool2d_new(t, net, "pool2", &(gr_pool_config){ .kernel = 3, .stride = 2, .padding = 1 });
    gr_flatten_new(t, net, "flatten");
    gr_linear_new(t, net, "fc", 12 * 4 * 4, 10, NULL);
    return root;
}
static gr_tensor *cnn_forward(gr_tape *t, const gr_module *net, gr_tensor *x)
{
    if (gr_failed(t)) return NULL;
    return gr_forward(t, net->child, gr_reshape(t, x, GR_SHAPE(BATCH, 1, KIT_SIDE, KIT_SIDE)));
}

static gr_module *transformer_new(gr_tape *t)
{
    gr_module *root = gr_module_new(t), *net = gr_sequential_new(t, root, "rows");
    const gr_transformer_config c = { .norm_first = true, .causal = true, .final_norm = true, .activation = gr_gelu, .dropout = 0.1 };
    gr_linear_new(t, net, "in", KIT_SIDE, HIDDEN, NULL);
    gr_activation_new(t, net, "position", "Positions", gr_add_positions);
    gr_transformer_new(t, net, "body", HIDDEN, 4, 1, &c);
    gr_linear_new(t, net, "out", HIDDEN, 10, NULL);
    return root;
}
static gr_tensor *transformer_forward(gr_tape *t, const gr_module *net, gr_tensor *x)
{
    if (gr_failed(t)) return NULL;
    return gr_select(t, gr_forward(t, net->child, x), 1, -1); /* of the last row, which has seen all */
}

/* Train net, hash it, and free it. */
static uint64_t train(gr_tape *t, uint64_t hash, gr_module *net, network *forward)
{
    gr_optim *adam = gr_adam_new(t, net, &(gr_adam_config){ .lr = 2e-3 });
    static gr_real pixels[BATCH * KIT_PIXELS];
    int labels[BATCH];
    for (size_t step = 0; step < STEPS; step++) {
        draw(step * BATCH, pixels, labels);
        gr_tape_reset(t);
        gr_tensor *z = forward(t, net, gr_input(t, pixels, GR_SHAPE(BATCH, KIT_SIDE, KIT_SIDE)));
        gr_tensor *loss = gr_cross_entropy(t, z, gr_ints_new(t, labels, GR_SHAPE(BATCH)), NULL);
        gr_optim_zero_grad(adam);
        gr_backward(t, loss);
        gr_clip_grad_norm(t, adam, 1);
        gr_optim_step(t, adam);
    }
    hash = hash_of(hash, net);
    gr_optim_free(adam), gr_module_free(net);
    return hash;
}

int main(int argc, char **argv)
{
    gr_tape *t = gr_tape_new(42, &(gr_tape_config){ .threads = argc > 1 ? atoi(argv[1]) : 1 });
    uint64_t hash = train(t, 0xcbf29ce484222325u, lstm_new(t), lstm_forward);
    hash = train(t, hash, recurrent_new(t), recurrent_forward);
    hash = train(t, hash, cnn_new(t), cnn_forward);
    hash = train(t, hash, transformer_new(t), transformer_forward);
    const bool good = !gr_failed(t);
    if (good) printf("%016" PRIx64 "\n", hash);
    else fprintf(stderr, "fingerprint: %s\n", gr_message(t));
    gr_tape_free(t);
    return !good;
}
