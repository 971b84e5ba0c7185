/* tests/test_plot_parts.c - parts of a figure, each with a key of its own, what a page folds, and another axis for x. */
#include "examples/kit/file.h"
#include "examples/plot/draw.h"
#include "examples/plot/page.h"
#include "tests/plot.h"
#include "tests/wellformed.h"
#include <stdlib.h>
#include <unistd.h>

static const double x[] = { 0, 1, 2 }, seconds[] = { 0, 0.5, 2 };

/* Check that the parts are in the text, in this order; the list ends with NULL. */
static void assert_parts(const char *text, const char *const *part)
{
    for (; *part; part++) {
        const char *const at = strstr(text, *part);
        if (!at) fail_msg("not there: %s", *part);
        else text = at + 1;
    }
}

static void curve(plot_figure *f, const char *title, const char *name)
{
    plot_series_add(plot_panel_new(f, &(plot_panel){ .title = title, .x = { "step" }, .y = { "loss" } }),
                    &(plot_series){ .name = name, .n = 3, .x = x, .y = x });
}

static plot_figure *in_parts(gr_tape *t)
{
    static const char *const head[] = { "a", "b" }, *const text[] = { "1", "2" };
    plot_figure *const f = plot_figure_new(t, "f", "F");
    curve(f, "P", "one"), curve(f, "Q", "two");
    plot_table_set(plot_panel_new(f, &(plot_panel){ .title = "T" }), &(plot_table){ .rows = 1, .columns = 2, .head = head, .text = text, .verdict = -1 });
    plot_part_begin(f, "Open & new", "A sentence.", false);
    curve(f, "R", "one");
    plot_part_begin(f, "Folded", "Another.", true);
    curve(f, "S", "three");
    for (int i = 0; i < 80; i++) plot_figure_says(f, PLOT_SAY_CAPTION, "%s long", i ? f->says[PLOT_SAY_CAPTION] : "very");
    plot_figure_says(f, PLOT_SAY_SETTINGS, "some");
    return f;
}

TEST(a_series_of_dots_has_a_dot_in_the_key)
{
    gr_tape *t = gr_tape_new(1, NULL);
    char path[] = "/tmp/gradus-key-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0), close(file);
    plot_figure *const f = plot_figure_new(t, "f", "F");
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = "P" });
    plot_series_add(p, &(plot_series){ .name = "a", .ink = PLOT_INK_LN, .mark = PLOT_DOTS, .n = 3, .x = x, .y = x });
    plot_series_add(p, &(plot_series){ .name = "b", .ink = PLOT_INK_BN, .n = 3, .x = x, .y = x });
    assert_true(plot_page_write(t, path, &(plot_page){ .title = "T" }, &f, 1));
    kit_bytes page = kit_file_read(t, path, 1 << 24);
    assert_non_null(page.data);
    assert_parts(page.data, (const char *const[]){ "<ul class=\"key\">", "<circle class=\"dot ln\"", "a</li>", "<path class=\"curve bn\"", "b</li></ul>", NULL });
    kit_bytes_free(t, &page), assert_int_equal(unlink(path), 0);
    assert_parts(written(plot_figure_svg, f), (const char *const[]){ "<circle class=\"dot ln\"", "a</text>", "<path class=\"curve bn\"", "b</text>", NULL });
    gr_tape_free(t);
}

TEST(parts_have_their_keys_in_the_page_and_in_the_drawing)
{
    gr_tape *t = gr_tape_new(1, NULL);
    char path[] = "/tmp/gradus-parts-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0), close(file);
    plot_figure *const f = in_parts(t);
    assert_true(plot_page_write(t, path, &(plot_page){ .title = "T" }, &f, 1));
    kit_bytes page = kit_file_read(t, path, 1 << 24);
    assert_non_null(page.data);
    assert_parts(page.data, (const char *const[]){ "<ul class=\"key\">", "one</li>", "two</li></ul>", "<h3>P</h3>", "<h3>Q</h3>", "</div>\n</div>\n",
                                              "<details class=\"fold\" open><summary><h3>T</h3>\n</summary>\n<table>", "</table>\n</details>",
                                              "<h3 class=\"part\">Open &amp; new</h3>\n<p class=\"about\">A sentence.</p>", "one</li></ul>", "<h3>R</h3>",
                                              "<details class=\"fold part\" open><summary><h3>Folded</h3>\n<span class=\"about\">Another.</span>\n</summary>",
                                              "three</li></ul>", "<h3>S</h3>", "</div>\n</details>\n<figcaption><details class=\"fold\" open>",
                                              "<b>Figure 1.</b> How to read it, and the settings</summary><p>very long long",
                                              "<b>Settings.</b> some</p></details>",
                                              "<script>\n/* table.js", NULL });
    kit_bytes_free(t, &page), assert_int_equal(unlink(path), 0);
    const char *const svg = written(plot_figure_svg, f);
    assert_null(not_xml(svg));
    assert_parts(svg, (const char *const[]){ ">one</text>", ">two</text>", ">P</text>", ">Q</text>", ">T</text>", "class=\"part\"", ">Open &amp; new</text>",
                                             ">A sentence.</text>", ">one</text>", ">R</text>",
                                             "<title>Open &amp; new: R</title>", ">Folded</text>", ">three</text>", ">S</text>", NULL });
    const char *const json = written(plot_figure_json, f);
    assert_null(not_json(json));
    assert_parts(json, (const char *const[]){ "\\u003cb>P\\u003c/b>", "\\u003cb>Open & new: R\\u003c/b>", "\\u003cb>Folded: S\\u003c/b>", NULL });
    gr_tape_free(t);
}

