/* tests/test_plot_figure.c - figures: their description is copied and checked, and written as JSON and SVG that strict readers accept. */
#include "examples/plot/draw.h"
#include "examples/kit/json.h"
#include "tests/failing.h"
#include "tests/wellformed.h"

static const double inf = HUGE_VAL, nan_ = (double)NAN;
static double three[3] = { 0, 50, 100 };

typedef void writer(FILE *out, const plot_figure *f);

/* The text that `write` writes; valid until the second call after this one. */
static const char *written(writer *write, const plot_figure *f)
{
    static char *text[2];
    static int turn;
    size_t n;
    turn = !turn, free(text[turn]), text[turn] = NULL;
    FILE *const out = open_memstream(&text[turn], &n);
    write(out, f);
    fclose(out);
    return text[turn];
}

static void assert_drawn(const plot_figure *f)
{
    const char *const json = written(plot_figure_json, f), *const svg = written(plot_figure_svg, f);
    assert_ok(f->t);
    if (not_json(json)) fail_msg("invalid JSON: %.80s", not_json(json));
    if (not_xml(svg)) fail_msg("invalid XML: %.80s", not_xml(svg));
    if (no_number(svg)) fail_msg("not a number: %.80s", no_number(svg) - 20);
    assert_null(strchr(json, '<'));
}

static plot_panel *panel(plot_figure *f, const char *title)
{
    return plot_panel_new(f, &(plot_panel){ .title = title, .x = { "x" }, .y = { "y" } });
}

TEST(a_curve_is_one_trace_with_gaps_at_nan)
{
    gr_tape *t = gr_tape_new(1, NULL);
    plot_figure *f = plot_figure_new(t, "loss", "Loss & \"<more>\" \xce\xb3");
    const double y[] = { 1, nan_, 0.123456 };
    plot_series_add(panel(f, "MLP"), &(plot_series){ .name = "LN", .ink = PLOT_INK_LN, .n = 3, .x = three, .y = y });
    const char *const json = written(plot_figure_json, f), *const svg = written(plot_figure_svg, f);
    assert_non_null(strstr(
        json,
        "\"x\":[0,50,100],\"y\":[1,null,0.1235],\"mode\":\"lines\",\"line\":{\"color\":\"#0072b2\",\"width\":2.2,\"dash\":\"solid\"}"));
    assert_non_null(strstr(json, "\"text\":\"Loss & \\\"\\u003cmore>\\\" \\u03b3\""));
    assert_non_null(strstr(svg, "Loss &amp; &quot;&lt;more&gt;&quot; \xce\xb3"));
    assert_non_null(strstr(svg, "h0\"/>"));
    const double below[] = { -1, 0, 10 };
    plot_series_add(plot_panel_new(f, &(plot_panel){ .y = { "y", .log = true } }), &(plot_series){ .n = 3, .x = three, .y = below });
    assert_non_null(strstr(written(plot_figure_json, f), "\"x\":[0,50,100],\"y\":[null,null,10]"));
    assert_drawn(f);
    gr_tape_free(t);
}

TEST(arguments_are_copied)
{
    gr_tape *t = gr_tape_new(1, NULL);
    double x[] = { 1, 2 }, y[] = { 3, 4 }, cell[] = { 1, 2, 3, 4 };
    int group[] = { 0, 1 };
    char word[] = "cell", *const text[] = { word };
    plot_figure *f = plot_figure_new(t, "f", "F");
    plot_series_add(panel(f, "a"), &(plot_series){ .name = "s", .n = 2, .x = x, .y = y, .low = y, .high = y });
    plot_map_set(panel(f, "b"), &(plot_map){ .rows = 2, .columns = 2, .values = cell, .high = 4, .means = "m" });
    plot_cloud_set(panel(f, "c"),
                   &(plot_cloud){ .n = 2, .x = x, .y = x, .z = y, .group = group, .groups = 2, .axis = { "u", "v", "w" }, .means = "g" });
    plot_table_set(
        panel(f, "d"),
        &(plot_table){ .rows = 1, .columns = 1, .head = (const char *const *)text, .text = (const char *const *)text, .verdict = -1 });
    char before[2][1 << 16];
    snprintf(before[0], sizeof before[0], "%s", written(plot_figure_json, f)),
        snprintf(before[1], sizeof before[1], "%s", written(plot_figure_svg, f));
    memset(x, 0, sizeof x), memset(y, 0, sizeof y), memset(cell, 0, sizeof cell), memset(group, 0, sizeof group), memset(word, 'x', 4);
    assert_string_equal(written(plot_figure_json, f), before[0]);
    assert_string_equal(written(plot_figure_svg, f), before[1]);
    assert_drawn(f);
    gr_tape_free(t);
}

