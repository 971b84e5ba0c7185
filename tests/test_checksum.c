/* tests/test_checksum.c - a flipped bit anywhere in a file that gradus wrote is detected; files of other programs load without a
 * checksum. */
#include "core/io/checksum.h"
#include "tests/failing.h"

static uint64_t checksum_of(const void *p, size_t n, size_t portion)
{
    gr__checksum c;
    gr__checksum_start(&c);
    for (size_t at = 0; at < n; at += portion) gr__checksum_add(&c, (const char *)p + at, n - at < portion ? n - at : portion);
    return gr__checksum_value(&c);
}

/* The first is the check value in the catalogue of CRC algorithms; the others are the Check fields that xz 5 wrote for these contents. */
TEST(the_checksum_is_the_crc64_of_xz)
{
    unsigned char bytes[1000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 7 + i / 256);
    for (size_t portion = 1; portion < 40; portion++) {
        assert_true(checksum_of("123456789", 9, portion) == UINT64_C(0x995dc9bbdf1939fa));
        assert_true(checksum_of(bytes, 1000, portion) == UINT64_C(0x4efaf5f9b022e1ba));
        assert_true(checksum_of("gradus", 6, portion) == UINT64_C(0x05b41af5decb7f78));
    }
    assert_true(checksum_of("", 0, 1) == 0);
}

TEST(a_checksum_is_a_name_and_16_lower_case_hexadecimal_digits)
{
    static const char *const other[] = { "crc64:0123456789abcdeg", "crc64:0123456789ABCDEF", "crc64:0123456789abcde", "crc64:0123456789abcdef0",
                                         "crc32:0123456789abcdef", "" };
    assert_true(gr__checksum_is_text("crc64:0123456789abcdef", 22));
    for (size_t i = 0; i < COUNT(other); i++) assert_false(gr__checksum_is_text(other[i], strlen(other[i])));
}

/* ---- Files ---- */

typedef struct { gr_module *m; gr_optim *o; } net;
static net net_new(gr_tape *t)
{
    net n = { .m = gr_module_new(t) };
    gr_linear_new(t, n.m, "fc", 2, 3, NULL), gr_batch_norm_new(t, n.m, "bn", 3, NULL);
    n.o = gr_adam_new(t, n.m, NULL);
    return n;
}
static void net_free(net n)
{
    gr_optim_free(n.o);
    gr_module_free(n.m);
}

static bool same_file(const gr_safetensors *a, const gr_safetensors *b)
{
    bool same = a->count == b->count && a->notes == b->notes && a->data_bytes == b->data_bytes && !memcmp(a->data, b->data, a->data_bytes);
    for (size_t i = 0; same && i < a->count; i++)
        same = !strcmp(a->entry[i].name, b->entry[i].name) && a->entry[i].dtype == b->entry[i].dtype && a->entry[i].offset == b->entry[i].offset &&
               !memcmp(&a->entry[i].shape, &b->entry[i].shape, sizeof a->entry[i].shape);
    for (size_t i = 0; same && i < a->notes; i++) same = !strcmp(a->note[i].key, b->note[i].key) && !strcmp(a->note[i].value, b->note[i].value);
    return same;
}

/* Flip each bit of the file in turn. */
static void assert_flips_are_found(const char *path)
{
    size_t n, refused = 0;
    unsigned char *bytes = file_bytes(path, &n);
    gr_tape *t = gr_tape_new(1, NULL);
    gr_safetensors *good = gr_safetensors_open(t, path);
    assert_ok(t);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        gr_safetensors *f = open_bytes(t, bytes, n);
        if (f && !same_file(f, good)) fail_msg("bit %zu of byte %zu flipped, and the file was accepted", bit % 8, bit / 8);
        if (!f) assert_int_equal(gr_error_code(t), GR_BAD_FILE), refused++;
        gr_safetensors_free(f);
        gr_tape_recover(t);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_int_equal(refused, 8 * n);
    gr_safetensors_free(good);
    gr_tape_free(t);
    free(bytes);
}

