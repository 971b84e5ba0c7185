/* tests/test_pool.c - threads: every chunk once, on the thread that owns it, over many regions, parked or not. */
#include "tests/test.h"
#include <stdatomic.h>
#include <unistd.h>

enum { MOST = 1000 };
typedef struct { atomic_int runs[MOST]; int thread[MOST]; } record;
static void note(void *argument, size_t chunk, int thread)
{
    record *r = argument;
    atomic_fetch_add(&r->runs[chunk], 1);
    r->thread[chunk] = thread;
}

static void every_chunk_runs_once_on_its_owner(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 5; threads++) {
        gr_pool *p = gr_pool_new(threads, NULL);
        assert_int_equal(gr_pool_threads(p), threads);
        for (size_t n = 0; n < MOST; n = n * 3 / 2 + 1) {
            record r = { 0 };
            gr_pool_run(p, n, note, &r);
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(r.runs[i], 1);
                if (n > 1) assert_int_equal(r.thread[i], i * (size_t)threads / n);
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

static void many_regions_with_and_without_parking_between(void **state)
{
    (void)state;
    gr_pool *p = gr_pool_new(3, NULL);
    size_t sum[8] = { 0 };
    for (int i = 0; i < 2000; i++) {
        gr_pool_run(p, 8, add, sum);
        if (i % 400 == 0) usleep(3000);
    }
    for (size_t i = 0; i < 8; i++) assert_int_equal(sum[i], 2000 * (i + 1));
    gr_pool_free(p);
}

static void tapes_may_share_a_pool(void **state)
{
    (void)state;
    gr_pool *p = gr_pool_new(2, NULL);
    const gr_tape_config config = { .pool = p };
    gr_tape *a = gr_tape_new_with(1, &config), *b = gr_tape_new_with(1, &config);
    size_t sum[4] = { 0 };
    assert_int_equal(gr_tape_threads(b), 2);
    gr_parallel(a, 4, 1e6, add, sum), gr_parallel(b, 4, 1e6, add, sum), gr_parallel(b, 4, 1, add, sum);
    for (size_t i = 0; i < 4; i++) assert_int_equal(sum[i], 3 * (i + 1));
    gr_tape_free(a), gr_tape_free(b), gr_pool_free(p);
}

static void no_pool_is_the_callers_thread(void **state)
{
    (void)state;
    record r = { 0 };
    gr_pool_run(NULL, 5, note, &r);
    for (int i = 0; i < 5; i++) assert_true(r.runs[i] == 1 && r.thread[i] == 0);
    gr_pool_free(NULL);
    assert_int_equal(gr_pool_threads(NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_runs_once_on_its_owner),
        cmocka_unit_test(many_regions_with_and_without_parking_between),
        cmocka_unit_test(tapes_may_share_a_pool),
        cmocka_unit_test(no_pool_is_the_callers_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
