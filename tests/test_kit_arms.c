/* tests/test_kit_arms.c - comparisons: arms in lockstep, marks, divergence, the table, the log; the frame of a program. */
#include "tests/test.h"
#include "examples/kit/kit.h"
#include <stdio.h>
#include <unistd.h>

/* Points of four classes around the corners of a square: 40 batches of 16 an epoch, 5 batches to test. */
typedef struct {
    gr_real x[16][2];
    int label[16];
    size_t calls;
} points;

static const void *next_points(void *data, bool training, size_t number, size_t *samples)
{
    points *const p = data;
    gr_stream s = gr_stream_new(7, training ? "train" : "test");
    s.counter = (uint64_t)number << 20;
    for (int i = 0; i < 16; i++) {
        p->label[i] = (int)gr_stream_below(&s, 4);
        for (int k = 0; k < 2; k++) p->x[i][k] = (gr_real)((p->label[i] >> k & 1) + gr_stream_uniform(&s, -0.3, 0.3));
    }
    p->calls++;
    *samples = 16;
    return p;
}

enum { PLAIN, OTHER_RATE, EXPLODES, FAILS };

static void build(kit_arm *arm)
{
    gr_module *net = gr_sequential_new(arm->tape, arm->net, "net");
    gr_linear_new(arm->tape, net, "in", 2, 8, NULL);
    gr_activation_new(arm->tape, net, "tanh", "Tanh", gr_tanh);
    gr_dropout_new(arm->tape, net, "drop", 0.1);
    gr_linear_new(arm->tape, net, "out", 8, arm->kind == FAILS ? 0 : 4, NULL);
    arm->model = net;
    arm->optim = gr_sgd_new(arm->tape, arm->net, &(gr_sgd_config){ .lr = arm->kind == OTHER_RATE ? 0.05 : 0.5 });
}

static gr_tensor *loss_of(kit_arm *arm, const void *batch, kit_score *score)
{
    const points *const p = batch;
    gr_tensor *x = gr_input(arm->tape, p->x[0], GR_SHAPE(16, 2));
    if (arm->kind == EXPLODES && arm->steps == 5)
        x = gr_log(arm->tape, gr_scalar(arm->tape, -1)), x = gr_expand(arm->tape, x, GR_SHAPE(16, 2));
    return kit_classify(arm->tape, gr_forward(arm->tape, arm->model, x), p->label, score);
}

/* A program that has none of the user's flags. */
static kit_run start(kit_options *o)
{
    static const kit_flags flags = { "prog", "does things", NULL, 0 };
    char name[] = "prog", *argv[] = { name, NULL };
    kit_run r;
    assert_int_equal(kit_run_start(&r, &flags, o, 1, argv), KIT_GO_ON);
    assert_ok(r.tape);
    return r;
}

static kit_arms comparison(points *p)
{
    return (
        kit_arms){ .title = "four corners", .source = { 40, 5, next_points, p }, .build = build, .loss = loss_of, .mark = { 50, 90, 101 } };
}

static uint64_t trained_alone(int kind, int threads)
{
    points p = { .calls = 0 };
    kit_options o = { .epochs = 0.5, .lr = 0.5, .seed = 3, .threads = (uint64_t)threads, .quiet = true };
    kit_run r = start(&o);
    kit_arms a = comparison(&p);
    kit_arms_add(&a, "arm", kind);
    assert_true(kit_arms_run(&r, &a));
    const uint64_t hash = kit_fingerprint(a.arm[0].net);
    kit_arms_free(&a);
    assert_int_equal(kit_run_end(&r), 0);
    return hash;
}

static void an_arm_trains_as_if_it_were_alone(void **state)
{
    (void)state;
    points p = { .calls = 0 };
    kit_options o = { .epochs = 0.5, .lr = 0.5, .seed = 3, .threads = 2, .quiet = true };
    kit_run r = start(&o);
    kit_arms a = comparison(&p);
    kit_arms_add(&a, "plain", PLAIN), kit_arms_add(&a, "other", OTHER_RATE), kit_arms_add(&a, "again", PLAIN);
    assert_true(kit_arms_run(&r, &a));
    assert_int_equal(a.steps, 20);
    assert_int_equal(p.calls, 20 + 10 * 5); /* each batch is made once for all */
    assert_int_equal(kit_fingerprint(a.arm[0].net), kit_fingerprint(a.arm[2].net));
    assert_int_equal(kit_fingerprint(a.arm[0].net), trained_alone(PLAIN, 1));
    assert_int_equal(kit_fingerprint(a.arm[1].net), trained_alone(OTHER_RATE, 4));
    assert_int_not_equal(kit_fingerprint(a.arm[0].net), kit_fingerprint(a.arm[1].net));
    kit_arms_free(&a);
    assert_int_equal(kit_run_end(&r), 0);
}

static void marks_are_the_first_evaluation_that_passed_them(void **state)
{
    (void)state;
    points p = { .calls = 0 };
    kit_options o = { .steps = 60, .eval_every = 7, .seed = 3, .quiet = true };
    kit_run r = start(&o);
    kit_arms a = comparison(&p);
    kit_arms_add(&a, "fast", PLAIN), kit_arms_add(&a, "slow", OTHER_RATE);
    assert_true(kit_arms_run(&r, &a));
    const kit_arm *const fast = &a.arm[0], *const slow = &a.arm[1];
    assert_int_equal(fast->steps, 60);
    assert_int_equal(fast->tested.images, 80);
    assert_int_equal(fast->whole.images, 60 * 16);
    assert_int_equal(fast->recent.images, 4 * 16); /* 60 = 8 * 7 + 4 */
    assert_true(fast->mark[1].step > 0 && (fast->mark[1].step % 7 == 0 || fast->mark[1].step == 60));
    assert_true(fast->mark[0].step <= fast->mark[1].step && fast->mark[0].seconds <= fast->mark[1].seconds);
    assert_true(fast->mark[1].seconds <= fast->seconds);
    assert_true(!slow->mark[1].step || slow->mark[1].step > fast->mark[1].step);
    assert_int_equal(fast->mark[2].step, 0); /* nobody has 101 % */
    kit_arms_free(&a);
    a = comparison(&p), a.marks_are_losses = true, a.mark[0] = 1, a.mark[1] = 0.5, a.mark[2] = 1e-9;
    kit_arms_add(&a, "fast", PLAIN);
    assert_true(kit_arms_run(&r, &a));
    assert_true(a.arm[0].mark[0].step && a.arm[0].mark[0].step <= a.arm[0].mark[1].step && !a.arm[0].mark[2].step);
    kit_arms_free(&a);
    assert_int_equal(kit_run_end(&r), 0);
}