TEST(each_panel_has_its_axes_scene_or_domain)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const char *const text[] = { "a", "PASS" };
    plot_figure *f = plot_figure_new(t, "f", "F");
    plot_series_add(panel(f, "a"), &(plot_series){ .n = 3, .x = three, .y = three });
    plot_cloud_set(panel(f, "b"), &(plot_cloud){ .n = 3, .x = three, .y = three, .z = three, .axis = { "u", "v", "w" }, .reach = 100 });
    plot_map_set(panel(f, "c"), &(plot_map){ .rows = 1, .columns = 3, .values = three, .high = 100, .means = "m" });
    plot_table_set(panel(f, "d"), &(plot_table){ .rows = 1, .columns = 2, .head = text, .text = text, .verdict = 1 });
    const char *const json = written(plot_figure_json, f);
    const char *const want[] = { "\"xaxis\":{\"anchor\":\"y\"",
                                 "\"scene2\":{\"domain\"",
                                 "\"xaxis3\":{\"anchor\":\"y3\"",
                                 "\"type\":\"heatmap\",\"z\":[[0,50,100]],\"xaxis\":\"x3\"",
                                 "\"type\":\"table\",\"domain\"",
                                 "\"values\":[[\"a\"],[\"PASS\"]]",
                                 "\"frames\":[]" };
    for (size_t i = 0; i < COUNT(want); i++)
        if (!strstr(json, want[i])) fail_msg("missing: %s", want[i]);
    assert_null(strstr(json, "\"sliders\""));
    assert_drawn(f);
    gr_tape_free(t);
}

/* A cut could also fall inside a character. */
TEST(long_texts_are_written_whole)
{
    char words[301] = "";
    for (int i = 0; i < 150; i++) memcpy(words + 2 * i, "\xc3\xa9", 3);
    gr_tape *t = gr_tape_new(1, NULL);
    const char *const cell[] = { words };
    plot_figure *f = plot_figure_new(t, "f", "F");
    plot_figure_frames(f, words, three, 3);
    plot_cloud_set(plot_panel_new(f, &(plot_panel){ .title = words, .note = words }),
                   &(plot_cloud){ .n = 3, .x = three, .y = three, .z = three, .group = (const int[]){ 0, 1, 2 }, .groups = 3, .means = words });
    plot_table_set(panel(f, "d"), &(plot_table){ .rows = 1, .columns = 1, .head = cell, .text = cell, .verdict = -1 });
    const char *const json = written(plot_figure_json, f);
    size_t whole = 0;
    for (const char *s = json; (s = strstr(s, "\\u00e9")); whole++)
        for (int i = 0; i < 150; i++, s += 6) assert_int_equal(strncmp(s, "\\u00e9", 6), 0);
    assert_int_equal(whole, 6); /* title, note, what the colours show, head and cell of the table, what the frames count */
    assert_null(strstr(json, "\\u00c3"));
    assert_drawn(f);
    gr_tape_free(t);
}

