/* tests/test_dive_probe.c - at which steps the deep dive looks at its models, and that it sees them in evaluation mode. */
#include "tests/test.h"
#include "examples/dive/probe.h"

static void assert_steps(const dive_probe *p, const size_t *want, size_t n)
{
    assert_int_equal(p->frames, n);
    for (size_t k = 0; k < n; k++) assert_int_equal(p->at[k], want[k]);
}
#define STEPS(p, ...) assert_steps(p, (const size_t[]){ __VA_ARGS__ }, COUNT(((const size_t[]){ __VA_ARGS__ })))

TEST(looks_rise_from_0_to_the_last_step)
{
    dive_probe p = { .frames = 0 };
    double at[DIVE_FRAMES];
    dive_frames(&p, 5, 100, true), STEPS(&p, 0, 25, 50, 75, 100);
    dive_frames(&p, 5, 10000, false), STEPS(&p, 0, 10, 100, 1000, 10000);
    dive_frames(&p, 9, 3, false), STEPS(&p, 0, 1, 2, 3);
    dive_frames(&p, 1, 7, true), STEPS(&p, 7);
    assert_true(dive_frames_steps(&p, at)[0] == 7);
    dive_frames(&p, 1000, 100000, true), assert_int_equal(p.frames, DIVE_FRAMES);
}

/* What a look records: the arm, the frame and the mode. */
typedef struct {
    size_t looks, frame[KIT_ARMS];
    bool well;
} seen;

static void see(dive_probe *p, kit_arm *arm, size_t number, size_t frame)
{
    seen *const s = p->user;
    const dive_model *const m = arm->model;
    s->well = s->well && !gr_tape_training(arm->tape) && !gr_tape_recording(arm->tape) && arm->steps == p->at[frame];
    s->well = s->well && !strcmp(arm->name, dive_arm_name[number]) && m->pre[0] && gr_size(m->pre[0], 0) == 20 && p->images.n == 20;
    s->frame[number] = frame, s->looks++;
}

TEST(each_arm_is_seen_at_each_look_in_evaluation)
{
    kit_options o = { .seed = 3, .quiet = true, .threads = 1 };
    const kit_flags flags = { "probe", "", NULL, 0 };
    kit_run r;
    assert_int_equal(kit_run_start(&r, &flags, &o, 1, (char *[]){ (char[]){ "probe" }, NULL }), KIT_GO_ON);
    dive d = { .r = &r, .mode = DIVE_TINY, .seeds = 1, .figure = "probe" };
    d.data = kit_data_open(r.tape, "none");
    const dive_spec spec = { .arch = DIVE_MLP, .hidden = 8 };
    seen s = { .well = true };
    dive_probe p = { .d = &d, .title = "MLP", .spec = &spec, .steps = 4, .batch = 10, .samples = 20, .to = 1, .see = see, .user = &s };
    dive_frames(&p, 3, 4, true);
    assert_true(dive_probe_run(&p));
    assert_true(s.well);
    assert_int_equal(s.looks, 3 * DIVE_ARMS);
    for (size_t i = 0; i < DIVE_ARMS; i++) {
        assert_int_equal(s.frame[i], 2);
        assert_true(p.accuracy[i] >= 0 && p.accuracy[i] <= 100);
    }
    kit_data_free(r.tape, &d.data);
    assert_int_equal(kit_run_end(&r), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_rise_from_0_to_the_last_step),
        cmocka_unit_test(each_arm_is_seen_at_each_look_in_evaluation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
