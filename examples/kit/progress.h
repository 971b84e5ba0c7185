/* examples/kit/progress.h - how far a training run is: on a terminal a line that keeps changing, elsewhere a line an epoch. */
#ifndef KIT_PROGRESS_H
#define KIT_PROGRESS_H
#include "examples/kit/data.h"
#include <stdio.h>

typedef struct {
    FILE *to;            /* NULL: quiet */
    bool live;           /* a terminal */
    size_t epochs, left; /* epochs in all; steps that are left */
    double since, busy;  /* the clock at the end of the last step; seconds spent in steps */
    double drawn;        /* when the line was last drawn */
    size_t steps, images; /* of this run so far */
    const char *unit;     /* "images" */
} kit_progress;

kit_progress kit_progress_new(FILE *to, size_t epochs, size_t steps);

/* A step with that many images has ended; epoch counts from 0, score is that of the epoch so far. Returns the step's images per second. */
double kit_progress_step(kit_progress *p, size_t epoch, size_t images, const kit_score *score);

/* The same with a text in the place of epoch and score. */
void kit_progress_show(kit_progress *p, size_t images, const char *text);

/* The changing line itself, on a terminal: text, cut so that end has room, and end. */
void kit_progress_line(FILE *to, const char *text, const char *end);

/* Wipe the changing line, because something else is to be printed. */
void kit_progress_wipe(const kit_progress *p);

/* An epoch has ended: wipes the changing line; elsewhere than on a terminal, prints one. */
void kit_progress_epoch(const kit_progress *p, size_t epoch);

/* The next step begins here: what came since the last one, an evaluation, does not count. */
void kit_progress_go_on(kit_progress *p);

#endif