/* The first panel has four traces: two of the band, the curve, and its head. */
TEST(frames_name_the_traces_that_change)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const double grow[] = { 1, 2, 3 }, move[3][2] = { { 1, 2 }, { 3, 4 }, { 5, 6 } };
    plot_figure *f = plot_figure_new(t, "f", "F");
    plot_figure_frames(f, "step", three, 3);
    plot_series_add(panel(f, "a"), &(plot_series){ .name = "s", .n = 3, .x = three, .y = grow, .low = grow, .high = grow, .reveal = true });
    plot_series_add(f->panel[0], &(plot_series){ .n = 3, .x = three, .y = grow });
    plot_series_add(panel(f, "b"), &(plot_series){ .mark = PLOT_BARS, .n = 2, .x = three, .y = move[0], .moves = true });
    plot_map_set(panel(f, "c"),
                 &(plot_map){ .rows = 1, .columns = 2, .values = move[0], .moves = true, .low = 0, .high = 6, .means = "m" });
    plot_cloud_set(
        panel(f, "d"),
        &(plot_cloud){
            .n = 2, .x = move[0], .y = move[0], .z = move[0], .moves = true, .reach = 6, .circles = 2, .axis = { "u", "v", "w" } });
    plot_map_set(panel(f, "e"), &(plot_map){ .rows = 1, .columns = 2, .values = move[0], .low = 0, .high = 6, .means = "m" });
    plot_map_set(panel(f, "f"),
                 &(plot_map){ .rows = 2, .columns = 1, .values = move[0], .moves = true, .low = 0, .high = 6, .means = "m" });
    const char *const json = written(plot_figure_json, f);
    const char *const frame = "{\"name\":\"50\",\"traces\":[2,3,5,6,7,10],\"data\":[{\"type\":\"scatter\",\"x\":[0,50],\"y\":[1,2]},\n{"
                              "\"type\":\"scatter\",\"x\":[50],\"y\":[2]},\n"
                              "{\"type\":\"bar\",\"y\":[3,4]},\n{\"type\":\"heatmap\",\"z\":[[3,4]]},\n{\"type\":\"scatter3d\",\"x\":[3,4],"
                              "\"y\":[3,4],\"z\":[3,4]},\n{\"type\":\"heatmap\",\"z\":[[3],[4]]}]}";
    if (!strstr(json, frame)) fail_msg("frame 50 is not\n%s\nbut\n%.600s", frame, strstr(json, "{\"name\":\"50\""));
    assert_non_null(strstr(json, "\"sliders\":[{\"active\":2,\"currentvalue\":{\"prefix\":\"step \"}"));
    assert_drawn(f);
    gr_tape_free(t);
}

TEST(awkward_values_are_drawn_without_nan_or_inf)
{
    const double rows[][4] = { { 0 },
                               { 7, 7, 7, 7 },
                               { nan_, nan_, nan_, nan_ },
                               { inf, 1, -inf, nan_ },
                               { -1e300, 1e300, 0, 1 },
                               { -1.7e308, 1.7e308, 0, 1 },
                               { -1, -2, -3, -4 },
                               { 5e-324, 0, 1e-310, 0 },
                               { 1e-300, 1e300, 1, 2 },
                               { 1e15, 1e15 + 1, 1e15 + 2, 1e15 },
                               { 0.1, 0.1, 0.1, 0.1 } };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(rows); k++)
        for (int which = 0; which < 24; which++) { /* with and without log axes, 0 to 4 points, with and without a given range */
            const size_t n = which % 3 == 2 ? 4 : (size_t)(which % 3);
            const double low = which < 12 ? 0 : rows[k][0], high = which < 12 ? 0 : rows[k][1];
            plot_figure *f = plot_figure_new(t, "f", "F");
            for (int mark = PLOT_LINE; mark <= PLOT_BARS; mark++) {
                const plot_panel p = { .title = "p",
                                       .x = { "x", .log = which / 3 % 2, low, high },
                                       .y = { "y", .log = which / 6 % 2, low, high } };
                plot_series_add(
                    plot_panel_new(f, &p),
                    &(plot_series){ .name = "s", .mark = mark, .n = n, .x = rows[k], .y = rows[k], .low = rows[k], .high = rows[k] });
                plot_series_add(f->panel[mark], &(plot_series){ .mark = mark, .n = n, .x = rows[1], .y = rows[k] });
            }
            plot_map_set(panel(f, "m"), &(plot_map){ .rows = n > 1 ? 2 : 1,
                                                     .columns = n > 1 ? 2 : n,
                                                     .values = rows[k],
                                                     .low = low,
                                                     .high = high,
                                                     .diverging = which % 2,
                                                     .means = "m" });
            plot_cloud_set(
                panel(f, "c"),
                &(plot_cloud){
                    .n = n, .x = rows[k], .y = rows[k], .z = rows[0], .reach = high, .circles = which % 2, .axis = { "u", "v", "w" } });
            assert_drawn(f);
            gr_tape_reset(t);
        }
    gr_tape_free(t);
}

