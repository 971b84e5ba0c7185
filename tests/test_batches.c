/* tests/test_batches.c - batches: every sample once in an epoch, the last short batch, and a place that a checkpoint keeps. */
#include "tests/failing.h"
#include <limits.h>

TEST(without_shuffling_the_order_stays)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_batches *b = gr_batches_new(t, 10, 4, NULL);
    assert_ok(t);
    assert_true(b->n == 10 && b->size == 4 && b->per_epoch == 3 && b->taken == 0);
    for (int epoch = 0; epoch < 2; epoch++)
        for (int first = 0; first < 10; first += 4) {
            const gr_ints *const ids = gr_batches_next(b);
            assert_true(ids->rank == 1 && ids->dim[0] == ids->len && ids->len == (first == 8 ? 2 : 4));
            for (size_t i = 0; i < ids->len; i++) assert_int_equal(ids->data[i], first + (int)i);
        }
    assert_int_equal(b->taken, 6);
    gr_batches_free(b);
    gr_tape_free(t);
}

TEST(an_epoch_shows_every_sample_once_in_an_order_of_its_own)
{
    enum { N = 103, EPOCHS = 3 };
    gr_tape *t = gr_tape_new(5, NULL);
    gr_batches *b = gr_batches_new(t, N, 8, &(gr_batches_config){ .shuffle = "shuffle" });
    int order[EPOCHS][N];
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        bool seen[N] = { false };
        for (size_t at = 0; at < N;) {
            const gr_ints *const ids = gr_batches_next(b);
            for (size_t i = 0; i < ids->len; i++) assert_false(seen[ids->data[i]]), seen[ids->data[i]] = true, order[epoch][at++] = ids->data[i];
        }
    }
    assert_memory_not_equal(order[0], order[1], sizeof order[0]);
    assert_memory_not_equal(order[1], order[2], sizeof order[0]);
    assert_int_equal(b->taken, EPOCHS * b->per_epoch);
    gr_batches_free(b);
    gr_tape_free(t);
}

/* The first epoch of n samples. */
static void first_order(uint64_t seed, const char *stream, int *order, size_t n)
{
    gr_tape *t = gr_tape_new(seed, NULL);
    gr_batches *b = gr_batches_new(t, n, n + 5, &(gr_batches_config){ .shuffle = stream });
    gr_tape_free(t); /* before the batches */
    const gr_ints *const ids = gr_batches_next(b);
    assert_int_equal(ids->len, n);
    memcpy(order, ids->data, n * sizeof *order);
    gr_batches_free(b);
}
TEST(the_order_depends_on_the_seed_and_the_stream_alone)
{
    int order[4][40];
    first_order(1, "shuffle", order[0], 40), first_order(1, "shuffle", order[1], 40);
    first_order(2, "shuffle", order[2], 40), first_order(1, "other", order[3], 40);
    assert_memory_equal(order[0], order[1], sizeof *order);
    assert_memory_not_equal(order[0], order[2], sizeof *order);
    assert_memory_not_equal(order[0], order[3], sizeof *order);
    size_t want[40];
    gr_stream s = gr_stream_new(1, "shuffle"); /* the first epoch is the stream's first permutation */
    gr_stream_permutation(&s, want, 40);
    for (size_t i = 0; i < 40; i++) assert_int_equal(order[0][i], want[i]);
}

TEST(drop_last_leaves_out_the_short_batch)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_batches *b = gr_batches_new(t, 10, 4, &(gr_batches_config){ .drop_last = true });
    assert_int_equal(b->per_epoch, 2);
    for (int i = 0; i < 5; i++) {
        const gr_ints *const ids = gr_batches_next(b);
        assert_true(ids->len == 4 && ids->data[0] == i % 2 * 4);
    }
    gr_batches_free(b);
    b = gr_batches_new(t, 8, 4, &(gr_batches_config){ .drop_last = true });
    assert_int_equal(b->per_epoch, 2); /* no batch is short */
    gr_batches_free(b);
    gr_tape_free(t);
}

