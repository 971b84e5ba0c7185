/* examples/mpi_mnist.c - the LSTM of seq_mnist_lstm, trained by several processes with MPI. Their number does not change one bit of the result.
 *
 * Shows: a batch in shards, whose gradients are added in a fixed tree; random streams that depend on the shard; what ranks must agree on; checkpoints
 *        that any other number of ranks can resume.
 * Build: make mpi                                          needs MPI: apt-get install libopenmpi-dev openmpi-bin; MPICC=mpicc names the compiler
 * Run:   mpirun -np 4 examples/mpi_mnist                   the same fingerprint as  examples/mpi_mnist  alone, and as -np 2 and -np 8
 *        mpirun -np 2 examples/mpi_mnist --checkpoint f    Ctrl-C stops after a step; --resume goes on, also with another number of ranks
 *        mpirun -np 4 examples/mpi_mnist --times           milliseconds of computing and of the exchange
 * Exit:  as seq_mnist_lstm. All ranks end with the same code, and rank 0 prints the message.
 *
 * --shards belongs to the result, as --batch does: another number gives other last bits. Number of ranks, threads and instruction sets do not.
 */
#include "examples/kit/kit.h"
#include "examples/kit/output.h"
#include "examples/mpi/ranks.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

static kit_options o = { .batch = 64, .lr = 2e-3, .seed = 42, .threads = 1 };
static struct {
    const char *checkpoint;
    uint64_t shards, hidden, epochs;
    double clip, dropout;
    int norm;
    bool times;
} own = { .shards = 8, .hidden = 128, .epochs = 5, .clip = 1, .norm = 1 };

static const kit_flag flag[] = {
    KIT_FLAG_DIGITS(o),
    { "shards", KIT_COUNT, &own.shards, "N", "parts of a batch; ranks share them", 1, 1 << 20 },
    { "batch", KIT_COUNT, &o.batch, "N", "images per step, over all ranks", 1, 1 << 20 },
    { "norm", KIT_CHOICE, &own.norm, "none|layer|batch", "norm of the LSTM; batch is refused, because its statistics would be those of a shard", 0, 0 },
    { "hidden", KIT_COUNT, &own.hidden, "N", "size of the hidden state", 1, 1 << 16 },
    { "dropout", KIT_NUMBER, &own.dropout, "P", "probability of dropout before the last layer", 0, 1 },
    { "epochs", KIT_COUNT, &own.epochs, "N", "passes over the training set; the cosine schedule ends with the last", 1, 1e6 },
    { "steps", KIT_COUNT, &o.steps, "N", "stop after N steps, if --epochs gives more; 0 means do not", 0, 1e12 },
    { "lr", KIT_NUMBER, &o.lr, "X", "learning rate of Adam", 1e-12, 1e6 },
    { "clip", KIT_NUMBER, &own.clip, "X", "largest norm of the gradient; 0 means no limit", 0, 1e12 },
    { "checkpoint", KIT_TEXT, &own.checkpoint, "FILE", "rank 0 writes the state of the run after each epoch and at a stop, for --resume", 0, 0 },
    { "resume", KIT_SWITCH, &o.resume, NULL, "continue from the file of --checkpoint, which every rank must find", 0, 0 },
    { "times", KIT_SWITCH, &own.times, NULL, "print the times of the fastest step; ranks then wait for each other before the exchange", 0, 0 },
    KIT_FLAGS_RUN(o, "exit 1 unless the test accuracy is at least 95 %, on MNIST 98.5 %"),
};
static const kit_flags flags = { "mpi_mnist", "an LSTM reads handwritten digits, trained by several processes", flag, sizeof flag / sizeof *flag };

enum { TEST_BATCH = 200, FIXED = 6 };
enum { LOSS, HITS, FAILED, STOP, EXTRAS }; /* these travel behind the gradients */
enum { COMPUTE, LOCAL, WAIT, EXCHANGE, UPDATE, TIMES };