static void an_arm_that_diverges_stops_alone(void **state)
{
    (void)state;
    points p = { .calls = 0 };
    kit_options o = { .epochs = 0.5, .seed = 3, .threads = 1, .quiet = true };
    kit_run r = start(&o);
    kit_arms a = comparison(&p);
    kit_arms_add(&a, "bad", EXPLODES), kit_arms_add(&a, "good", PLAIN);
    assert_true(kit_arms_run(&r, &a));
    assert_int_equal(a.arm[0].diverged, 6);
    assert_int_equal(a.arm[0].whole.images, 5 * 16);
    assert_int_equal(a.arm[1].steps, 20);
    assert_int_equal(kit_fingerprint(a.arm[1].net), trained_alone(PLAIN, 1));
    for (gr_slot *s = gr_slot_first(a.arm[0].net); s; s = gr_slot_next(a.arm[0].net, s))
        for (size_t i = 0; i < s->tensor->len; i++) assert_true(isfinite(s->tensor->data[i]));

    char text[2048] = "";
    FILE *const f = fmemopen(text, sizeof text, "w");
    kit_arms_table(f, &a);
    fclose(f);
    assert_int_equal(strncmp(text, "four corners, 20 steps\n      train loss  test loss  accuracy      gap", 69), 0);
    assert_non_null(strstr(text, "\nbad   diverged at step 6\ngood  "));
    kit_arms_free(&a);
    assert_int_equal(kit_run_end(&r), 0);
}

static void an_error_of_one_arm_ends_all_and_names_it(void **state)
{
    (void)state;
    points p = { .calls = 0 };
    kit_options o = { .steps = 3, .quiet = true };
    kit_run r = start(&o);
    kit_arms a = comparison(&p);
    kit_arms_add(&a, "good", PLAIN), kit_arms_add(&a, "wrong", FAILS);
    assert_false(kit_arms_run(&r, &a));
    assert_int_equal(gr_error_code(r.tape), GR_MISUSE);
    assert_int_equal(strncmp(gr_message(r.tape), "wrong: ", 7), 0);
    kit_arms_free(&a);
    gr_tape_recover(r.tape);
    assert_int_equal(kit_run_end(&r), 0);
}

static void the_log_names_run_and_arm(void **state)
{
    (void)state;
    char path[] = "/tmp/gradus-arms-XXXXXX", line[1024];
    close(mkstemp(path));
    points p = { .calls = 0 };
    kit_options o = { .steps = 4, .eval_every = 2, .seed = 3, .quiet = true, .log = path };
    kit_run r = start(&o);
    assert_true(kit_run_begin(&r, "points"));
    kit_arms a = comparison(&p);
    kit_arms_add(&a, "x", PLAIN), kit_arms_add(&a, "y", OTHER_RATE);
    assert_true(kit_arms_run(&r, &a));
    kit_arms_free(&a);
    assert_int_equal(kit_run_end(&r), 0);
    FILE *const f = fopen(path, "r");
    int runs = 0, steps = 0, evaluations = 0, ends = 0;
    while (fgets(line, sizeof line, f)) {
        runs += !strncmp(line, "{\"kind\": \"run\", \"program\": \"prog\"", 33);
        steps += !strncmp(line, "{\"kind\": \"step\", \"run\": \"four corners\", \"arm\": \"x\", \"step\": ", 58);
        evaluations += !strncmp(line, "{\"kind\": \"eval\", \"run\": \"four corners\", \"arm\": \"y\", \"step\": ", 58);
        ends += !strncmp(line, "{\"kind\": \"arm\", ", 16) && strstr(line, "\"fingerprint\": \"");
    }
    fclose(f), unlink(path);
    assert_int_equal(runs, 1), assert_int_equal(steps, 4), assert_int_equal(evaluations, 2), assert_int_equal(ends, 2);
}

static void a_missed_target_ends_with_1_only_with_check(void **state)
{
    (void)state;
    for (int check = 0; check < 2; check++) {
        kit_options o = { .check = check, .quiet = true };
        kit_run r = start(&o);
        const int spoken = dup(2);
        assert_non_null(freopen("/dev/null", "w", stderr));
        assert_true(kit_run_need(&r, true, "nothing"));
        assert_false(kit_run_need(&r, false, "%d is not %d", 1, 2));
        fflush(stderr), dup2(spoken, 2), close(spoken);
        assert_int_equal(kit_run_end(&r), check);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arm_trains_as_if_it_were_alone), cmocka_unit_test(marks_are_the_first_evaluation_that_passed_them),
        cmocka_unit_test(an_arm_that_diverges_stops_alone),  cmocka_unit_test(an_error_of_one_arm_ends_all_and_names_it),
        cmocka_unit_test(the_log_names_run_and_arm),         cmocka_unit_test(a_missed_target_ends_with_1_only_with_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
