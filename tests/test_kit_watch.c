/* tests/test_kit_watch.c - comparisons with a watch function and with their own seed. */
#include "tests/arms_case.h"
#include <fcntl.h>
#include <unistd.h>

/* The calls of the watch function: 'e' for an evaluation, 's' for a step. */
static struct {
    char seen[64];
    size_t n, steps[64], stop;
    double tested;
} watched;

static bool watch(kit_arms *a, size_t step, bool evaluated)
{
    watched.seen[watched.n] = evaluated ? 'e' : 's', watched.steps[watched.n++] = step;
    for (size_t i = 0; i < a->n; i++) assert_int_equal(a->arm[i].steps, step);
    if (evaluated) watched.tested = kit_accuracy(&a->arm[0].tested), assert_int_equal(a->arm[0].tested.images, 80);
    if (evaluated && step) assert_true(a->arm[0].recent.images > 0);
    if (!evaluated) assert_true(gr_tape_nodes(a->arm[0].tape) > 0); /* the tape still holds the step */
    return watched.n != watched.stop;
}

static kit_arms watched_run(kit_run *r, points *p, size_t stop)
{
    kit_arms a = comparison(p);
    watched.n = 0, watched.stop = stop;
    memset(watched.seen, 0, sizeof watched.seen);
    a.watch = watch;
    kit_arms_add(&a, "plain", PLAIN), kit_arms_add(&a, "idle", IDLE);
    assert_true(kit_arms_run(r, &a));
    return a;
}

TEST(a_watch_sees_each_step_and_evaluation_and_may_stop)
{
    static const size_t steps[] = { 0, 1, 2, 2, 3, 4, 4, 5, 5 };
    points p = { .calls = 0 };
    kit_options o = { .steps = 5, .eval_every = 2, .seed = 3, .quiet = true };
    kit_run r = start(&o);
    kit_arms a = watched_run(&r, &p, 0);
    assert_string_equal(watched.seen, "essessese"); /* one before the first step, one at the end */
    assert_memory_equal(watched.steps, steps, sizeof steps);
    assert_true(watched.tested == kit_accuracy(&a.arm[0].tested));
    const uint64_t hash = kit_fingerprint(a.arm[0].net);
    kit_arms_free(&a);
    for (size_t stop = 1; stop < 9; stop++) { /* after the first evaluation a step, an evaluation and so on */
        a = watched_run(&r, &p, stop);
        assert_int_equal(watched.n, stop), assert_int_equal(a.arm[0].steps, steps[stop - 1]),
            assert_int_equal(a.arm[1].steps, steps[stop - 1]);
        kit_arms_free(&a);
    }
    a = comparison(&p); /* watching does not change the result */
    kit_arms_add(&a, "plain", PLAIN);
    assert_true(kit_arms_run(&r, &a));
    assert_int_equal(kit_fingerprint(a.arm[0].net), hash);
    finish(&r, &a);
}

TEST(a_watched_comparison_prints_nothing)
{
    char path[] = "/tmp/gradus-arms-XXXXXX";
    close(mkstemp(path));
    points p = { .calls = 0 };
    kit_options o = { .steps = 4, .eval_every = 2, .seed = 3 }; /* not quiet, and without the watch the idle arm would be audited */
    kit_run r = start(&o);
    fflush(stdout), fflush(stderr);
    const int spoken = dup(2), printed = dup(1), file = open(path, O_WRONLY);
    dup2(file, 1), dup2(file, 2);
    kit_arms a = watched_run(&r, &p, 0);
    fflush(stdout), fflush(stderr);
    dup2(spoken, 2), dup2(printed, 1), close(spoken), close(printed);
    assert_int_equal(lseek(file, 0, SEEK_END), 0);
    close(file), unlink(path);
    finish(&r, &a);
}

TEST(the_seed_of_a_comparison_is_that_of_its_tapes)
{
    points p = { .calls = 0 };
    kit_options o = { .steps = 3, .eval_every = 9, .seed = 3, .quiet = true };
    kit_run r = start(&o);
    uint64_t hash[3];
    static const uint64_t seed[] = { 0, 3, 4 };
    for (size_t i = 0; i < COUNT(seed); i++) {
        kit_arms a = comparison(&p);
        a.seed = seed[i];
        kit_arms_add(&a, "plain", PLAIN);
        assert_true(kit_arms_run(&r, &a));
        assert_int_equal(gr_tape_seed(a.arm[0].tape), seed[i] ? seed[i] : 3);
        hash[i] = kit_fingerprint(a.arm[0].net);
        kit_arms_free(&a);
    }
    assert_int_equal(hash[0], hash[1]);
    assert_int_not_equal(hash[1], hash[2]);
    assert_int_equal(kit_run_end(&r), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_sees_each_step_and_evaluation_and_may_stop),
        cmocka_unit_test(a_watched_comparison_prints_nothing),
        cmocka_unit_test(the_seed_of_a_comparison_is_that_of_its_tapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
