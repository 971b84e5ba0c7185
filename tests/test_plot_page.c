/* tests/test_plot_page.c - the page, and files that are written completely or not at all. */
#define FAILING_FILES
#include "examples/kit/output.h"
#include "examples/plot/page.h"
#include "tests/failing.h"
#include "tests/wellformed.h"
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char *text_of(const char *path) /* the caller frees it */
{
    size_t n;
    char *const text = (char *)file_bytes(path, &n);
    assert_non_null(text);
    text[n] = 0;
    return text;
}

static void put(const char *path, const char *text)
{
    FILE *const f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static const char *says(const char *path, const char *why)
{
    static char text[1024];
    snprintf(text, sizeof text, "%s: %s", path, why);
    return text;
}
static const char *cannot(const char *what, const char *path, const char *why)
{
    static char text[1024];
    snprintf(text, sizeof text, "cannot %s '%s': %s", what, path, why);
    return text;
}

static int files_there(void)
{
    int n = 0;
    DIR *const folder = opendir(test_folder);
    assert_non_null(folder);
    for (const struct dirent *e; (e = readdir(folder));) n += e->d_name[0] != '.';
    closedir(folder);
    return n;
}

static bool nothing_beside(const char *name) { return access(in_folder(name), F_OK) != 0; }

/* ---- Files ---- */

TEST(a_file_is_replaced_as_a_whole)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const char *const path = in_folder("file");
    put(path, "old"), chmod(path, 0640);
    kit_file f = kit_file_begin(t, path);
    assert_ok(t);
    fputs("new", f.out);
    assert_file_holds(path, "old", 3);
    assert_true(kit_file_end(t, &f));
    assert_null(f.out), assert_false(kit_file_end(t, &f));
    assert_file_holds(path, "new", 3);
    struct stat now;
    assert_int_equal(stat(path, &now), 0);
    assert_int_equal(now.st_mode & 0777, 0640);
    assert_int_equal(unlink(path), 0);
    gr_tape_free(t);
}

TEST(a_tape_in_error_abandons_the_file)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const char *const path = in_folder("file");
    kit_file f = kit_file_begin(t, path);
    gr_fail_as(t, GR_NO_MEMORY, "", "something else");
    assert_false(kit_file_end(t, &f));
    assert_message(t, "something else");
    assert_true(nothing_beside("file"));
    assert_null(kit_file_begin(t, path).out);
    gr_tape_free(t);
}

TEST(a_path_that_cannot_be_written_is_named)
{
    char path[5000];
    const struct {
        const char *path, *why;
    } bad[] = {
        { test_folder, "it is not a regular file" },
        { "/dev/null", "it is not a regular file" },
        { in_folder("none/file"), "No such file or directory" },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_null(kit_file_begin(t, bad[i].path).out);
        assert_message(t, cannot("write", bad[i].path, bad[i].why));
        assert_int_equal(gr_error_code(t), GR_IO_FAILED);
        gr_tape_recover(t);
    }
    memset(path, 'a', sizeof path - 1), path[sizeof path - 1] = 0;
    assert_null(kit_file_begin(t, path).out);
    assert_int_equal(gr_error_code(t), GR_IO_FAILED);
    gr_tape_free(t);
}

/* open, fsync and rename fail in turn. A test below fails write by a full disk. */
TEST(calls_that_fail_leave_the_old_file)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const char *const path = in_folder("file");
    put(path, "old");
    static const char *const what[] = { "write", "write to the disk", "replace" };
    for (int at = 1; at <= 3; at++) {
        failing_files.calls = 0, failing_files.fail_at = at, failing_files.error = EIO;
        kit_file f = kit_file_begin(t, path);
        if (f.out) fputs("new", f.out);
        assert_false(kit_file_end(t, &f));
        failing_files.fail_at = 0;
        assert_message(t, cannot(what[at - 1], path, "Input/output error"));
        assert_file_holds(path, "old", 3);
        assert_int_equal(files_there(), 1);
        gr_tape_recover(t);
    }
    assert_int_equal(unlink(path), 0);
    gr_tape_free(t);
}

