/* tests/test_kit_arms.c - comparisons: arms in lockstep, marks, divergence, the table, the log. */
#include "tests/arms_case.h"
#include <stdio.h>
#include <unistd.h>

static uint64_t trained_alone(int kind, int threads)
{
    points p = { .calls = 0 };
    kit_options o = { .epochs = 0.5, .lr = 0.5, .seed = 3, .threads = (uint64_t)threads, .quiet = true };
    kit_run r = start(&o);
    kit_arms a = comparison(&p);
    kit_arms_add(&a, "arm", kind);
    assert_true(kit_arms_run(&r, &a));
    const uint64_t hash = kit_fingerprint(a.arm[0].net);
    finish(&r, &a);
    return hash;
}

TEST(an_arm_trains_as_if_it_were_alone)
{
    points p = { .calls = 0 };
    kit_options o = { .epochs = 0.5, .lr = 0.5, .seed = 3, .threads = 2, .quiet = true };
    kit_run r = start(&o);
    kit_arms a = comparison(&p);
    kit_arms_add(&a, "plain", PLAIN), kit_arms_add(&a, "other", OTHER_RATE), kit_arms_add(&a, "again", PLAIN);
    assert_true(kit_arms_run(&r, &a));
    assert_int_equal(a.steps, 20);
    assert_int_equal(p.calls, 20 + 10 * 5); /* each batch is made once and shared by all arms */
    assert_int_equal(kit_fingerprint(a.arm[0].net), kit_fingerprint(a.arm[2].net));
    assert_int_equal(kit_fingerprint(a.arm[0].net), trained_alone(PLAIN, 1));
    assert_int_equal(kit_fingerprint(a.arm[1].net), trained_alone(OTHER_RATE, 4));
    assert_int_not_equal(kit_fingerprint(a.arm[0].net), kit_fingerprint(a.arm[1].net));
    finish(&r, &a);
}

TEST(a_mark_is_the_first_evaluation_that_passed_it)
{
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
    assert_int_equal(fast->mark[2].step, 0); /* no arm reaches 101 % */
    kit_arms_free(&a);
    a = comparison(&p), a.marks_are_losses = true, a.mark[0] = 1, a.mark[1] = 0.5, a.mark[2] = 1e-9;
    kit_arms_add(&a, "fast", PLAIN);
    assert_true(kit_arms_run(&r, &a));
    assert_true(a.arm[0].mark[0].step && a.arm[0].mark[0].step <= a.arm[0].mark[1].step && !a.arm[0].mark[2].step);
    finish(&r, &a);
}

TEST(arms_take_turns_in_going_first)
{
    static const int want[] = { PLAIN, OTHER_RATE, IDLE, OTHER_RATE, IDLE, PLAIN, IDLE, PLAIN, OTHER_RATE, PLAIN, OTHER_RATE, IDLE };
    points p = { .calls = 0 };
    kit_options o = { .steps = 4, .eval_every = 4, .seed = 3, .quiet = true };
    kit_run r = start(&o);
    kit_arms a = comparison(&p);
    kit_arms_add(&a, "a", PLAIN), kit_arms_add(&a, "b", OTHER_RATE), kit_arms_add(&a, "c", IDLE);
    taken = 0;
    assert_true(kit_arms_run(&r, &a));
    assert_int_equal(taken, COUNT(want));
    assert_memory_equal(turns, want, sizeof want);
    finish(&r, &a);
}

TEST(a_parameter_that_does_not_learn_is_named_at_the_first_step)
{
    char path[] = "/tmp/gradus-arms-XXXXXX", text[4096] = "";
    close(mkstemp(path));
    points p = { .calls = 0 };
    kit_options o = { .steps = 2, .eval_every = 9, .seed = 3 };
    kit_run r = start(&o);
    kit_arms a = comparison(&p);
    kit_arms_add(&a, "good", PLAIN), kit_arms_add(&a, "idle", IDLE);
    fflush(stdout);
    const int spoken = dup(2), printed = dup(1);
    assert_non_null(freopen(path, "w", stderr));
    assert_non_null(freopen("/dev/null", "w", stdout));
    assert_true(kit_arms_run(&r, &a));
    fflush(stderr), dup2(spoken, 2), close(spoken);
    fflush(stdout), dup2(printed, 1), close(printed);
    FILE *const f = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f), unlink(path);
    assert_int_equal(strncmp(text, "idle:\n", 6), 0);
    assert_non_null(strstr(text, "spare.weight"));
    assert_non_null(strstr(text, "unused in this forward"));
    assert_null(strstr(text + 6, "idle:\n"));
    assert_null(strstr(text, "good"));
    finish(&r, &a);
}

