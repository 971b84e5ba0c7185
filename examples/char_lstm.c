/* examples/char_lstm.c - an LSTM learns to write text, character by character, by truncated back-propagation through time.
 *
 * The text is cut into parallel streams. A step reads the next chunk of every stream and starts from the state with which the chunk before
 * ended. The state crosses the boundary, and the gradient does not: so the network remembers more than a chunk, and a step costs one chunk.
 *
 * Shows: a state that outlives gr_tape_reset, tied embeddings, AdamW with a group of its own, schedules, clipping by value, sampling.
 * Run:   examples/char_lstm                                    sentences of a small grammar, with LayerNorm and without it
 *        examples/char_lstm --data data --hidden 128 --window 64 --epochs 1 --lr 1e-2     tiny Shakespeare
 * See:   both networks read the same chunks, and this learning rate is near the best one for each. After equally many steps LayerNorm is
 *        ahead, above all early in the run: 0.62 bits per character against 0.68. With --lr 2e-3 it is 0.82 against 2.22. A step with
 *        LayerNorm takes longer, as the seconds show. With --window 8 --forget, which starts every chunk from zeros, both lose.
 * Exit:  0, or 1 --check missed its target; 2 wrong flag, path or file; 3 out of memory or disk full; 130 interrupted.
 */
#include "examples/kit/kit.h"
#include "gradus.h"
#include <math.h>

static kit_options o = { .batch = 32, .epochs = 5, .lr = 2e-2, .seed = 42 };
static struct {
    uint64_t hidden, layers, window, sample;
    double clip, decay, dropout, temperature;
    int norm, schedule;
    bool forget, parameters;
} own = { .hidden = 64, .layers = 1, .window = 32, .sample = 200, .clip = 0.1, .decay = 0.01, .temperature = 0.7 };

static const kit_flag flag[] = {
    { "data", KIT_TEXT, &o.data, "PATH", "a text file, or a folder with tinyshakespeare.txt; default: made-up sentences", 0, 0 },
    { "norm", KIT_CHOICE, &own.norm, "both|none|layer", "train without a norm, with LayerNorm, or one after the other", 0, 0 },
    { "hidden", KIT_COUNT, &own.hidden, "N", "size of the hidden state and of the embeddings", 1, 1 << 14 },
    { "layers", KIT_COUNT, &own.layers, "N", "LSTM layers", 1, 64 },
    { "window", KIT_COUNT, &own.window, "N", "characters in a chunk: how far back a gradient reaches", 1, 1 << 14 },
    { "forget", KIT_SWITCH, &own.forget, NULL, "in training, start each chunk from a state of zeros", 0, 0 },
    { "schedule", KIT_CHOICE, &own.schedule, "linear|step|plateau",
      "learning rate: linear to 0; a third of it after each third of the run; half of it when the test loss rises", 0, 0 },
    { "clip", KIT_NUMBER, &own.clip, "X", "largest absolute value of a gradient; 0 means no limit", 0, 1e12 },
    { "decay", KIT_NUMBER, &own.decay, "X", "weight decay of AdamW, which leaves out the embeddings, gains and biases", 0, 1e6 },
    { "dropout", KIT_NUMBER, &own.dropout, "P", "probability of dropout after each LSTM layer", 0, 1 },
    { "parameters", KIT_SWITCH, &own.parameters, NULL, "print the learning rate and the weight decay of each parameter", 0, 0 },
    { "sample", KIT_COUNT, &own.sample, "N", "characters that the last network writes at the end", 0, 1e9 },
    { "temperature", KIT_NUMBER, &own.temperature, "X", "temperature of sampling; lower values give likelier text", 1e-6, 1e6 },
    KIT_FLAGS_TRAINING(o),
    KIT_FLAGS_RUN(o, "exit 1 unless both networks learn, and LayerNorm has the smaller test loss"),
};
static const kit_flags flags = { "char_lstm", "an LSTM writes text, with LayerNorm and without", flag, sizeof flag / sizeof *flag };

enum { NONE, LAYER, NORMS };
static const struct { const char *name; unsigned norm; } norm_of[NORMS] = { { "none", 0 }, { "LayerNorm", GR_LSTM_LN_BA2016 } };

/* ==== The network ==== */

typedef struct {
    gr_tape *tape;
    gr_module *net, *training, *reading; /* the last two keep a state each: of the training streams, and of other text */
    gr_embedding_module *token;
    gr_lstm *lstm;
    gr_dropout_module *drop;
    gr_linear_module *head;
    gr_optim *optim;
} model;

