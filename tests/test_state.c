/* tests/test_state.c - state_dict: saving, loading, and the report about a file that does not fit. */
#define FAILING_FILES
#include "tests/one_file.h"

/* Two layers, a buffer and a counter. The tied parameter comes first in the traversal. */
typedef struct { gr_module *root, *first; gr_linear_module *fc; gr_tensor *mean; int64_t *count; } net;
static net net_new(gr_tape *t)
{
    net n = { .root = gr_module_new(t) };
    n.first = gr_module_make(t, n.root, "first", "Thing", sizeof *n.first);
    n.fc = gr_linear_new(t, n.root, "fc", 2, 3, NULL);
    n.mean = gr_buffer(t, n.root, "running_mean", GR_SHAPE(2), 4);
    n.count = gr_counter(t, n.root, "num_batches_tracked");
    gr_tie(t, n.first, "weight", n.fc ? n.fc->weight : NULL);
    return n;
}

static uint64_t hash_net(const net *n)
{
    uint64_t hash = (uint64_t)*n->count;
    for (gr_slot *s = gr_slot_first(n->root); s; s = gr_slot_next(n->root, s))
        if (s->tensor) hash = hash_reals(hash, s->tensor->data, s->tensor->len);
    return hash;
}

TEST(a_saved_state_is_loaded_again)
{
    gr_tape *t = gr_tape_new(1, NULL), *u = gr_tape_new(2, NULL);
    net n = net_new(t), m = net_new(u);
    *n.count = -5, n.mean->data[1] = (gr_real)HUGE_VAL, n.fc->bias->data[0] = (gr_real)NAN, n.fc->bias->data[1] = (gr_real)0x1p-140;
    gr_detach_keep(t, n.root, "h", n.mean); /* is no part of the state */
    assert_true(gr_state_save(t, n.root, path, (const char *[]){ "lesson", "3", NULL }));
    gr_safetensors *f = gr_safetensors_open(t, path);
    assert_int_equal(f->count, 4);
    assert_int_equal(gr_safetensors_find(f, "fc.weight")->dtype, GR_REAL_DTYPE);
    assert_int_equal(gr_safetensors_find(f, "num_batches_tracked")->dtype, GR_I64);
    assert_null(gr_safetensors_find(f, "first.weight")); /* a tied parameter is saved once */
    assert_string_equal(gr_safetensors_note_of(f, "lesson"), "3");
    gr_safetensors_free(f);
    assert_true(hash_net(&n) != hash_net(&m));
    assert_true(gr_state_load(u, m.root, path, NULL));
    assert_int_equal(*m.count, -5);
    assert_same_bits(m.fc->bias->data, n.fc->bias->data, 3);
    assert_same_bits(m.fc->weight->data, n.fc->weight->data, 6);
    assert_same_bits(m.mean->data, n.mean->data, 2);
    gr_module_free(n.root), gr_module_free(m.root);
    gr_tape_free(t), gr_tape_free(u);
}

TEST(a_part_of_a_tree_is_saved_under_its_own_names)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net n = net_new(t);
    assert_true(gr_state_save(t, &n.fc->module, path, NULL));
    gr_module *other = gr_module_new(t);
    gr_linear_module *l = gr_linear_new(t, other, "some", 2, 3, NULL);
    assert_true(gr_state_load(t, &l->module, path, NULL));
    assert_same_bits(l->weight->data, n.fc->weight->data, 6);
    assert_true(gr_state_save(t, n.first, path, NULL)); /* a parameter that is tied to one elsewhere is saved here, too */
    gr_safetensors *f = gr_safetensors_open(t, path);
    assert_true(f->count == 1 && gr_safetensors_find(f, "weight"));
    gr_safetensors_free(f);
    gr_module_free(other), gr_module_free(n.root);
    gr_tape_free(t);
}

/* ---- Files that do not fit ---- */

static bool write_items(gr_tape *t, const gr_safetensors_item *item, size_t n) { return gr_safetensors_write(t, path, item, n, NULL); }