/* An arm whose accuracies in evaluation are given in advance. */
static gr_tensor *scripted(kit_arm *arm, const void *batch, kit_score *score)
{
    static const size_t hits[] = { 50, 89, 90, 80, 95, 94 };
    kit_score own = { 0 };
    gr_tensor *loss = loss_of(arm, batch, &own);
    kit_score_sum(score, &own);
    if (!gr_tape_recording(arm->tape))
        *score = (kit_score){ 2.0 * (double)score->images, hits[arm->steps - 1] * score->images / 100, score->images };
    return loss;
}

TEST(a_mark_is_passed_when_reached_and_passed_once)
{
    points p = { .calls = 0 };
    kit_options o = { .steps = 6, .eval_every = 1, .seed = 3, .quiet = true };
    kit_run r = start(&o);
    kit_arms a = comparison(&p);
    a.loss = scripted, a.source.test = 50, a.mark[0] = 50, a.mark[1] = 90, a.mark[2] = 95;
    kit_arms_add(&a, "arm", PLAIN);
    assert_true(kit_arms_run(&r, &a));
    assert_int_equal(a.arm[0].mark[0].step, 1), assert_int_equal(a.arm[0].mark[1].step, 3), assert_int_equal(a.arm[0].mark[2].step, 5);
    assert_true(kit_accuracy(&a.arm[0].tested) == 94);
    kit_arms_free(&a);
    a = comparison(&p);
    a.loss = scripted, a.marks_are_losses = true, a.mark[0] = 2.5, a.mark[1] = 2, a.mark[2] = 1.999;
    kit_arms_add(&a, "arm", PLAIN);
    assert_true(kit_arms_run(&r, &a));
    assert_int_equal(a.arm[0].mark[0].step, 1), assert_int_equal(a.arm[0].mark[1].step, 1), assert_int_equal(a.arm[0].mark[2].step, 0);
    finish(&r, &a);
}

TEST(the_test_set_is_seen_in_evaluation_mode)
{
    points p = { .calls = 0 };
    kit_options o = { .steps = 9, .eval_every = 4, .seed = 3, .quiet = true };
    kit_run r = start(&o);
    kit_arms a = comparison(&p);
    kit_arms_add(&a, "arm", PLAIN);
    assert_true(kit_arms_run(&r, &a));
    kit_arm *const arm = &a.arm[0];
    assert_true(gr_tape_training(arm->tape) && gr_tape_recording(arm->tape));
    kit_score want = { 0 };
    gr_tape_set_training(arm->tape, false); /* else dropout would drop values */
    for (size_t b = 0, samples; b < 5; b++) gr_tape_reset(arm->tape), loss_of(arm, next_points(&p, false, b, &samples), &want);
    assert_true(want.loss == arm->tested.loss && want.hits == arm->tested.hits && want.images == arm->tested.images);
    finish(&r, &a);
}

TEST(clip_bounds_a_step)
{
    points p = { .calls = 0 };
    kit_options o = { .steps = 1, .seed = 3, .quiet = true };
    kit_run r = start(&o);
    double moved = 0;
    kit_arms a = comparison(&p);
    a.clip = 1e-3;
    kit_arms_add(&a, "arm", PLAIN);
    assert_true(kit_arms_run(&r, &a));
    kit_arm fresh = { .tape = gr_tape_new(3, NULL) };
    fresh.net = gr_module_new(fresh.tape);
    build(&fresh);
    const gr_slot *b = gr_slot_first(fresh.net);
    for (const gr_slot *s = gr_slot_first(a.arm[0].net); s; s = gr_slot_next(a.arm[0].net, s), b = gr_slot_next(fresh.net, b))
        for (size_t i = 0; i < s->tensor->len; i++) moved += pow((double)s->tensor->data[i] - (double)b->tensor->data[i], 2);
    assert_true(fabs(sqrt(moved) - 0.5e-3) < 1e-6); /* lr times clip */
    gr_optim_free(fresh.optim), gr_module_free(fresh.net), gr_tape_free(fresh.tape), kit_arms_free(&a);
    assert_int_equal(kit_run_end(&r), 0);
}

