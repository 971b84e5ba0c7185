/* tests/test_messages.c - messages show text from files and paths with all control characters escaped. */
#include "tests/failing.h"

static void assert_shown(const char *text, const char *message)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_fail_as(t, GR_BAD_FILE, "", "%s", text);
    assert_message(t, message);
    gr_tape_free(t);
}

TEST(characters_that_control_a_terminal_are_escaped)
{
    assert_shown("\x1b]0;owned\x07\x1b[31m", "\\x1b]0;owned\\x07\\x1b[31m");
    assert_shown("a\nb\r\tc\x7f", "a\\x0ab\\x0d\\x09c\\x7f");
    assert_shown("\xc2\x9b" "31m \xc2\x85", "\\u009b31m \\u0085");                                   /* C1 control characters */
    assert_shown("\xe2\x80\xae" "cod.exe \xe2\x81\xa6 \xe2\x80\x8f \xd8\x9c", "\\u202ecod.exe \\u2066 \\u200f \\u061c"); /* text direction */
    assert_shown("\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029");                                      /* line separators */
    assert_shown("\xff\x80 \xc3", "\\xff\\x80 \\xc3");                                               /* invalid UTF-8 */
    assert_shown("\xed\xa0\x80", "\\xed\\xa0\\x80");
}

TEST(other_text_is_unchanged)
{
    assert_shown("", "");
    assert_shown("fc.weight \\u é € 😀 שלום \xc2\xa0 \xe2\x80\x8d", "fc.weight \\u é € 😀 שלום \xc2\xa0 \xe2\x80\x8d");
}

/* A message that is too long ends with a whole character or a whole escape. */
TEST(a_long_message_is_cut_between_characters)
{
    static const char *const unit[] = { "é", "€", "😀", "\x1b", "\xe2\x80\xae" };
    for (size_t k = 0; k < COUNT(unit); k++)
        for (size_t shift = 0; shift < 6; shift++) {
            char text[4096] = "";
            memset(text, 'x', shift);
            for (size_t n = shift; n + 8 < sizeof text; n += strlen(unit[k])) strcpy(text + n, unit[k]);
            gr_tape *t = gr_tape_new(1, NULL);
            gr_fail_as(t, GR_BAD_FILE, "", "%s", text);
            const char *const message = gr_message(t);
            const size_t length = strlen(message), wide = k < 3 ? strlen(unit[k]) : k == 3 ? 4 : 6;
            assert_int_equal((length - shift) % wide, 0);
            assert_true(length > 300 && length < 1024);
            for (const char *c = message; *c; c++) assert_true((unsigned char)*c >= 0x20);
            gr_tape_free(t);
        }
}

/* The name of the file holds U+009B, because Windows refuses those below U+0020. */
TEST(control_characters_of_a_file_name_are_escaped)
{
    const char header[] = "{\"\\u001b]0;owned\\u0007\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    unsigned char bytes[200] = { sizeof header - 1 };
    memcpy(bytes + 8, header, sizeof header - 1);
    FILE *f = fopen(in_folder("\xc2\x9b" "31m"), "wb");
    assert_non_null(f);
    fwrite(bytes, 1, 8 + sizeof header - 1 + 4, f);
    fclose(f);
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *m = gr_module_new(t);
    assert_false(gr_state_load(t, m, in_folder("\xc2\x9b" "31m"), NULL));
    char message[600];
    snprintf(message, sizeof message, "%s/\\u009b31m: does not fit the module: \\x1b]0;owned\\x07 [1] is left over", test_folder);
    assert_message(t, message);
    gr_tape_recover(t);
    unlink(in_folder("\xc2\x9b" "31m"));
    assert_false(gr_state_load(t, m, in_folder("\xc2\x9b" "31m"), NULL));
    snprintf(message, sizeof message, "cannot open '%s/\\u009b31m': No such file or directory", test_folder);
    assert_message(t, message);
    gr_module_free(m);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_that_control_a_terminal_are_escaped),
        cmocka_unit_test(other_text_is_unchanged),
        cmocka_unit_test(a_long_message_is_cut_between_characters),
        cmocka_unit_test(control_characters_of_a_file_name_are_escaped),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
