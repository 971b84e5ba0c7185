/* tests/campaign/kills.c - kill -9 while checkpoints are saved. A child trains and saves after every step; the parent kills it at random
 * moments, many of them inside the save. After each kill the file must be complete, hold the last step that was saved, and have the bytes
 * that an uninterrupted run writes. The next save removes what a killed save left behind.
 *
 *     make kills [ARGS="KILLS [SEED]"] */
#include "tests/campaign/campaign.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { B = 4, T = 3, I = 12, H = 24, CLASSES = 3, LONGEST_WAIT = 4000, PATIENCE = 60 };

static char path[sizeof campaign_folder + 32], reference_path[sizeof campaign_folder + 32];

/* What the child tells the parent. */
typedef struct { volatile int64_t started, saved; volatile int started_to_train, saving, left, failed; char message[512]; } note;

typedef struct {
    gr_tape *t;
    gr_module *net;
    gr_lstm *lstm;
    gr_dropout_module *drop;
    gr_linear_module *fc;
    gr_optim *adam;
    int64_t step;
} run;

static run build(void)
{
    run r = { .t = gr_tape_new(campaign.seed, NULL) };
    r.net = gr_module_new(r.t);
    r.lstm = gr_lstm_new(r.t, r.net, "lstm", I, H, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016 });
    r.drop = gr_dropout_new(r.t, r.net, "drop", 0.25);
    r.fc = gr_linear_new(r.t, r.net, "fc", H, CLASSES, NULL);
    r.adam = gr_adam_new(r.t, r.net, NULL);
    gr_optim_schedule(r.t, r.adam, gr_schedule_cosine(100000, 0.1));
    return r;
}
static void finish(run *r) { gr_optim_free(r->adam), gr_module_free(r->net), gr_tape_free(r->t); }

static bool step(run *r)
{
    gr_tape *const t = r->t;
    gr_tape_reset(t);
    const gr_lstm_input from = { .h0 = gr_carried(t, &r->lstm->module, "h"), .c0 = gr_carried(t, &r->lstm->module, "c") };
    const gr_recurrent_out s = gr_lstm_forward(t, r->lstm, gr_randn(t, GR_SHAPE(T, B, I), 0, 1, "data"), &from);
    gr_detach_keep(t, &r->lstm->module, "h", s.h), gr_detach_keep(t, &r->lstm->module, "c", s.c);
    gr_tensor *const z = gr_linear_forward(t, r->fc, gr_dropout_forward(t, r->drop, gr_select(t, s.h, 0, -1)));
    gr_tensor *const loss = gr_cross_entropy(t, z, gr_ints_new(t, (int[B]){ 0, 1, 2, 0 }, GR_SHAPE(B)), NULL);
    gr_optim_zero_grad(r->adam);
    gr_backward(t, loss);
    r->step++;
    return gr_optim_step(t, r->adam);
}

static gr_checkpoint_value steps_of(run *r) { return (gr_checkpoint_value){ "step", GR_I64, 1, &r->step }; }
static bool save(run *r, const char *to) { return gr_checkpoint_save(r->t, r->net, r->adam, to, &(gr_checkpoint_value){ "step", GR_I64, 1, &r->step }, 1); }
static bool load(run *r, const char *from)
{
    const gr_checkpoint_value step_value = steps_of(r);
    return gr_checkpoint_load(r->t, r->net, r->adam, from, &step_value, 1);
}

static void train_until_killed(note *n)
{
    run r = build();
    bool well = access(path, F_OK) != 0 || load(&r, path);
    n->started_to_train = 1;
    for (bool first = true; well; first = false) {
        well = step(&r);
        n->started = r.step, n->saving = 1;
        well = well && save(&r, path);
        if (well) n->saved = r.step;
        n->saving = 0;
        if (first) n->left += (int)campaign_entries(".tmp", false);
    }
    snprintf(n->message, sizeof n->message, "%s", gr_message(r.t));
    n->failed = 1;
    _exit(1);
}

