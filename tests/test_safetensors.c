/* tests/test_safetensors.c - reading files of named tensors, and the messages about files that are refused. */
#include "tests/failing.h"
#include <fcntl.h>
#include <sys/stat.h>

#define GOLDEN "tests/golden/types.safetensors"

/* A file in memory: 8 bytes of length, the header, and n bytes of data 0, 1, 2, ... */
static gr_safetensors *parse(gr_tape *t, const char *header, size_t n)
{
    const size_t length = strlen(header);
    unsigned char *bytes = calloc(8 + length + n + 1, 1);
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(length >> 8 * i);
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < n; i++) bytes[8 + length + i] = (unsigned char)i;
    gr_safetensors *f = open_bytes(t, bytes, 8 + length + n);
    free(bytes);
    return f;
}

static void assert_refused(const char *header, size_t n, const char *message)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_null(parse(t, header, n));
    assert_string_equal(gr_message(t) + strlen(test_folder) + 1, message);
    assert_int_equal(gr_error_code(t), GR_BAD_FILE);
    gr_tape_free(t);
}

#define T4 "\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]"

/* ---- Reading ---- */

static const gr_real values[] = { 0, -0.0f, 1, -2.5f, 65504, (gr_real)6e-8 };

static void assert_entry(const gr_safetensors *f, const char *name, gr_dtype dtype, size_t len, double tolerance)
{
    gr_real out[8];
    const gr_safetensors_entry *e = gr_safetensors_find(f, name);
    assert_non_null(e);
    assert_int_equal(e->dtype, dtype);
    assert_int_equal(e->len, len);
    gr_safetensors_reals(e, out);
    for (size_t i = 0; i < len; i++)
        if (fabs((double)out[i] - (double)values[i]) > tolerance * fabs((double)values[i])) fail_msg("%s: value %zu is %g", name, i, (double)out[i]);
}

TEST(reads_every_type_that_the_python_package_wrote)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_safetensors *f = gr_safetensors_open(t, GOLDEN);
    assert_ok(t);
    assert_int_equal(f->count, 11);
    assert_entry(f, "f64", GR_F64, 6, 6e-8);
    assert_entry(f, "f32", GR_F32, 6, 6e-8);
    assert_entry(f, "f16", GR_F16, 6, 7e-3); /* 6e-8 is one unit of the last place */
    assert_entry(f, "bf16", GR_BF16, 6, 4e-3);
    int64_t whole[3];
    gr_safetensors_integers(gr_safetensors_find(f, "i64"), whole);
    assert_true(whole[0] == 1 && whole[1] == -2 && whole[2] == (int64_t)1 << 40);
    gr_safetensors_integers(gr_safetensors_find(f, "i32"), whole);
    assert_true(whole[0] == 7 && whole[1] == -8);
    gr_real x[5];
    gr_safetensors_reals(gr_safetensors_find(f, "i32"), x);
    assert_true(x[0] == 7 && x[1] == -8);
    gr_safetensors_reals(gr_safetensors_find(f, "f16.special"), x);
    assert_true(x[0] == (gr_real)HUGE_VAL && x[1] == -(gr_real)HUGE_VAL && isnan(x[2]) && x[3] == (gr_real)0x1p-24 && x[4] == (gr_real)-0x1p-14);
    gr_safetensors_reals(gr_safetensors_find(f, "bf16.special"), x);
    assert_true(x[0] == (gr_real)HUGE_VAL && x[1] == -(gr_real)HUGE_VAL && isnan(x[2]) && x[3] == (gr_real)0x1p-133 && x[4] > (gr_real)3.38e38);
    assert_int_equal(gr_safetensors_find(f, "scalar")->shape.rank, 0);
    assert_int_equal(gr_safetensors_find(f, "empty")->len, 0);
    assert_int_equal(gr_safetensors_find(f, "näme \"quoted\"")->shape.rank, 3);
    assert_string_equal(gr_safetensors_note_of(f, "written by"), "the Python package ✓");
    assert_null(gr_safetensors_find(f, "F64"));
    assert_null(gr_safetensors_note_of(f, "format"));
    gr_safetensors_free(f);
    gr_tape_free(t);
}

