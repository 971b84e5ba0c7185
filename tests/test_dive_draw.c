/* tests/test_dive_draw.c - figures are drawn and statements are judged from records alone. Any record may be missing, and any allocation
 * may fail. Each claim of the papers is in the table, or listed with the reason why it is not. */
#include "examples/dive/exact.h"
#include "tests/failing.h"
#include <ctype.h>

static kit_run run;
static kit_options options = { .seed = 3, .quiet = true, .threads = 1 }; /* one thread: valgrind would make the others wait in turn */
static dive whole;                                                       /* measured as --check does */
static FILE *nowhere;

FIXTURE(measure_all)
{
    static const kit_flags flags = { "prog", "does things", NULL, 0 };
    char name[] = "prog", *argv[] = { name, NULL };
    static char runs[512];
    if (make_folder(state) || kit_run_start(&run, &flags, &options, 1, argv) != KIT_GO_ON) return -1;
    snprintf(runs, sizeof runs, "%s", in_folder("runs.jsonl"));
    nowhere = fopen("/dev/null", "w");
    whole = (dive){ .r = &run, .mode = DIVE_TINY, .seeds = 1, .data = kit_data_open(run.tape, "none"), .settings = "tiny" };
    whole.preprocessing = "Drawn digits", whole.runs = plot_runs_open(run.tape, runs);
    for (size_t i = 0; i + 1 < dive_figures_n; i++) { /* not the last, claims: it takes seconds, and --check runs it */
        whole.figure = dive_figures[i].name;
        dive_figures[i].measure(&whole);
        plot_runs_end(&whole.runs, whole.figure, whole.settings, 1);
    }
    unlink(runs);
    return gr_failed(run.tape) || !nowhere ? -1 : 0;
}

FIXTURE(release_all)
{
    fclose(nowhere);
    kit_data_free(run.tape, &whole.data);
    if (kit_run_end(&run) != 0) print_error("a figure was measured with an error\n"), exit(1);
    return remove_folder(state);
}

typedef struct {
    const dive_figure *figure;
    size_t pad; /* bytes taken from the tape's first block; they decide which allocation needs a new block */
    bool written;
} drawing;

/* Draw the figure, judge its statements and, with `written`, write JSON and SVG. Returns false when t is in error. */
static bool draw(gr_tape *t, void *argument)
{
    const drawing *const a = argument;
    const dive_figure *const f = a->figure;
    if (a->pad && !gr_failed(t)) gr_save(t, a->pad);
    plot_figure *const drawn = gr_failed(t) ? NULL : plot_figure_new(t, f->name, f->what);
    dive_claims c = { .f = gr_failed(t) ? NULL : plot_figure_new(t, "claims", "") };
    if (!drawn || !c.f) return false;
    f->draw(&whole, drawn), f->claims(&whole, &c);
    if (gr_failed(t)) return false;
    if (a->written) plot_figure_json(nowhere, drawn), plot_figure_svg(nowhere, drawn);
    return !gr_failed(t);
}

/* The program measures a figure again when one of its records is missing. If the figure is drawn all the same, it has a gap or is
 * refused. */
TEST(any_record_may_be_missing)
{
    size_t records = 0;
    for (size_t i = 0; i < dive_figures_n; i++)
        for (plot_record **at = &whole.runs.first; *at; at = &(*at)->next) {
            plot_record *const missing = *at;
            if (strcmp(missing->figure, dive_figures[i].name)) continue;
            *at = missing->next;
            gr_tape *t = gr_tape_new(1, NULL);
            if (!draw(t, &(drawing){ &dive_figures[i], 0, false })) assert_non_null(strstr(gr_message(t), missing->figure));
            gr_tape_free(t);
            *at = missing, records++;
        }
    assert_true(records > 200);
}

TEST(any_allocation_may_fail)
{
    for (size_t i = 0; i < dive_figures_n; i++)
        for (size_t pad = 0; pad < 1 << 18; pad += 70001) fail_every_allocation(draw, &(drawing){ &dive_figures[i], pad, pad == 0 });
}

TEST(statements_are_exact_and_hold_or_say_why)
{
    gr_tape *t = gr_tape_new(1, NULL);
    dive_claims c = { .f = plot_figure_new(t, "claims", "") };
    dive_collect(&whole, &c);
    assert_ok(t);
    dive_collect(&whole, &(dive_claims){ .f = NULL }); /* without memory for a figure there is nowhere to add to */
    assert_true(c.n > 40);
    for (size_t i = 0; i < c.n; i++) {
        const dive_claim *const p = c.claim[i];
        assert_true(*p->statement && *p->source && *p->measured && *p->control);
        if (p->exact && p->verdict != DIVE_PASS) fail_msg("%s: %s; %s", p->statement, p->measured, p->why);
        if ((p->verdict == DIVE_PASS) != !*p->why) fail_msg("%s: a reason when it does not hold, and none when it does", p->statement);
    }
    gr_tape_free(t);
}

/* Whether the source of a statement names the code: "(LN7" or ", LN7" with no digit after it. */
static bool names(const char *source, const char *code)
{
    for (const char *at = source; (at = strstr(at, code)); at++)
        if (!isdigit((unsigned char)at[strlen(code)]) && at > source && (at[-1] == '(' || at[-1] == ' ')) return true;
    return false;
}