TEST(a_figure_has_few_parts_and_the_first_may_have_a_heading)
{
    gr_tape *t = gr_tape_new(1, NULL);
    plot_figure *const f = plot_figure_new(t, "f", "F");
    plot_part_begin(f, "A", NULL, false), curve(f, "P", "one");
    assert_int_equal(f->parts, 1), assert_int_equal(plot_part_end(f, 0), 1);
    for (int i = 0; i < PLOT_PARTS; i++) plot_part_begin(f, "B", NULL, false), curve(f, "P", "one");
    assert_message(t, "figure f: at most 4 parts");
    plot_part_begin(f, "C", NULL, false), plot_part_begin(NULL, "C", NULL, false);
    assert_int_equal(f->parts, PLOT_PARTS);
    gr_tape_free(t);
}

TEST(another_axis_of_x_stands_beside_the_first)
{
    gr_tape *t = gr_tape_new(1, NULL);
    plot_figure *const f = plot_figure_new(t, "f", "F");
    plot_figure_frames(f, "step", x, 3);
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = "P", .x = { "step" }, .x2 = { "seconds" }, .y = { "loss" } });
    plot_series_add(p, &(plot_series){ .name = "one", .n = 3, .x = x, .x2 = seconds, .y = x, .low = x, .high = x, .reveal = true });
    const char *const json = written(plot_figure_json, f);
    assert_null(not_json(json));
    assert_parts(json, (const char *const[]){ "\"meta\":{\"reveal\":false,\"x2\":[0,0.5,2]}", "\"meta\":{\"reveal\":false,\"x2\":[0,0.5,2]}",
                                              "\"x\":[0,1,2],", "\"meta\":{\"reveal\":true,\"x2\":[0,0.5,2]}", "\"x\":[2]", "\"meta\":{\"reveal\":true",
                                              "\"meta\":{\"xaxis\":{\"type\":\"linear\",\"title\":\"seconds\",\"range\":[0,2.03]", "\"tickvals\":[0", NULL });
    assert_null(strstr(written(plot_figure_svg, f), "seconds"));
    gr_tape_free(t);
}

/* In the panel beside, a note that is too long would lie on its heading. Each part of the drawing decides alone; JSON has one layout. */
TEST(a_note_too_long_for_its_panel_stands_below_the_title)
{
    gr_tape *t = gr_tape_new(1, NULL);
    plot_figure *const f = plot_figure_new(t, "f", "F");
    f->columns = 4;
    plot_panel_new(f, &(plot_panel){ .title = "P", .note = "beside" }), curve(f, "Q", "one");
    plot_part_begin(f, "Part", NULL, false);
    plot_panel_new(f, &(plot_panel){ .title = "R", .note = "of fifty characters and more, as some of them are" }), curve(f, "S", "two"), curve(f, "T", "two");
    plot_panel_new(f, &(plot_panel){ .title = "U", .note = "short" });
    const char *const in_drawing[] = { ">P <tspan class=\"note\">beside", ">Q</text>", ">R<tspan class=\"note\" x=\"0.0\" dy=\"17\">of fifty", ">S</text>",
                                       ">U<tspan class=\"note\" x=\"948.0\" dy=\"17\">short", NULL };
    assert_parts(written(plot_figure_svg, f), in_drawing);
    assert_parts(written(plot_figure_json, f), (const char *const[]){ "P\\u003c/b>\\u003cbr>beside", "R\\u003c/b>\\u003cbr>of fifty", NULL });
    gr_tape_free(t);
}

/* They would touch: 13 words have 16 pixels each in a panel of 292. */
TEST(slanted_words_that_are_too_close_are_left_out)
{
    static const char *const word[] = { "0", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve" };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t columns = 1; columns <= 4; columns += 3) {
        plot_figure *const f = plot_figure_new(t, "f", "F");
        f->columns = columns;
        for (size_t k = 0; k < 4; k++) plot_panel_new(f, &(plot_panel){ .x = { .label = "x", .tick = word, .ticks = COUNT(word) } });
        const plot_scale s = plot_scale_x(f->panel[0]);
        assert_true(s.slant);
        assert_int_equal(s.n, columns == 1 ? 13 : 7);
        assert_string_equal(plot_scale_label(&s, 1), columns == 1 ? "one" : "two");
    }
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_series_of_dots_has_a_dot_in_the_key),
        cmocka_unit_test(parts_have_their_keys_in_the_page_and_in_the_drawing),
        cmocka_unit_test(a_figure_has_few_parts_and_the_first_may_have_a_heading),
        cmocka_unit_test(another_axis_of_x_stands_beside_the_first),
        cmocka_unit_test(a_note_too_long_for_its_panel_stands_below_the_title),
        cmocka_unit_test(slanted_words_that_are_too_close_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
