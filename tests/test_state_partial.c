/* tests/test_state_partial.c - gr_state_load with a config: a part of a file, other prefixes, a report; and files in memory. */
#include "tests/one_file.h"

static const gr_real numbers[] = { 1, 2, 3, 4, 5, 6, 7 };
static const int64_t whole = 9;
static void write_items(gr_tape *t, const gr_safetensors_item *item, size_t n) { assert_true(gr_safetensors_write(t, path, item, n, NULL)); }

/* Parameters body.weight [3, 2], body.bias [3], head.weight [2, 3], head.bias [2], all 0, and a counter. */
typedef struct { gr_module *root; gr_linear_module *body, *head; int64_t *count; } net;
static net net_new(gr_tape *t)
{
    net n = { .root = gr_module_new(t) };
    n.body = gr_linear_new(t, n.root, "body", 2, 3, NULL), n.head = gr_linear_new(t, n.root, "head", 3, 2, NULL);
    n.count = gr_counter(t, n.root, "count");
    for (gr_slot *s = gr_slot_first(n.root); s; s = gr_slot_next(n.root, s))
        if (s->tensor) memset(s->tensor->data, 0, s->tensor->len * sizeof(gr_real));
    return n;
}

static void assert_names(const gr_state_names *got, size_t n, const char *const *want)
{
    assert_int_equal(got->count, n);
    for (size_t i = 0; i < n; i++) assert_string_equal(got->name[i], want[i]);
}
#define NAMES(...) sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *), (const char *[]){ __VA_ARGS__ }
#define NONE 0, NULL

TEST(what_fits_is_loaded_and_the_report_has_every_name)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net n = net_new(t);
    write_items(t, (gr_safetensors_item[]){ { "body.weight", GR_REAL_DTYPE, GR_SHAPE(3, 2), numbers }, { "body.gain", GR_REAL_DTYPE, GR_SHAPE(3), numbers },
                                            { "head.weight", GR_REAL_DTYPE, GR_SHAPE(1, 3), numbers }, { "count", GR_I64, GR_SCALAR, &whole },
                                            { "head.bias", GR_I64, GR_SHAPE(1), &whole } }, 5);
    gr_state_report r;
    assert_false(gr_state_load(t, n.root, path, NULL)); /* without a config all must fit */
    gr_tape_recover(t);
    assert_true(n.body->weight->data[0] == 0 && *n.count == 0);
    assert_true(gr_state_load(t, n.root, path, &(gr_state_config){ .partial = true, .report = &r }));
    gr_zeros(t, GR_SHAPE(4096)); /* takes no memory of the report */
    assert_values(n.body->weight, 0, 1, 2, 3, 4, 5, 6);
    assert_values(n.head->weight, 0, 0, 0, 0, 0, 0, 0); /* the rest keeps its values */
    assert_values(n.head->bias, 0, 0, 0);
    assert_int_equal(*n.count, 9);
    assert_names(&r.loaded, NAMES("count", "body.weight"));
    assert_names(&r.missing, NAMES("body.bias"));
    assert_names(&r.misfit, NAMES("head.weight", "head.bias"));
    assert_names(&r.left_over, NAMES("body.gain"));
    gr_module_free(n.root);
    gr_tape_free(t);
}

TEST(a_whole_load_reports_everything_as_loaded)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net n = net_new(t);
    gr_state_report r;
    assert_true(gr_state_save(t, n.root, path, NULL));
    assert_true(gr_state_load(t, n.root, path, &(gr_state_config){ .report = &r }));
    assert_names(&r.loaded, NAMES("count", "body.weight", "body.bias", "head.weight", "head.bias"));
    assert_names(&r.missing, NONE), assert_names(&r.misfit, NONE), assert_names(&r.left_over, NONE);
    const size_t before = gr_tape_bytes(t);
    gr_tape_reset(t);
    for (int i = 0; i < 50; i++) assert_true(gr_state_load(t, n.root, path, NULL)); /* without a report nothing stays on the tape */
    assert_true(gr_tape_bytes(t) <= before);
    gr_module_free(n.root);
    gr_tape_free(t);
}