TEST(a_checkpoint_keeps_the_place)
{
    const gr_batches_config config = { .shuffle = "shuffle" };
    char path[512];
    gr_tape *t = gr_tape_new(3, NULL), *u = gr_tape_new(3, NULL);
    gr_module *m = gr_module_new(t), *n = gr_module_new(u);
    snprintf(path, sizeof path, "%s", in_folder("x"));
    for (int stop = 0; stop < 9; stop++) { /* within an epoch and at its ends */
        gr_batches *a = gr_batches_new(t, 10, 4, &config), *b = gr_batches_new(u, 10, 4, &config);
        for (int i = 0; i < stop; i++) gr_batches_next(a);
        gr_batches_next(b), gr_batches_next(b);
        assert_true(gr_checkpoint_save(t, m, NULL, path, &(gr_checkpoint_value){ "batches", GR_I64, 1, &a->taken }, 1));
        assert_true(gr_checkpoint_load(u, n, NULL, path, &(gr_checkpoint_value){ "batches", GR_I64, 1, &b->taken }, 1));
        for (int i = 0; i < 7; i++) {
            const gr_ints *const x = gr_batches_next(a), *const y = gr_batches_next(b);
            assert_int_equal(x->len, y->len);
            assert_memory_equal(x->data, y->data, x->len * sizeof(int));
        }
        gr_batches_free(a), gr_batches_free(b);
    }
    unlink(path);
    gr_module_free(m), gr_module_free(n);
    gr_tape_free(t), gr_tape_free(u);
}

TEST(any_place_is_a_place)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_batches *b = gr_batches_new(t, 7, 3, &(gr_batches_config){ .shuffle = "s" });
    const int64_t places[] = { -1, INT64_MIN, INT64_MAX, 1 };
    for (size_t k = 0; k < COUNT(places); k++) {
        b->taken = places[k];
        for (int i = 0; i < 4; i++) {
            const gr_ints *const ids = gr_batches_next(b);
            for (size_t j = 0; j < ids->len; j++) assert_true(ids->data[j] >= 0 && ids->data[j] < 7);
        }
    }
    gr_batches_free(b);
    gr_tape_free(t);
}

TEST(the_numbers_pick_rows)
{
    const gr_real table[] = { 0, 10, 20, 30 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_batches *b = gr_batches_new(t, 4, 3, NULL);
    assert_values(gr_embedding(t, gr_input(t, table, GR_SHAPE(4, 1)), gr_batches_next(b), GR_NONE), 0, 0, 10, 20);
    assert_values(gr_embedding(t, gr_input(t, table, GR_SHAPE(4, 1)), gr_batches_next(b), GR_NONE), 0, 30);
    gr_batches_free(b);
    gr_tape_free(t);
}

TEST(impossible_sizes_are_errors)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_fails(t, gr_batches_new(t, 0, 4, NULL), "batches: n must be 1 to 2147483647 samples, and size 1 or more; got 0 and 4");
    assert_fails(t, gr_batches_new(t, 4, 0, NULL), "batches: n must be 1 to 2147483647 samples, and size 1 or more; got 4 and 0");
    assert_fails(t, gr_batches_new(t, (size_t)INT_MAX + 1, 4, NULL),
                 "batches: n must be 1 to 2147483647 samples, and size 1 or more; got 2147483648 and 4");
    assert_fails(t, gr_batches_new(t, 3, 4, &(gr_batches_config){ .drop_last = true }),
                 "batches: n must be 1 to 2147483647 samples, and size 1 or more, with drop_last at most n; got 3 and 4");
    assert_null(gr_batches_new(NULL, 4, 4, NULL));
    assert_null(gr_batches_next(NULL));
    gr_batches_free(NULL);
    gr_tape_free(t);
}

static bool make_one(gr_tape *t, void *unused)
{
    (void)unused;
    gr_batches *const b = gr_batches_new(t, 10, 3, &(gr_batches_config){ .shuffle = "shuffle" });
    const bool well = gr_batches_next(b);
    gr_batches_free(b);
    return well;
}
TEST(every_allocation_may_fail)
{
    fail_every_allocation(make_one, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_shuffling_the_order_stays),
        cmocka_unit_test(an_epoch_shows_every_sample_once_in_an_order_of_its_own),
        cmocka_unit_test(the_order_depends_on_the_seed_and_the_stream_alone),
        cmocka_unit_test(drop_last_leaves_out_the_short_batch),
        cmocka_unit_test(a_checkpoint_keeps_the_place),
        cmocka_unit_test(any_place_is_a_place),
        cmocka_unit_test(the_numbers_pick_rows),
        cmocka_unit_test(impossible_sizes_are_errors),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
