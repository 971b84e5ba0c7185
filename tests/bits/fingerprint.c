/* tests/bits/fingerprint.c - a few training steps of the main job's network on drawn digits, and a hash of the weights: small enough for
 * the scalar code and for an emulated processor, plain enough to be built anywhere.
 *
 *     fingerprint [THREADS]          prints the hash of tests/golden/fingerprint; $GRADUS_ISA chooses the instruction set */
#include "examples/kit/kit_digits.h"
#include "gradus.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3, BATCH = 20, HIDDEN = 64 };

static uint64_t hash_of(const gr_module *net) /* FNV-1a over the bytes of the weights, low byte first */
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s))
        for (size_t i = 0; i < s->tensor->len; i++) {
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

int main(int argc, char **argv)
{
    gr_tape *t = gr_tape_new_with(42, &(gr_tape_config){ .threads = argc > 1 ? atoi(argv[1]) : 1 });
    gr_module *net = gr_module_new(t);
    gr_lstm *lstm = gr_lstm_new(t, net, "lstm", KIT_SIDE, HIDDEN, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016, .batch_first = true, .forget_bias = 1 });
    gr_linear *fc = gr_linear_new(t, net, "fc", HIDDEN, 10, NULL);
    gr_optim *adam = gr_adam_new(t, net, &(gr_adam_config){ .lr = 2e-3 });
    static gr_real pixels[BATCH * KIT_PIXELS];
    int labels[BATCH];
    for (size_t step = 0; step < STEPS; step++) {
        draw(step * BATCH, pixels, labels);
        gr_tape_reset(t);
        gr_tensor *x = gr_input(t, pixels, GR_SHAPE(BATCH, KIT_SIDE, KIT_SIDE));
        gr_tensor *z = gr_linear_forward(t, fc, gr_select(t, gr_lstm_forward(t, lstm, x, NULL).h, 0, -1));
        gr_tensor *loss = gr_cross_entropy(t, z, gr_ints_new(t, labels, GR_SHAPE(BATCH)), NULL);
        gr_optim_zero_grad(adam);
        gr_backward(t, loss);
        gr_clip_grad_norm(t, adam, 1);
        gr_optim_step(t, adam);
    }
    const bool good = !gr_failed(t);
    if (good) printf("%016" PRIx64 "\n", hash_of(net));
    else fprintf(stderr, "fingerprint: %s\n", gr_message(t));
    gr_optim_free(adam), gr_module_free(net), gr_tape_free(t);
    return !good;
}
