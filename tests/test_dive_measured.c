/* tests/test_dive_measured.c - runs of a few steps have no verdict; verdicts of planted records; numbers that the deep dive measures before training. */
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

/* A run whose records of a figure are planted. */
static dive plan(kit_run *r, const char *figure)
{
    static kit_options o = { .seed = 42, .quiet = true };
    dive d = start(r, &o, DIVE_QUICK, 3);
    d.figure = figure;
    return d;
}

/* Check the verdict of each claim whose source has a text, and end the run. The list ends with NULL. */
typedef struct { const char *source; dive_verdict verdict; } wanted;
static void judge(kit_run *r, dive *d, void (*claims)(const dive *, dive_claims *), const wanted *w)
{
    dive_claims c = { .f = plot_figure_new(r->tape, d->figure, "") };
    claims(d, &c);
    for (; w->source; w++) {
        size_t i = 0;
        while (i < c.n && !strstr(c.claim[i]->source, w->source)) i++;
        if (i == c.n) fail_msg("no claim names %s", w->source);
        else if (c.claim[i]->verdict != w->verdict) fail_msg("%s is %s: %s", w->source, dive_verdict_name[c.claim[i]->verdict], c.claim[i]->why);
    }
    end(r, d);
}

/* Put the same value, with a little noise, for all three seeds. */
static void plant(dive *d, const char *net, const char *arm, const char *what, double value)
{
    dive_put(d, GR_SHAPE(3), ((double[]){ value, value * 1.001, value * 0.999 }), "%s/%s/%s", net, arm, what);
}

/* XU3: better in at least half of three networks, from planted losses of plain LayerNorm, where full LayerNorm has 1. */
TEST(a_claim_about_half_of_the_networks)
{
    static const char *const net[] = { "MLP", "CNN", "Transformer" };
    static const struct {
        double plain[3];
        dive_verdict verdict;
    } planted[] = {
        { { 0.8, 0.8, 1.2 }, DIVE_PASS },  { { 0.8, 1.2, 1.2 }, DIVE_FAIL },
        { { 1, 1.2, 1.2 }, DIVE_FAIL },    /* undecided, but it cannot be two of three */
        { { 1, 0.8, 1.2 }, DIVE_DIFFERS }, /* it can */
        { { 1, 1, 1.2 }, DIVE_DIFFERS },
    };
    for (size_t k = 0; k < COUNT(planted); k++) {
        kit_run r;
        dive d = plan(&r, "variants");
        for (size_t i = 0; i < 3; i++) {
            plant(&d, net[i], "LN", "error", 10), plant(&d, net[i], "LN", "tested", 1);
            if (planted[k].plain[i] != 1) plant(&d, net[i], "plain", "tested", planted[k].plain[i]);
            else dive_put(&d, GR_SHAPE(3), ((double[]){ 0.9, 1.2, 0.9 }), "%s/plain/tested", net[i]);
        }
        judge(&r, &d, dive_variants_claims, (const wanted[]){ { "XU3", planted[k].verdict }, { 0 } });
    }
}

/* A network on text errs in more than 45 % of the characters; its verdict needs a loss of at most 2 instead. */
TEST(a_network_on_text_needs_a_small_loss)
{
    static const struct { double loss; dive_verdict verdict; } planted[] = { { 1.9, DIVE_PASS }, { 2.1, DIVE_SHORT } };
    static const char *const net[] = { "MLP", "LSTM", "CNN", "Transformer" };
    for (size_t k = 0; k < COUNT(planted); k++) {
        kit_run r;
        dive d = plan(&r, "variants");
        for (size_t i = 0; i < 4; i++) {
            plant(&d, net[i], "plain", "error", i == 3 ? 57 : 10), plant(&d, net[i], "plain", "tested", planted[k].loss);
            plant(&d, net[i], "no backward", "tested", planted[k].loss + 0.5);
        }
        judge(&r, &d, dive_variants_claims, (const wanted[]){ { "XU2", planted[k].verdict }, { 0 } });

        d = plan(&r, "loss");
        for (size_t i = 0; i < 4; i++) {
            const double loss = planted[k].loss, test[] = { 4, loss, 4, loss, 4, loss };
            plant(&d, net[i], "BN", "error", i == 3 ? 57 : 10), dive_put(&d, GR_SHAPE(3, 2), test, "%s/BN/test", net[i]);
            plant(&d, net[i], "BN", "mark", 100), plant(&d, net[i], "none", "mark", 200);
        }
        judge(&r, &d, dive_loss_claims, (const wanted[]){ { "BN4", planted[k].verdict }, { 0 } });
    }
}

/* The claim that BatchNorm is worse than no norm at batch 2, and CC4, from planted test errors: both judge also the CNN with norms after
 * convolutions only. With norms in hidden layers BatchNorm is worse, and a batch of 2 costs it five times as much as GroupNorm. */