/* gr_tape_recover must not put back what an operator noted before the load. */
TEST(recover_does_not_undo_a_load)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net n = net_new(t);
    write_items(t, (gr_safetensors_item[]){ { "body.bias", GR_REAL_DTYPE, GR_SHAPE(3), numbers } }, 1);
    gr_undo_note(t, n.body->bias->data, 3 * sizeof(gr_real));
    assert_true(gr_state_load(t, n.root, path, &(gr_state_config){ .partial = true }));
    gr_tape_recover(t);
    assert_values(n.body->bias, 0, 1, 2, 3);
    gr_module_free(n.root);
    gr_tape_free(t);
}

TEST(a_prefix_is_removed_or_added)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net n = net_new(t);
    gr_state_report r;
    const gr_safetensors_item all[] = { { "module.fc.weight", GR_REAL_DTYPE, GR_SHAPE(3, 2), numbers },
                                        { "module.fc.bias", GR_REAL_DTYPE, GR_SHAPE(3), numbers },
                                        { "fc.weight", GR_REAL_DTYPE, GR_SHAPE(3, 2), numbers + 1 } };
    gr_module *other = gr_module_new(t);
    gr_linear_module *fc = gr_linear_new(t, other, "fc", 2, 3, NULL);
    write_items(t, all, 2);
    assert_true(gr_state_load(t, other, path, &(gr_state_config){ .strip = "module.", .report = &r }));
    assert_values(fc->weight, 0, 1, 2, 3, 4, 5, 6);
    assert_names(&r.loaded, NAMES("fc.weight", "fc.bias"));
    assert_true(gr_state_load(t, &fc->module, path, &(gr_state_config){ .strip = "module.fc." }));
    assert_true(gr_state_load(t, n.root, path, &(gr_state_config){ .partial = true, .strip = "module.fc.", .add = "body.", .report = &r }));
    assert_names(&r.loaded, NAMES("body.weight", "body.bias"));
    assert_names(&r.missing, NAMES("count", "head.weight", "head.bias"));
    assert_values(n.body->bias, 0, 1, 2, 3);
    write_items(t, all, 3); /* a name without the prefix is left over, even where it would fit */
    assert_true(gr_state_load(t, other, path, &(gr_state_config){ .partial = true, .strip = "module.", .report = &r }));
    assert_names(&r.left_over, NAMES("fc.weight"));
    assert_values(fc->weight, 0, 1, 2, 3, 4, 5, 6);
    char message[700];
    snprintf(message, sizeof message, "%s: does not fit the module: fc.weight [3, 2] is left over", path);
    assert_fails(t, gr_state_load(t, other, path, &(gr_state_config){ .strip = "module." }), message);
    snprintf(message, sizeof message, "%s: does not fit the module: fc.bias [3] is missing; module.fc.bias [3] is left over; "
                                      "module.fc.weight [3, 2] is left over", path);
    assert_fails(t, gr_state_load(t, other, path, NULL), message);
    const gr_state_config none[] = { { .strip = "model." }, { .strip = "model.", .partial = true }, { .add = "body." } };
    for (size_t k = 0; k < COUNT(none); k++) {
        snprintf(message, sizeof message, "%s: nothing fits the module by name (strip '%s', add '%s'), shape and type: the file has fc.weight, and the "
                                          "module fc.weight", path, none[k].strip ? none[k].strip : "", none[k].add ? none[k].add : "");
        assert_fails(t, gr_state_load(t, other, path, &none[k]), message);
    }
    gr_module_free(other), gr_module_free(n.root);
    gr_tape_free(t);
}

