/* examples/dive/gradient_flow.h - figure "gradient_flow": gradient_flow.c trains, gradient_start.c looks before training, gradient_flow_draw.c draws.
 *
 * Records: "frames" [frames], "seeds"; of each net and arm and seed, counted from 0, "NET/ARM/SEED/grad" [frames, places], of an LSTM "dh" and
 * "dc"; "NET/ARM/tested" [seeds], "NET/ARM/accuracy" [seeds]. Those of start/..: see gradient_start.c. */
#ifndef DIVE_GRADIENT_FLOW_H
#define DIVE_GRADIENT_FLOW_H
#include "examples/dive/models.h"

enum { FLOW_PLACES = 196 /* at most, in a row of gradients */ };
enum { FLOW_MLP, FLOW_SMALL, FLOW_PRE, FLOW_POST, FLOW_ROWS, FLOW_PIXELS, FLOW_NETS, FLOW_FRAMES = 14 };
typedef struct {
    dive_spec spec;
    const char *name, *title;
    size_t batch;
    double share;       /* of the time that all take */
} flow_net;
extern const flow_net flow_nets[FLOW_NETS];

/* Of post-norm, a fourth arm: LN whose learning rate rises over so many steps. */
#define FLOW_WARM "LN, warm-up"
static inline size_t flow_warm_steps(const dive *d) { return dive_pick(d, 2, 60, 400); }

/* Before training: batches, blocks and gains that are tried. */
enum { FLOW_BATCHES = 3, FLOW_DEPTHS = 5, FLOW_GAINS = 5, FLOW_LAYERS = 30, FLOW_BLANK = 4 /* rows */, FLOW_THEOREM = 12 /* blocks */ };
static inline size_t flow_start_units(const dive *d) { return dive_pick(d, 32, 128, 256); } /* of the MLP */
static inline size_t flow_start_size(const dive *d) { return dive_pick(d, 32, 32, 128); }   /* of the Transformers */
extern const size_t flow_batches[FLOW_BATCHES], flow_depths[FLOW_DEPTHS];
extern const double flow_gains[FLOW_GAINS];

void flow_build(kit_arm *arm); /* dive_build, and the Transformer's first weights */
/* What an arm's last step has left: g[0] of each layer, block or time step, and of an LSTM g[1], of the cell. Returns how many there are. */
size_t flow_gradients(const kit_arm *arm, double g[2][FLOW_PLACES]);
double flow_norm(gr_tape *t, const gr_tensor *x); /* of its gradient; NaN when there is none */
void flow_start(dive *d, double begun, double share);   /* measures what is seen before training */

/* Decades from the last of n gradients to the first: above 0 they explode on their way back, below they vanish. */
double flow_decades(const double *gradient, size_t n);
/* The factor by which the squared norm grows from layer to layer on its way back, fitted to the middle of n gradients, without `edge` on each side. */
double flow_growth(const double *gradient, size_t n, size_t edge);

#endif
