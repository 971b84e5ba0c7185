/* tests/test_loading.c - the time to load a file is proportional to its size, whatever it holds; a refused file leaves no trace. */
#include "core/library.h"
#include "tests/counting.h"
#include "tests/one_file.h"

/* The cost of loading a checkpoint with n entries of one kind into a program that already has them, or does not. */
typedef enum { STREAMS, KEPT, VALUES, LAYERS, PARAMETERS } kind;
static const char *const kinds[] = { "streams", "kept states", "values", "layers", "parameters" };
static kind entries;
static bool there;

static char (*value_name)[24];
static gr_checkpoint_value *value;
static int64_t number[1];

static gr_module *tree_new(gr_tape *t, size_t n, bool with_state)
{
    gr_module *m = gr_module_new(t), *last = m;
    gr_linear_new(t, m, "fc", 1, 1, NULL);
    for (size_t i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "n%zu", i * 40503 % n);
        if (entries == STREAMS && with_state) gr_tape_stream(t, name);
        if (entries == KEPT && with_state) gr_detach_keep(t, m, name, gr_zeros(t, GR_SHAPE(1)));
        if (entries == PARAMETERS) gr_param(t, m, name, GR_SHAPE(1), gr_init_constant(1));
        if (entries == LAYERS) last = &gr_linear_new(t, i % 16 ? last : m, name, 1, 1, NULL)->module;
    }
    return m;
}

static size_t comparisons_of_loading(size_t n)
{
    gr_tape *t = gr_tape_new(1, NULL), *u = gr_tape_new(1, NULL);
    gr_module *m = tree_new(t, n, true), *other = tree_new(u, n, there);
    gr_optim *o = gr_adam_new(t, m, NULL), *optim = gr_adam_new(u, other, NULL);
    value_name = calloc(n, sizeof *value_name), value = calloc(n, sizeof *value);
    for (size_t i = 0; i < n; i++) {
        snprintf(value_name[i], sizeof *value_name, "v%zu", i);
        value[i] = (gr_checkpoint_value){ value_name[i], GR_I64, 1, number };
    }
    const size_t values = entries == VALUES ? n : 0;
    if (!gr_checkpoint_save(t, m, o, path, value, values)) fail_msg("%s", gr_message(t));
    comparisons = 0;
    if (!gr_checkpoint_load(u, other, optim, path, value, values)) fail_msg("%s", gr_message(u));
    if (!gr_state_load(u, other, path, NULL)) fail_msg("%s", gr_message(u));
    const size_t count = comparisons;
    free(value), free(value_name);
    gr_optim_free(o), gr_optim_free(optim);
    gr_module_free(m), gr_module_free(other);
    gr_tape_free(t), gr_tape_free(u);
    return count;
}

TEST(the_cost_of_loading_is_proportional_to_the_size)
{
    for (entries = STREAMS; entries <= PARAMETERS; entries++)
        for (int k = 0; k < 2; k++) {
            there = k;
            print_message("           %s\n", kinds[entries]);
            assert_nearly_linear(comparisons_of_loading, 320);
        }
}

/* The same for files that are refused and hold many names. */
static size_t comparisons_of_refusing(size_t n)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *m = gr_module_new(t);
    entries = PARAMETERS;
    gr_module *large = tree_new(t, n, false);
    if (!gr_state_save(t, there ? large : m, path, NULL)) fail_msg("%s", gr_message(t));
    comparisons = 0;
    assert_false(gr_state_load(t, there ? m : large, path, NULL));
    const size_t count = comparisons;
    gr_module_free(m), gr_module_free(large);
    gr_tape_free(t);
    return count;
}
TEST(the_cost_of_refusing_is_proportional_to_the_size)
{
    for (int k = 0; k < 2; k++) {
        there = k;
        assert_nearly_linear(comparisons_of_refusing, 320);
    }
}