/* The output weights are the embeddings (Press, Wolf 2017), so one parameter has two names. */
static void build(model *m, int norm, size_t letters, size_t steps)
{
    gr_tape *const t = m->tape;
    m->net = gr_module_new(t);
    m->token = gr_embedding_new(t, m->net, "token", letters, own.hidden, NULL);
    if (!m->token) return;
    gr_param_init(t, &m->token->module, "weight", gr_init_uniform(-0.1, 0.1)); /* N(0, 1), the default, is too large for an output layer */
    m->lstm = gr_lstm_new(t, m->net, "lstm", own.hidden, own.hidden,
                          &(gr_lstm_config){ .norm = norm_of[norm].norm, .layers = own.layers, .dropout = own.dropout, .forget_bias = 1 });
    m->drop = gr_dropout_new(t, m->net, "drop", own.dropout);
    m->head = gr_linear_new(t, m->net, "head", own.hidden, letters, &(gr_linear_config){ .weight = m->token->weight });
    if (!m->head) return;
    gr_param_init(t, &m->head->module, "bias", gr_init_constant(0));
    m->training = gr_module_make(t, m->net, "training", "State", sizeof *m->training);
    m->reading = gr_module_make(t, m->net, "reading", "State", sizeof *m->reading);

    const double decay = own.decay > 0 ? own.decay : GR_NONE;
    m->optim = gr_adamw_new(t, m->net, &(gr_adam_config){ .lr = o.lr, .weight_decay = decay, .refuse_nonfinite = true });
    gr_optim_set_group(t, m->optim, &m->token->module, (gr_optim_group){ .weight_decay = GR_NONE });
    const gr_schedule all[] = { gr_schedule_linear(steps, 0), gr_schedule_step((steps + 2) / 3, 1.0 / 3), gr_schedule_plateau(0.5, 0) };
    gr_optim_schedule(t, m->optim, all[own.schedule]);
}

/* From ids [T, B] to logits [T B, letters] of the next characters. The state comes from `state`, and goes there for the next chunk. */
static gr_tensor *forward(const model *m, gr_module *state, const gr_ints *ids)
{
    gr_tape *const t = m->tape;
    const gr_lstm_input from = { .h0 = gr_carried(t, state, "h"), .c0 = gr_carried(t, state, "c") };
    const gr_lstm_out s = gr_lstm_forward(t, m->lstm, gr_embedding_forward(t, m->token, ids), &from);
    gr_detach_keep(t, state, "h", s.h), gr_detach_keep(t, state, "c", s.c);
    return gr_reshape(t, gr_linear_forward(t, m->head, gr_dropout_forward(t, m->drop, s.y)), GR_SHAPE(GR_INFER, m->head->bias->len));
}

static gr_tensor *loss_of(const model *m, gr_module *state, const kit_streams *s, size_t k, kit_score *score)
{
    gr_tensor *z = forward(m, state, kit_text_chunk(m->tape, s, k, 0));
    const gr_ints *const next = kit_text_chunk(m->tape, s, k, 1);
    return next ? kit_classify(m->tape, z, next->data, score) : NULL;
}

/* ==== Training ==== */

typedef struct { double trained, tested, cell, seconds; } outcome; /* bits per character, twice; the largest value of the carried cell */

static double bits(const kit_score *score) { return kit_loss(score) / log(2); }
static double evaluate(const model *m, const kit_streams *s)
{
    kit_score score = { 0 };
    gr_tape_set_training(m->tape, false), gr_tape_set_recording(m->tape, false);
    gr_forget(m->tape, m->reading);
    for (size_t k = 0; k < s->chunks && !gr_failed(m->tape); k++) gr_tape_reset(m->tape), loss_of(m, m->reading, s, k, &score);
    gr_tape_set_training(m->tape, true), gr_tape_set_recording(m->tape, true);
    return bits(&score);
}