static const gr_real numbers[1024] = { 1, 2, 3, 4, 5, 6 };
static const double doubles[] = { 1.5, 2, 3, 4, 5, 6 };
static const int64_t whole = 9;
#define WEIGHT { "fc.weight", GR_REAL_DTYPE, GR_SHAPE(3, 2), numbers }
#define BIAS { "fc.bias", GR_REAL_DTYPE, GR_SHAPE(3), numbers }
#define MEAN { "running_mean", GR_REAL_DTYPE, GR_SHAPE(2), numbers }
#define BATCHES { "num_batches_tracked", GR_I64, GR_SCALAR, &whole }

static void assert_misfit(const gr_safetensors_item *item, size_t count, const char *report)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net n = net_new(t);
    const uint64_t before = hash_net(&n);
    char message[1100];
    assert_true(write_items(t, item, count));
    assert_false(gr_state_load(t, n.root, path, NULL));
    snprintf(message, sizeof message, "%s: does not fit the module: %s", path, report);
    assert_message(t, message);
    assert_int_equal(gr_error_code(t), GR_BAD_FILE);
    assert_true(hash_net(&n) == before);
    gr_module_free(n.root);
    gr_tape_free(t);
}

TEST(one_report_lists_everything_that_does_not_fit)
{
    const char *const real = gr_dtype_name(GR_REAL_DTYPE);
    char report[400];
    const gr_safetensors_item wrong[] = { { "fc.weight", GR_REAL_DTYPE, GR_SHAPE(2, 3), numbers }, MEAN,
                                          { "num_batches_tracked", GR_REAL_DTYPE, GR_SCALAR, numbers }, { "fc.gain", GR_F64, GR_SHAPE(1), doubles },
                                          { "stream/x", GR_F64, GR_SHAPE(1), doubles } };
    snprintf(report, sizeof report, "num_batches_tracked is %s [] and should be I64 []; fc.weight is %s [2, 3] and should be %s [3, 2]; "
                                    "fc.bias [3] is missing; fc.gain [1] is left over; stream/x [1] is left over", real, real, real);
    assert_misfit(wrong, COUNT(wrong), report);
    assert_misfit((gr_safetensors_item[]){ WEIGHT, BIAS, MEAN }, 3, "num_batches_tracked (a counter) is missing");
    assert_misfit((gr_safetensors_item[]){ BIAS, MEAN, BATCHES }, 3, "fc.weight [3, 2] is missing");
    snprintf(report, sizeof report, "running_mean is I64 [2] and should be %s [2]", real);
    assert_misfit((gr_safetensors_item[]){ WEIGHT, BIAS, { "running_mean", GR_I64, GR_SHAPE(2), numbers }, BATCHES }, 4, report);
}

TEST(a_long_report_ends_with_the_number_of_omitted_entries)
{
    char name[200][16];
    gr_safetensors_item item[204] = { WEIGHT, BIAS, MEAN, BATCHES };
    for (int i = 0; i < 200; i++) {
        snprintf(name[i], sizeof name[i], "x%03d", i);
        item[4 + i] = (gr_safetensors_item){ name[i], GR_F64, GR_SHAPE(0), doubles };
    }
    char report[1000] = "";
    size_t length = 0, lines = 0;
    while (length + 24 < 640) length += (size_t)sprintf(report + length, "%sx%03zu [0] is left over", lines ? "; " : "", lines), lines++;
    sprintf(report + length, "; and %zu more", 200 - lines);
    assert_misfit(item, 204, report);
}

TEST(other_floating_types_are_converted)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net n = net_new(t);
    const uint16_t half[] = { 0x3c00, 0xc000, 0x0001 }, brain[] = { 0x3f80, 0xc000 };
    const int batches = 12;
    const gr_safetensors_item item[] = { { "fc.weight", GR_F64, GR_SHAPE(3, 2), doubles }, { "fc.bias", GR_F16, GR_SHAPE(3), half },
                                         { "running_mean", GR_BF16, GR_SHAPE(2), brain }, { "num_batches_tracked", GR_I32, GR_SCALAR, &batches } };
    assert_true(write_items(t, item, 4));
    assert_true(gr_state_load(t, n.root, path, NULL));
    assert_values(n.fc->weight, 0, (gr_real)1.5, 2, 3, 4, 5, 6);
    assert_values(n.fc->bias, 0, 1, -2, (gr_real)0x1p-24);
    assert_values(n.mean, 0, 1, -2);
    assert_int_equal(*n.count, 12);
    gr_module_free(n.root);
    gr_tape_free(t);
}

