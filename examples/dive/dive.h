/* examples/dive/dive.h - the deep dive: what its figures share.
 *
 * Each figure is a file in this folder with three functions, and a line in DIVE_FIGURES. measure trains or computes, and only puts numbers
 * into d->runs. draw makes the figure and claims judges statements; both read d->runs alone, so that a figure can be drawn again without
 * training. */
#ifndef DIVE_H
#define DIVE_H
#include "examples/kit/arms.h"
#include "examples/plot/figure.h"
#include "examples/kit/file.h"
#include "examples/kit/program.h"
#include "examples/plot/runs.h"

/* The figures in the order of the page: name, approximate seconds with --quick, and content, for --list. */
#define DIVE_FIGURES(F) \
    F(sphere, 1, "activations in space before and after LayerNorm: four units on a sphere, 64 units on three principal axes") \
    F(invariance, 1, "scales and shifts of weights, inputs and one case: how far outputs and gradients move with four norms") \
    F(epsilon, 1, "epsilon from 0 to 0.1: output, gradient and error on nearly constant, constant and normal rows") \
    F(batch_size, 19, "BatchNorm, LayerNorm and GroupNorm at batches of 1 to 128: test error, and training mode against evaluation mode") \
    F(padding, 2, "BatchNorm's statistics against the share of padding, with and without lengths, and LayerNorm") \
    F(hidden_dynamics, 5, "percentiles of the pre-activations, over training and over time; a recurrence without input") \
    F(gradient_flow, 24, "norms of the gradient over layers, blocks and time steps, before and during training: where it vanishes or explodes") \
    F(loss, 28, "training loss and accuracy of MLP, LSTM, CNN and Transformer, against steps and against seconds") \
    F(learning_rate, 11, "training loss against learning rate and initial scale: the largest values that train") \
    F(gamma_beta, 4, "initial gamma and beta: how they change the training of an LSTM, and a distribution of pre-activations") \
    F(correlation, 5, "correlation of hidden units, MLP and LSTM, before and through training: maps, mean |r|, effective rank") \
    F(variants, 10, "LayerNorm with a part left out or changed, in three networks: gain and bias, the gradient through the statistics") \
    F(recurrent, 4, "an LSTM on characters with norms: statistics for each time step or shared, and longer sequences than in training") \
    F(smoothness, 2, "how much the loss varies along the gradient, and BatchNorm with noise after it") \
    F(further, 5, "deep sigmoids, a small training set, the border of images, and changes that spread through ReLU") \
    F(cost, 1, "six ways to write LayerNorm: time forward and backward for several sizes, and error") \
    F(claims, 4, "the table of all statements, what was measured, and whether it holds")

/* DIVE_TINY is the mode of --check alone: a few steps of everything. */
typedef enum { DIVE_TINY, DIVE_QUICK, DIVE_FULL } dive_mode;

typedef struct dive {
    kit_run *r;                /* its tape owns data, runs and figures, takes all errors, and is never reset */
    dive_mode mode;
    size_t seeds;              /* repetitions of a comparison, with the seeds o->seed, o->seed + 1, .. */
    kit_data data;             /* images: MNIST or drawn digits */
    const char *text;          /* path of a text; NULL means made-up sentences */
    kit_bytes read;            /* the bytes of that text */
    const char *plotly;        /* the text of a plotly.min.js for the page, or NULL */
    const char *preprocessing; /* for captions: "Drawn digits, 28 x 28, pixels 0 to 1" */
    plot_runs runs;
    const char *settings;      /* everything that the numbers depend on, as in runs.jsonl */
    const char *figure;        /* the name of the figure that is being measured */
    struct { double began, total, before, weight, drawn; } progress; /* times of start and last output; --quick seconds: all, before this figure, its own */
} dive;

/* Return the number for the mode. */
size_t dive_pick(const dive *d, size_t tiny, size_t quick, size_t full);
uint64_t dive_seed(const dive *d, size_t k); /* the k-th seed */

