/* examples/seq_mnist_lstm.c - an LSTM reads an image of a digit row by row, in 28 time steps of 28 pixels, and then names the digit.
 *
 * Shows: a whole program: modules, one tape reset per step, clipping, a learning rate schedule, evaluation, weights in a file, checkpoints.
 * Run:   examples/seq_mnist_lstm                 drawn digits, or MNIST if it is in data/mnist: 99.5 % within a minute; MNIST 98.9 to 99.1 %
 *        sh examples/fetch_mnist.sh              fetches MNIST into data/mnist
 *        examples/seq_mnist_lstm --norm none     without LayerNorm: twice as many steps to 90 %
 *        examples/seq_mnist_lstm --norm batch    recurrent BatchNorm: batch statistics, separate for each time step
 *        examples/seq_mnist_lstm --report run.html     a page: curves, confusion matrix, worst images; --with FILE adds an earlier run's --log
 *        examples/seq_mnist_lstm --help          all flags
 * Exit:  0, or 1 --check missed its target, or a number became NaN or infinite; 2 wrong flag, path or data file; 3 out of memory, or disk
 *        full during the run; 130 interrupted: the program finishes its step and writes the checkpoint first.
 */
#include "examples/kit/kit.h"
#include "examples/kit/output.h"
#include "examples/plot/report.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

static kit_options o = { .batch = 64, .lr = 2e-3, .seed = 42 };
static struct {
    const char *save, *load, *checkpoint, *report, *plotly, *with;
    uint64_t hidden, layers, epochs;
    double clip;
    int norm, placement, optimizer, schedule;
    bool eval, standardize;
} own = { .hidden = 128, .layers = 1, .epochs = 5, .clip = 1, .norm = 1, .schedule = 1 };

static const kit_flag flag[] = {
    KIT_FLAG_DIGITS(o),
    { "norm", KIT_CHOICE, &own.norm, "none|layer|batch", "LayerNorm in the LSTM, recurrent BatchNorm, or no norm", 0, 0 },
    { "placement", KIT_CHOICE, &own.placement, "paper|gates|sum|cell|sum-cell|per-gate", "where LayerNorm is; BatchNorm is always where its paper puts it", 0, 0 },
    { "hidden", KIT_COUNT, &own.hidden, "N", "size of the hidden state", 1, 1 << 16 },
    { "layers", KIT_COUNT, &own.layers, "N", "LSTM layers", 1, 64 },
    { "batch", KIT_COUNT, &o.batch, "N", "images per step", 1, 1 << 20 },
    { "epochs", KIT_COUNT, &own.epochs, "N", "passes over the training set; the schedule ends with the last", 1, 1e6 },
    { "steps", KIT_COUNT, &o.steps, "N", "stop after N steps, if --epochs gives more; 0 means do not", 0, 1e12 },
    { "optimizer", KIT_CHOICE, &own.optimizer, "adam|sgd", "the optimizer; sgd has momentum 0.9", 0, 0 },
    { "lr", KIT_NUMBER, &o.lr, "X", "learning rate", 1e-12, 1e6 },
    { "schedule", KIT_CHOICE, &own.schedule, "constant|cosine", "schedule of the learning rate", 0, 0 },
    { "clip", KIT_NUMBER, &own.clip, "X", "largest norm of the gradient; 0 means no limit", 0, 1e12 },
    { "standardize", KIT_SWITCH, &own.standardize, NULL, "pixels with mean 0 and variance 1 instead of 0 to 1", 0, 0 },
    { "save", KIT_TEXT, &own.save, "FILE", "write the weights at the end (safetensors)", 0, 0 },
    { "load", KIT_TEXT, &own.load, "FILE", "start from these weights", 0, 0 },
    { "eval", KIT_SWITCH, &own.eval, NULL, "do not train, only evaluate the weights of --load", 0, 0 },
    { "eval-every", KIT_COUNT, &o.eval_every, "N", "also evaluate every N steps, for the log; 0 means only after epochs, and ten times for --report", 0, 1e12 },
    { "checkpoint", KIT_TEXT, &own.checkpoint, "FILE", "write the state of the run after each epoch and at a stop, for --resume", 0, 0 },
    { "resume", KIT_SWITCH, &o.resume, NULL, "continue from the file of --checkpoint", 0, 0 },
    { "report", KIT_TEXT, &own.report, "FILE", "write a page (HTML) with the curves of the run, its errors and its settings", 0, 0 },
    { "plotly", KIT_TEXT, &own.plotly, "FILE", "a plotly.min.js to put into the page of --report, which then needs no network", 0, 0 },
    { "with", KIT_TEXT, &own.with, "FILE", "the --log of an earlier run, whose curves --report draws beside this one's", 0, 0 },
    KIT_FLAGS_RUN(o, "exit 1 unless the test accuracy is at least 95 %, on MNIST 98.5 %"),
};
static const kit_flags flags = { "seq_mnist_lstm", "an LSTM reads handwritten digits row by row", flag, sizeof flag / sizeof *flag };