typedef struct {
    ranks r;
    gr_tape *t;
    gr_module *net;
    gr_lstm *lstm;
    gr_dropout_module *drop;
    gr_linear_module *fc;
    gr_optim *adam;
    kit_data data;
    kit_batches train, test;
    kit_fixed fixed[FIXED];   /* settings that must be the same with --resume */
    kit_log *log;
    size_t values;            /* of the gradients; the extras follow */
    double *tested;           /* loss and hits of each test batch */
    bool stopped, failed;     /* some rank was told to stop; some rank is in error */
    double seconds[TIMES], least[TIMES]; /* of this step; of the fastest */
} job;

static void lap(job *j, int what, double *since)
{
    const double now = kit_seconds();
    j->seconds[what] += now - *since, *since = now;
}

/* ---- Before the first step ---- */

/* A hash of all flags that change the result. Values are hashed, not structs: addresses differ between processes. */
static uint64_t settings(void)
{
    uint64_t hash = KIT_HASH;
    for (size_t i = 0; i < flags.n; i++) {
        const void *const value = flag[i].value;
        if (value == &o.threads || value == &o.quiet) continue;
        if (flag[i].kind == KIT_COUNT) hash = kit_hash(hash, value, sizeof(uint64_t));
        if (flag[i].kind == KIT_NUMBER) hash = kit_hash(hash, value, sizeof(double));
        if (flag[i].kind == KIT_CHOICE) hash = kit_hash(hash, value, sizeof(int));
        if (flag[i].kind == KIT_SWITCH) hash = kit_hash(hash, value, sizeof(bool));
    }
    return hash;
}

static uint64_t hash_set(uint64_t hash, const kit_set *s)
{
    return kit_hash(kit_hash(hash, s->images.data, s->images.n * s->images.item), s->labels.data, s->labels.n);
}

static void load(gr_tape *t, job *j)
{
    kit_bytes file = { 0 };
    if (!o.resume) return;
    if (!own.checkpoint) gr_fail_as(t, GR_MISUSE, "", "--resume needs --checkpoint");
    else file = kit_file_read(t, own.checkpoint, SIZE_MAX / 2);
    const uint64_t hash = kit_hash(KIT_HASH, file.data, file.n);
    kit_bytes_free(t, &file);
    if (ranks_agree(t, &j->r, "checkpoint", hash)) kit_checkpoint_load(t, own.checkpoint, j->net, j->adam, j->fixed, FIXED, &j->train.taken);
}

static void build(gr_tape *t, job *j)
{
    static const unsigned norms[] = { 0, GR_LSTM_LN_BA2016, GR_LSTM_BN };
    const gr_lstm_config lstm = { .norm = norms[own.norm], .bn_steps = KIT_SIDE, .batch_first = true, .forget_bias = 1 };
    j->net = gr_module_new(t);
    j->lstm = gr_lstm_new(t, j->net, "lstm", KIT_SIDE, own.hidden, &lstm);
    j->drop = gr_dropout_new(t, j->net, "drop", own.dropout);
    j->fc = gr_linear_new(t, j->net, "fc", own.hidden, 10, NULL);
    for (const gr_slot *s = gr_slot_first(j->net); s; s = gr_slot_next(j->net, s))
        if (s->kind == GR_BUFFER) {
            gr_fail_as(t, GR_MISUSE, "", "%s would differ between ranks: the statistics of BatchNorm are those of a shard; use --norm layer", s->path);
            return;
        }
    j->adam = gr_adam_new(t, j->net, &(gr_adam_config){ .lr = o.lr });
    gr_optim_schedule(t, j->adam, gr_schedule_cosine(own.epochs * j->train.per_epoch, 0));
    j->values = gr_optim_gradient_len(j->adam);
    ranks_share(t, &j->r, own.shards, j->values + EXTRAS);
    j->tested = gr_memory_new(gr_tape_allocator(t), 2 * j->test.per_epoch * sizeof *j->tested);
    if (!j->tested) gr_fail_as(t, GR_NO_MEMORY, "", "out of memory");
}