TEST(images_are_a_source_of_any_batch)
{
    static uint8_t pixels[50 * KIT_PIXELS], labels[50];
    for (size_t i = 0; i < 50; i++) labels[i] = (uint8_t)(i % 10), pixels[i * KIT_PIXELS] = (uint8_t)i;
    const kit_set set = { { pixels, 50, KIT_PIXELS }, { labels, 50, 1 } };
    const kit_data data = { set, set, NULL };
    gr_tape *t = gr_tape_new(1, NULL);
    kit_images images = kit_images_new(t, &data, 8);
    const kit_source s = kit_images_source(&images);
    assert_int_equal(s.train, 7), assert_int_equal(s.test, 1);
    gr_real first[8];
    size_t n;
    const kit_batch *b = s.batch(s.data, true, 9, &n);
    for (size_t i = 0; i < 8; i++) first[i] = b->pixels[i * KIT_PIXELS];
    b = s.batch(s.data, true, 6, &n);
    assert_int_equal(n, 2), assert_int_equal(b->n, 2);
    b = s.batch(s.data, true, 9, &n);
    for (size_t i = 0; i < 8; i++) assert_true(first[i] == b->pixels[i * KIT_PIXELS]);
    b = s.batch(s.data, false, 0, &n);
    assert_int_equal(n, 50), assert_true(b->pixels[49 * KIT_PIXELS] == (gr_real)(49 / 255.0) && b->labels[49] == 9);
    kit_images_free(&images), gr_tape_free(t);
}

/* A source that fails, as a source that reads a file may. */
static const void *no_batch(void *source, bool training, size_t number, size_t *samples)
{
    (void)training, *samples = 0;
    if (number == 2) gr_fail_as(source, GR_IO_FAILED, "", "the data are gone");
    return NULL;
}

static gr_tensor *constant(kit_arm *arm, const void *batch, kit_score *score)
{
    (void)batch, (void)score;
    assert_true(arm->steps < 2); /* it is not called again after the failure */
    return gr_mean(arm->tape, gr_slot_first(arm->net)->tensor, GR_ALL_AXES, false);
}

TEST(an_error_of_the_source_ends_the_run)
{
    kit_options o = { .steps = 5, .quiet = true };
    kit_run r = start(&o);
    kit_arms a = { .title = "", .source = { 1, 1, no_batch, r.tape, NULL }, .build = build, .loss = constant, .every = 9 };
    kit_arms_add(&a, "arm", PLAIN);
    assert_false(kit_arms_run(&r, &a));
    assert_message(r.tape, "the data are gone");
    kit_arms_free(&a), gr_tape_recover(r.tape);
    assert_int_equal(kit_run_end(&r), 0);
}

TEST(an_arm_that_diverges_stops_alone)
{
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
    finish(&r, &a);
}

TEST(an_error_of_one_arm_ends_all_and_names_it)
{
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

TEST(the_log_names_run_and_arm)
{
    char path[] = "/tmp/gradus-arms-XXXXXX", line[1024];
    close(mkstemp(path));
    points p = { .calls = 0 };
    kit_options o = { .steps = 4, .eval_every = 2, .seed = 3, .quiet = true, .log = path };
    kit_run r = start(&o);
    assert_true(kit_run_begin(&r, "points"));
    kit_arms a = comparison(&p);
    kit_arms_add(&a, "x", PLAIN), kit_arms_add(&a, "y", OTHER_RATE);
    assert_true(kit_arms_run(&r, &a));
    finish(&r, &a);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arm_trains_as_if_it_were_alone),
        cmocka_unit_test(a_mark_is_the_first_evaluation_that_passed_it),
        cmocka_unit_test(arms_take_turns_in_going_first),
        cmocka_unit_test(a_parameter_that_does_not_learn_is_named_at_the_first_step),
        cmocka_unit_test(a_mark_is_passed_when_reached_and_passed_once),
        cmocka_unit_test(the_test_set_is_seen_in_evaluation_mode),
        cmocka_unit_test(clip_bounds_a_step),
        cmocka_unit_test(images_are_a_source_of_any_batch),
        cmocka_unit_test(an_error_of_the_source_ends_the_run),
        cmocka_unit_test(an_arm_that_diverges_stops_alone),
        cmocka_unit_test(an_error_of_one_arm_ends_all_and_names_it),
        cmocka_unit_test(the_log_names_run_and_arm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
