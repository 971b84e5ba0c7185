/* tests/test_streams.c - the random streams of a tape: found by name, kept in order, at fixed addresses. */
#include "core/library.h"
#include "tests/counting.h"

TEST(streams_keep_their_addresses_and_lie_in_the_order_of_their_names)
{
    enum { N = 500 };
    gr_stream *made[N];
    char name[24];
    gr_tape *t = gr_tape_new(3, NULL);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "stream %d", i * 7919 % N);
        made[i] = gr_tape_stream(t, name);
        assert_non_null(made[i]);
        assert_true(made[i]->key == gr_stream_new(3, name).key && made[i]->counter == 0);
        made[i]->counter = (uint64_t)i;
    }
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "stream %d", i * 7919 % N);
        assert_ptr_equal(gr_tape_stream(t, name), made[i]);
        assert_true(made[i]->counter == (uint64_t)i);
    }
    for (size_t i = 0; i < N; i++) {
        const char *here, *next;
        const gr_stream *const s = gr__tape_stream_at(t, i, &here);
        assert_ptr_equal(s, gr_tape_stream(t, here));
        assert_true(!gr__tape_stream_at(t, i + 1, &next) || strcmp(here, next) < 0);
    }
    assert_null(gr__tape_stream_at(t, N, NULL));
    assert_ptr_equal(gr__tape_stream_at(t, 0, NULL), gr_tape_stream(t, "stream 0"));
    assert_null(gr__tape_stream_at(t, SIZE_MAX, NULL));
    gr_tape_free(t);
}

TEST(a_stream_without_a_name_is_an_error)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_non_null(gr_tape_stream(t, "")); /* the empty name is a name */
    assert_null(gr_tape_stream(t, NULL));
    assert_message(t, "tape_stream: the stream's name is NULL");
    assert_int_equal(gr_error_code(t), GR_MISUSE);
    gr_tape_free(t);
}

static size_t comparisons_of_streams(size_t n)
{
    gr_tape *t = gr_tape_new(1, NULL);
    comparisons = 0;
    for (size_t i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i * 40503 % n);
        gr_tape_stream(t, name);
    }
    for (size_t i = 0; i < n; i++) assert_non_null(gr__tape_stream_at(t, i, NULL));
    gr_tape_free(t);
    return comparisons;
}
TEST(the_cost_of_many_streams_grows_nearly_linearly)
{
    assert_nearly_linear(comparisons_of_streams, 1000);
}

/* A failed allocation loses no stream, and the next attempt makes the missing one. */
static bool streams_again_and_again(gr_tape *t, void *unused)
{
    (void)unused;
    char name[24];
    size_t had = 0;
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "%d", i);
        if (gr_tape_stream(t, name)) had++;
    }
    const bool good = !gr_failed(t);
    size_t count = 0;
    while (gr__tape_stream_at(t, count, NULL)) count++;
    assert_int_equal(count, had);
    return good;
}
TEST(every_allocation_may_fail)
{
    fail_every_allocation(streams_again_and_again, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_keep_their_addresses_and_lie_in_the_order_of_their_names),
        cmocka_unit_test(a_stream_without_a_name_is_an_error),
        cmocka_unit_test(the_cost_of_many_streams_grows_nearly_linearly),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
