/* tests/test_dive_siblings.c - the deep dive and the programs that compare norms do not contradict each other: where its claim has a verdict, the
 * same comparison in mlp_norms and cnn_norms, with as many steps, has the same sign; and so has one seed of its LSTM and of its post-norm
 * Transformer in seq_mnist_lstm and transformer_norms. */
#include "examples/dive/batch_size.h"
#include "examples/dive/gradient_flow.h"
#include "examples/dive/loss.h"
#include "tests/program.h"

enum { MOST = 16 };
typedef struct {
    char run[MOST][16], name[MOST][16];
    double trained[MOST], tested[MOST], accuracy[MOST];
    size_t n;
} results;

static double number_after(const char *line, const char *key)
{
    const char *const at = strstr(line, key);
    assert_non_null(at);
    return atof(at + strlen(key));
}

static void text_after(char text[16], const char *line, const char *key)
{
    const char *const at = strstr(line, key);
    assert_non_null(at);
    snprintf(text, 16, "%.*s", (int)strcspn(at + strlen(key), "\""), at + strlen(key));
}

/* Run a sibling with these arguments, and return its log, which the next call overwrites. */
static char *log_of(const char *name, const char *const *argument)
{
    static char text[1 << 21];
    char log[160];
    const char *argv[16] = { program };
    size_t n = 1;
    snprintf(log, sizeof log, "--log=%s", in_dir("log"));
    strcpy(strrchr(program, '/') + 1, name);
    for (; *argument; argument++) argv[n++] = *argument;
    argv[n++] = "--quiet", argv[n++] = log;
    if (ended(start(NULL, in_dir("out"), argv)) != 0) fail_msg("%s: %s", name, err);
    slurp(in_dir("log"), text, sizeof text), unlink(in_dir("log"));
    return text;
}

/* Read the "arm" records of its log. */
static results sibling(const char *name, const char *const *argument)
{
    results r = { .n = 0 };
    for (char *line = strtok(log_of(name, argument), "\n"); line; line = strtok(NULL, "\n")) {
        if (!strstr(line, "\"fingerprint\"") || r.n == MOST) continue;
        text_after(r.run[r.n], line, "\"run\": \""), text_after(r.name[r.n], line, "\"arm\": \"");
        r.trained[r.n] = number_after(line, "\"train_loss\": "), r.tested[r.n] = number_after(line, "\"test_loss\": ");
        r.accuracy[r.n++] = number_after(line, "\"test_accuracy\": ");
    }
    return r;
}

/* run NULL means any. */
static size_t arm_of(const results *r, const char *run, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if ((!run || !strcmp(r->run[i], run)) && !strcmp(r->name[i], name)) return i;
    fail_msg("there is no arm %s", name);
    return 0;
}

/* ---- A deep dive of some figures ---- */

typedef struct {
    kit_run r;
    kit_options o;
    dive d;
} diving;

static void begin(diving *x, const char *figure, size_t seeds)
{
    static const kit_flags flags = { "siblings", "", NULL, 0 };
    x->o = (kit_options){ .seed = 42, .quiet = true };
    assert_int_equal(kit_run_start(&x->r, &flags, &x->o, 1, (char *[]){ (char[]){ "siblings" }, NULL }), KIT_GO_ON);
    x->d = (dive){ .r = &x->r, .mode = DIVE_QUICK, .seeds = seeds, .figure = figure };
    x->d.data = kit_data_open(x->r.tape, "none");
    x->d.runs = plot_runs_open(x->r.tape, in_dir("none"));
}

static void end(diving *x)
{
    assert_ok(x->r.tape);
    kit_data_free(x->r.tape, &x->d.data);
    assert_int_equal(kit_run_end(&x->r), 0);
}

/* The programs train for half an hour under a sanitizer, and have tests of their own there. */
static bool left_out(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    const bool sanitized = true;
#else
    const bool sanitized = false;
#endif
    if (!sanitized && sizeof(gr_real) == sizeof(float)) return false;
    puts("not run: the comparison with the programs, it is made in float and without a sanitizer");
    return true;
}

static bool batch_128(const dive *d, size_t net, size_t batch) { return (void)d, net != BATCH_CONVS && batch == 128; }

/* The claim whose source holds `code`. */
static const dive_claim *claim_of(const dive_claims *c, const char *code)
{
    for (size_t i = 0; i < c->n; i++)
        if (strstr(c->claim[i]->source, code)) return c->claim[i];
    fail_msg("no claim names %s", code);
    return NULL;
}

/* below: the sibling agrees with the claim. */
static void assert_agrees(const dive_claim *c, bool below, const char *what)
{
    if (c->verdict == DIVE_SHORT || (c->verdict == DIVE_PASS && !below) || (c->verdict == DIVE_FAIL && below))
        fail_msg("%s: the deep dive says %s (%s; %s; %s), the sibling %s", what, dive_verdict_name[c->verdict], c->measured, c->interval,
                 c->why, below ? "agrees with the claim" : "does not");
}

