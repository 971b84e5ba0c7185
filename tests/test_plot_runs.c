/* tests/test_plot_runs.c - runs.jsonl: records are read as they were written, and a line that is no record is refused with its place. */
#include "examples/kit/kit.h"
#include "examples/plot/runs.h"
#include "tests/failing.h"

static const char *path_in_folder(void)
{
    static char path[512];
    snprintf(path, sizeof path, "%s", in_folder("runs.jsonl"));
    return path;
}

static void write_text(const char *path, const char *text)
{
    FILE *const f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static size_t records(const plot_runs *r)
{
    size_t n = 0;
    for (const plot_record *p = r->first; p; p = p->next) n++;
    return n;
}

TEST(floats_are_read_back_with_the_same_bits)
{
    enum { N = 4000 };
    static double values[N];
    gr_tape *t = gr_tape_new(1, NULL), *again = gr_tape_new(1, NULL);
    const char *const path = path_in_folder();
    gr_stream s = gr_stream_new(3, "bits");
    for (size_t i = 0; i < N; i++) { /* of every magnitude, also subnormal */
        const uint32_t bits = (uint32_t)gr_stream_below(&s, 0xffffffff);
        float v;
        memcpy(&v, &bits, sizeof v);
        values[i] = isfinite(v) ? (double)v : 0;
    }
    values[0] = -0.0, values[1] = 0x1p-149, values[2] = 123456789, values[3] = -4e9;
    plot_runs r = plot_runs_open(t, path);
    plot_runs_put(&r, "fig", GR_SHAPE(4, N / 4), values, "a/%d/%s", 7, "x");
    assert_true(plot_runs_end(&r, "fig", "settings", 1.5));
    plot_runs read = plot_runs_open(again, path);
    assert_ok(again);
    const plot_record *const noted = plot_runs_get(&r, "fig", "a/7/x"), *const found = plot_runs_get(&read, "fig", "a/%d/x", 7);
    assert_non_null(noted), assert_non_null(found);
    assert_int_equal(found->n, N), assert_int_equal(found->shape.rank, 2), assert_int_equal(found->shape.dim[1], N / 4);
    for (size_t i = 0; i < N; i++) {
        const float was = (float)values[i], is = (float)found->values[i];
        assert_memory_equal(&was, &is, sizeof is);
    }
    assert_memory_equal(noted->values, found->values, N * sizeof *values); /* a figure is the same whether it is drawn at once or from the file */
    gr_tape_free(t), gr_tape_free(again), unlink(path);
}

TEST(values_that_are_not_finite_become_nan_and_texts_are_kept)
{
    const double values[] = { HUGE_VAL, -HUGE_VAL, (double)NAN, 1 };
    const char *const settings = "a \"b\" \\ c\n\xc3\xa9 \xe2\x88\x92 <d>", *const path = path_in_folder();
    gr_tape *t = gr_tape_new(1, NULL), *again = gr_tape_new(1, NULL);
    plot_runs r = plot_runs_open(t, path);
    plot_runs_put(&r, "fig", GR_SHAPE(4), values, "v"), plot_runs_put(&r, "fig", GR_SCALAR, values + 3, "one");
    plot_runs_put(&r, "fig", GR_SHAPE(0), NULL, "none");
    assert_true(plot_runs_end(&r, "fig", settings, 0.25));
    plot_runs read = plot_runs_open(again, path);
    assert_ok(again);
    const plot_record *const v = plot_runs_get(&read, "fig", "v");
    assert_true(isnan(v->values[0]) && isnan(v->values[1]) && isnan(v->values[2]) && v->values[3] == 1);
    assert_true(isnan(plot_runs_value(&r, "fig", "v")) && isnan(plot_runs_value(&read, "fig", "absent")));
    assert_true(isnan(plot_runs_value(&read, "fig", "none")) && plot_runs_value(&read, "fig", "one") == 1);
    assert_int_equal(plot_runs_get(&read, "fig", "one")->shape.rank, 0), assert_int_equal(plot_runs_get(&read, "fig", "none")->n, 0);
    assert_null(plot_runs_get(&read, "other", "v"));
    const plot_done *const done = plot_runs_done(&read, "fig", settings);
    assert_non_null(done), assert_true(done->seconds == 0.25 && done->threads == 1);
    assert_string_equal(done->program, GR_VERSION_TEXT);
    assert_null(plot_runs_done(&read, "fig", "others")), assert_null(plot_runs_done(&read, "other", settings));
    gr_tape_free(t), gr_tape_free(again), unlink(path);
}

TEST(dropped_and_unfinished_figures_are_not_written)
{
    const double one = 1, two = 2;
    const char *const path = path_in_folder();
    gr_tape *t = gr_tape_new(1, NULL);
    plot_runs r = plot_runs_open(t, path);
    plot_runs_put(&r, "a", GR_SCALAR, &one, "v"), assert_true(plot_runs_end(&r, "a", "s", 1));
    plot_runs_put(&r, "b", GR_SCALAR, &one, "v"), assert_true(plot_runs_end(&r, "b", "s", 1));
    plot_runs_put(&r, "half", GR_SCALAR, &one, "v");
    plot_runs_drop(&r, "a"), plot_runs_put(&r, "a", GR_SCALAR, &two, "v"), assert_true(plot_runs_end(&r, "a", "s", 1));
    assert_int_equal(records(&r), 3);
    plot_runs read = plot_runs_open(t, path);
    assert_int_equal(records(&read), 2);
    assert_true(plot_runs_value(&read, "a", "v") == 2 && plot_runs_value(&read, "b", "v") == 1);
    for (int k = 0; k < 2; k++) plot_runs_drop(&read, "b"), plot_runs_drop(&read, "a");
    assert_true(!read.first && !read.done);
    plot_runs_put(&read, "c", GR_SCALAR, &two, "v"), assert_true(plot_runs_end(&read, "c", "s", 1));
    assert_int_equal(records(&read), 1);
    gr_tape_free(t), unlink(path);
}

TEST(a_line_that_is_no_record_is_refused_with_its_place)
{
    static const struct {
        const char *text, *place;
    } bad[] = {
        { "x", "line 1, column 1: expected {" },
        { "{\"figure\": \"a\", \"name\": \"v\", \"shape\": [1], \"values\": [1]}\n{\"figur\": 1}",
          "line 2, column 2: expected \"figure\"" },
        { "{\"figure\": \"a", "line 1, column 14: expected the end of a text" },
        { "{\"figure\": \"\\x\"", "line 1, column 13: expected a text" },
        { "{\"figure\": \"\\u\n\n11\"", "line 1, column 13: expected a text" }, /* exactly four digits, without characters that strtol would skip */
        { "{\"figure\": \"\\u0x1\"", "line 1, column 13: expected a text" },
        { "{\"figure\": \"\\ud83d\\u 111\"", "line 1, column 13: expected a text" },
        { "{\"figure\": \"a\", \"nam\": 1", "line 1, column 17: expected \"done\"" },
        { "{\"figure\": \"a\", \"name\": \"v\", \"shape\": [1.5], \"values\": [1]}",
          "line 1, column 43: expected a size, the eighth at most" },
        { "{\"figure\": \"a\", \"name\": \"v\", \"shape\": [-1], \"values\": []}",
          "line 1, column 42: expected a size, the eighth at most" },
        { "{\"figure\": \"a\", \"name\": \"v\", \"shape\": [1,1,1,1,1,1,1,1,1], \"values\": [1]}",
          "line 1, column 57: expected a size, the eighth at most" },
        { "{\"figure\": \"a\", \"name\": \"v\", \"shape\": [3], \"values\": [1, 2]}", "line 1, column 59: expected ," },
        { "{\"figure\": \"a\", \"name\": \"v\", \"shape\": [1], \"values\": [1, 2]}", "line 1, column 56: expected ]" },
        { "{\"figure\": \"a\", \"name\": \"v\", \"shape\": [1000000000], \"values\": [1]}",
          "line 1, column 64: expected as many values as the shape says" },
        { "{\"figure\": \"a\", \"name\": \"v\", \"shape\": [1], \"values\": [inf]}", "line 1, column 55: expected a number" },
        { "{\"figure\": \"a\", \"name\": \"v\", \"shape\": [1], \"values\": [0x1]}", "line 1, column 55: expected a number" },
        { "{\"figure\": \"a\", \"name\": \"v\", \"shape\": [1], \"values\": [1e999]}", "line 1, column 55: expected a number" },
        { "{\"figure\": \"a\", \"name\": \"v\", \"shape\": [1], \"values\": [+1]}", "line 1, column 55: expected a number" },
        { "{\"figure\": \"a\", \"name\": \"v\", \"shape\": [1], \"values\": [1]} {", "line 1, column 58: expected the end of the line" },
        { "{\"figure\": \"a\", \"done\": {\"settings\": \"s\", \"seconds\": 1}}", "line 1, column 55: expected ," },
    };
    const char *const path = path_in_folder();
    for (size_t i = 0; i < COUNT(bad); i++) {
        char message[700];
        gr_tape *t = gr_tape_new(1, NULL);
        write_text(path, bad[i].text);
        plot_runs_open(t, path);
        snprintf(message, sizeof message, "%s: %s; delete the file to measure everything again", path, bad[i].place);
        assert_message(t, message);
        assert_int_equal(gr_error_code(t), GR_BAD_FILE);
        gr_tape_free(t);
    }
    unlink(path);
}

TEST(a_name_that_could_not_be_found_is_refused)
{
    const char *const path = path_in_folder();
    for (int length = 255; length <= 256; length++) {
        char text[400];
        gr_tape *t = gr_tape_new(1, NULL);
        snprintf(text, sizeof text, "{\"figure\": \"a\", \"name\": \"%0*d\", \"shape\": [1], \"values\": [3]}\n", length, 7);
        write_text(path, text);
        const plot_runs r = plot_runs_open(t, path);
        if (length == 255) assert_true(plot_runs_value(&r, "a", "%0255d", 7) == 3);
        else assert_non_null(strstr(gr_message(t), ": line 1, column 283: expected a name of at most 255 bytes; delete the file "));
        gr_tape_free(t);
    }
    unlink(path);
}

TEST(a_missing_file_is_empty_and_an_impossible_path_is_an_error)
{
    const double one = 1;
    char path[600], message[700];
    gr_tape *t = gr_tape_new(1, NULL);
    plot_runs r = plot_runs_open(t, path_in_folder());
    assert_ok(t);
    assert_null(r.first);
    snprintf(path, sizeof path, "%s/no/runs.jsonl", test_folder);
    r = plot_runs_open(t, path);
    plot_runs_put(&r, "a", GR_SCALAR, &one, "v");
    assert_false(plot_runs_end(&r, "a", "s", 1));
    snprintf(message, sizeof message, "cannot write '%s': No such file or directory", path);
    assert_message(t, message);
    gr_tape_recover(t);
    r = plot_runs_open(t, test_folder);
    snprintf(message, sizeof message, "%s: is not a regular file", test_folder);
    assert_message(t, message);
    gr_tape_recover(t);
    r = plot_runs_open(t, path_in_folder());
    plot_runs_put(&r, "a", GR_SCALAR, &one, "%0300d", 1);
    assert_int_equal(gr_error_code(t), GR_MISUSE);
    gr_tape_free(t);
}

/* A figure is drawn from its measured numbers only: not if a value was changed or an array removed. */
TEST(a_figure_whose_arrays_changed_is_not_whole)
{
    const double values[] = { 0.25, 2, 3 };
    const char *const path = path_in_folder(), *const change[][2] = { { "0.25", "0.75" }, { "\"first\"", "\"other\"" }, { "[3]", "[3, 1]" }, { "", "" } };
    for (size_t i = 0; i < COUNT(change); i++) {
        gr_tape *t = gr_tape_new(1, NULL);
        size_t n;
        plot_runs r = plot_runs_open(t, path);
        plot_runs_put(&r, "a", GR_SHAPE(3), values, "first"), plot_runs_put(&r, "a", GR_SCALAR, values, "second");
        assert_true(plot_runs_end(&r, "a", "s", 1));
        assert_non_null(plot_runs_done(&r, "a", "s"));
        char *const text = (char *)file_bytes(path, &n), *const at = strstr(text, change[i][0]), changed[2048];
        text[n] = 0;
        if (*change[i][0]) snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, change[i][1], at + strlen(change[i][0]));
        else snprintf(changed, sizeof changed, "%s", strchr(text, '\n') + 1);
        write_text(path, changed);
        const plot_runs read = plot_runs_open(t, path);
        assert_ok(t);
        assert_null(plot_runs_done(&read, "a", "s"));
        free(text), gr_tape_free(t), unlink(path);
    }
}

