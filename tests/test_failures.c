/* tests/test_failures.c - a whole program in which every allocation, thread start, open, read, write, fsync and rename fails in turn, once
 * or from then on. The program must not crash or leak, the error must name the failure, and no file may be half-written. After
 * gr_tape_recover, a retry of the failed stage must lead to the same bits as if nothing had happened. */
#define FAILING_FILES
#include "tests/failing.h"
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>

/* ---- What can fail: the n-th call alone, or with all later ones ---- */

typedef enum { MEMORY, FILES, THREADS } thing;
static const char *const thing_name[] = { "allocation", "open, read, write, fsync or rename", "thread" };
static failing_memory memory;
static struct { size_t calls, fail_at; } threads;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*f)(void *), void *argument)
{
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    create *real;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return ++threads.calls == threads.fail_at ? EAGAIN : real(thread, attributes, f, argument);
}

static void arrange(thing what, size_t at, bool for_ever)
{
    memory = (failing_memory){ .fail_at = what == MEMORY ? at : 0, .for_ever = for_ever, .live = memory.live };
    memset(&failing_files, 0, sizeof failing_files);
    failing_files.fail_at = what == FILES ? (int)at : 0, failing_files.error = ENOSPC, failing_files.for_ever = for_ever;
    threads.calls = 0, threads.fail_at = what == THREADS ? at : 0;
}
static void trouble_is_over(void) { memory.fail_at = 0, failing_files.fail_at = 0, threads.fail_at = 0; }
static size_t calls_of(thing what) { return what == MEMORY ? memory.calls : what == FILES ? (size_t)failing_files.calls : threads.calls; }

static size_t entries_of(const char *folder, const char *holding)
{
    size_t n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));) n += !!strstr(e->d_name, holding);
    closedir(d);
    return n;
}

static char weights_file[512], state_file[512], checkpoint_file[512];

enum { B = 17, T = 4, I = 3, H = 5, C = 3 };

/* ---- The program: an LN-LSTM with dropout that loads, trains, saves, checkpoints, resumes ---- */

typedef struct {
    gr_tape *t;
    gr_module *net;
    gr_lstm *lstm;
    gr_linear_module *fc;
    gr_dropout_module *drop;
    gr_optim *adam;
    int64_t epoch;
} program;

static bool start(program *p)
{
    p->t = gr_tape_new(11, &(gr_tape_config){ .threads = 2, .allocator = &(gr_allocator){ failing_alloc, failing_release, &memory } });
    return !gr_failed(p->t);
}

static bool build(program *p)
{
    p->net = gr_module_new(p->t);
    p->lstm = gr_lstm_new(p->t, p->net, "lstm", I, H, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016, .batch_first = true, .layers = 2 });
    p->drop = gr_dropout_new(p->t, p->net, "drop", 0.25);
    p->fc = gr_linear_new(p->t, p->net, "fc", H, C, NULL);
    p->adam = gr_adam_new(p->t, p->net, &(gr_adam_config){ .lr = 0.01 });
    if (!gr_failed(p->t)) return true;
    gr_optim_free(p->adam), gr_module_free(p->net);
    p->adam = NULL, p->net = NULL;
    return false;
}

static bool load(program *p) { return gr_state_load(p->t, p->net, weights_file, NULL); }

static bool step(program *p)
{
    gr_tape *t = p->t;
    int labels[B];
    gr_tape_reset(t);
    gr_tensor *x = gr_randn(t, GR_SHAPE(B, T, I), 0, 1, "data");
    for (int i = 0; i < B; i++) labels[i] = i % C;
    gr_tensor *h = gr_select(t, gr_lstm_forward(t, p->lstm, x, NULL).h, 0, -1);
    gr_tensor *z = gr_linear_forward(t, p->fc, gr_dropout_forward(t, p->drop, h));
    gr_tensor *loss = gr_cross_entropy(t, z, gr_ints_new(t, labels, GR_SHAPE(B)), NULL);
    gr_optim_zero_grad(p->adam);
    gr_backward(t, loss);
    gr_clip_grad_norm(t, p->adam, 1);
    return gr_optim_step(t, p->adam);
}

static bool save(program *p) { return gr_state_save(p->t, p->net, state_file, NULL); }

/* Values that a checkpoint restores are changed before it is loaded, so that a load that does nothing is seen. */
static bool checkpoint(program *p)
{
    const gr_checkpoint_value epoch = { "epoch", GR_I64, 1, &p->epoch };
    return gr_checkpoint_save(p->t, p->net, p->adam, checkpoint_file, &epoch, 1);
}
static bool resume(program *p)
{
    const gr_checkpoint_value epoch = { "epoch", GR_I64, 1, &p->epoch };
    p->epoch++;
    if (gr_checkpoint_load(p->t, p->net, p->adam, checkpoint_file, &epoch, 1)) return true;
    p->epoch--;
    return false;
}

static bool (*const stages[])(program *) = { start, build, load, step, step, save, checkpoint, step, resume, step, step };

static uint64_t fingerprint(const program *p)
{
    uint64_t hash = 0xcbf29ce484222325u + (uint64_t)p->epoch;
    for (const gr_slot *s = gr_slot_first(p->net); s; s = gr_slot_next(p->net, s)) hash = hash_reals(hash, s->tensor->data, s->tensor->len);
    return hash;
}