TEST(ticks_are_few_even_and_named)
{
    static const struct {
        bool log;
        double low, high;
        const char *label[8];
    } axis[] = {
        { false, 0, 3000, { "0", "1,000", "2,000", "3,000" } },
        { false,
          -0.3,
          0.3,
          { "\xe2\x88\x92"
            "0.2",
            "0.0", "0.2" } },
        { false,
          0,
          4e6,
          { "0", "10\xe2\x81\xb6",
            "2\xc3\x97"
            "10\xe2\x81\xb6",
            "3\xc3\x97"
            "10\xe2\x81\xb6",
            "4\xc3\x97"
            "10\xe2\x81\xb6" } },
        { true, 0.1, 3, { "0.1", "0.2", "0.5", "1", "2" } },
        { true, 1e-6, 1, { "10\xe2\x81\xbb\xe2\x81\xb6", "10\xe2\x81\xbb\xe2\x81\xb4", "10\xe2\x81\xbb\xc2\xb2", "10\xe2\x81\xb0" } },
        { true, 90, 110, { "90", "95", "100", "105", "110" } },
        { false, /* neighbouring ticks have different labels */
          1e6,
          1.003e6,
          { "10\xe2\x81\xb6",
            "1.001\xc3\x97"
            "10\xe2\x81\xb6",
            "1.002\xc3\x97"
            "10\xe2\x81\xb6",
            "1.003\xc3\x97"
            "10\xe2\x81\xb6" } },
    };
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < COUNT(axis); k++) {
        plot_figure *f = plot_figure_new(t, "f", "F");
        f->columns = 2;
        panel(f, "other");
        const plot_scale s = plot_scale_y(plot_panel_new(f, &(plot_panel){ .y = { "y", .log = axis[k].log, axis[k].low, axis[k].high } }));
        for (size_t i = 0; i < s.n || axis[k].label[i]; i++) {
            if (i >= s.n || !axis[k].label[i])
                fail_msg("axis %zu has %zu ticks, the last is %s", k, s.n, s.n ? plot_scale_label(&s, s.n - 1) : "");
            assert_string_equal(plot_scale_label(&s, i), axis[k].label[i]);
        }
        assert_true(plot_scale_place(&s, axis[k].low) == 0 && plot_scale_place(&s, axis[k].high) == 1);
        assert_true(isnan(plot_scale_place(&s, inf)) && plot_scale_place(&s, 1e300) <= 3);
    }
    gr_tape_free(t);
}

TEST(the_palette_is_that_of_the_style)
{
    char rule[64];
    for (int i = 0; i < PLOT_INKS + 2 * PLOT_LEVELS + PLOT_GROUPS; i++) {
        const int q = i - PLOT_INKS, s = q - PLOT_LEVELS, k = s - PLOT_LEVELS;
        if (q < 0) snprintf(rule, sizeof rule, "--%s:%s;", plot_looks[i].css, plot_looks[i].hex);
        else if (s < 0) snprintf(rule, sizeof rule, "--q%d:%s", q, plot_diverging[q]);
        else if (k < 0) snprintf(rule, sizeof rule, "--s%d:%s", s, plot_sequential[s]);
        else snprintf(rule, sizeof rule, "--k%d:%s", k, plot_groups[k]);
        bool there = false;
        for (const char *const *line = plot_figure_css; *line && strncmp(*line, "@media", 6); line++) there |= strstr(*line, rule) != NULL;
        if (!there) fail_msg("figure.css has no %s", rule);
    }
}