/* In the order of --placement. */
static const unsigned placements[] = {
    GR_LSTM_LN_BA2016, GR_LSTM_LN_X | GR_LSTM_LN_H,   GR_LSTM_LN_SUM,
    GR_LSTM_LN_C,      GR_LSTM_LN_SUM | GR_LSTM_LN_C, GR_LSTM_LN_BA2016 | GR_LSTM_LN_PER_GATE,
};

enum { TEST_BATCH = 200, FIXED = 5, REPORTED = 10 }; /* REPORTED: evaluations for --report, unless --eval-every says how many steps apart */

typedef struct {
    gr_module *net;
    gr_lstm *lstm;
    gr_linear_module *fc;
    gr_optim *optim;
    kit_data data;
    kit_batches train, test;
    kit_fixed fixed[FIXED]; /* settings that must be the same with --resume */
    kit_log *log;
    gr_tape *logged; /* takes the errors of the log, so that a run whose log fails can still write its checkpoint on the program's tape */
    plot_report report;
    gr_tensor *y; /* the last layer's hidden states of this step, [B, T, H] */
} job;

/* The step at which training ends. */
static size_t last_step(const job *j)
{
    const size_t total = own.epochs * j->train.per_epoch;
    return o.steps && o.steps < total ? o.steps : total;
}

/* Check the flags, open all files and make the network, so that every wrong input is found before training. */
static void prepare(gr_tape *t, job *j)
{
    if (own.eval && !own.load) gr_fail_as(t, GR_MISUSE, "", "--eval needs --load");
    if (own.norm != 1 && own.placement) gr_fail_as(t, GR_MISUSE, "", "--placement goes with --norm layer");
    if (own.eval && own.report) gr_fail_as(t, GR_MISUSE, "", "--report needs training, and --eval does not train");
    if (!own.report && (own.plotly || own.with)) gr_fail_as(t, GR_MISUSE, "", "--%s needs --report", own.plotly ? "plotly" : "with");
    if (own.eval && own.checkpoint) gr_fail_as(t, GR_MISUSE, "", "--checkpoint needs training, and --eval does not train");
    if (own.load && o.resume) gr_fail_as(t, GR_MISUSE, "", "--load and --resume exclude each other: both say with which weights the run starts");
    if (o.resume && !own.checkpoint) gr_fail_as(t, GR_MISUSE, "", "--resume needs --checkpoint");
    kit_can_write(t, "save", own.save), kit_can_write(t, "checkpoint", own.checkpoint), kit_can_write(t, "report", own.report);

    j->data = kit_data_open(t, o.data);
    j->train = kit_batches_new(t, &j->data.train, o.batch, true);
    j->test = kit_batches_new(t, &j->data.test, TEST_BATCH, false);
    if (own.standardize) j->train.mean = j->test.mean = 0.1307, j->train.std = j->test.std = 0.3081; /* mean and deviation of MNIST's pixels */

    const unsigned norms[] = { 0, placements[own.placement], GR_LSTM_BN };
    const gr_lstm_config lstm = {
        .norm = norms[own.norm], .bn_steps = KIT_SIDE, .layers = own.layers, .batch_first = true, .forget_bias = 1
    };
    j->net = gr_module_new(t);
    j->lstm = gr_lstm_new(t, j->net, "lstm", KIT_SIDE, own.hidden, &lstm);
    j->fc = gr_linear_new(t, j->net, "fc", own.hidden, 10, NULL);
    if (own.load) gr_state_load(t, j->net, own.load, NULL);

    j->optim = own.optimizer ? gr_sgd_new(t, j->net, &(gr_sgd_config){ .lr = o.lr, .momentum = 0.9 })
                             : gr_adam_new(t, j->net, &(gr_adam_config){ .lr = o.lr });
    if (own.schedule) gr_optim_schedule(t, j->optim, gr_schedule_cosine(own.epochs * j->train.per_epoch, 0));
    const kit_fixed fixed[FIXED] = { { "--seed", o.seed },
                                     { "--batch", o.batch },
                                     { "--epochs", own.epochs },
                                     { "--standardize", own.standardize },
                                     { "training images", j->data.train.images.n } };
    memcpy(j->fixed, fixed, sizeof fixed);
    if (o.resume) kit_checkpoint_load(t, own.checkpoint, j->net, j->optim, j->fixed, FIXED, &j->train.taken);
    j->report = plot_report_new(own.report, last_step(j));
    plot_report_add(t, &j->report, own.plotly, own.with);
    j->logged = gr_tape_new(0, NULL);
    if (!j->logged) gr_fail_as(t, GR_NO_MEMORY, "", "out of memory");
}