TEST(claims_at_batch_2_judge_both_places_of_the_norms)
{
    static const struct {
        double bn, gn; /* after convolutions only, where no norm has 30 % and batch 32 has 5 % */
        dive_verdict worse, three;
    } planted[] = { { 50, 10, DIVE_PASS, DIVE_PASS }, { 10, 10, DIVE_DIFFERS, DIVE_DIFFERS } };
    for (size_t k = 0; k < COUNT(planted); k++) {
        kit_run r;
        dive d = plan(&r, "batch_size");
        for (size_t n = 0; n < 3; n++)
            for (size_t i = 0; i < 4; i++) {
                static const char *const net[] = { "cnn", "convs", "mlp" }, *const arm[] = { "none", "BN", "LN", "GN" };
                const double hidden[] = { 30, 60, 20, 16 }, convs[] = { 30, planted[k].bn, 20, planted[k].gn };
                double error[18], loss[18];
                for (size_t j = 0; j < 18; j++)
                    error[j] = j % 6 == 1 ? (n == 1 ? convs : hidden)[i] + (double)(j / 6) / 10 : 5, loss[j] = 0.5;
                dive_put(&d, GR_SHAPE(3, 6), error, "%s/%s/error", net[n], arm[i]);
                dive_put(&d, GR_SHAPE(3, 6), loss, "%s/%s/tested", net[n], arm[i]);
            }
        judge(&r, &d, dive_batch_size_claims, (const wanted[]){ { "unstable", planted[k].worse }, { "CC4", planted[k].three }, { 0 } });
    }
}

/* LN16: a lower variance alone is a part of the statement; the units must also be active at most half as often. */
TEST(border_units_must_be_rarely_active)
{
    static const struct {
        double active, variance;
        dive_verdict verdict;
    } planted[] = { { 0.3, 18, DIVE_PASS }, { 0.85, 18, DIVE_DIFFERS }, { 0.85, 1.1, DIVE_FAIL } };
    for (size_t k = 0; k < COUNT(planted); k++) {
        kit_run r;
        dive d = plan(&r, "further");
        const double a = planted[k].active, v = planted[k].variance;
        dive_put(&d, GR_SHAPE(3), ((double[]){ a, a + 0.01, a - 0.01 }), "border");
        dive_put(&d, GR_SHAPE(3), ((double[]){ v, v + 0.1, v - 0.1 }), "variance");
        judge(&r, &d, dive_further_claims, (const wanted[]){ { "LN16", planted[k].verdict }, { 0 } });
    }
}

/* BN3: a rate 5 times as large needs more than the step of the rates, which is a factor of 3.3, above 5. */
TEST(a_ratio_of_rates_is_known_up_to_their_step)
{
    static const struct {
        size_t largest; /* the number of the largest rate that trains with BN; without a norm it is 3 */
        dive_verdict verdict;
    } planted[] = { { 7, DIVE_PASS }, { 5, DIVE_DIFFERS }, { 2, DIVE_FAIL } };
    for (size_t k = 0; k < COUNT(planted); k++) {
        kit_run r;
        dive d = plan(&r, "learning_rate");
        double none[24], bn[24];
        for (size_t i = 0; i < 24; i++) none[i] = i % 8 <= 3 ? 0.5 : 3, bn[i] = i % 8 <= planted[k].largest ? 0.5 : 3;
        dive_put(&d, GR_SHAPE(3, 8), none, "mlp_sgd/none/loss"), dive_put(&d, GR_SHAPE(3, 8), bn, "mlp_sgd/BN/loss");
        dive_put(&d, GR_SHAPE(3, 8), bn, "mlp_sgd/LN/loss");
        judge(&r, &d, dive_learning_rate_claims, (const wanted[]){ { "BN3", planted[k].verdict }, { 0 } });
    }
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

/* Units that have died pass on a gradient of 0, which has no logarithm. */
TEST(a_gradient_of_0_has_finite_decades)
{
    kit_run r;
    dive d = plan(&r, "gradient_flow");
    dive_put(&d, GR_SHAPE(2, 3), ((double[]){ 1, 2, 100, 0, 0, 5 }), "small/none/0/grad");
    const flow_row one = flow_of_seed(&d, r.tape, FLOW_SMALL, "none", "grad", 0), all = flow_of(&d, r.tape, FLOW_SMALL, "none", "grad");
    const double last[] = { flow_row_decades(&one, 1), flow_row_decades(&all, 1), flow_unevenness(&one) }, want[] = { -10, -10, 6 };
    assert_true(one.g[0] == 1 && one.g[5] == 5);
    for (size_t i = 0; i < COUNT(want); i++)
        if (!(fabs(last[i] - want[i]) < 1e-9)) fail_msg("%zu: %g instead of %g", i, last[i], want[i]);
    end(&r, &d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_steps_give_no_verdict),
        cmocka_unit_test(a_claim_about_half_of_the_networks),
        cmocka_unit_test(a_network_on_text_needs_a_small_loss),
        cmocka_unit_test(claims_at_batch_2_judge_both_places_of_the_norms),
        cmocka_unit_test(border_units_must_be_rarely_active),
        cmocka_unit_test(a_ratio_of_rates_is_known_up_to_their_step),
        cmocka_unit_test(recurrent_batch_norm_keeps_the_gradient_as_recorded),
        cmocka_unit_test(a_gradient_of_0_has_finite_decades),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
