/* tests/test_plot_map.c - the numbers in the cells of a map. */
#include "tests/plot.h"

TEST(cells_of_small_maps_show_their_numbers)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const char *const word[] = { "a", "b", "c" };
    const double cell[] = { -0.5, 0.126, 1, (double)NAN, 0, 0.5 };
    plot_figure *f = plot_figure_new(t, "f", "F");
    const plot_panel named = { .title = "m", .x = { .tick = word, .ticks = 3 }, .y = { .tick = word, .ticks = 2 } };
    plot_map_set(plot_panel_new(f, &named), &(plot_map){ .rows = 2, .columns = 3, .values = cell, .low = -0.5, .high = 1, .means = "m" });
    const char *const json = written(plot_figure_json, f);
    assert_non_null(strstr(json, "\"texttemplate\":\"%{z:.2f}\""));
    const char *const svg = written(plot_figure_svg, f);
    const char *const want[] = { "class=\"mid on-s0\"", (">\xe2\x88\x92" /* a minus sign */ "0.50</text>"),
                                 ">0.13</text>",        "class=\"mid on-s8\"",
                                 ">1.00</text>",        ">0.00</text>" };
    for (size_t i = 0; i < COUNT(want); i++)
        if (!strstr(svg, want[i])) fail_msg("missing: %s", want[i]);
    assert_null(strstr(svg, "nan"));
    f = plot_figure_new(t, "g", "G");
    plot_map_set(plot_panel_new(f, &(plot_panel){ .title = "no axes" }),
                 &(plot_map){ .rows = 2, .columns = 3, .values = cell, .low = 0, .high = 1, .means = "m" });
    assert_null(strstr(written(plot_figure_json, f), "texttemplate"));
    assert_null(strstr(written(plot_figure_svg, f), "mid on-s"));
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(cells_of_small_maps_show_their_numbers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