TEST(arguments_that_do_not_fit_are_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    plot_figure *f = plot_figure_new(t, "loss", "Loss");
    plot_series_add(panel(f, "MLP"), &(plot_series){ .n = 3, .x = three, .y = three, .moves = true });
    assert_message(t, "figure loss, panel MLP: a series moves, and there are no frames");
    assert_null(panel(f, "a"));
    gr_tape_recover(t);

    f = plot_figure_new(t, "loss", "Loss");
    plot_figure_frames(f, "step", three, 3);
    plot_series_add(panel(f, "MLP"), &(plot_series){ .n = 2, .x = three, .y = three, .reveal = true });
    assert_message(t, "figure loss, panel MLP: a series revealed over 3 frames has as many points; got 2");
    gr_tape_recover(t);

    f = plot_figure_new(t, "loss", "Loss");
    plot_map_set(panel(f, "MLP"), &(plot_map){ .rows = 1, .columns = 3, .values = three });
    plot_series_add(f->panel[0], &(plot_series){ .n = 3, .x = three, .y = three });
    assert_message(t, "figure loss, panel MLP: holds one thing already");
    gr_tape_recover(t);

    f = plot_figure_new(t, "loss", "Loss");
    for (int i = 0; i < 24; i++) panel(f, "p");
    for (int i = 0; i < 24; i++) plot_series_add(f->panel[0], &(plot_series){ .n = 3, .x = three, .y = three });
    assert_drawn(f);
    plot_series_add(f->panel[0], &(plot_series){ .n = 3, .x = three, .y = three });
    assert_message(t, "figure loss, panel p: at most 24 series");
    gr_tape_recover(t);

    f = plot_figure_new(t, "loss", "Loss");
    const char *const text[13] = { NULL };
    plot_table_set(panel(f, "t"), &(plot_table){ .rows = 1, .columns = 12, .head = text, .text = text, .verdict = -1 });
    assert_drawn(f);
    plot_table_set(panel(f, "u"), &(plot_table){ .rows = 1, .columns = 13, .head = text, .text = text, .verdict = -1 });
    assert_message(t, "figure loss, panel u: at most 12 columns");
    gr_tape_recover(t);

    f = plot_figure_new(t, "loss", "Loss");
    for (int i = 0; i < 25; i++) panel(f, "p");
    assert_message(t, "figure loss: at most 24 panels");
    plot_figure_says(NULL, PLOT_SAY_CAPTION, "nothing"), plot_figure_frames(NULL, "step", three, 3),
        plot_series_add(NULL, &(plot_series){ 0 });
    plot_map_set(NULL, &(plot_map){ 0 }), plot_cloud_set(NULL, &(plot_cloud){ 0 }), plot_table_set(NULL, &(plot_table){ 0 });
    assert_null(plot_panel_new(NULL, &(plot_panel){ 0 })), assert_string_equal(plot_figure_text(NULL, "nothing"), "");
    assert_string_equal(written(plot_figure_json, f), ""), assert_string_equal(written(plot_figure_svg, f), "");
    gr_tape_free(t);
}