/* To this program a limit on the size of files looks like a full disk. */
static void assert_fails_when_full(gr_tape *t, const char *path, rlim_t room)
{
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old, small.rlim_cur = room;
    signal(SIGXFSZ, SIG_IGN), setrlimit(RLIMIT_FSIZE, &small);
    kit_file f = kit_file_begin(t, path);
    for (int i = 0; f.out && i < 5000; i++) fputs("a line of text\n", f.out);
    const bool well = kit_file_end(t, &f);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_fails(t, well, cannot("write", path, "File too large"));
}

TEST(a_full_disk_leaves_the_old_file)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const char *const path = in_folder("file");
    put(path, "old");
    for (rlim_t room = 0; room < 75000; room += 7411) assert_fails_when_full(t, path, room); /* in the middle, and at the last flush */
    assert_file_holds(path, "old", 3);
    assert_int_equal(unlink(path), 0);
    gr_tape_free(t);
}

/* ---- The page ---- */

static const double steps[] = { 0, 50, 100 };
static const char *const head[] = { "Statement", "Verdict" }, *const rows[] = { "a < b", "PASS", "c", "DIFFERS", "d", "FAIL", "e", "" };
static const char *const fact[][2] = { { "command", "deep_dive --quick & more" }, { "seeds", "42 43" } };

static plot_figure *loss(gr_tape *t)
{
    plot_figure *f = plot_figure_new(t, "loss", "Loss </script> & more");
    plot_figure_frames(f, "step", steps, 3);
    plot_figure_says(f, PLOT_SAY_QUESTION, "Which is faster?"), plot_figure_says(f, PLOT_SAY_NUMBER, "0.12 < 0.3"),
        plot_figure_says(f, PLOT_SAY_CAPTION, "See \"left\".");
    plot_series_add(plot_panel_new(f, &(plot_panel){ .title = "MLP", .note = "small", .x = { "step" }, .y = { "loss", .log = true } }),
                    &(plot_series){ .name = "LayerNorm", .ink = PLOT_INK_LN, .n = 3, .x = steps, .y = steps, .reveal = true });
    return f;
}
static plot_figure *claims(gr_tape *t)
{
    plot_figure *f = plot_figure_new(t, "claims", "Claims");
    plot_table_set(plot_panel_new(f, &(plot_panel){ .note = "All of them." }),
                   &(plot_table){ .rows = 4, .columns = 2, .head = head, .text = rows, .verdict = 1 });
    return f;
}

/* Each text occurs once, and they are in this order. */
static void assert_parts(const char *text, const char *const *part)
{
    for (const char *at = text; *part; part++) {
        const char *const found = strstr(at, *part);
        if (!found) fail_msg("%s: %s", strstr(text, *part) ? "not in its place" : "not there", *part);
        at = found + strlen(*part);
    }
}