TEST(batch_128_agrees_with_the_programs)
{
    diving x;
    if (left_out()) return;
    begin(&x, "batch_size", DIVE_SEEDS);
    batch_measure(&x.d, batch_128);
    dive_claims c = { .f = plot_figure_new(x.r.tape, "claims", "") };
    dive_batch_size_claims(&x.d, &c);
    assert_ok(x.r.tape);

    const results mlp = sibling("mlp_norms", (const char *const[]){ "--data=none", "--small-batch=0", "--steps=150", "--hidden=64", NULL });
    assert_agrees(claim_of(&c, "(LN7)"), mlp.trained[arm_of(&mlp, NULL, "LN hidden")] < mlp.trained[arm_of(&mlp, NULL, "BN all")],
                  "MLP at batch 128");
    const results cnn = sibling("cnn_norms", (const char *const[]){ "--data=none", "--smallest=128", "--steps=150", NULL });
    const size_t bn = arm_of(&cnn, NULL, "BN"), ln = arm_of(&cnn, NULL, "LN");
    assert_agrees(claim_of(&c, "section 6.7"), cnn.trained[bn] < cnn.trained[ln] && cnn.accuracy[bn] > cnn.accuracy[ln],
                  "CNN at batch 128");
    end(&x);
}

/* The step of the first evaluation of seq_mnist_lstm with at least 90 %, or 1,000,000. */
static double steps_to_90(const char *norm)
{
    const char *const argument[] = { "--data=none", "--hidden=64",     "--batch=32", "--lr=2e-3", "--schedule=constant",
                                     "--steps=700", "--eval-every=70", norm,         NULL };
    for (char *line = strtok(log_of("seq_mnist_lstm", argument), "\n"); line; line = strtok(NULL, "\n"))
        if (strstr(line, "\"kind\": \"eval\"") && number_after(line, "\"test_accuracy\": ") >= 90) return number_after(line, "\"step\": ");
    return 1e6;
}

TEST(the_lstm_agrees_with_seq_mnist_lstm)
{
    diving x;
    if (left_out()) return;
    begin(&x, "loss", 1);
    loss_measure(&x.d, DIVE_LSTM, DIVE_LSTM + 1);
    const double none = plot_runs_value(&x.d.runs, "loss", "LSTM/none/mark"), ln = plot_runs_value(&x.d.runs, "loss", "LSTM/LN/mark");
    const double none_there = steps_to_90("--norm=none"), ln_there = steps_to_90("--norm=layer");
    if ((ln < none) != (ln_there < none_there))
        fail_msg("steps to 90 %%: %g with LN and %g without in the deep dive, %g and %g in seq_mnist_lstm", ln, none, ln_there, none_there);
    end(&x);
}

static bool warm_up(const dive *d, size_t net, size_t arm, size_t k)
{
    return (void)d, (void)k, (net == FLOW_PRE && arm == 2) || (net == FLOW_POST && (arm == 2 || arm == FLOW_WARMED));
}

/* Without a warm-up post-norm is worse than pre-norm, and the warm-up helps post-norm. */
TEST(the_warm_up_agrees_with_transformer_norms)
{
    diving x;
    if (left_out()) return;
    begin(&x, "gradient_flow", 1);
    flow_train(&x.d, 0, warm_up);
    const double pre = plot_runs_value(&x.d.runs, "gradient_flow", "pre/LN/tested"),
                 post = plot_runs_value(&x.d.runs, "gradient_flow", "post/LN/tested"),
                 warm = plot_runs_value(&x.d.runs, "gradient_flow", "post/" FLOW_WARM "/tested");
    const results there =
        sibling("transformer_norms", (const char *const[]){ "--batch=8", "--steps=150", "--warmup=60", "--sample=0", NULL });
    const double pre_there = there.tested[arm_of(&there, "no warm-up", "LN pre")],
                 post_there = there.tested[arm_of(&there, "no warm-up", "LN post")],
                 warm_there = there.tested[arm_of(&there, "with warm-up", "LN post")];
    if ((post > pre) != (post_there > pre_there) || (warm < post) != (warm_there < post_there))
        fail_msg("test loss of pre-norm, post-norm, post-norm with a warm-up: %g, %g, %g in the deep dive, %g, %g, %g in transformer_norms",
                 pre, post, warm, pre_there, post_there, warm_there);
    end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_128_agrees_with_the_programs),
        cmocka_unit_test(the_lstm_agrees_with_seq_mnist_lstm),
        cmocka_unit_test(the_warm_up_agrees_with_transformer_norms),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