/* Everything that could differ between ranks is compared; otherwise a wrong byte on one rank would spoil the result silently. */
static void prepare(gr_tape *t, job *j)
{
    if (!ranks_agree(t, &j->r, "flags", settings())) return;
    if (!j->r.rank) kit_can_write(t, "checkpoint", own.checkpoint);
    j->data = kit_data_open(t, o.data);
    j->train = kit_batches_new(t, &j->data.train, o.batch, true);
    j->test = kit_batches_new(t, &j->data.test, TEST_BATCH, false);
    if (!ranks_agree(t, &j->r, "data", hash_set(hash_set(KIT_HASH, &j->data.train), &j->data.test))) return;
    build(t, j);
    const kit_fixed fixed[FIXED] = { { "--seed", o.seed },       { "--batch", o.batch },
                                     { "--shards", own.shards }, { "--epochs", own.epochs },
                                     { "--norm", (uint64_t)own.norm }, { "training images", j->data.train.images.n } };
    memcpy(j->fixed, fixed, sizeof fixed);
    if (!ranks_agree(t, &j->r, "network", j->values)) return;
    load(t, j);
    ranks_agree(t, &j->r, "weights", kit_fingerprint(j->net));
}

/* ---- A step ---- */

/* From pixels [B, 28, 28] to logits [B, 10]. */
static gr_tensor *forward(gr_tape *t, const job *j, kit_batch b)
{
    const gr_lstm_out s = gr_lstm_forward(t, j->lstm, gr_input(t, b.pixels, GR_SHAPE(b.n, KIT_SIDE, KIT_SIDE)), NULL);
    return gr_linear_forward(t, j->fc, gr_dropout_forward(t, j->drop, gr_select(t, s.h, 0, -1)));
}

/* Masks depend on step and shard, not on who draws them; a shard draws fewer than 2^32 numbers. */
static void seek(gr_tape *t, const job *j, size_t shard) { gr_tape_seek_streams(t, (j->train.taken * own.shards + shard) << 32); }

/* Add the gradient of shard s to the tree. The mean over the batch is the sum of the means over its shards, each weighted by its rows. A shard may have fewer rows
 * than others, or none. */
static void add_shard(gr_tape *t, job *j, size_t s)
{
    const size_t n = kit_next_size(&j->train), round_up = own.shards - 1;
    const size_t first = (n * s + round_up) / own.shards, rows = (n * (s + 1) + round_up) / own.shards - first;
    const gr_real weight = (gr_real)rows / (gr_real)n;
    kit_score score = { 0 };
    double clock = kit_seconds();

    gr_tape_reset(t), gr_optim_zero_grad(j->adam), seek(t, j, s);
    if (rows) {
        const kit_batch b = kit_next_part(&j->train, first, rows);
        gr_tensor *z = forward(t, j, b);
        gr_tensor *loss = gr_cross_entropy(t, z, gr_ints_new(t, b.labels, GR_SHAPE(b.n)), NULL);
        gr_backward_from(t, loss, &weight);
        if (loss) kit_score_add(&score, loss, z, b.labels);
    }
    lap(j, COMPUTE, &clock);

    gr_real *const v = ranks_next(&j->r), *const extra = v + j->values;
    gr_optim_gradient_get(t, j->adam, v);
    extra[LOSS] = (gr_real)score.loss, extra[HITS] = (gr_real)score.hits, extra[FAILED] = gr_failed(t), extra[STOP] = kit_interrupted();
    ranks_add(&j->r);
    lap(j, LOCAL, &clock);
}

/* Only the extras of the sum, which all ranks have, decide whether the run goes on. A rank in error takes part in the next exchange, so that all learn of it:
 * if it left alone, the others would wait for ever. Returns the norm of the gradient. */
static double train_step(gr_tape *t, job *j, kit_score *score)
{
    memset(j->seconds, 0, sizeof j->seconds);
    for (size_t i = 0; i < j->r.count; i++) add_shard(t, j, j->r.first + i);
    double clock = kit_seconds();
    if (own.times) ranks_wait();
    lap(j, WAIT, &clock);
    const gr_real *const sum = ranks_sum(&j->r), *const extra = sum + j->values;
    lap(j, EXCHANGE, &clock);
    j->failed = extra[FAILED] > 0, j->stopped = extra[STOP] > 0;
    if (j->failed) return 0;

    gr_optim_gradient_set(t, j->adam, sum);
    const double norm = gr_clip_grad_norm(t, j->adam, own.clip > 0 ? own.clip : HUGE_VAL);
    gr_optim_step(t, j->adam);
    lap(j, UPDATE, &clock);
    *score = (kit_score){ (double)extra[LOSS], (size_t)extra[HITS], kit_next_size(&j->train) };
    j->train.taken++;
    for (int k = 0; k < TIMES; k++)
        if (j->least[k] == 0 || j->seconds[k] < j->least[k]) j->least[k] = j->seconds[k];
    return norm;
}