TEST(every_flipped_bit_is_detected)
{
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("flipped"));
    gr_tape *t = gr_tape_new(1, NULL);
    net n = net_new(t);
    gr_tape_stream(t, "noise")->counter = 12;
    gr_detach_keep(t, n.m, "h", gr_ones(t, GR_SHAPE(2)));
    assert_true(gr_state_save(t, n.m, path, (const char *[]){ "lesson", "3", NULL }));
    assert_flips_are_found(path);
    assert_true(gr_checkpoint_save(t, n.m, n.o, path, NULL, 0));
    assert_flips_are_found(path);
    unlink(path);
    net_free(n);
    gr_tape_free(t);
}

/* Both readers refuse a file whose bytes were changed. The message has %s for the path. */
static void assert_both_refuse(const char *path, const unsigned char *bytes, size_t n, const char *message)
{
    char full[700];
    FILE *f = fopen(path, "wb");
    fwrite(bytes, 1, n, f);
    fclose(f);
    gr_tape *t = gr_tape_new(1, NULL);
    net other = net_new(t);
    snprintf(full, sizeof full, message, path);
    assert_false(gr_checkpoint_load(t, other.m, other.o, path, NULL, 0));
    assert_message(t, full);
    assert_int_equal(gr_error_code(t), GR_BAD_FILE);
    gr_tape_recover(t);
    assert_false(gr_state_load(t, other.m, path, NULL));
    assert_message(t, full);
    net_free(other);
    gr_tape_free(t);
}

static unsigned char *find(unsigned char *bytes, size_t n, const char *text)
{
    for (size_t i = 0; i + strlen(text) <= n; i++)
        if (!memcmp(bytes + i, text, strlen(text))) return bytes + i;
    fail_msg("the file does not hold '%s'", text);
    return NULL;
}

TEST(a_damaged_file_says_so)
{
    char path[512], message[200], was[32] = "", is[32];
    snprintf(path, sizeof path, "%s", in_folder("damaged"));
    gr_tape *t = gr_tape_new(1, NULL);
    net saved = net_new(t);
    assert_true(gr_checkpoint_save(t, saved.m, saved.o, path, NULL, 0));
    size_t n;
    unsigned char *bytes = file_bytes(path, &n), *const digits = find(bytes, n, "crc64:");
    memcpy(was, digits, 22);
    bytes[n - 3] ^= 4; /* data */
    memset(digits + 6, '0', 16);
    snprintf(is, sizeof is, "crc64:%016llx", (unsigned long long)checksum_of(bytes, n, n));
    memcpy(digits, was, 22);
    snprintf(message, sizeof message, "%%s: is damaged: its checksum is %s and should be %s", is, was);
    assert_both_refuse(path, bytes, n, message);
    bytes[n - 3] ^= 4;
    find(bytes, n, "\"checksum\"")[1] ^= 1;
    assert_both_refuse(path, bytes, n, "%s: is a 'gradus checkpoint 2' without a checksum: it is damaged, or written by an older version of gradus");
    find(bytes, n, "\"bhecksum\"")[1] ^= 1;
    find(bytes, n, "crc64:")[3] ^= 1;
    assert_both_refuse(path, bytes, n, "%s: is a 'gradus checkpoint 2' without a checksum: it is damaged, or written by an older version of gradus");
    free(bytes);
    unlink(path);
    net_free(saved);
    gr_tape_free(t);
}

/* A checkpoint of an older version has no checksum and cannot be told from a damaged one. */
TEST(a_checkpoint_of_an_older_version_is_refused)
{
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("older"));
    gr_tape *t = gr_tape_new(1, NULL);
    assert_true(gr_safetensors_write(t, path, NULL, 0, (const char *[]){ "format", "gradus checkpoint 1", "seed", "1", "optimizer", "none", NULL }));
    size_t n;
    unsigned char *bytes = file_bytes(path, &n);
    assert_both_refuse(path, bytes, n, "%s: is a 'gradus checkpoint 1' without a checksum: it is damaged, or written by an older version of gradus");
    free(bytes);
    unlink(path);
    gr_tape_free(t);
}