static void wait_microseconds(size_t us) { nanosleep(&(struct timespec){ .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000 }, NULL); }

typedef struct { size_t in_training, in_save, with_file_left, before_training; } tally;

static void kill_one(note *n, gr_stream *s, tally *sum)
{
    const bool early = gr_stream_below(s, 16) == 0;         /* in the middle of the load */
    const bool late = !early && gr_stream_below(s, 8) == 0; /* after a save, so that the run advances also where a save is slow */
    const size_t wait = gr_stream_below(s, early ? 500 : LONGEST_WAIT);
    const int64_t before = n->saved;
    n->started_to_train = n->saving = 0;
    const pid_t child = fork();
    demand(child >= 0, "fork fails");
    if (!child) train_until_killed(n);
    for (size_t ms = 0; !early && !n->started_to_train && !n->failed && ms < PATIENCE * 1000; ms++) wait_microseconds(1000);
    for (size_t ms = 0; late && n->saved == before && !n->failed && ms < PATIENCE * 1000; ms++) wait_microseconds(1000);
    wait_microseconds(wait);
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    demand(!n->failed, "the child fails: %s", n->message);
    demand(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the child ends by itself, with status %d", status);
    demand(n->saved >= before, "steps go backwards");
    if (!n->started_to_train) sum->before_training++;
    else if (n->saving) sum->in_save++;
    else sum->in_training++;
    sum->with_file_left += campaign_entries(".tmp", false) > 0;
}

/* The file holds a step that was saved or being saved, with the bytes of an uninterrupted run. */
static void check_file(note *n, run *reference)
{
    run r = build();
    size_t bytes, wanted_bytes;
    if (!n->saved && access(path, F_OK) != 0) {
        finish(&r);
        return; /* killed before the first save */
    }
    demand(load(&r, path), "after the kill the file cannot be loaded: %s", gr_message(r.t));
    demand(r.step == n->saved || (n->saving && r.step == n->started), "the file holds step %lld; %lld was saved", (long long)r.step,
           (long long)n->saved);
    while (reference->step < r.step) demand(step(reference), "the run without kills: %s", gr_message(reference->t));
    demand(save(reference, reference_path), "the run without kills: %s", gr_message(reference->t));
    unsigned char *const got = campaign_file(path, &bytes), *const wanted = campaign_file(reference_path, &wanted_bytes);
    demand(got && wanted && bytes == wanted_bytes && !memcmp(got, wanted, bytes), "step %lld has other bits than without kills", (long long)r.step);
    free(got), free(wanted);
    n->saved = r.step;
    finish(&r);
}

int main(int argc, char **argv)
{
    campaign_start(argc, argv, "kills", 500);
    campaign_make_folder(false);
    snprintf(path, sizeof path, "%s/run.safetensors", campaign_folder);
    snprintf(reference_path, sizeof reference_path, "%s/reference.safetensors", campaign_folder);
    note *const n = mmap(NULL, sizeof *n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    demand(n != MAP_FAILED, "no memory to share");
    gr_stream s = gr_stream_new(campaign.seed, "kills");
    run reference = build();
    tally sum = { 0 };
    for (uint64_t i = 0; i < campaign.rounds; i++) {
        kill_one(n, &s, &sum);
        check_file(n, &reference);
        demand(!n->left, "after kill %llu, the next save leaves %d temporary files", (unsigned long long)i, n->left);
    }
    run r = build();
    demand((!n->saved || load(&r, path)) && step(&r) && save(&r, path), "the resume at the end: %s", gr_message(r.t));
    n->saved = r.step, n->saving = 0;
    check_file(n, &reference);
    demand(!campaign_entries(".tmp", false), "the last save leaves temporary files");
    printf("kills: %llu kills: %zu before training, %zu in a step, %zu in a save, %zu left a temporary file; %lld steps, same bytes as without\n",
           (unsigned long long)campaign.rounds, sum.before_training, sum.in_training, sum.in_save, sum.with_file_left, (long long)r.step);
    finish(&r), finish(&reference);
    return 0;
}
