/* examples/dive/gradient_flow.h - figure "gradient_flow". gradient_flow.c measures gradients during training, gradient_start.c before training;
 * gradient_flow_draw.c draws.
 *
 * Records: "frames" [frames]; for each net, arm and seed (counted from 0) "NET/ARM/SEED/grad" [frames, places], for an LSTM "dh" and
 * "dc" instead of "grad"; "NET/ARM/tested" [seeds], "NET/ARM/accuracy" [seeds]. gradient_start.c and gradient_theory.c describe the
 * records start/... */
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
/* A Transformer with a part of it as in the theorems, alone or all together. */
enum { FLOW_PARTS = 5 };
extern const char *const flow_part[FLOW_PARTS];
/* An RNN of tanh(BN(W h) + a): what W is, and what a comes from. */
enum { FLOW_RNNS = 4 };
extern const char *const flow_rnn[FLOW_RNNS];

enum { FLOW_WARMED = DIVE_ARMS }; /* the number of the arm FLOW_WARM; the others have those of dive_arm_name */
/* Train the nets with the arms that are wanted, and put their records: k counts the seeds from 0. begun: see flow_start. */
void flow_train(dive *d, double begun, bool (*wanted)(const dive *d, size_t net, size_t arm, size_t k));

void flow_build(kit_arm *arm); /* dive_build, then the initial weights of Xiong et al. 2020 for a Transformer */
/* The norms of the gradients that an arm's last step left: g[0] for each layer, block or time step; for an LSTM g[1] for the cell state. Returns
 * how many there are. */
size_t flow_gradients(const kit_arm *arm, double g[2][FLOW_PLACES]);
double flow_norm(gr_tape *t, const gr_tensor *x); /* the norm of the gradient of x; NaN if it has none */
void flow_start(dive *d, double begun, double share);   /* measures the gradients before training */

void flow_theory(dive *d);                              /* a part of it: gradient_theory.c */

/* Before training: add the gradients of n arms on the first batch of the k-th seed to out. All arms read the same batch. */
typedef struct {
    dive *d;
    gr_tensor *(*loss)(kit_arm *, const void *, kit_score *); /* NULL means dive_loss */
    double *out;                                              /* [arms, places]; results are added to it */
    size_t places;
} flow_looking;
typedef struct {
    const char *name;
    gr_norm_kind norm;
    dive_spec spec;
} flow_looked;
void flow_look(flow_looking *l, const flow_looked *arm, size_t n, size_t batch, size_t k);

/* log10 of the first of n gradients over the last: above 0 the gradient explodes on its way back, below 0 it vanishes. */
double flow_decades(const double *gradient, size_t n);
/* The factor by which the squared norm grows per layer on its way back, over the middle of n gradients, without `edge` layers at each end. */
double flow_growth(const double *gradient, size_t n, size_t edge);

/* What draw and claims read: gradients [frames, places] of a net and an arm, the geometric mean over the seeds, because gradients range over
 * decades; g is NULL without a record. A gradient of 0, where units have died, is replaced by FLOW_VANISHED times the last one of its frame. */
#define FLOW_VANISHED 1e-10
typedef struct {
    size_t frames, places;
    double *g;
} flow_row;
flow_row flow_of(const dive *d, gr_tape *t, size_t net, const char *arm, const char *what);
flow_row flow_of_seed(const dive *d, gr_tape *t, size_t net, const char *arm, const char *what, size_t seed); /* one seed, counted from 0 */
double flow_row_decades(const flow_row *f, size_t frame);  /* flow_decades of a frame, or of the last frame if the number is too large */
double flow_unevenness(const flow_row *f);                 /* the mean |decades| over all frames; NaN if a seed diverged */
double flow_tenths(double x);                              /* rounded to one decimal, without -0.0 */
double flow_start_value(const dive *d, size_t i, const char *name);         /* value i of the record start/NAME */
double flow_start_growth(const dive *d, size_t batch, size_t arm);          /* flow_growth of the record start/layers */

#endif