/* Everything is checked first, so an error changes and creates nothing: the next save has the same bytes as the previous one. */
TEST(a_refused_checkpoint_leaves_no_trace)
{
    size_t before, after;
    int64_t run = 0;
    const gr_checkpoint_value v = { "run", GR_I64, 1, &run };
    gr_tape *t = gr_tape_new(1, NULL), *u = gr_tape_new(1, NULL);
    gr_module *m = gr_module_new(t), *other = gr_module_new(u);
    gr_linear_new(t, m, "fc", 2, 2, NULL), gr_linear_new(u, other, "fc", 2, 2, NULL);
    gr_tape_stream(u, "evil")->counter = 5;
    gr_detach_keep(u, other, "h", gr_zeros(u, GR_SHAPE(3)));
    assert_true(gr_checkpoint_save(t, m, NULL, path, &v, 1));
    unsigned char *const bytes = file_bytes(path, &before);
    assert_true(gr_checkpoint_save(u, other, NULL, path, NULL, 0));
    assert_false(gr_checkpoint_load(t, m, NULL, path, &v, 1));
    char message[600];
    snprintf(message, sizeof message, "%s: value/run is missing", path);
    assert_message(t, message);
    gr_tape_recover(t);
    assert_null(gr__tape_stream_at(t, 0, NULL));
    assert_null(gr_slot_find(m, "h"));
    assert_non_null(gr_param(t, m, "h", GR_SHAPE(1), gr_init_constant(0))); /* the name is still free */
    gr_module_free(m);
    m = gr_module_new(t);
    gr_linear_new(t, m, "fc", 2, 2, NULL);
    assert_true(gr_checkpoint_save(t, m, NULL, path, &v, 1));
    free(file_bytes(path, &after));
    assert_int_equal(after, before);
    assert_file_holds(path, bytes, before);
    free(bytes);
    gr_module_free(m), gr_module_free(other);
    gr_tape_free(t), gr_tape_free(u);
}

/* The same when memory runs out half way: the streams and slots that were made for the file are removed. */
TEST(memory_that_runs_out_leaves_no_trace)
{
    gr_tape *u = gr_tape_new(1, NULL);
    gr_module *other = gr_module_new(u), *inner = gr_sequential_new(u, other, "inner");
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%d", i);
        gr_tape_stream(u, name);
        gr_detach_keep(u, i % 2 ? other : inner, name, gr_full(u, GR_SHAPE(3), i));
    }
    assert_true(gr_checkpoint_save(u, other, NULL, path, NULL, 0));
    bool failed = true;
    for (size_t at = 1; failed; at++) {
        failing_memory memory = { 0 };
        const gr_allocator allocator = { failing_alloc, failing_release, &memory };
        gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .allocator = &allocator }));
        gr_module *m = gr_module_new(t);
        gr_sequential_new(t, m, "inner");
        gr_tape_stream(t, "mine")->counter = 3;
        memory.fail_at = memory.calls + at;
        failed = !gr_checkpoint_load(t, m, NULL, path, NULL, 0);
        memory.fail_at = 0;
        const char *name;
        if (failed) {
            assert_int_equal(gr_error_code(t), GR_NO_MEMORY);
            gr_tape_recover(t);
            assert_int_equal(gr__tape_stream_at(t, 0, &name)->counter, 3);
            assert_null(gr__tape_stream_at(t, 1, NULL));
            assert_null(gr_slot_first(m));
            assert_true(gr_checkpoint_load(t, m, NULL, path, NULL, 0)); /* another attempt succeeds */
        }
        assert_non_null(gr__tape_stream_at(t, 20, NULL));
        assert_values(gr_kept(m, "s7"), 0, 7, 7, 7);
        gr_module_free(m);
        gr_tape_free(t);
        assert_int_equal(memory.live, 0);
    }
    gr_module_free(other);
    gr_tape_free(u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cost_of_loading_is_proportional_to_the_size),
        cmocka_unit_test(the_cost_of_refusing_is_proportional_to_the_size),
        cmocka_unit_test(a_refused_checkpoint_leaves_no_trace),
        cmocka_unit_test(memory_that_runs_out_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