static bool a_figure(gr_tape *t, void *argument)
{
    (void)argument;
    const char *const text[] = { "a", "PASS" };
    plot_figure *f = plot_figure_new(t, "f", "F");
    plot_figure_frames(f, "step", three, 3);
    plot_figure_says(f, PLOT_SAY_CAPTION, "seen: %d", 3);
    plot_series_add(panel(f, plot_figure_text(f, "p%d", 1)),
                    &(plot_series){ .name = "s", .n = 3, .x = three, .y = three, .low = three, .high = three, .reveal = true });
    plot_map_set(plot_panel_new(f, &(plot_panel){ .x = { .tick = text, .ticks = 2 } }),
                 &(plot_map){ .rows = 1, .columns = 2, .values = three, .means = "m" });
    plot_cloud_set(panel(f, "c"), &(plot_cloud){ .n = 3, .x = three, .y = three, .z = three, .axis = { "u", "v", "w" } });
    plot_table_set(panel(f, "d"), &(plot_table){ .rows = 1, .columns = 2, .head = text, .text = text, .verdict = 1 });
    char *bytes = NULL;
    size_t n = 0;
    FILE *const out = open_memstream(&bytes, &n);
    if (f) plot_figure_svg(out, f), plot_figure_json(out, f);
    fclose(out), free(bytes);
    return !gr_failed(t);
}
TEST(every_allocation_may_fail)
{
    fail_every_allocation(a_figure, NULL);
}

TEST(texts_and_numbers_are_written_for_strict_readers)
{
    static char text[1 << 12];
    FILE *const out = fmemopen(text, sizeof text, "w");
    kit_json_text(out, "\"\\\n\x7f<\xc3\xa9\xf0\x9f\x99\x82\xff"), kit_json_text(out, NULL), fputc(' ', out);
    kit_markup(out, "a<b>&\"c\" \x01\xff\xc3\xa9\n"), kit_markup(out, NULL);
    const double v[] = { 1, -0.5, 1e300, 123456789, 0.000123456, nan_, -inf };
    for (size_t i = 0; i < COUNT(v); i++) kit_json_number(out, v[i], 4), fputc(' ', out);
    fputc('|', out);
    const double r[][2] = { { 1.2345, 0.01 }, { 1, 0.01 }, { -0.001, 0.01 }, { 12345.6, 10 }, { 5e20, 0.1 }, { 0.5, 1e-300 } };
    for (size_t i = 0; i < COUNT(r); i++) kit_json_rounded(out, r[i][0], r[i][1]), fputc(' ', out);
    fclose(out);
    assert_string_equal(
        text,
        "\"\\\"\\\\\\u000a\\u007f\\u003c\\u00e9\\ud83d\\ude42\\u00ff\"null a&lt;b&gt;&amp;&quot;c&quot; \xef\xbf\xbd\xef\xbf\xbd\xc3\xa9\n"
        "1 -0.5 1e+300 123456789 0.0001235 null null |1.23 1 0 1.235e+04 5e+20 0.5 ");
    assert_null(not_json("{\"a\": [1, -2.5e+10, null, true, \"\\u00e9\"]}"));
    const char *const bad[] = { "{", "[1,]", "[nan]", "{\"a\":01}", "[\"\n\"]", "[1 2]", "{1:2}", "[1]]", "[-]", "[1.]", "[1e]" };
    for (size_t i = 0; i < COUNT(bad); i++)
        if (!not_json(bad[i])) fail_msg("%s is taken for JSON", bad[i]);
    const char *const broken[] = { "<a>", "<a></b>", "<a b=c/>", "<a>&x</a>", "<a/><b/>", "<a b=\"<\"/>", "</a>", "<a>\x01</a>" };
    for (size_t i = 0; i < COUNT(broken); i++)
        if (!not_xml(broken[i])) fail_msg("%s is taken for XML", broken[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_curve_is_one_trace_with_gaps_at_nan),
        cmocka_unit_test(arguments_are_copied),
        cmocka_unit_test(each_panel_has_its_axes_scene_or_domain),
        cmocka_unit_test(long_texts_are_written_whole),
        cmocka_unit_test(frames_name_the_traces_that_change),
        cmocka_unit_test(awkward_values_are_drawn_without_nan_or_inf),
        cmocka_unit_test(ticks_are_few_even_and_named),
        cmocka_unit_test(the_palette_is_that_of_the_style),
        cmocka_unit_test(arguments_that_do_not_fit_are_named),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(texts_and_numbers_are_written_for_strict_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
