/* examples/dive/gradient_flow.h - figure "gradient_flow". gradient_flow.c measures gradients during training, gradient_start.c before training;
 * gradient_flow_draw.c draws.
 *
 * Records: "frames" [frames], "seeds"; for each net, arm and seed (counted from 0) "NET/ARM/SEED/grad" [frames, places], for an LSTM "dh" and
 * "dc" instead of "grad"; "NET/ARM/tested" [seeds], "NET/ARM/accuracy" [seeds]. gradient_start.c describes the records start/... */
#ifndef DIVE_GRADIENT_FLOW_H
#define DIVE_GRADIENT_FLOW_H
#include "examples/dive/models.h"

enum { FLOW_PLACES = 196 /* most layers, blocks or time steps */ };
enum { FLOW_MLP, FLOW_SMALL, FLOW_PRE, FLOW_POST, FLOW_ROWS, FLOW_PIXELS, FLOW_NETS, FLOW_FRAMES = 14 };
typedef struct {
    dive_spec spec;
    const char *name, *title;
    size_t batch;
    double share;       /* part of the time of all nets */
} flow_net;
extern const flow_net flow_nets[FLOW_NETS];

/* An arm of post-norm only: LN with a warm-up of the learning rate over this many steps. */
#define FLOW_WARM "LN, warm-up"
static inline size_t flow_warm_steps(const dive *d) { return dive_pick(d, 2, 60, 400); }

/* Before training: the batch sizes, depths and gains that are compared. */
enum { FLOW_BATCHES = 3, FLOW_DEPTHS = 5, FLOW_GAINS = 5, FLOW_LAYERS = 30, FLOW_BLANK = 4 /* rows */, FLOW_THEOREM = 12 /* blocks */ };
static inline size_t flow_start_units(const dive *d) { return dive_pick(d, 32, 128, 256); } /* for the MLP */
static inline size_t flow_start_size(const dive *d) { return dive_pick(d, 32, 32, 128); }   /* for the Transformers */
extern const size_t flow_batches[FLOW_BATCHES], flow_depths[FLOW_DEPTHS];
extern const double flow_gains[FLOW_GAINS];

void flow_build(kit_arm *arm); /* dive_build, then the initial weights of Xiong et al. 2020 for a Transformer */
/* The norms of the gradients that an arm's last step left: g[0] for each layer, block or time step; for an LSTM g[1] for the cell state. Returns
 * how many there are. */
size_t flow_gradients(const kit_arm *arm, double g[2][FLOW_PLACES]);
double flow_norm(gr_tape *t, const gr_tensor *x); /* the norm of the gradient of x; NaN if it has none */
void flow_start(dive *d, double begun, double share);   /* measures the gradients before training */

/* log10 of the first of n gradients over the last: above 0 the gradient explodes on its way back, below 0 it vanishes. */
double flow_decades(const double *gradient, size_t n);
/* The factor by which the squared norm grows per layer on its way back, over the middle of n gradients, without `edge` layers at each end. */
double flow_growth(const double *gradient, size_t n, size_t edge);

#endif