TEST(the_page_holds_each_figure_as_drawing_and_as_json)
{
    gr_tape *t = gr_tape_new(1, NULL);
    char path[512], *json = NULL;
    size_t bytes;
    snprintf(path, sizeof path, "%s", in_folder("report.html"));
    plot_figure *const f[] = { loss(t), claims(t) };
    assert_true(plot_page_write(t, path, &(plot_page){ "T & U", "A lead.", NULL, fact, 2, "cost: not measured" }, f, 2));
    char *const page = text_of(path);
    assert_parts(page, (const char *const[]){ "script-src 'unsafe-inline' https://cdn.plot.ly;",
                                              "<title>T &amp; U</title>",
                                              ":root { color-scheme",
                                              "<body data-plotly=\"https://cdn.plot.ly/plotly-",
                                              " data-sri=\"sha256-",
                                              "<h1>T &amp; U</h1>",
                                              "id=\"notice\" hidden>",
                                              "<li><a href=\"#loss\">Loss &lt;/script&gt; &amp; more</a> <span>0.12 &lt; 0.3</span></li>",
                                              "<li><a href=\"#claims\">Claims</a></li>",
                                              "<figure class=\"fig\" id=\"loss\" data-json=\"json-loss\" data-unit=\"step\">",
                                              "Which is faster?",
                                              "LayerNorm</li>",
                                              "<h3>MLP <small>small</small></h3>",
                                              "<div class=\"box\" style=\"aspect-ratio:640/400\"><svg viewBox=\"0 0 640 400\" "
                                              "role=\"img\"><title>MLP</title><desc>loss against step. Last values: LayerNorm 100.</desc>",
                                              "data-panel=\"1\"",
                                              "<b>Figure 1.</b> See &quot;left&quot;.",
                                              "<figure class=\"fig\" id=\"claims\">",
                                              "<caption>All of them.</caption>",
                                              "<th scope=\"col\">Verdict</th>",
                                              "<tr><th scope=\"row\">a &lt; b</th><td class=\"v pass\">\xe2\x9c\x93 PASS</td></tr>",
                                              "<td class=\"v differs\">\xe2\x89\xa0 DIFFERS</td>",
                                              "<td class=\"v fail\">\xe2\x9c\x97 FAIL</td>",
                                              "<td></td>",
                                              "cost: not measured",
                                              "<dt>command</dt><dd>deep_dive --quick &amp; more</dd>",
                                              "id=\"json-loss\">",
                                              "</html>\n",
                                              NULL });
    FILE *const out = open_memstream(&json, &bytes);
    plot_figure_json(out, f[0]), fclose(out);
    assert_non_null(strstr(page, json)), assert_null(not_json(json));
    assert_null(strstr(page, "json-claims"));
    free(json), free(page);
    assert_int_equal(unlink(path), 0);
    gr_tape_free(t);
}

TEST(plotly_is_put_in_byte_for_byte)
{
    gr_tape *t = gr_tape_new(1, NULL);
    char path[512], library[512];
    snprintf(path, sizeof path, "%s", in_folder("report.html")), snprintf(library, sizeof library, "%s", in_folder("plotly.min.js"));
    put(library, "/**\n* plotly.js v4.1.1\n*/ window.Plotly = 1 < 2;");
    plot_figure *const f[] = { loss(t) };
    const char *const plotly = plot_plotly_read(t, library);
    put(library, "changed meanwhile");
    assert_true(plot_page_write(t, path, &(plot_page){ .title = "T", .plotly = plotly }, f, 1));
    char *const page = text_of(path);
    assert_parts(page, (const char *const[]){ "script-src 'unsafe-inline';", "<body>\n", "which needs no network",
                                              "<script>\n/* table.js",
                                              "</script>\n<script>/**\n* plotly.js v4.1.1\n*/ window.Plotly = 1 < 2;</script>\n<script>\n(() => {",
                                              NULL });
    free(page);
    assert_int_equal(unlink(path), 0);

    const struct {
        const char *text, *why;
    } bad[] = {
        { "", "is not a plotly.min.js" },
        { "/* jquery, followed by a long text */", "is not a plotly.min.js" },
        { "/**\n* plotly.js v4.1.1\n*/ '<</ScRipt>'", "holds \"</script\" and cannot be put into a page" },
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        put(library, bad[i].text);
        assert_null(plot_plotly_read(t, library));
        assert_message(t, says(library, bad[i].why));
        assert_int_equal(gr_error_code(t), GR_BAD_FILE);
        gr_tape_recover(t);
    }
    FILE *const out = fopen(library, "w");
    assert_non_null(out);
    fwrite("/* plotly.js v4.1.1 */\0 window.Plotly = 1;", 1, 42, out), fclose(out);
    assert_fails(t, plot_plotly_read(t, library), says(library, "holds a byte 0 and cannot be put into a page"));
    assert_int_equal(unlink(library), 0);
    assert_null(plot_plotly_read(t, library));
    assert_message(t, says(library, "cannot be read: No such file or directory"));
    gr_tape_free(t);
}

