/* tests/arms_case.h - what the tests of comparisons share: points of four classes, a small network in variants, a program without flags. */
#ifndef ARMS_CASE_H
#define ARMS_CASE_H
#include "examples/kit/kit.h"
#include "tests/test.h"

/* Points of four classes around the corners of a square: 40 batches of 16 an epoch, 5 batches to test. */
typedef struct {
    gr_real x[16][2];
    int label[16];
    size_t calls;
} points;

static inline const void *next_points(void *data, bool training, size_t number, size_t *samples)
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

enum { PLAIN, OTHER_RATE, EXPLODES, FAILS, IDLE };
static int turns[64], taken; /* the kinds of arms in the order of their training steps */

static inline void build(kit_arm *arm)
{
    gr_module *net = gr_sequential_new(arm->tape, arm->net, "net");
    gr_linear_new(arm->tape, net, "in", 2, 8, NULL);
    gr_activation_new(arm->tape, net, "tanh", "Tanh", gr_tanh);
    gr_dropout_new(arm->tape, net, "drop", 0.1);
    gr_linear_new(arm->tape, net, "out", 8, arm->kind == FAILS ? 0 : 4, NULL);
    if (arm->kind == IDLE) gr_linear_new(arm->tape, arm->net, "spare", 2, 2, NULL);
    arm->model = net;
    arm->optim = gr_sgd_new(arm->tape, arm->net, &(gr_sgd_config){ .lr = arm->kind == OTHER_RATE ? 0.05 : 0.5 });
}

static inline gr_tensor *loss_of(kit_arm *arm, const void *batch, kit_score *score)
{
    const points *const p = batch;
    if (gr_tape_recording(arm->tape)) turns[taken++ % 64] = arm->kind;
    gr_tensor *x = gr_input(arm->tape, p->x[0], GR_SHAPE(16, 2));
    if (arm->kind == EXPLODES && arm->steps == 5)
        x = gr_log(arm->tape, gr_scalar(arm->tape, -1)), x = gr_expand(arm->tape, x, GR_SHAPE(16, 2));
    return kit_classify(arm->tape, gr_forward(arm->tape, arm->model, x), p->label, score);
}

/* Start a program without command-line flags. */
static inline kit_run start(kit_options *o)
{
    static const kit_flags flags = { "prog", "does things", NULL, 0 };
    char name[] = "prog", *argv[] = { name, NULL };
    kit_run r;
    assert_int_equal(kit_run_start(&r, &flags, o, 1, argv), KIT_GO_ON);
    assert_ok(r.tape);
    return r;
}

static inline void finish(kit_run *r, kit_arms *a)
{
    kit_arms_free(a);
    assert_int_equal(kit_run_end(r), 0);
}

static inline kit_arms comparison(points *p)
{
    return (
        kit_arms){ .title = "four corners", .source = { 40, 5, next_points, p }, .build = build, .loss = loss_of, .mark = { 50, 90, 101 } };
}

#endif