TEST(names_may_contain_escapes)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_safetensors *f = parse(t, "{ \"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\\"\\\\\\/\\b\\f\\n\\r\\t\" : {" T4 "} }\n\t\r ", 4);
    assert_ok(t);
    assert_string_equal(f->entry[0].name, "Aé€😀\"\\/\b\f\n\r\t");
    gr_safetensors_free(f);
    gr_tape_free(t);
}

TEST(a_file_without_tensors_is_valid)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_safetensors *f = parse(t, "{}", 0);
    assert_ok(t);
    assert_int_equal(f->count, 0);
    assert_null(gr_safetensors_find(f, "x"));
    gr_safetensors_free(f);
    gr_tape_free(t);
}

/* ---- What is refused ---- */

TEST(invalid_json_is_refused_with_its_place)
{
    assert_refused("", 0, "x: header byte 0: a header must begin with '{'");
    assert_refused(" {}", 0, "x: header byte 0: a header must begin with '{'");
    assert_refused("{", 0, "x: header byte 1: expected a string");
    assert_refused("{\"a\"}", 0, "x: header byte 4: expected ':'");
    assert_refused("{\"a\":{" T4 "}", 4, "x: header byte 53: expected ',' or '}'");
    assert_refused("{\"a\":{" T4 "},}", 4, "x: header byte 54: expected a string");
    assert_refused("{\"a\":{" T4 "}}x", 4, "x: header byte 54: something follows the header's last '}'");
    assert_refused("{\"a", 0, "x: header byte 3: the header ends inside a string");
    assert_refused("{\"\xff\":1}", 0, "x: header byte 2: a string holds a byte that is neither UTF-8 text nor an escape");
    assert_refused("{\"\xed\xa0\x80\":1}", 0, "x: header byte 2: a string holds a byte that is neither UTF-8 text nor an escape");
    assert_refused("{\"\xc0\x80\":1}", 0, "x: header byte 2: a string holds a byte that is neither UTF-8 text nor an escape");
    assert_refused("{\"a\nb\":1}", 0, "x: header byte 3: a string holds a byte that is neither UTF-8 text nor an escape");
    assert_refused("{\"\\x\":1}", 0, "x: header byte 3: a bad escape");
    assert_refused("{\"\\u0000\":1}", 0, "x: header byte 8: a bad \\u escape");
    assert_refused("{\"\\udc00\":1}", 0, "x: header byte 8: a bad \\u escape");
    assert_refused("{\"\\ud800x\":1}", 0, "x: header byte 8: a bad \\u escape");
    assert_refused("{\"a\":[]}", 0, "x: header byte 5: expected '{': dtype, shape and data_offsets of a tensor");
    assert_refused("{\"__metadata__\":[]}", 0, "x: header byte 16: expected '{': __metadata__ holds strings");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":1}}", 0, "x: header byte 28: expected a list of numbers");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1]}}", 0, "x: header byte 29: expected a whole number, 0 or more");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5]}}", 0, "x: header byte 30: expected ',' or ']'");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[01]}}", 0, "x: header byte 31: a number with leading zeros");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[18446744073709551616]}}", 0, "x: header byte 48: a number too large");
}

TEST(json_that_is_nested_too_deep_is_refused)
{
    assert_refused("{\"a\":{\"dtype\":{}}}", 0, "x: header byte 14: nested deeper than 2");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[[1]]}}", 0, "x: header byte 29: nested deeper than 2");
    assert_refused("{\"__metadata__\":{\"a\":[]}}", 0, "x: header byte 21: nested deeper than 2");
}