static outcome train(kit_run *r, const model *m, const char *name, const kit_streams *trains, const kit_streams *tests, size_t steps)
{
    gr_tape *const t = m->tape;
    const size_t every = o.eval_every ? o.eval_every : (steps + 4) / 5;
    char text[80];
    outcome got = { 0 };
    kit_score recent = { 0 };
    kit_progress progress = kit_progress_new(o.quiet ? NULL : stderr, 1, steps);
    progress.unit = "characters";
    for (size_t step = 0; step < steps && !kit_interrupted() && !gr_failed(t) && !gr_failed(r->tape);) {
        gr_tape_reset(t);
        if (step % trains->chunks == 0 || own.forget) gr_forget(t, m->training); /* the streams begin again */
        gr_tensor *loss = loss_of(m, m->training, trains, step % trains->chunks, &recent);
        gr_optim_zero_grad(m->optim), gr_backward(t, loss);
        if (own.clip > 0) gr_clip_grad_value(t, m->optim, own.clip);
        gr_optim_step(t, m->optim);
        step++;
        kit_log_write(r->tape, &r->log, "step", { "norm", .text = name }, { "step", (double)step }, { "loss", gr_item(loss) });
        snprintf(text, sizeof text, "%s  step %zu/%zu  %.4f bits per character", name, step, steps, bits(&recent));
        kit_progress_show(&progress, own.window * o.batch, text);
        if (step % every && step < steps) continue;

        got.trained = bits(&recent), got.tested = evaluate(m, tests), recent = (kit_score){ 0 };
        gr_optim_observe(m->optim, got.tested); /* for the plateau */
        kit_log_write(r->tape, &r->log, "eval", { "norm", .text = name }, { "step", (double)step }, { "train_bits", got.trained },
                      { "test_bits", got.tested });
        kit_progress_wipe(&progress);
        if (!o.quiet && !gr_failed(t))
            printf("step %5zu  training %.4f  test %.4f  lr %.2g\n", step, got.trained, got.tested, gr_optim_lr(m->optim));
        kit_check_stdout(r->tape);
        kit_progress_go_on(&progress);
    }
    kit_progress_wipe(&progress);
    const gr_tensor *const cell = gr_kept(m->training, "c");
    for (size_t i = 0; cell && i < cell->len; i++) got.cell = kit_larger(got.cell, fabs((double)cell->data[i]));
    got.seconds = progress.busy;
    return got;
}

/* Write characters: each is drawn from softmax(logits / temperature), and is read next. */
static void write_text(const model *m, const kit_text *c)
{
    gr_tape *const t = m->tape;
    gr_stream *const s = gr_tape_stream(t, "sample");
    int id = c->of['\n'] >= 0 ? c->of['\n'] : 0;
    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
    gr_forget(t, m->reading);
    printf("\nwritten by it:\n");
    for (uint64_t i = 0; i < own.sample && !kit_interrupted(); i++) {
        gr_tape_reset(t);
        gr_tensor *z = forward(m, m->reading, gr_ints_new(t, &id, GR_SHAPE(1, 1)));
        const gr_tensor *const p = gr_softmax(t, gr_scale(t, z, 1 / own.temperature), -1);
        if (!p || !s) return;
        putchar(c->letter[id = (int)kit_draw(s, p->data, p->len)]);
    }
    putchar('\n');
}

/* Train a network with this norm. Its tape is its own, so that its numbers do not depend on another network. */
static outcome run_one(kit_run *r, const kit_text *c, int norm, bool writes)
{
    model m = { .tape = gr_tape_new(o.seed, (&(gr_tape_config){ .pool = r->pool })) };
    const kit_streams trains = kit_text_streams(c, true), tests = kit_text_streams(c, false);
    const size_t steps = kit_steps(&o, o.epochs, trains.chunks);
    outcome got = { 0 };
    build(&m, norm, c->letters, steps);
    if (!gr_failed(m.tape)) {
        if (!o.quiet)
            printf("\n%s, %zu parameters, %zu KiB; bits per character:\n", norm_of[norm].name, gr_module_parameters(m.net),
                   gr_module_parameters(m.net) * sizeof(gr_real) >> 10);
        if (own.parameters) gr_print_optim(m.optim, stdout);
        got = train(r, &m, norm_of[norm].name, &trains, &tests, steps);
        if (writes && own.sample && !gr_failed(m.tape) && !kit_interrupted()) write_text(&m, c);
    }
    kit_run_fail(r, norm_of[norm].name, m.tape);
    gr_optim_free(m.optim), gr_module_free(m.net), gr_tape_free(m.tape);
    return got;
}