TEST(a_partial_load_of_nothing_is_an_error)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net n = net_new(t);
    char message[700];
    const gr_state_config partial = { .partial = true };
    write_items(t, (gr_safetensors_item[]){ { "module.body.weight", GR_REAL_DTYPE, GR_SHAPE(3, 2), numbers } }, 1);
    snprintf(message, sizeof message, "%s: nothing fits the module by name (strip '', add ''), shape and type: the file has module.body.weight, and the module count", path);
    assert_fails(t, gr_state_load(t, n.root, path, &partial), message);
    write_items(t, NULL, 0);
    snprintf(message, sizeof message, "%s: nothing fits the module by name (strip '', add ''), shape and type: the file has nothing, and the module count", path);
    assert_fails(t, gr_state_load(t, n.root, path, &partial), message);
    gr_module *empty = gr_module_new(t);
    snprintf(message, sizeof message, "%s: nothing fits the module by name (strip '', add ''), shape and type: the file has nothing, and the module nothing", path);
    assert_fails(t, gr_state_load(t, empty, path, &partial), message);
    gr_module_free(empty), gr_module_free(n.root);
    gr_tape_free(t);
}

/* Of tied names one is enough, in a partial load too. */
TEST(tied_parameters_are_loaded_once)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *m = gr_module_new(t);
    gr_embedding_module *token = gr_embedding_new(t, m, "token", 3, 2, NULL);
    gr_linear_new(t, m, "head", 2, 3, &(gr_linear_config){ .weight = token->weight, .no_bias = true });
    gr_state_report r;
    const gr_state_config partial = { .partial = true, .report = &r };
    const gr_safetensors_item head = { "head.weight", GR_REAL_DTYPE, GR_SHAPE(3, 2), numbers };
    gr_safetensors_item both[] = { head, { "token.weight", GR_REAL_DTYPE, GR_SHAPE(3, 2), numbers } };
    write_items(t, &head, 1);
    assert_true(gr_state_load(t, m, path, &partial));
    assert_values(token->weight, 0, 1, 2, 3, 4, 5, 6);
    assert_names(&r.loaded, NAMES("token.weight"));
    assert_names(&r.missing, NONE), assert_names(&r.left_over, NONE);
    write_items(t, both, 2);
    assert_true(gr_state_load(t, m, path, &partial));
    both[1].data = &(const gr_real[]){ 6, 5, 4, 3, 2, 1 };
    write_items(t, both, 2);
    assert_true(gr_state_load(t, m, path, &partial)); /* the name that gr_state_save writes is loaded, */
    assert_values(token->weight, 0, 6, 5, 4, 3, 2, 1);
    assert_names(&r.loaded, NAMES("token.weight"));
    assert_names(&r.misfit, NAMES("head.weight"));
    char message[700]; /* and of a whole load both must be the same */
    snprintf(message, sizeof message, "%s: does not fit the module: token.weight and head.weight are tied, but differ", path);
    assert_fails(t, gr_state_load(t, m, path, NULL), message);
    both[0] = (gr_safetensors_item){ "head.weight", GR_REAL_DTYPE, GR_SHAPE(2, 3), both[1].data }; /* the same bytes in another shape */
    write_items(t, both, 2);
    assert_fails(t, gr_state_load(t, m, path, NULL), message);
    gr_module_free(m);
    gr_tape_free(t);
}

TEST(the_weights_of_a_checkpoint_are_loaded_in_part)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net n = net_new(t), m = net_new(t);
    n.body->bias->data[1] = 7;
    gr_tape_stream(t, "s");
    assert_true(gr_checkpoint_save(t, n.root, NULL, path, NULL, 0));
    gr_state_report r;
    assert_true(gr_state_load(t, &m.body->module, path, &(gr_state_config){ .partial = true, .strip = "body.", .report = &r }));
    assert_values(m.body->bias, 0, 0, 7, 0);
    assert_names(&r.left_over, NAMES("count", "head.bias", "head.weight")); /* the stream is no part of a module */
    gr_module_free(n.root), gr_module_free(m.root);
    gr_tape_free(t);
}

/* ---- Files in memory ---- */