/* From pixels [B, 28, 28] to logits [B, 10] of the ten digits, which depend on the hidden state after the last row. */
static gr_tensor *forward(gr_tape *t, job *j, kit_batch b)
{
    gr_tensor *x = gr_input(t, b.pixels, GR_SHAPE(b.n, KIT_SIDE, KIT_SIDE));
    const gr_lstm_out s = gr_lstm_forward(t, j->lstm, x, NULL);
    j->y = s.y;
    return gr_linear_forward(t, j->fc, gr_select(t, s.h, 0, -1));
}

static kit_score evaluate(gr_tape *t, job *j)
{
    kit_score score = { 0 };
    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
    plot_report_test_begin(&j->report, j->train.taken);
    for (j->test.taken = 0; j->test.taken < j->test.per_epoch && !gr_failed(t);) {
        const kit_batch b = kit_next(&j->test);
        gr_tape_reset(t);
        gr_tensor *z = forward(t, j, b);
        gr_tensor *loss = gr_cross_entropy(t, z, gr_ints_new(t, b.labels, GR_SHAPE(b.n)), NULL);
        if (loss) kit_score_add(&score, loss, z, b.labels), plot_report_test_batch(&j->report, z, b);
    }
    gr_tape_set_training(t, true), gr_tape_set_recording(t, true);
    return score;
}

static void save_checkpoint(gr_tape *t, const job *j)
{
    kit_checkpoint_save(t, own.checkpoint, j->net, j->optim, j->fixed, FIXED, j->train.taken);
}

static void end_epoch(gr_tape *t, const job *j, kit_progress *progress, const kit_score *trained, const kit_score *tested)
{
    const size_t epoch = j->train.taken / j->train.per_epoch;
    kit_log_write(j->logged, j->log, "epoch", { "epoch", epoch }, { "step", j->train.taken }, { "train_loss", kit_loss(trained) },
                  { "train_accuracy", kit_accuracy(trained) }, { "test_loss", kit_loss(tested) },
                  { "test_accuracy", kit_accuracy(tested) });
    save_checkpoint(t, j);
    if (o.quiet || gr_failed(t)) return;
    kit_progress_epoch(progress, epoch - 1);
    printf("epoch %zu/%llu  train loss %.4f accuracy %.2f %%  test loss %.4f accuracy %.2f %%\n", epoch, (unsigned long long)own.epochs,
           kit_loss(trained), kit_accuracy(trained), kit_loss(tested), kit_accuracy(tested));
    fflush(stdout);
}

static void note_step(gr_tape *t, job *j, double loss, double accuracy, double norm, double lr)
{
    plot_report *const r = &j->report;
    plot_report_note(r, PLOT_REPORT_LOSS, "training", j->train.taken, loss);
    plot_report_note(r, PLOT_REPORT_ACCURACY, "training", j->train.taken, accuracy);
    plot_report_note(r, PLOT_REPORT_RATE, "learning rate", j->train.taken, lr);
    plot_report_note(r, PLOT_REPORT_GRADIENT, "norm before clipping", j->train.taken, norm);
    plot_report_weights(r, j->train.taken, j->net);
    plot_report_recurrence(r, j->train.taken, t, j->lstm, j->y);
}

static void note_score(job *j, const char *name, const kit_score *score)
{
    plot_report_note(&j->report, PLOT_REPORT_LOSS, name, j->train.taken, kit_loss(score));
    plot_report_note(&j->report, PLOT_REPORT_ACCURACY, name, j->train.taken, kit_accuracy(score));
}