static void conclude_time(double ratio)
{
    if (ratio > KIT_SURE_TIME || ratio < 1 / KIT_SURE_TIME)
        kit_conclude_say("Training with LayerNorm takes %.2f times the seconds, for the same number of steps.", ratio);
    else
        kit_conclude_say("The same number of steps takes about as long with LayerNorm: %.2f times the seconds; a factor below %g does not count.", ratio,
                         KIT_SURE_TIME);
}

/* What the two networks show, by the rules of examples/kit/conclude.h. */
static void conclude(const outcome got[NORMS], size_t letters)
{
    const outcome *const none = &got[NONE], *const layer = &got[LAYER];
    const double even = log2((double)letters), apart = none->tested - layer->tested, smaller = none->tested < layer->tested ? none->tested : layer->tested;
    kit_conclude();
    if (own.norm) {
        const outcome *const one = &got[own.norm - 1];
        kit_conclude_say("One network has nothing beside it. It needs %.2f bits per character in the test; equal probabilities need %.2f%s", one->tested,
                         even, one->tested < 0.9 * even ? "." : ", so it has not learned yet.");
    } else if (!(smaller < 0.9 * even))
        kit_conclude_say("Nothing can be seen: the better network needs %.2f bits per character, and equal probabilities need %.2f. Take more steps.",
                         smaller, even);
    else if (fabs(apart) <= (KIT_SURE_LOSS - 1) * smaller)
        kit_conclude_say("The two cannot be told apart: %.4f bits per character without a norm, and %.4f with LayerNorm; a difference below "
                         "%.0f %% does not count.", none->tested, layer->tested, 100 * (KIT_SURE_LOSS - 1));
    else kit_conclude_say("The network %s needs %.4f bits per character less in the test (%.4f against %.4f).",
                          apart > 0 ? "with LayerNorm" : "without a norm", fabs(apart), smaller, smaller + fabs(apart));
    if (!own.norm && none->seconds > 0) conclude_time(layer->seconds / none->seconds);
    if (!own.norm)
        kit_conclude_say("The largest absolute value in the carried cell state is %.1f without a norm, and %.1f with LayerNorm.", none->cell, layer->cell);
    kit_conclude_seed(&o);
}

static void run(kit_run *r, const kit_text *c)
{
    outcome got[NORMS] = { { 0 } };
    const int first = own.norm ? own.norm - 1 : 0, last = own.norm ? own.norm - 1 : LAYER;
    const double target = c->path ? 3.2 : 1; /* an alphabet of 27 characters, drawn evenly, has 4.75 */
    if (!o.quiet) {
        putchar('\n');
        kit_wrap(stdout, 0, "bits per character: the mean loss divided by log 2; lower is better. training: since the evaluation before. test: the other part "
                            "of the text. largest cell: the largest absolute value of the state that crosses chunks. The progress line on a terminal has the "
                            "training bits.");
    }
    for (int i = first; i <= last && !kit_interrupted() && !gr_failed(r->tape); i++) got[i] = run_one(r, c, i, i == last);
    if (kit_interrupted() || gr_failed(r->tape)) return;
    printf("\nbits per character   training     test  largest cell  seconds\n");
    for (int i = first; i <= last; i++) {
        printf("%-19s  %8.4f %8.4f  %12.2f %8.1f\n", norm_of[i].name, got[i].trained, got[i].tested, got[i].cell, got[i].seconds);
        kit_run_need(r, got[i].tested < target, "%s: %.4f bits per character, not below %g", norm_of[i].name, got[i].tested, target);
    }
    if (!o.quiet) conclude(got, c->letters);
    kit_run_need(r, own.norm || got[LAYER].tested < got[NONE].tested, "LayerNorm has %.4f bits per character, and no norm %.4f",
                 got[LAYER].tested, got[NONE].tested);
}

int main(int argc, char **argv)
{
    kit_run r;
    char about[4400];
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    kit_text text = kit_text_open(r.tape, o.data, o.batch, own.window);
    kit_text_streams(&text, false); /* finds a text that is too short */
    snprintf(about, sizeof about, "%s: %zu characters to train on, %zu to test, %zu letters\n%llu streams, chunks of %llu%s, AdamW, lr %g",
             o.data ? o.data : "made-up sentences", text.train, text.n - text.train, text.letters, (unsigned long long)o.batch,
             (unsigned long long)own.window, own.forget ? ", each from a state of zeros" : "", o.lr);
    if (kit_run_begin(&r, about)) run(&r, &text);
    kit_text_free(&text);
    return kit_run_end(&r);
}