/* ---- The run ---- */

/* Rank r takes the test batches r, r + ranks, ... Their results are added in the order of the batches. */
static kit_score evaluate(gr_tape *t, job *j)
{
    kit_score score = { 0 };
    memset(j->tested, 0, 2 * j->test.per_epoch * sizeof *j->tested);
    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
    for (size_t k = (size_t)j->r.rank; k < j->test.per_epoch && !gr_failed(t); k += (size_t)j->r.ranks) {
        kit_score one = { 0 };
        j->test.taken = k;
        const kit_batch b = kit_next(&j->test);
        gr_tape_reset(t);
        gr_tensor *z = forward(t, j, b);
        gr_tensor *loss = gr_cross_entropy(t, z, gr_ints_new(t, b.labels, GR_SHAPE(b.n)), NULL);
        if (loss) kit_score_add(&one, loss, z, b.labels);
        j->tested[2 * k] = one.loss, j->tested[2 * k + 1] = (double)one.hits;
    }
    gr_tape_set_training(t, true), gr_tape_set_recording(t, true);
    ranks_total(j->tested, 2 * j->test.per_epoch);
    for (size_t k = 0; k < j->test.per_epoch; k++) score.loss += j->tested[2 * k], score.hits += (size_t)j->tested[2 * k + 1];
    score.images = j->data.test.images.n;
    return score;
}

/* The place of the streams is that of the next step, so that the file has the same bytes for any number of ranks. */
static void save_checkpoint(gr_tape *t, const job *j)
{
    if (j->r.rank) return;
    seek(t, j, 0);
    kit_checkpoint_save(t, own.checkpoint, j->net, j->adam, j->fixed, FIXED, j->train.taken);
}

static kit_score end_epoch(gr_tape *t, job *j, const kit_progress *progress, const kit_score *trained)
{
    const size_t epoch = j->train.taken / j->train.per_epoch;
    const kit_score tested = evaluate(t, j);
    save_checkpoint(t, j);
    if (j->r.rank || gr_failed(t)) return tested;
    kit_log_write(t, j->log, "epoch", { "epoch", epoch }, { "step", j->train.taken }, { "train_loss", kit_loss(trained) },
                  { "train_accuracy", kit_accuracy(trained) }, { "test_loss", kit_loss(&tested) }, { "test_accuracy", kit_accuracy(&tested) });
    if (o.quiet) return tested;
    kit_progress_epoch(progress, epoch - 1);
    printf("epoch %zu/%llu  train loss %.4f accuracy %.2f %%  test loss %.4f accuracy %.2f %%\n", epoch, (unsigned long long)own.epochs,
           kit_loss(trained), kit_accuracy(trained), kit_loss(&tested), kit_accuracy(&tested));
    fflush(stdout);
    return tested;
}

/* Train to the end, to --steps, to a stop or to an error. Returns the score on the test set; after a stop or an error it may be empty. */
static kit_score train(gr_tape *t, job *j)
{
    const size_t total = own.epochs * j->train.per_epoch, end = o.steps && o.steps < total ? o.steps : total;
    kit_progress progress = kit_progress_new(o.quiet ? NULL : stderr, own.epochs, end > j->train.taken ? end - j->train.taken : 0);
    kit_score trained = { 0 }, tested = { 0 };
    while (j->train.taken < end && !j->stopped) {
        const size_t epoch = j->train.taken / j->train.per_epoch;
        const double lr = gr_optim_lr(j->adam);
        kit_score score = { 0 };
        const double norm = train_step(t, j, &score);
        if (j->failed) break;
        kit_score_sum(&trained, &score);
        const double rate = kit_progress_step(&progress, epoch, score.images, &trained);
        if (!j->r.rank)
            kit_log_write(t, j->log, "step", { "step", j->train.taken }, { "loss", kit_loss(&score) }, { "lr", lr }, { "grad_norm", norm },
                          { "images_per_s", rate });
        const bool whole = j->train.taken % j->train.per_epoch == 0;
        tested = whole ? end_epoch(t, j, &progress, &trained) : (kit_score){ 0 };
        if (whole) trained = (kit_score){ 0 };
        kit_progress_go_on(&progress);
    }
    kit_progress_wipe(&progress);
    if (!ranks_agree(t, &j->r, "weights after training", kit_fingerprint(j->net))) return tested;
    if (trained.images) save_checkpoint(t, j);
    if (!tested.images && !j->stopped) tested = evaluate(t, j);
    return tested;
}