static void finish(program *p)
{
    gr_optim_free(p->adam), gr_module_free(p->net), gr_tape_free(p->t);
}

/* ---- What must hold after each run ---- */

/* Every file that exists is complete, whatever has failed. */
static void assert_files_are_whole(void)
{
    const char *const file[] = { weights_file, state_file, checkpoint_file };
    struct stat s;
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t i = 0; i < COUNT(file); i++) {
        if (stat(file[i], &s)) continue;
        gr_safetensors *whole = gr_safetensors_open(t, file[i]);
        assert_ok(t);
        gr_safetensors_free(whole);
    }
    gr_tape_free(t);
}

static size_t files_at_first;
static void assert_nothing_is_left(void)
{
    assert_int_equal(memory.live, 0);
    assert_int_equal(entries_of("/proc/self/fd", ""), files_at_first);
    assert_int_equal(entries_of(test_folder, ".tmp"), 0);
}

static void assert_error_says_so(const program *p, thing what)
{
    if (!p->t) {
        assert_int_equal(what, MEMORY);
        return;
    }
    const gr_error want = what == MEMORY ? GR_NO_MEMORY : GR_IO_FAILED;
    if (gr_error_code(p->t) != want) fail_msg("%s failed, but the tape's message is: %s", thing_name[what], gr_message(p->t));
    assert_non_null(strstr(gr_message(p->t), want == GR_NO_MEMORY ? "out of memory" : "cannot"));
}

/* Run the program while one call of a kind fails. A stage that fails is run once more. Returns the fingerprint; *met says whether the
 * program made that call. */
static uint64_t run(thing what, size_t at, bool for_ever, bool *met)
{
    program p = { .epoch = 7 };
    arrange(what, at, for_ever);
    bool good = true;
    for (size_t i = 0; i < COUNT(stages) && good; i++) {
        if (stages[i](&p)) continue;
        assert_error_says_so(&p, what);
        if (for_ever) trouble_is_over();
        if (i == 0) gr_tape_free(p.t), p.t = NULL;
        else gr_tape_recover(p.t);
        good = stages[i](&p);
        if (!good) fail_msg("%s %zu, stage %zu, again: %s", thing_name[what], at, i, gr_message(p.t));
    }
    const uint64_t hash = fingerprint(&p);
    *met = calls_of(what) >= at;
    finish(&p);
    assert_nothing_is_left();
    return hash;
}

/* The same, but all later calls fail too, and the program gives up at the first failed stage. */
static void run_until_the_first_failure(thing what, size_t at)
{
    program p = { .epoch = 7 };
    arrange(what, at, true);
    for (size_t i = 0; i < COUNT(stages); i++)
        if (!stages[i](&p)) {
            assert_error_says_so(&p, what);
            break;
        }
    finish(&p);
    trouble_is_over();
    assert_nothing_is_left();
    assert_files_are_whole();
}

static void fail_each(thing what)
{
    bool met;
    const uint64_t want = run(what, 0, false, &met);
    size_t at = 1;
    for (;; at++) {
        const uint64_t once = run(what, at, false, &met);
        if (once != want) fail_msg("%s %zu failed, and the retry gave other bits", thing_name[what], at);
        if (!met) break;
        const uint64_t lasting = run(what, at, true, &met);
        if (lasting != want) fail_msg("%s failed from %zu on until the error was seen, and the retry gave other bits", thing_name[what], at);
        run_until_the_first_failure(what, at);
    }
    print_message("%s: %zu calls failed in turn\n", thing_name[what], at - 1);
    assert_true(at > 1);
}

TEST(any_allocation_may_fail_and_a_retry_gives_the_same_bits) { fail_each(MEMORY); }
TEST(any_file_call_may_fail_and_a_retry_gives_the_same_bits) { fail_each(FILES); }
TEST(any_thread_may_fail_to_start_and_a_retry_gives_the_same_bits) { fail_each(THREADS); }

TEST(steps_after_the_first_allocate_nothing)
{
    program p = { .epoch = 7 };
    arrange(MEMORY, 0, false);
    assert_true(start(&p) && build(&p) && step(&p));
    const size_t calls = memory.calls;
    for (int i = 0; i < 20; i++) assert_true(step(&p));
    assert_int_equal(memory.calls, calls);
    finish(&p);
}

FIXTURE(make_files)
{
    if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0); /* a thousand saves need not wait for a disk */
    if (make_folder(state)) return 1;
    snprintf(weights_file, sizeof weights_file, "%s", in_folder("weights.safetensors"));
    snprintf(state_file, sizeof state_file, "%s", in_folder("state.safetensors"));
    snprintf(checkpoint_file, sizeof checkpoint_file, "%s", in_folder("checkpoint.safetensors"));
    files_at_first = entries_of("/proc/self/fd", "");
    program p = { .epoch = 7 };
    const bool good = start(&p) && build(&p) && step(&p) && gr_state_save(p.t, p.net, weights_file, NULL);
    finish(&p);
    return !good;
}
FIXTURE(remove_files)
{
    return remove(weights_file) | remove(state_file) | remove(checkpoint_file) | remove_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_may_fail_and_a_retry_gives_the_same_bits),
        cmocka_unit_test(any_file_call_may_fail_and_a_retry_gives_the_same_bits),
        cmocka_unit_test(any_thread_may_fail_to_start_and_a_retry_gives_the_same_bits),
        cmocka_unit_test(steps_after_the_first_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