TEST(tied_names_may_all_be_there_if_they_agree)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net n = net_new(t);
    const gr_safetensors_item tied = { "first.weight", GR_REAL_DTYPE, GR_SHAPE(3, 2), numbers };
    assert_true(write_items(t, (gr_safetensors_item[]){ WEIGHT, tied, BIAS, MEAN, BATCHES }, 5));
    assert_true(gr_state_load(t, n.root, path, NULL));
    assert_values(n.fc->weight, 0, 1, 2, 3, 4, 5, 6);
    memset(n.fc->weight->data, 0, 6 * sizeof(gr_real));
    assert_true(write_items(t, (gr_safetensors_item[]){ tied, BIAS, MEAN, BATCHES }, 4)); /* safetensors.save_model may choose this name */
    assert_true(gr_state_load(t, n.root, path, NULL));
    assert_values(n.fc->weight, 0, 1, 2, 3, 4, 5, 6);
    gr_module_free(n.root);
    gr_tape_free(t);
    gr_safetensors_item other = tied;
    other.data = numbers + 1;
    assert_misfit((gr_safetensors_item[]){ WEIGHT, other, BIAS, MEAN, BATCHES }, 5, "fc.weight and first.weight are tied, but differ");
}

TEST(a_missing_path_or_module_is_an_error)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *m = gr_module_new(t);
    assert_false(gr_state_save(NULL, m, path, NULL));
    assert_false(gr_state_load(NULL, m, path, NULL));
    assert_fails(t, gr_state_save(t, NULL, path, NULL), "state_save: the module is NULL");
    assert_fails(t, gr_state_load(t, NULL, path, NULL), "state_load: the module is NULL");
    assert_fails(t, gr_state_save(t, m, NULL, NULL), "the path of a file to write is NULL");
    assert_true(gr_state_save(t, m, path, NULL)); /* the state of an empty module is empty */
    assert_true(gr_state_load(t, m, path, NULL));
    gr_module_free(m);
    gr_tape_free(t);
}

/* ---- Failures ---- */

static bool save_and_load(gr_tape *t, void *unused)
{
    (void)unused;
    net n = net_new(t);
    if (n.count) *n.count = 3;
    const bool saved = gr_state_save(t, n.root, path, NULL);
    if (saved) n.fc->bias->data[0] = 77, *n.count = 4;
    const bool loaded = gr_state_load(t, n.root, path, NULL);
    if (saved) assert_true(*n.count == (loaded ? 3 : 4) && (n.fc->bias->data[0] == 77) != loaded);
    gr_module_free(n.root);
    return loaded;
}
TEST(every_allocation_may_fail)
{
    fail_every_allocation(save_and_load, NULL);
}

TEST(a_read_that_fails_changes_no_weight)
{
    for (int at = 1, failed = 1; failed; at++) {
        gr_tape *t = gr_tape_new(1, NULL);
        net n = net_new(t);
        assert_true(gr_state_save(t, n.root, path, NULL));
        memset(n.fc->weight->data, 0, 6 * sizeof(gr_real));
        const uint64_t before = hash_net(&n);
        failing_files.calls = 0, failing_files.fail_at = at, failing_files.error = EIO;
        const bool loaded = gr_state_load(t, n.root, path, NULL);
        failed = failing_files.calls >= at, failing_files.fail_at = 0;
        assert_int_equal(loaded, !failed);
        assert_true((hash_net(&n) == before) == !loaded);
        gr_module_free(n.root);
        gr_tape_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_saved_state_is_loaded_again),
        cmocka_unit_test(a_part_of_a_tree_is_saved_under_its_own_names),
        cmocka_unit_test(one_report_lists_everything_that_does_not_fit),
        cmocka_unit_test(a_long_report_ends_with_the_number_of_omitted_entries),
        cmocka_unit_test(other_floating_types_are_converted),
        cmocka_unit_test(tied_names_may_all_be_there_if_they_agree),
        cmocka_unit_test(a_missing_path_or_module_is_an_error),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_read_that_fails_changes_no_weight),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