TEST(inconsistent_entries_are_refused)
{
    assert_refused("{\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
                   "x: 'a' is of type BOOL; F64, F32, F16, BF16, I64 and I32 can be read");
    assert_refused("{\"a\":{}}", 0, "x: header byte 7: a tensor must have dtype, shape and data_offsets, each once");
    assert_refused("{\"a\":{" T4 ",\"dtype\":\"F32\"}}", 4, "x: header byte 61: a tensor must have dtype, shape and data_offsets, each once");
    assert_refused("{\"a\":{" T4 ",\"kind\":1}}", 4, "x: header byte 60: a tensor must have dtype, shape and data_offsets, each once");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "x: header byte 50: data_offsets must be two numbers");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
                   "x: header byte 45: too many numbers in a list (a shape has at most 8, data_offsets 2)");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, "x: 'a': its type and shape do not fill its bytes 0 .. 4");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "x: 'a': its type and shape do not fill its bytes 4 .. 0");
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,16],\"data_offsets\":[0,0]}}", 0,
                   "x: 'a': its type and shape do not fill its bytes 0 .. 0");
    assert_refused("{\"a\":{" T4 "},\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "x: 'a' appears twice");
    assert_refused("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "x: 'a' appears twice in __metadata__");
    assert_refused("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "x: header byte 34: __metadata__ appears twice");
}

TEST(holes_and_overlaps_are_refused)
{
    assert_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "x: 'a' begins at byte 4, but the data before it ends at 0");
    assert_refused("{\"a\":{" T4 "},\"b\":{" T4 "}}", 4, "x: 'b' begins at byte 0, but the data before it ends at 4");
    assert_refused("{\"a\":{" T4 "}}", 5, "x: the header describes 4 bytes of data, but 5 follow it");
    assert_refused("{\"a\":{" T4 "}}", 3, "x: the header describes 4 bytes of data, but 3 follow it");
    assert_refused("{\"a\":{\"dtype\":\"I64\",\"shape\":[1152921504606846976],\"data_offsets\":[0,9223372036854775808]}}", 8,
                   "x: the header describes 9223372036854775808 bytes of data, but 8 follow it");
}

TEST(impossible_lengths_are_refused_before_any_allocation)
{
    gr_tape *t = gr_tape_new(1, NULL);
    assert_null(open_bytes(t, "1234567", 7));
    assert_string_equal(gr_message(t) + strlen(test_folder), "/x: 7 bytes are not a safetensors file");
    gr_tape_recover(t);
    assert_null(open_bytes(t, "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10));
    assert_string_equal(gr_message(t) + strlen(test_folder), "/x: is not a safetensors file, or it is damaged: its header should be "
                                                             "18446744073709551615 bytes long, but the file is shorter");
    const int fd = open(in_folder("sparse"), O_CREAT | O_RDWR, 0600); /* a sparse file of 101 MB */
    assert_int_equal(ftruncate(fd, 101000008), 0);
    assert_int_equal(pwrite(fd, "\x40\x23\x05\x06", 4, 0), 4);
    close(fd);
    failing_memory memory = { 0 };
    const gr_allocator allocator = { failing_alloc, failing_release, &memory };
    gr_tape *counted = gr_tape_new(1, (&(gr_tape_config){ .allocator = &allocator }));
    const size_t before = memory.calls;
    assert_null(gr_safetensors_open(counted, in_folder("sparse")));
    char message[800];
    snprintf(message, sizeof message, "%s: is not a safetensors file, or it is damaged: its header should be 101000000 bytes long, but at most 100000000 are "
                                      "read", in_folder("sparse"));
    assert_message(counted, message);
    assert_int_equal(memory.calls, before);
    gr_tape_free(counted);
    unlink(in_folder("sparse"));
    gr_tape_free(t);
}

/* The beginning of a zip archive, of the pickle that old versions of PyTorch wrote, and of an array. */
TEST(a_file_of_torch_save_or_numpy_save_is_recognized)
{
    static const char zip[] = "PK\3\4\0\0\x08\x08\0\0\0\0archive/data.pkl", pickle[] = "\x80\x02\x8a\x0al\xfc\x9c" "F\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.";
    gr_tape *t = gr_tape_new(1, NULL);
    for (int old = 0; old < 2; old++) {
        assert_null(open_bytes(t, old ? pickle : zip, old ? sizeof pickle : sizeof zip));
        assert_string_equal(gr_message(t) + strlen(test_folder), "/x: this is a torch.save file; write it with safetensors.torch.save_file");
        assert_int_equal(gr_error_code(t), GR_BAD_FILE);
        gr_tape_recover(t);
    }
    static const char npy[] = "\x93NUMPY\1\0\x76\0{'descr': '<f4'";
    assert_null(open_bytes(t, npy, sizeof npy));
    assert_string_equal(gr_message(t) + strlen(test_folder), "/x: this is a file of numpy.save; gr_npy_read reads it");
    assert_int_equal(gr_error_code(t), GR_BAD_FILE);
    gr_tape_free(t);
}

TEST(null_is_an_error_or_is_ignored)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_safetensors *f = parse(t, "{\"__metadata__\":{\"k\":\"v\"},\"a\":{" T4 "}}", 4);
    assert_ok(t);
    assert_null(gr_safetensors_find(f, NULL));
    assert_null(gr_safetensors_note_of(f, NULL));
    assert_null(gr_safetensors_find(NULL, "a"));
    assert_null(gr_safetensors_note_of(NULL, "k"));
    gr_real x = 5;
    int64_t i = 6;
    gr_safetensors_reals(NULL, &x), gr_safetensors_reals(&f->entry[0], NULL);
    gr_safetensors_integers(NULL, &i), gr_safetensors_integers(&f->entry[0], NULL);
    assert_true(x == 5 && i == 6);
    gr_safetensors_free(f);
    gr_tape_free(t);
}

TEST(truncated_files_and_changed_bytes_are_read_safely)
{
    size_t n;
    unsigned char *bytes = file_bytes(GOLDEN, &n);
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t length = 0; length < n; length++) {
        assert_null(open_bytes(t, bytes, length));
        gr_tape_recover(t);
    }
    for (size_t at = 0; at < n; at++)
        for (int k = 0; k < 4; k++) {
            const unsigned char old = bytes[at];
            bytes[at] ^= (unsigned char[]){ 1, 2, 16, 128 }[k];
            gr_safetensors *f = open_bytes(t, bytes, n);
            assert_true(f || gr_error_code(t) == GR_BAD_FILE);
            gr_safetensors_free(f);
            gr_tape_recover(t);
            bytes[at] = old;
        }
    free(bytes);
    gr_tape_free(t);
}

TEST(a_path_that_is_not_a_regular_file_is_an_error)
{
    gr_tape *t = gr_tape_new(1, NULL);
    char message[600];
    assert_null(gr_safetensors_open(t, in_folder("none")));
    snprintf(message, sizeof message, "cannot open '%s': No such file or directory", in_folder("none"));
    assert_message(t, message);
    assert_int_equal(gr_error_code(t), GR_IO_FAILED);
    gr_tape_recover(t);
    assert_null(gr_safetensors_open(t, test_folder));
    snprintf(message, sizeof message, "cannot read '%s': it is not a regular file", test_folder);
    assert_message(t, message);
    gr_tape_recover(t);
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    assert_null(gr_safetensors_open(t, in_folder("fifo")));
    gr_tape_recover(t);
    assert_false(gr_safetensors_write(t, in_folder("fifo"), NULL, 0, NULL));
    snprintf(message, sizeof message, "cannot write '%s': it is not a regular file", in_folder("fifo"));
    assert_message(t, message);
    gr_tape_recover(t);
    unlink(in_folder("fifo"));
    assert_null(gr_safetensors_open(t, NULL));
    assert_message(t, "the path of a file to read is NULL");
    assert_null(gr_safetensors_open(t, GOLDEN)); /* a tape in error does nothing */
    assert_null(gr_safetensors_open(NULL, GOLDEN));
    assert_false(gr_safetensors_write(NULL, in_folder("none"), NULL, 0, NULL));
    gr_safetensors_free(NULL);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_type_that_the_python_package_wrote),
        cmocka_unit_test(names_may_contain_escapes),
        cmocka_unit_test(a_file_without_tensors_is_valid),
        cmocka_unit_test(invalid_json_is_refused_with_its_place),
        cmocka_unit_test(json_that_is_nested_too_deep_is_refused),
        cmocka_unit_test(inconsistent_entries_are_refused),
        cmocka_unit_test(holes_and_overlaps_are_refused),
        cmocka_unit_test(impossible_lengths_are_refused_before_any_allocation),
        cmocka_unit_test(a_file_of_torch_save_or_numpy_save_is_recognized),
        cmocka_unit_test(null_is_an_error_or_is_ignored),
        cmocka_unit_test(truncated_files_and_changed_bytes_are_read_safely),
        cmocka_unit_test(a_path_that_is_not_a_regular_file_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