/* How many statements of the table name the code. The fixture does not measure those of the figure claims, which are constants. */
static size_t judged(const dive_claims *c, const char *code)
{
    const dive_exact_list list[] = { dive_exact_layer(), dive_exact_other(), dive_exact_transformer() };
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) n += names(c->claim[i]->source, code);
    for (size_t i = 0; i < COUNT(list); i++)
        for (size_t k = 0; k < list[i].n; k++) n += names(list[i].exact[k].source, code);
    return n;
}

TEST(every_claim_of_the_papers_is_in_the_table_or_has_a_reason)
{
    static const struct {
        const char *letters;
        int n;
    } paper[] = { { "LN", 17 }, { "BN", 11 }, { "RB", 9 }, { "XU", 4 }, { "RM", 5 }, { "PL", 7 }, { "CC", 6 } };
    gr_tape *t = gr_tape_new(1, NULL);
    dive_claims c = { .f = plot_figure_new(t, "claims", "") };
    size_t all = 0;
    dive_collect(&whole, &c);
    for (size_t p = 0; p < COUNT(paper); p++)
        for (int k = 1; k <= paper[p].n; k++, all++) {
            char code[16];
            size_t missing = 0;
            snprintf(code, sizeof code, "%s%d", paper[p].letters, k);
            for (size_t i = 0; i < DIVE_MISSING; i++) missing += !strcmp(dive_missing[i][0], code);
            if ((judged(&c, code) > 0) + missing != 1)
                fail_msg("%s: %zu statements in the table, %zu in the list of what is missing", code, judged(&c, code), missing);
        }
    assert_int_equal(all, 59);
    for (size_t i = 0; i < DIVE_MISSING; i++) assert_true(*dive_missing[i][1] && *dive_missing[i][2]);
    gr_tape_free(t);
}

/* The word nan is nowhere in text. */
static void assert_no_nan(const char *text)
{
    for (const char *at = text; at && (at = strstr(at, "nan")); at++)
        if ((at == text || !isalpha((unsigned char)at[-1])) && !isalpha((unsigned char)at[3])) fail_msg("%s", text);
}

TEST(sentences_have_words_for_what_is_missing)
{
    gr_tape *t = gr_tape_new(1, NULL);
    dive_claims c = { .f = plot_figure_new(t, "claims", "") };
    dive_collect(&whole, &c);
    for (size_t i = 0; i < c.n; i++) {
        const dive_claim *const p = c.claim[i];
        assert_no_nan(p->measured), assert_no_nan(p->control), assert_no_nan(p->interval), assert_no_nan(p->why);
    }
    for (size_t i = 0; i + 1 < dive_figures_n; i++) {
        plot_figure *const f = plot_figure_new(t, dive_figures[i].name, "");
        dive_figures[i].draw(&whole, f);
        for (size_t k = 0; k < PLOT_SAYS; k++) assert_no_nan(f->says[k]);
    }
    assert_ok(t);
    gr_tape_free(t);
}

static int place_of(dive_verdict v) { return v == DIVE_PASS ? 1000 : (int)v; }
TEST(statements_that_fail_come_first_and_lead_to_their_figures)
{
    gr_tape *t = gr_tape_new(1, NULL);
    dive_claims c = { .f = plot_figure_new(t, "claims", "") };
    static const char *const head[] = { "Statement" }, *const text[DIVE_CLAIMS] = { NULL };
    dive_collect(&whole, &c);
    dive_link_claims(&whole, c.f); /* a figure without a table stays as it is */
    plot_panel *const p = plot_panel_new(c.f, &(plot_panel){ .title = "Claims" });
    plot_table_set(p, &(plot_table){ .rows = c.n + 1, .columns = 1, .head = head, .text = text, .verdict = -1 });
    dive_link_claims(&whole, c.f);
    assert_ok(t);
    for (size_t i = 0; i < c.n; i++) {
        if (i) assert_true(place_of(c.claim[i - 1]->verdict) <= place_of(c.claim[i]->verdict));
        assert_string_equal(p->table->link[i], c.claim[i]->figure);
    }
    assert_null(p->table->link[c.n]);
    gr_tape_free(t);
}

TEST(histograms_of_the_sphere_have_one_axis)
{
    gr_tape *t = gr_tape_new(1, NULL);
    plot_figure *const f = plot_figure_new(t, "sphere", "");
    size_t histograms = 0;
    double high = 0;
    dive_sphere_draw(&whole, f);
    assert_ok(t);
    for (size_t k = 0; k < f->n; k++) {
        const plot_panel *const p = f->panel[k];
        if (!p->n) continue;
        if (histograms++ == 0) high = p->x.high;
        assert_true(p->x.low == 0 && p->x.high == high);
        for (size_t i = 0; i < p->n; i++) assert_true(high >= p->series[i]->x[p->series[i]->n - 1]);
    }
    assert_int_equal(histograms, 4);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_are_exact_and_hold_or_say_why),
        cmocka_unit_test(every_claim_of_the_papers_is_in_the_table_or_has_a_reason),
        cmocka_unit_test(sentences_have_words_for_what_is_missing),
        cmocka_unit_test(statements_that_fail_come_first_and_lead_to_their_figures),
        cmocka_unit_test(histograms_of_the_sphere_have_one_axis),
        cmocka_unit_test(any_record_may_be_missing),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, measure_all, release_all);
}
