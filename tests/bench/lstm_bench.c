/* tests/bench/lstm_bench.c - training steps of a recurrent classifier of rows: 28 steps of 28 values, 10 classes, Adam, gradients clipped
 * to 1.
 *
 *     lstm_bench --help
 *
 * Prints one line of JSON: the fastest and the median step in microseconds, the loss after 10 steps, and the arena's size.
 * tests/bench/compare_lstm.py compares it with PyTorch, starting from the weights that --save writes. */
#include "examples/composed/composed.h"
#include "examples/kit/kit.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { T = 28, I = 28, CLASSES = 10, CHECKED = 10, MOST_STEPS = 100000 };

typedef struct {
    gr_tape *t;
    gr_recurrent *lstm;
    gr_linear_module *fc;
    gr_optim *adam;
    size_t batch;
    bool twin;
    int kind;
    gr_real *pixels;
    int *labels;
} job;

/* Processor time with one thread, so that other programs disturb less; else wall-clock time. */
static double seconds(const job *j)
{
    struct timespec t;
    clock_gettime(gr_tape_threads(j->t) == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef gr_recurrent_out twin(gr_tape *, gr_tensor *, const gr_recurrent_weights *, const gr_sequence_config *);
static twin *const composed[] = { composed_lstm, composed_gru, composed_rnn };
static const unsigned norms[][3] = { { 0, GR_LSTM_LN_BA2016, GR_LSTM_BN }, { 0, GR_GRU_LN_BA2016, GR_LSTM_BN }, { 0, GR_RNN_LN_SUM, GR_LSTM_BN } };

static double step(const job *j)
{
    gr_tape *t = j->t;
    gr_tape_reset(t);
    gr_tensor *x = gr_input(t, j->pixels, GR_SHAPE(j->batch, T, I));
    gr_tensor *h = j->twin ? composed[j->kind](t, x, j->lstm->weights, &(gr_sequence_config){ .batch_first = true }).h
                           : gr_select(t, gr_recurrent_forward(t, j->lstm, x, NULL).h, 0, -1);
    gr_tensor *loss = gr_cross_entropy(t, gr_linear_forward(t, j->fc, h), gr_ints_new(t, j->labels, GR_SHAPE(j->batch)), NULL);
    gr_optim_zero_grad(j->adam);
    gr_backward(t, loss);
    gr_clip_grad_norm(t, j->adam, 1);
    gr_optim_step(t, j->adam);
    return gr_item(loss);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct {
    uint64_t batch, hidden, threads;
    double seconds;
    int norm, kind;
    bool twin;
    const char *save;
} options;

static void measure(const job *j, const options *o)
{
    static const char *const norm[] = { "", "ln", "bn" }, *const kind[] = { "lstm", "gru", "rnn" };
    double loss = 0, *time = malloc(MOST_STEPS * sizeof *time);
    size_t n = 0;
    for (int i = 0; i < CHECKED; i++) loss = step(j);
    for (const double end = seconds(j) + o->seconds; time && n < MOST_STEPS && (n < 5 || seconds(j) < end); n++) {
        const double begin = seconds(j);
        step(j);
        time[n] = seconds(j) - begin;
    }
    if (time) qsort(time, n, sizeof *time, ascending);
    if (time && !gr_failed(j->t))
        printf("{\"w\": \"%s%s%s_b%zu\", \"threads\": %d, \"isa\": \"%s\", \"us_min\": %.1f, \"us_med\": %.1f, \"loss10\": %.7f, \"MB\": "
               "%.1f}\n",
               norm[o->norm], kind[o->kind], o->twin ? "_twin" : "", j->batch, gr_tape_threads(j->t), gr_tape_isa(j->t), 1e6 * time[0],
               1e6 * time[n / 2], loss, (double)gr_tape_bytes(j->t) / 1e6);
    free(time);
}

int main(int argc, char **argv)
{
    options o = { .batch = 64, .hidden = 128, .threads = 1, .seconds = 0.5, .norm = 1 };
    const kit_flag flag[] = {
        { "kind", KIT_CHOICE, &o.kind, "lstm|gru|rnn", "what it is", 0, 0 },
        { "norm", KIT_CHOICE, &o.norm, "none|layer|batch", "where the norms sit: nowhere, or as in the papers", 0, 0 },
        { "twin", KIT_SWITCH, &o.twin, NULL, "the LSTM from plain operators", 0, 0 },
        { "batch", KIT_COUNT, &o.batch, "N", "sequences in a step", 1, 65536 },
        { "hidden", KIT_COUNT, &o.hidden, "N", "units", 1, 8192 },
        { "threads", KIT_COUNT, &o.threads, "N", "threads", 1, 256 },
        { "seconds", KIT_NUMBER, &o.seconds, "X", "how long to measure", 0, 3600 },
        { "save", KIT_TEXT, &o.save, "FILE", "write the first weights there", 0, 0 },
    };
    const kit_flags flags = { "lstm_bench", "training steps of a recurrent classifier of rows", flag, sizeof flag / sizeof *flag };
    const int exit_now = kit_flags_parse(&flags, argc, argv, stdout, stderr);
    if (exit_now != KIT_GO_ON) return exit_now;

    gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .threads = (int)o.threads }));
    gr_module *net = gr_module_new(t);
    const gr_lstm_config config = { .norm = norms[o.kind][o.norm], .bn_steps = o.kind ? 0 : T, .batch_first = true, .forget_bias = o.kind ? 0 : 1 };
    job j = { .t = t, .batch = o.batch, .twin = o.twin, .kind = o.kind };
    j.lstm = gr_recurrent_new(t, net, "lstm", (gr_recurrent_kind)o.kind, I, o.hidden, &config), j.fc = gr_linear_new(t, net, "fc", o.hidden, CLASSES, NULL);
    j.adam = gr_adam_new(t, net, NULL);
    j.pixels = malloc(j.batch * T * I * sizeof *j.pixels), j.labels = malloc(j.batch * sizeof *j.labels);
    if (!j.pixels || !j.labels) return 3;
    for (size_t i = 0; i < j.batch * T * I; i++) j.pixels[i] = (gr_real)((i + 1) * (i + 1) % 1009) / 1009;
    for (size_t i = 0; i < j.batch; i++) j.labels[i] = (int)(i * 7 % CLASSES);
    if (o.save) gr_state_save(t, net, o.save, NULL);
    if (!gr_failed(t)) measure(&j, &o);
    const int code = gr_failed(t) ? fprintf(stderr, "%s\n", gr_message(t)), 3 : 0;
    free(j.pixels), free(j.labels), gr_optim_free(j.adam), gr_module_free(net), gr_tape_free(t);
    return code;
}