static bool note_and_read(gr_tape *t, void *argument)
{
    const double values[] = { 1, 2, 3 };
    const char *const path = argument;
    write_text(
        path,
        "{\"figure\": \"old\", \"name\": \"v\", \"shape\": [1], \"values\": [1]}\n"
        "{\"figure\": \"old\", \"done\": {\"settings\": \"s\", \"seconds\": 1, \"program\": \"p\", \"cpu\": \"c\", \"threads\": 1, \"hash\": \"h\"}}\n");
    plot_runs r = plot_runs_open(t, path);
    plot_runs_put(&r, "a", GR_SHAPE(3), values, "v");
    const bool well = plot_runs_end(&r, "a", "s", 1);
    const plot_runs read = plot_runs_open(t, path);
    return well && !gr_failed(t) && plot_runs_value(&read, "a", "v") == 1 && plot_runs_done(&read, "a", "s");
}

TEST(any_allocation_may_fail)
{
    char path[512];
    snprintf(path, sizeof path, "%s", path_in_folder());
    fail_every_allocation(note_and_read, path);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_read_back_with_the_same_bits),
        cmocka_unit_test(values_that_are_not_finite_become_nan_and_texts_are_kept),
        cmocka_unit_test(dropped_and_unfinished_figures_are_not_written),
        cmocka_unit_test(a_line_that_is_no_record_is_refused_with_its_place),
        cmocka_unit_test(a_name_that_could_not_be_found_is_refused),
        cmocka_unit_test(a_missing_file_is_empty_and_an_impossible_path_is_an_error),
        cmocka_unit_test(a_figure_whose_arrays_changed_is_not_whole),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
