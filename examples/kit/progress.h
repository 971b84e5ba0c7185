/* examples/kit/progress.h - the progress of a training run: on a terminal one line that is rewritten, elsewhere one line per epoch. */
#ifndef KIT_PROGRESS_H
#define KIT_PROGRESS_H
#include "examples/kit/data.h"
#include <stdio.h>

typedef struct {
    FILE *to;            /* NULL prints nothing */
    bool live;           /* `to` is a terminal */
    size_t epochs, left; /* number of epochs; steps that are left */
    double since, busy;  /* time at the end of the last step; seconds spent in steps */
    double drawn;        /* time when the line was last drawn */
    size_t steps, images; /* done so far in this run */
    const char *unit;     /* default "images" */
} kit_progress;

kit_progress kit_progress_new(FILE *to, size_t epochs, size_t steps);

/* Call this after a step of `images` images. epoch counts from 0; score covers the epoch so far. Returns the images per second of the step. */
double kit_progress_step(kit_progress *p, size_t epoch, size_t images, const kit_score *score);

/* The same, but the line shows text instead of epoch and score. */
void kit_progress_show(kit_progress *p, size_t images, const char *text);

/* Rewrite the line on a terminal: text, shortened so that `end` fits, then `end`. */
void kit_progress_line(FILE *to, const char *text, const char *end);

/* Clear the line before something else is printed. */
void kit_progress_wipe(const kit_progress *p);

/* Call this after an epoch: it clears the line on a terminal, and prints a line per epoch elsewhere. */
void kit_progress_epoch(const kit_progress *p, size_t epoch);

/* Restart the clock of the next step, so that an evaluation between two steps does not count. */
void kit_progress_go_on(kit_progress *p);

#endif
