/* examples/serve.c - an inference server in miniature: a model is loaded once, and threads answer one request at a time.
 *
 * A tape belongs to one thread. A module may be used by many, each with a tape of its own, while nobody trains or loads it.
 * Shows: gr_state_load, one module under several tapes, evaluation without recording, an answer that is the same alone and in a batch.
 * Run:   examples/serve                                  (a second; the weights are untrained, so the answers are guesses)
 *        examples/seq_mnist_lstm --save lstm.safetensors && examples/serve --load lstm.safetensors
 * See:   the microseconds of a request, and how many are answered in a second.
 * Exit:  0, or 1 --check: an answer differs from that of the batch; 2 wrong flag, path or file; 3 out of memory or disk full; 130 interrupted. */
#include "examples/kit/kit.h"
#include "gradus.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 64, IMAGES = 100, CLASSES = 10 };
static kit_options o = { .seed = 42 };
static struct { const char *load; uint64_t hidden, workers, requests; } own = { NULL, 128, 2, 2000 };
static const kit_flag flag[] = {
    { "load", KIT_TEXT, &own.load, "FILE", "weights of seq_mnist_lstm --save; default: untrained ones", 0, 0 },
    { "hidden", KIT_COUNT, &own.hidden, "N", "size of the hidden state", 1, 1 << 14 },
    { "workers", KIT_COUNT, &own.workers, "N", "threads that answer", 1, WORKERS },
    { "requests", KIT_COUNT, &own.requests, "N", "requests for each thread", 1, 1e7 },
    KIT_FLAG_DIGITS(o),
    KIT_FLAGS_RUN(o, "exit 1 unless each answer has the bits that a batch of all images gives"),
};
static const kit_flags flags = { "serve", "threads answer requests for a digit, one image at a time", flag, sizeof flag / sizeof *flag };

typedef struct { gr_module *net; gr_lstm *lstm; gr_linear_module *fc; } model;

static model model_new(gr_tape *t)
{
    gr_module *net = gr_module_new(t);
    const gr_lstm_config config = { .norm = GR_LSTM_LN_BA2016, .batch_first = true, .forget_bias = 1 };
    return (model){ net, gr_lstm_new(t, net, "lstm", KIT_SIDE, own.hidden, &config), gr_linear_new(t, net, "fc", own.hidden, CLASSES, NULL) };
}

/* From pixels [n, 28, 28] to logits [n, 10]. */
static gr_tensor *answer(gr_tape *t, const model *m, const gr_real *pixels, size_t n)
{
    const gr_lstm_out s = gr_lstm_forward(t, m->lstm, gr_input(t, pixels, GR_SHAPE(n, KIT_SIDE, KIT_SIDE)), NULL);
    return gr_linear_forward(t, m->fc, gr_select(t, s.h, 0, -1));
}

typedef struct {
    const model *m;
    const kit_batch *b;
    const gr_real *expected; /* [images, 10]: the logits of the batch */
    gr_tape *tape;           /* the worker's own */
    double *us;              /* of each request */
    size_t differ;
    bool runs;
    pthread_t thread;
} worker;

static void *work(void *argument)
{
    worker *const w = argument;
    for (size_t i = 0; i < own.requests && !gr_failed(w->tape) && !kit_interrupted(); i++) {
        const size_t image = i % w->b->n;
        const double start = kit_seconds();
        gr_tape_reset(w->tape);
        const gr_tensor *const z = answer(w->tape, w->m, w->b->pixels + image * KIT_PIXELS, 1);
        w->us[i] = 1e6 * (kit_seconds() - start);
        w->differ += z && memcmp(z->data, w->expected + image * CLASSES, CLASSES * sizeof *z->data) != 0;
    }
    return NULL;
}

static int by_size(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

static void serve(kit_run *r, const model *m, const kit_batch *b)
{
    gr_tape *const t = r->tape;
    worker w[WORKERS] = { { 0 } };
    const size_t all = own.workers * own.requests;
    size_t differ = 0;
    const gr_tensor *const batch = answer(t, m, b->pixels, b->n);
    double *const us = gr_save(t, all * sizeof *us);
    const double start = kit_seconds();
    for (size_t i = 0; us && batch && i < own.workers; i++) {
        w[i] = (worker){ m, b, batch->data, gr_tape_new(o.seed, NULL), us + i * own.requests };
        gr_tape_set_training(w[i].tape, false), gr_tape_set_recording(w[i].tape, false);
        w[i].runs = w[i].tape && !pthread_create(&w[i].thread, NULL, work, &w[i]);
        if (!w[i].runs) gr_fail_as(t, GR_NO_MEMORY, "", "worker %zu cannot be started", i);
    }
    for (size_t i = 0; i < own.workers; i++) {
        if (w[i].runs) pthread_join(w[i].thread, NULL);
        if (w[i].tape) kit_run_fail(r, "worker", w[i].tape);
        differ += w[i].differ, gr_tape_free(w[i].tape);
    }
    if (gr_failed(t) || kit_interrupted()) return;
    const double seconds = kit_seconds() - start;
    qsort(us, all, sizeof *us, by_size);
    printf("%llu threads, %zu requests: %.0f a second; a request takes %.0f us, 99 of 100 at most %.0f us; %zu answers differ from the batch's\n",
           (unsigned long long)own.workers, all, (double)all / seconds, us[all / 2], us[all - all / 100 - 1], differ);
    kit_run_need(r, !differ, "%zu of %zu answers differ from those of the batch", differ, all);
}

int main(int argc, char **argv)
{
    kit_run r;
    char name[4200];
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    kit_data d = kit_data_open(r.tape, o.data);
    kit_batches walk = kit_batches_new(r.tape, &d.test, IMAGES, false);
    model m = model_new(r.tape);
    if (own.load) gr_state_load(r.tape, m.net, own.load, NULL);
    if (kit_run_begin(&r, kit_data_name(&d, name, sizeof name))) {
        gr_tape_set_training(r.tape, false), gr_tape_set_recording(r.tape, false);
        const kit_batch b = kit_next(&walk);
        serve(&r, &m, &b);
    }
    gr_module_free(m.net), kit_batches_free(r.tape, &walk), kit_data_free(r.tape, &d);
    return kit_run_end(&r);
}