/* For measure: show progress. share is the part of this figure that is done (0 to 1), and the text says what is being measured. Returns false
 * when measure must stop, after Ctrl-C or an error. */
bool dive_tick(dive *d, double share, const char *format, ...) __attribute__((format(GR_PRINTF, 3, 4)));

/* For measure: make a new tape on the program's threads; free it, after copying its error, if any, to d->r->tape. */
gr_tape *dive_tape(const dive *d, uint64_t seed);
void dive_tape_free(dive *d, gr_tape *t);

/* For measure: add an array to the figure that is being measured. draw and claims read arrays with plot_runs_get and plot_runs_value. */
#define dive_put(d, shape, values, ...) plot_runs_put(&(d)->runs, (d)->figure, shape, values, __VA_ARGS__)

/* A statement of a paper, or one that is often made, and the result here. dive_claim_add copies the texts; with too_short its verdict is TOO
 * SHORT. */
typedef enum { DIVE_PASS, DIVE_FAIL, DIVE_DIFFERS, DIVE_EQUAL, DIVE_SHORT, DIVE_VERDICTS } dive_verdict;
extern const char *const dive_verdict_name[DIVE_VERDICTS];
typedef struct {
    const char *statement, *source; /* "LayerNorm is invariant to scaling the weights"; "Ba et al. 2016, table 1" */
    const char *measured, *control; /* the result with numbers; what it is compared with */
    const char *interval;           /* the differences over the seeds with their intervals: see dive_interval; NULL in an exact claim */
    const char *why;                /* the reason of every verdict but PASS */
    const char *too_short;          /* why the runs give no verdict: see dive_too_short; NULL when they do */
    size_t seeds;                   /* how many seeds the verdict is from; 0 in an exact claim */
    dive_verdict verdict;
    bool exact;                     /* a mathematical statement, which --check requires to PASS */
    const char *figure;             /* the name of the figure that judges it; dive_collect sets it */
} dive_claim;
enum { DIVE_CLAIMS = 160 };
typedef struct dive_claims { plot_figure *f; dive_claim *claim[DIVE_CLAIMS]; size_t n; } dive_claims;
void dive_claim_add(dive_claims *c, const dive_claim *claim);
/* Add a mathematical statement. */
void dive_claim_exact(dive_claims *c, bool holds, const char *statement, const char *source, const char *measured, const char *control,
                      const char *why);
/* PASS when both parts of a statement hold, DIFFERS when one holds, FAIL when neither does. */
dive_verdict dive_both(bool a, bool b);

typedef struct {
    const char *name, *what;
    double seconds;
    void (*measure)(dive *d);
    void (*draw)(const dive *d, plot_figure *f); /* f is a new figure; sets its title, texts and panels */
    void (*claims)(const dive *d, dive_claims *c);
} dive_figure;
extern const dive_figure dive_figures[];
extern const size_t dive_figures_n;
/* Add the claims of all complete figures to c, those that fail first and those that pass last; none if c->f is NULL, which it is without memory. */
void dive_collect(const dive *d, dive_claims *c);
/* Link each row of the table of claims, whose rows begin with those of dive_collect, to the figure that judges it. */
void dive_link_claims(const dive *d, plot_figure *claims);
/* Whether the figure is complete for these settings. */
bool dive_is_done(const dive *d, const dive_figure *figure);

#define DIVE_DECLARE(name, seconds, what) \
    void dive_##name##_measure(dive *d); \
    void dive_##name##_draw(const dive *d, plot_figure *f); \
    void dive_##name##_claims(const dive *d, dive_claims *c);
DIVE_FIGURES(DIVE_DECLARE)
#undef DIVE_DECLARE

/* The three arms of every comparison, in this order: "none", "BN", "LN". */
enum { DIVE_ARMS = 3 };
extern const char *const dive_arm_name[DIVE_ARMS];
extern const gr_norm_kind dive_arm_norm[DIVE_ARMS];

#endif
