/* examples/dive/probe.h - looking into models while they train: at some steps the same test images go through each arm, in evaluation mode,
 * and a figure sees what was inside. */
#ifndef DIVE_PROBE_H
#define DIVE_PROBE_H
#include "examples/dive/models.h"

enum { DIVE_FRAMES = 64 };
typedef struct dive_probe {
    dive *d;
    const char *title;             /* what trains, for the line of progress */
    const dive_spec *spec;         /* of all arms */
    size_t steps, batch, samples;  /* of training; images that are looked at */
    size_t seed;                   /* the comparison's k-th */
    double from, to;               /* this training's part of the figure's progress */
    /* NULL: dive_arms_add, dive_build, dive_loss and dive_logits. An own model, too, is a dive_model, and has its own loss and logits. */
    void (*add)(kit_arms *a);
    void (*build)(kit_arm *arm);
    gr_tensor *(*loss)(kit_arm *arm, const void *batch, kit_score *score);
    gr_tensor *(*logits)(kit_arm *arm, const void *batch);
    /* Called with each arm that has not diverged, right after its forward. */
    void (*see)(struct dive_probe *p, kit_arm *arm, size_t number, size_t frame);
    void *user;
    size_t frames, at[DIVE_FRAMES]; /* rising steps: see dive_frames */
    double accuracy[KIT_ARMS];      /* at the end, in percent of the first 1,000 test images; NaN: it diverged */
    size_t diverged[KIT_ARMS];      /* at which step; 0: it did not */
    /* The rest is dive_probe_run's. */
    kit_batch images;
    size_t next;
} dive_probe;

/* n steps from 0 to last, evenly or each about as many times the one before: fewer when there are not so many. */
void dive_frames(dive_probe *p, size_t n, size_t last, bool evenly);
double *dive_frames_steps(const dive_probe *p, double at[DIVE_FRAMES]);

/* Train the arms, and look. False on an error, which is then on the program's tape, and when it was time to stop. */
bool dive_probe_run(dive_probe *p);

#endif