TEST(a_section_comes_before_the_figures_with_style_and_scripts)
{
    static const char *const html[] = { "<section id=\"s\">\n", "</section>\n", NULL }, *const css[] = { ".s { color: red }\n", NULL };
    static const char *const first[] = { "const a = 1;\n", NULL }, *const second[] = { "a + 1;\n", NULL };
    static const plot_lines scripts[] = { first, second, NULL };
    const plot_section section = { .id = "s", .title = "Try <it>", .about = "Move & see", .html = html, .css = css, .js = scripts };
    gr_tape *t = gr_tape_new(1, NULL);
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("report.html"));
    plot_figure *const f[] = { loss(t) };
    assert_true(plot_page_write(t, path, &(plot_page){ .title = "T", .section = &section }, f, 1));
    char *const page = text_of(path);
    assert_parts(page,
                 (const char *const[]){ ".box {", ".s { color: red }\n</style>", "<li><a href=\"#s\">Try &lt;it&gt;</a> <span>Move &amp; see</span></li>",
                                        "<li><a href=\"#loss\">", "<section id=\"s\">\n</section>\n", "<figure class=\"fig\" id=\"loss\"",
                                        "<script>\n/* table.js", "<script>\nconst a = 1;\n</script>\n<script>\na + 1;\n</script>\n<script>\n(() => {",
                                        NULL });
    free(page);
    assert_int_equal(unlink(path), 0);
    gr_tape_free(t);
}

TEST(rows_lead_to_figures_and_figures_to_their_rows)
{
    static const char *const about[] = { "loss", NULL, "loss", "no such figure" };
    gr_tape *t = gr_tape_new(1, NULL);
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("report.html"));
    plot_figure *const table = plot_figure_new(t, "claims", "Claims"), *const f[] = { loss(t), table };
    plot_table_set(plot_panel_new(table, &(plot_panel){ 0 }),
                   &(plot_table){ .rows = 4, .columns = 2, .head = head, .text = rows, .verdict = 1, .link = about });
    assert_true(plot_page_write(t, path, &(plot_page){ .title = "T" }, f, 2));
    char *const page = text_of(path);
    assert_parts(page,
                 (const char *const[]){ "<p class=\"back\"><a href=\"#claims\" data-figure=\"loss\">2 statements about this figure</a>: 1 ",
                                        "<span class=\"pass\">PASS</span>, 1 <span class=\"fail\">FAIL</span></p>",
                                        "<tr data-figure=\"loss\"><th scope=\"row\">a &lt; b <a href=\"#loss\">Figure 1</a></th>",
                                        "<tr><th scope=\"row\">c</th>", "<tr data-figure=\"loss\"><th scope=\"row\">d <a href=\"#loss\">",
                                        "<tr data-figure=\"no such figure\"><th scope=\"row\">e</th>", "/* table.js", NULL });
    free(page);
    assert_int_equal(unlink(path), 0);
    gr_tape_free(t);
}

static bool a_page(gr_tape *t, void *path)
{
    plot_figure *const f[] = { loss(t), claims(t) };
    const bool well = f[0] && f[1] && plot_page_write(t, path, &(plot_page){ "T", "L", NULL, fact, 2, NULL }, f, 2);
    if (well == (access(path, F_OK) != 0)) fail_msg("%s", "a page exists although the call failed, or is missing although it succeeded");
    unlink(path);
    return well;
}
TEST(every_allocation_may_fail)
{
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("report.html"));
    fail_every_allocation(a_page, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_replaced_as_a_whole),
        cmocka_unit_test(a_tape_in_error_abandons_the_file),
        cmocka_unit_test(a_path_that_cannot_be_written_is_named),
        cmocka_unit_test(calls_that_fail_leave_the_old_file),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(the_page_holds_each_figure_as_drawing_and_as_json),
        cmocka_unit_test(plotly_is_put_in_byte_for_byte),
        cmocka_unit_test(a_section_comes_before_the_figures_with_style_and_scripts),
        cmocka_unit_test(rows_lead_to_figures_and_figures_to_their_rows),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
