/* tests/test_pool.c - threads: every chunk runs once, in many regions, with and without parked threads; and after
 * fork(). */
#include "core/library.h"
#include "tests/failing.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1000 };
typedef struct { atomic_int runs[MOST]; int thread[MOST]; } record;
static void note(void *argument, size_t chunk, int thread)
{
    record *r = argument;
    atomic_fetch_add(&r->runs[chunk], 1);
    r->thread[chunk] = thread;
}

TEST(every_chunk_runs_once)
{
    for (int threads = 1; threads <= 5; threads++) {
        gr_pool *p = gr_pool_new(threads, NULL);
        assert_int_equal(gr__pool_threads(p), threads);
        for (size_t n = 0; n < MOST; n = n * 3 / 2 + 1) {
            record r = { 0 };
            gr__pool_run(p, n, note, &r);
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(r.runs[i], 1);
                assert_in_range(r.thread[i], 0, threads - 1);
            }
        }
        gr_pool_free(p);
    }
}

static void add(void *argument, size_t chunk, int thread)
{
    (void)thread;
    ((size_t *)argument)[chunk] += chunk + 1;
}

TEST(many_regions_run_with_and_without_parking_between_them)
{
    gr_pool *p = gr_pool_new(3, NULL);
    size_t sum[8] = { 0 };
    for (int i = 0; i < 2000; i++) {
        gr__pool_run(p, 8, add, sum);
        if (i % 400 == 0) usleep(3000);
    }
    for (size_t i = 0; i < 8; i++) assert_int_equal(sum[i], 2000 * (i + 1));
    gr_pool_free(p);
}

TEST(tapes_may_share_a_pool)
{
    gr_pool *p = gr_pool_new(2, NULL);
    const gr_tape_config config = { .pool = p };
    gr_tape *a = gr_tape_new(1, &config), *b = gr_tape_new(1, &config);
    size_t sum[4] = { 0 };
    assert_int_equal(gr_tape_threads(b), 2);
    gr_parallel(a, 4, 1e6, add, sum), gr_parallel(b, 4, 1e6, add, sum), gr_parallel(b, 4, 1, add, sum);
    for (size_t i = 0; i < 4; i++) assert_int_equal(sum[i], 3 * (i + 1));
    gr_tape_free(a), gr_tape_free(b), gr_pool_free(p);
}

TEST(without_a_pool_chunks_run_on_the_callers_thread)
{
    record r = { 0 };
    gr__pool_run(NULL, 5, note, &r);
    for (int i = 0; i < 5; i++) assert_true(r.runs[i] == 1 && r.thread[i] == 0);
    gr_pool_free(NULL);
    assert_int_equal(gr__pool_threads(NULL), 1);
}

/* ---- After fork ---- */

/* The library calls this madvise. With refuse_wipe it behaves as in a Linux before 4.14, which has no MADV_WIPEONFORK. */
static bool refuse_wipe;
int madvise(void *p, size_t bytes, int advice)
{
    if (refuse_wipe && advice == MADV_WIPEONFORK) return errno = EINVAL, -1;
    return (int)syscall(SYS_madvise, p, bytes, advice);
}

/* Run f in a child, which must end with status 0. The child calls _exit, because AddressSanitizer's leak check at exit waits for threads
 * that the child does not have; so f counts its own memory. The alarm turns a child that hangs into a failure. */
static void assert_child_succeeds(int (*f)(void *argument), void *argument)
{
    int status = 0;
    fflush(stdout), fflush(stderr);
    const pid_t child = fork();
    if (!child) {
        alarm(300);
        _exit(f(argument));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) fail_msg("the child ended by signal %d%s", WTERMSIG(status), WTERMSIG(status) == SIGALRM ? ": it hung" : "");
    assert_int_equal(WEXITSTATUS(status), 0);
}

typedef struct { gr_tape *t; failing_memory memory; gr_real *want; size_t len; } forked_case;
static gr_tensor *some_product(gr_tape *t)
{
    gr_tensor *a = gr_randn(t, GR_SHAPE(200, 300), 0, 1, "a"), *b = gr_randn(t, GR_SHAPE(300, 170), 0, 1, "b");
    return gr_matmul(t, a, b);
}
static int child_multiplies_and_frees(void *argument)
{
    const forked_case *c = argument;
    const gr_tensor *y = some_product(c->t);
    if (!y || y->len != c->len || memcmp(y->data, c->want, c->len * sizeof *c->want)) return 1;
    if (gr_tape_threads(c->t) != 1) return 2;
    gr_tape_free(c->t);
    return c->memory.live ? 3 : 0;
}
static int grandchild_multiplies(void *argument)
{
    const forked_case *c = argument;
    assert_child_succeeds(child_multiplies_and_frees, argument);
    gr_tape_free(c->t);
    return c->memory.live ? 3 : 0;
}

TEST(a_child_runs_alone_with_the_same_bits)
{
    for (int k = 0; k < 4; k++) {
        refuse_wipe = k % 2;
        forked_case c = { .t = gr_tape_new(1, NULL) };
        const gr_tensor *y = some_product(c.t);
        c.len = y->len, c.want = malloc(c.len * sizeof *c.want);
        memcpy(c.want, y->data, c.len * sizeof *c.want);
        gr_tape_free(c.t);
        c.t = gr_tape_new(1, (&(gr_tape_config){ .threads = 3, .allocator = &(gr_allocator){ failing_alloc, failing_release, &c.memory } }));
        assert_child_succeeds(k < 2 ? child_multiplies_and_frees : grandchild_multiplies, &c);
        y = some_product(c.t); /* the parent still has its threads */
        assert_same_bits(y->data, c.want, c.len);
        assert_int_equal(gr_tape_threads(c.t), 3);
        gr_tape_free(c.t), free(c.want);
    }
    refuse_wipe = false;
}

typedef struct { gr_pool *pool; atomic_bool stop, begun; size_t sum[8]; } busy;
static void *run_regions(void *argument)
{
    busy *b = argument;
    while (!atomic_load(&b->stop)) gr__pool_run(b->pool, 8, add, b->sum), atomic_store(&b->begun, true);
    return NULL;
}
static int child_uses_and_frees(void *argument)
{
    size_t sum[8] = { 0 };
    busy *b = argument;
    gr__pool_run(b->pool, 8, add, sum);
    for (size_t i = 0; i < 8; i++)
        if (sum[i] != i + 1) return 1;
    gr_pool_free(b->pool);
    return 0;
}

TEST(a_fork_during_a_region_leaves_a_working_child)
{
    busy b = { .pool = gr_pool_new(3, NULL) };
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_regions, &b), 0);
    while (!atomic_load(&b.begun)) usleep(100);
    for (int i = 0; i < 20; i++) assert_child_succeeds(child_uses_and_frees, &b);
    atomic_store(&b.stop, true);
    pthread_join(thread, NULL);
    gr_pool_free(b.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_runs_once),
        cmocka_unit_test(many_regions_run_with_and_without_parking_between_them),
        cmocka_unit_test(tapes_may_share_a_pool),
        cmocka_unit_test(without_a_pool_chunks_run_on_the_callers_thread),
        cmocka_unit_test(a_child_runs_alone_with_the_same_bits),
        cmocka_unit_test(a_fork_during_a_region_leaves_a_working_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
