/* tests/test_dive_siblings.c - the deep dive and the programs that compare norms do not contradict each other: where its claim has a verdict, the
 * same comparison in mlp_norms and cnn_norms, with as many steps, has the same sign. */
#include "examples/dive/batch_size.h"
#include "tests/program.h"

enum { MOST = 8 };
typedef struct {
    char name[MOST][16];
    double trained[MOST], accuracy[MOST];
    size_t n;
} results;

static double number_after(const char *line, const char *key)
{
    const char *const at = strstr(line, key);
    assert_non_null(at);
    return atof(at + strlen(key));
}

/* Run a sibling with these arguments, and read the "arm" records of its log. */
static results sibling(const char *name, const char *const *argument)
{
    static char text[1 << 20];
    results r = { .n = 0 };
    char log[160];
    const char *argv[16] = { program };
    size_t n = 1;
    snprintf(log, sizeof log, "--log=%s", in_dir("log"));
    strcpy(strrchr(program, '/') + 1, name);
    for (; *argument; argument++) argv[n++] = *argument;
    argv[n++] = "--data=none", argv[n++] = "--quiet", argv[n++] = log;
    if (ended(start(NULL, in_dir("out"), argv)) != 0) fail_msg("%s: %s", name, err);
    slurp(in_dir("log"), text, sizeof text), unlink(in_dir("log"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (!strstr(line, "\"fingerprint\"") || r.n == MOST) continue;
        const char *const arm = strstr(line, "\"arm\": \"") + 8;
        snprintf(r.name[r.n], sizeof *r.name, "%.*s", (int)strcspn(arm, "\""), arm);
        r.trained[r.n] = number_after(line, "\"train_loss\": "), r.accuracy[r.n++] = number_after(line, "\"test_accuracy\": ");
    }
    return r;
}

static size_t arm_of(const results *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->name[i], name)) return i;
    fail_msg("there is no arm %s", name);
    return 0;
}

static bool wanted(const dive *d, size_t net, size_t batch) { return (void)d, net != BATCH_CONVS && batch == 128; }

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
    if (sizeof(gr_real) != sizeof(float)) {
        puts("not run: the comparison with the programs, it is made in float");
        return;
    }
    kit_run r;
    kit_options o = { .seed = 42, .quiet = true };
    const kit_flags flags = { "siblings", "", NULL, 0 };
    assert_int_equal(kit_run_start(&r, &flags, &o, 1, (char *[]){ (char[]){ "siblings" }, NULL }), KIT_GO_ON);
    dive d = { .r = &r, .mode = DIVE_QUICK, .seeds = DIVE_SEEDS, .figure = "batch_size" };
    d.data = kit_data_open(r.tape, "none");
    d.runs = plot_runs_open(r.tape, in_dir("none"));
    batch_measure(&d, wanted);
    dive_claims c = { .f = plot_figure_new(r.tape, "claims", "") };
    dive_batch_size_claims(&d, &c);
    assert_ok(r.tape);

    const results mlp = sibling("mlp_norms", (const char *const[]){ "--small-batch=0", "--steps=150", "--hidden=64", NULL });
    assert_agrees(claim_of(&c, "(LN7)"), mlp.trained[arm_of(&mlp, "LN hidden")] < mlp.trained[arm_of(&mlp, "BN all")], "MLP at batch 128");
    const results cnn = sibling("cnn_norms", (const char *const[]){ "--smallest=128", "--steps=150", NULL });
    const size_t bn = arm_of(&cnn, "BN"), ln = arm_of(&cnn, "LN");
    assert_agrees(claim_of(&c, "section 6.7"), cnn.trained[bn] < cnn.trained[ln] && cnn.accuracy[bn] > cnn.accuracy[ln],
                  "CNN at batch 128");
    kit_data_free(r.tape, &d.data);
    assert_int_equal(kit_run_end(&r), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(batch_128_agrees_with_the_programs) };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