TEST(files_of_other_programs_need_no_checksum)
{
    char path[512];
    const gr_real x[3] = { 1, 2, 3 };
    const gr_safetensors_item item = { "w", GR_REAL_DTYPE, GR_SHAPE(3), x };
    const char *const foreign[][5] = { { NULL }, { "format", "pt", NULL }, { "checksum", "crc64 is not used here", NULL }, { "format", "gradusish", NULL } };
    snprintf(path, sizeof path, "%s", in_folder("foreign"));
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *m = gr_module_new(t);
    gr_tensor *w = gr_param(t, m, "w", GR_SHAPE(3), gr_init_constant(0));
    for (size_t k = 0; k < COUNT(foreign); k++) {
        memset(w->data, 0, sizeof x);
        if (k == 2) { /* such a note, as another program may write it; our writer would put the checksum into it */
            assert_true(gr_safetensors_write(t, path, &item, 1, (const char *[]){ "checksuX", foreign[k][1], NULL }));
            size_t n;
            unsigned char *bytes = file_bytes(path, &n);
            *find(bytes, n, "X") = 'm';
            FILE *f = fopen(path, "wb");
            fwrite(bytes, 1, n, f);
            fclose(f);
            free(bytes);
        } else assert_true(gr_safetensors_write(t, path, &item, 1, foreign[k]));
        assert_true(gr_state_load(t, m, path, NULL));
        assert_same_bits(w->data, x, 3);
    }
    unlink(path);
    gr_module_free(m);
    gr_tape_free(t);
}

/* A program asks for a checksum with the note "checksum", whose value is not used. A format that begins with "gradus" makes it
 * mandatory. */
TEST(any_file_may_have_a_checksum)
{
    char path[512];
    const gr_real x[3] = { 1, 2, 3 };
    snprintf(path, sizeof path, "%s", in_folder("asked"));
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_safetensors_item item = { "w", GR_REAL_DTYPE, GR_SHAPE(3), x };
    for (int k = 0; k < 2; k++) {
        assert_true(gr_safetensors_write(t, path, &item, 1, (const char *[]){ "format", "gradus é", "checksum", k ? "crc64:0123456789abcdef" : "", "z", "", NULL }));
        assert_flips_are_found(path);
        gr_safetensors *f = gr_safetensors_open(t, path);
        assert_ok(t);
        assert_int_equal(strlen(gr_safetensors_note_of(f, "checksum")), 22);
        gr_safetensors_free(f);
    }
    unlink(path);
    gr_tape_free(t);
}

TEST(a_state_holds_the_notes_of_the_library_and_of_the_caller)
{
    char path[512], message[600];
    snprintf(path, sizeof path, "%s", in_folder("notes"));
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *m = gr_module_new(t);
    assert_true(gr_state_save(t, m, path, (const char *[]){ "lesson", "3", NULL }));
    gr_safetensors *f = gr_safetensors_open(t, path);
    assert_int_equal(f->notes, 3);
    assert_string_equal(gr_safetensors_note_of(f, "format"), "gradus state 1");
    assert_string_equal(gr_safetensors_note_of(f, "lesson"), "3");
    gr_safetensors_free(f);
    assert_false(gr_state_save(t, m, path, (const char *[]){ "format", "pt", NULL }));
    snprintf(message, sizeof message, "cannot write '%s': the note 'format' appears twice", path);
    assert_message(t, message);
    gr_tape_recover(t);
    assert_false(gr_state_save(t, m, path, (const char *[]){ "lesson", NULL }));
    snprintf(message, sizeof message, "cannot write '%s': the note 'lesson' has no value", path);
    assert_message(t, message);
    unlink(path);
    gr_module_free(m);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checksum_is_the_crc64_of_xz),
        cmocka_unit_test(a_checksum_is_a_name_and_16_lower_case_hexadecimal_digits),
        cmocka_unit_test(every_flipped_bit_is_detected),
        cmocka_unit_test(a_damaged_file_says_so),
        cmocka_unit_test(a_checkpoint_of_an_older_version_is_refused),
        cmocka_unit_test(files_of_other_programs_need_no_checksum),
        cmocka_unit_test(any_file_may_have_a_checksum),
        cmocka_unit_test(a_state_holds_the_notes_of_the_library_and_of_the_caller),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