TEST(a_file_in_memory_is_loaded_like_a_file)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net n = net_new(t), m = net_new(t);
    *n.count = 5, n.head->bias->data[1] = 3;
    assert_true(gr_state_save(t, n.root, path, (const char *[]){ "lesson", "3", NULL }));
    size_t length;
    unsigned char *const bytes = file_bytes(path, &length);
    assert_true(gr_state_load_memory(t, m.root, bytes, length, NULL));
    assert_int_equal(*m.count, 5);
    assert_values(m.head->bias, 0, 0, 3);
    gr_safetensors *const f = gr_safetensors_open_memory(t, bytes, length);
    assert_int_equal(f->count, 5);
    assert_string_equal(gr_safetensors_note_of(f, "lesson"), "3");
    gr_safetensors_free(f);
    assert_true(gr_state_load_memory(t, &m.head->module, bytes, length, &(gr_state_config){ .partial = true, .strip = "head." }));

    assert_fails(t, gr_state_load_memory(t, NULL, bytes, length, NULL), "state_load_memory: the module is NULL");
    assert_fails(t, gr_state_load_memory(t, m.root, NULL, length, NULL), "state_load_memory: bytes is NULL");
    assert_fails(t, gr_state_load_memory(t, m.root, bytes, 5, NULL), "memory: 5 bytes are not a safetensors file");
    assert_true(!gr_safetensors_open_memory(NULL, bytes, length) && !gr_state_load_memory(NULL, m.root, bytes, length, NULL));
    char message[200];
    unsigned long long header;
    memcpy(&header, bytes, sizeof header);
    snprintf(message, sizeof message, "memory: is not a safetensors file, or it is damaged: its header should be %llu bytes long, but the file is "
                                      "shorter", header);
    assert_fails(t, gr_safetensors_open_memory(t, bytes, 20), message);
    for (size_t n_bytes = 0; n_bytes < length; n_bytes++) { /* nothing is read beyond the end: an allocation of that size, for AddressSanitizer */
        unsigned char *const part = malloc(n_bytes + !n_bytes);
        memcpy(part, bytes, n_bytes);
        assert_null(gr_safetensors_open_memory(t, part, n_bytes));
        assert_int_equal(gr_error_code(t), GR_BAD_FILE);
        gr_tape_recover(t);
        free(part);
    }
    bytes[length - 1] ^= 1; /* the checksum finds it */
    assert_false(gr_state_load_memory(t, m.root, bytes, length, NULL));
    assert_non_null(strstr(gr_message(t), "memory: is damaged: its checksum is crc64:"));
    free(bytes);
    gr_module_free(n.root), gr_module_free(m.root);
    gr_tape_free(t);
}

static unsigned char *file_in_memory;
static size_t file_length;
static bool load_both(gr_tape *t, void *unused)
{
    (void)unused;
    gr_state_report r;
    gr_module *const root = gr_module_new(t);
    gr_linear_new(t, root, "body", 2, 3, NULL);
    const gr_state_config config = { .partial = true, .report = &r };
    const bool well = gr_state_load(t, root, path, &config) && r.left_over.count == 3 && gr_state_load_memory(t, root, file_in_memory, file_length, &config);
    gr_module_free(root);
    return well;
}
TEST(every_allocation_may_fail)
{
    gr_tape *t = gr_tape_new(1, NULL);
    net n = net_new(t);
    assert_true(gr_state_save(t, n.root, path, NULL));
    file_in_memory = file_bytes(path, &file_length);
    gr_module_free(n.root);
    gr_tape_free(t);
    fail_every_allocation(load_both, NULL);
    free(file_in_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_loaded_and_the_report_has_every_name),
        cmocka_unit_test(a_whole_load_reports_everything_as_loaded),
        cmocka_unit_test(recover_does_not_undo_a_load),
        cmocka_unit_test(a_prefix_is_removed_or_added),
        cmocka_unit_test(a_partial_load_of_nothing_is_an_error),
        cmocka_unit_test(tied_parameters_are_loaded_once),
        cmocka_unit_test(the_weights_of_a_checkpoint_are_loaded_in_part),
        cmocka_unit_test(a_file_in_memory_is_loaded_like_a_file),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