static void report(kit_run *run, job *j, const kit_score *score)
{
    snprintf(run->stopped, sizeof run->stopped, " after step %zu%s", j->train.taken, own.checkpoint ? "; --resume continues the run" : "");
    ranks_most(j->least, TIMES);
    if (j->r.rank || gr_failed(run->tape) || j->stopped) return;
    printf("test accuracy %.2f %%  loss %.17g  images %zu  shards %llu  fingerprint %016llx\n", kit_accuracy(score), kit_loss(score), score->images,
           (unsigned long long)own.shards, (unsigned long long)kit_fingerprint(j->net));
    if (own.times)
        printf("%zu parameters, %d ranks: ms of the fastest step, of the slowest rank: compute %.3f  local sums %.3f  exchange %.3f  clip and Adam %.3f\n",
               gr_module_parameters(j->net), j->r.ranks, 1e3 * j->least[COMPUTE], 1e3 * j->least[LOCAL], 1e3 * j->least[EXCHANGE], 1e3 * j->least[UPDATE]);
    kit_check_stdout(run->tape);
    const double target = j->data.dir ? 98.5 : 95;
    kit_run_need(run, kit_accuracy(score) >= target, "the test accuracy should be at least %g %% and is %.2f %%", target, kit_accuracy(score));
}

/* ---- Begin and end together ---- */

/* Rank 0 reads the command line first, so that its mistakes are printed once. Returns KIT_GO_ON on all ranks, or the same exit code. */
static int start(kit_run *run, ranks *r, int argc, char **argv)
{
    int code = ranks_code(r->rank ? KIT_GO_ON : kit_run_start(run, &flags, &o, argc, argv));
    if (code != KIT_GO_ON) return code;
    if (r->rank) code = kit_run_start(run, &flags, &o, argc, argv), o.quiet = true, o.log = NULL;
    const int all = ranks_code(code);
    if (all != KIT_GO_ON && code == KIT_GO_ON) gr_tape_free(run->tape), gr_pool_free(run->pool);
    return all;
}

static int finish(kit_run *run, const job *j)
{
    int code = KIT_GO_ON;
    if (j->r.rank) gr_tape_free(run->tape), gr_pool_free(run->pool);
    else {
        code = kit_run_end(run);
        if (code == KIT_DONE && j->stopped) fprintf(stderr, "%s: interrupted%s\n", flags.name, run->stopped), code = KIT_INTERRUPTED;
    }
    return ranks_code(code);
}

int main(int argc, char **argv)
{
    char data[4200];
    job j = { .r = ranks_start(&argc, &argv) };
    kit_run run = { 0 };
    int code = start(&run, &j.r, argc, argv);
    if (code == KIT_GO_ON) {
        gr_tape *const t = run.tape;
        j.log = &run.log;
        prepare(t, &j);
        if (!gr_failed(t)) kit_run_begin(&run, kit_data_name(&j.data, data, sizeof data));
        if (ranks_agree(t, &j.r, "start", 0)) {
            if (!o.quiet) printf("%zu parameters, %d ranks, %llu shards\n", gr_module_parameters(j.net), j.r.ranks, (unsigned long long)own.shards);
            const kit_score score = train(t, &j);
            report(&run, &j, &score);
        }
        ranks_agree(t, &j.r, "end", 0);
        ranks_free(t, &j.r), gr_memory_free(gr_tape_allocator(t), j.tested, 2 * j.test.per_epoch * sizeof *j.tested);
        kit_batches_free(t, &j.train), kit_batches_free(t, &j.test), kit_data_free(t, &j.data);
        gr_optim_free(j.adam), gr_module_free(j.net);
        code = finish(&run, &j);
    }
    ranks_end();
    return code;
}
