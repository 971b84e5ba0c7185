/* examples/dive/probe.h - measuring inside models while they train: at some steps the same test images go through each arm in evaluation mode,
 * and a figure reads the inner values. */
#ifndef DIVE_PROBE_H
#define DIVE_PROBE_H
#include "examples/dive/models.h"

enum { DIVE_FRAMES = 64 };
typedef struct dive_probe {
    dive *d;
    const char *title;             /* for the progress line */
    const dive_spec *spec;         /* of all arms */
    size_t steps, batch, samples;  /* training steps; images per training batch; test images that are measured */
    size_t seed;                   /* number of the seed, from 0 */
    double from, to;               /* this training's part of the figure's progress */
    /* Default: dive_arms_add, dive_build, dive_loss and dive_logits. A figure that sets build sets loss and logits too; its model is a
     * dive_model. */
    void (*add)(kit_arms *a);
    void (*build)(kit_arm *arm);
    gr_tensor *(*loss)(kit_arm *arm, const void *batch, kit_score *score);
    gr_tensor *(*logits)(kit_arm *arm, const void *batch);
    /* Called for each arm that has not diverged, right after its forward. */
    void (*see)(struct dive_probe *p, kit_arm *arm, size_t number, size_t frame);
    void *user;
    size_t frames, at[DIVE_FRAMES]; /* rising steps: see dive_frames */
    double accuracy[KIT_ARMS];      /* at the end, in percent of the first 1,000 test images; NaN if the arm diverged */
    /* dive_probe_run uses the rest. */
    kit_batch images;
    size_t next;
} dive_probe;

/* Set p's frames to n steps from 0 to `last`, at equal distances or at equal ratios; fewer if there are not n different steps. */
void dive_frames(dive_probe *p, size_t n, size_t last, bool evenly);
double *dive_frames_steps(const dive_probe *p, double at[DIVE_FRAMES]);

/* Train the arms, and measure at the frames. Returns false after Ctrl-C, and after an error, which is on the program's tape. */
bool dive_probe_run(dive_probe *p);

#endif