/* Train to the end, to --steps or to Ctrl-C. Returns the score on the test set; after Ctrl-C it may be empty. */
static kit_score train(gr_tape *t, job *j)
{
    const size_t end = last_step(j), every = o.eval_every ? o.eval_every : own.report ? (end + REPORTED - 1) / REPORTED : 0;
    kit_progress progress = kit_progress_new(o.quiet ? NULL : stderr, own.epochs, end > j->train.taken ? end - j->train.taken : 0);
    kit_score trained = { 0 }, tested = { 0 };

    while (j->train.taken < end && !kit_interrupted() && !gr_failed(j->logged)) {
        const size_t epoch = j->train.taken / j->train.per_epoch;
        const kit_batch b = kit_next(&j->train);
        const double lr = gr_optim_lr(j->optim);

        gr_tape_reset(t);
        gr_tensor *z = forward(t, j, b);
        gr_tensor *loss = gr_cross_entropy(t, z, gr_ints_new(t, b.labels, GR_SHAPE(b.n)), NULL);
        gr_optim_zero_grad(j->optim);
        gr_backward(t, loss);
        const double norm = gr_clip_grad_norm(t, j->optim, own.clip > 0 ? own.clip : HUGE_VAL);
        gr_optim_step(t, j->optim);
        if (gr_failed(t)) break;

        const size_t step = j->train.taken;
        kit_score one = { 0 };
        kit_score_add(&one, loss, z, b.labels), kit_score_sum(&trained, &one);
        note_step(t, j, gr_item(loss), kit_accuracy(&one), norm, lr);
        const double rate = kit_progress_step(&progress, epoch, b.n, &trained);
        kit_log_write(j->logged, j->log, "step", { "step", step }, { "loss", gr_item(loss) }, { "lr", lr }, { "grad_norm", norm },
                      { "images_per_s", rate });

        const bool whole = step % j->train.per_epoch == 0, look = every && step % every == 0;
        tested = whole || look ? evaluate(t, j) : (kit_score){ 0 };
        if (look && o.eval_every)
            kit_log_write(j->logged, j->log, "eval", { "step", step }, { "test_loss", kit_loss(&tested) },
                          { "test_accuracy", kit_accuracy(&tested) });
        if (whole || look) note_score(j, "test", &tested);
        if (whole) end_epoch(t, j, &progress, &trained, &tested), trained = (kit_score){ 0 };
        kit_progress_go_on(&progress);
    }
    kit_progress_wipe(&progress);
    if (trained.images) save_checkpoint(t, j);
    kit_log_close(j->logged, j->log);
    if (gr_failed(j->logged)) gr_fail_as(t, gr_error_code(j->logged), "", "%s", gr_message(j->logged));
    if (!tested.images && !kit_interrupted()) tested = evaluate(t, j), note_score(j, "test", &tested);
    return tested;
}

/* Write the weights, the last line and the page, in this order, so that a failure does not lose an earlier one. */
static void report(kit_run *r, job *j, const kit_score *score, int argc, char **argv, const char *data)
{
    gr_tape *const t = r->tape;
    if (own.save && !kit_interrupted()) gr_state_save(t, j->net, own.save, NULL);
    if (!gr_failed(t) && !kit_interrupted())
        printf("test accuracy %.2f %%  loss %.4f  images %zu  seed %llu  fingerprint %016llx\n", kit_accuracy(score), kit_loss(score),
               score->images, (unsigned long long)o.seed, (unsigned long long)kit_fingerprint(j->net));
    plot_report_write(t, &j->report, &flags, argc, argv, data);
    snprintf(r->stopped, sizeof r->stopped, " after step %zu%s", j->train.taken, own.checkpoint ? "; --resume continues the run" : "");
    kit_check_stdout(t);
    const double target = j->data.dir ? 98.5 : 95;
    kit_run_need(r, kit_accuracy(score) >= target, "the test accuracy should be at least %g %% and is %.2f %%", target, kit_accuracy(score));
}

int main(int argc, char **argv)
{
    kit_run r;
    char data[4200];
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    job j = { .log = &r.log };
    prepare(r.tape, &j);
    if (kit_run_begin(&r, kit_data_name(&j.data, data, sizeof data))) {
        if (!o.quiet) printf("%zu parameters\n", gr_module_parameters(j.net));
        const kit_score score = own.eval ? evaluate(r.tape, &j) : train(r.tape, &j);
        report(&r, &j, &score, argc, argv, data);
    }
    plot_report_free(&j.report), gr_tape_free(j.logged);
    kit_batches_free(r.tape, &j.train), kit_batches_free(r.tape, &j.test), kit_data_free(r.tape, &j.data);
    gr_optim_free(j.optim), gr_module_free(j.net);
    return kit_run_end(&r);
}
