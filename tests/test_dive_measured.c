/* tests/test_dive_measured.c - runs of a few steps have no verdict; numbers that the deep dive measures before training. */
#include "examples/dive/gradient_flow.h"
#include "examples/dive/seeds.h"
#include "tests/test.h"

static const kit_flags flags = { "measured", "", NULL, 0 };

static dive start(kit_run *r, kit_options *o, dive_mode mode, size_t seeds)
{
    static char name[] = "measured", *argv[] = { name, NULL };
    assert_int_equal(kit_run_start(r, &flags, o, 1, argv), KIT_GO_ON);
    dive d = { .r = r, .mode = mode, .seeds = seeds, .settings = "test", .preprocessing = "digits" };
    d.data = kit_data_open(r->tape, "none");
    d.runs = plot_runs_open(r->tape, "/nowhere/runs.jsonl");
    return d;
}

static void end(kit_run *r, dive *d)
{
    kit_data_free(r->tape, &d->data);
    assert_int_equal(kit_run_end(r), 0);
}

/* With one seed and a few steps only what is exact, measured before training or timed may have a verdict. */
TEST(a_few_steps_give_no_verdict)
{
    static const char *const trained[] = { "batch_size", "loss",      "learning_rate", "correlation",
                                           "variants",   "recurrent", "smoothness",    "further" };
    kit_run r;
    kit_options o = { .seed = 42, .quiet = true };
    dive d = start(&r, &o, DIVE_TINY, 1);
    size_t judged = 0;
    for (size_t i = 0; i < dive_figures_n; i++) {
        bool wanted = false;
        for (size_t k = 0; k < COUNT(trained); k++) wanted |= !strcmp(dive_figures[i].name, trained[k]);
        if (!wanted) continue;
        d.figure = dive_figures[i].name;
        dive_figures[i].measure(&d);
        dive_claims c = { .f = plot_figure_new(r.tape, d.figure, "") };
        dive_figures[i].claims(&d, &c), dive_figures[i].draw(&d, plot_figure_new(r.tape, d.figure, ""));
        assert_ok(r.tape);
        for (size_t k = 0; k < c.n; k++) {
            if (!c.claim[k]->exact && c.claim[k]->verdict != DIVE_SHORT)
                fail_msg("%s has the verdict %s after a few steps", c.claim[k]->statement, dive_verdict_name[c.claim[k]->verdict]);
            if (!c.claim[k]->exact && !*c.claim[k]->too_short && !strstr(c.claim[k]->why, "TOO SHORT, "))
                fail_msg("%s: %s does not say why it is TOO SHORT", c.claim[k]->statement, c.claim[k]->why);
            judged++;
        }
    }
    assert_int_equal(judged, 39);
    end(&r, &d);
}

/* RB2: how much of a gradient reaches the first of 100 steps of h = tanh(BN(W h) + ..), with gamma 0.1 and 1. The recurrence is chaotic, so
 * that rounding moves the values by up to a tenth. */
TEST(recurrent_batch_norm_keeps_the_gradient_as_recorded)
{
    static const double recorded[FLOW_RNNS][2] = { { 0.00837, 1307 }, { 0.179, 4.0e5 }, { 2.58e-8, 5.45e-15 }, { 0.187, 4.02e-13 } };
    kit_run r;
    kit_options o = { .seed = 42, .quiet = true };
    dive d = start(&r, &o, DIVE_TINY, 1);
    d.figure = "gradient_flow";
    flow_theory(&d);
    const plot_record *const back = plot_runs_get(&d.runs, "gradient_flow", "start/rnn");
    assert_ok(r.tape);
    assert_non_null(back), assert_int_equal(back->n, FLOW_RNNS * FLOW_GAINS);
    for (size_t k = 0; k < FLOW_RNNS; k++)
        for (size_t i = 0; i < 2; i++) {
            const double is = back->values[k * FLOW_GAINS + (i ? 4 : 2)], was = recorded[k][i];
            if (!(fabs(is / was - 1) < 0.2)) fail_msg("%s, gamma %s: %g instead of %g", flow_rnn[k], i ? "1" : "0.1", is, was);
        }
    assert_int_equal(plot_runs_get(&d.runs, "gradient_flow", "start/part")->n, 2 * FLOW_PARTS);
    end(&r, &d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_steps_give_no_verdict),
        cmocka_unit_test(recurrent_batch_norm_keeps_the_gradient_as_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
