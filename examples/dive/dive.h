/* examples/dive/dive.h - the deep dive: what its figures share.
 *
 * A figure is a file here, with three functions, and a line in DIVE_FIGURES. measure trains or computes, and puts numbers into d->runs, and
 * nothing else; draw makes the figure, and claims judges statements, from d->runs alone. So a figure is drawn again without training. */
#ifndef DIVE_H
#define DIVE_H
#include "examples/kit/arms.h"
#include "examples/plot/figure.h"
#include "examples/kit/file.h"
#include "examples/kit/program.h"
#include "examples/plot/runs.h"

/* In the order of the page: name, about how many seconds of --quick it takes, and what it is, for --list. */
#define DIVE_FIGURES(F) \
    F(correlation, 9, "correlation of hidden units, MLP and LSTM, before and through training: maps, mean |r|, effective rank") \
    F(sphere, 1, "activations before and after LayerNorm in space: four units on a sphere, 64 on three principal axes") \
    F(loss, 23, "training loss and accuracy of MLP, LSTM, CNN and Transformer, against steps and against seconds") \
    F(gradient_flow, 14, "norms of the gradient over layers, blocks and time steps, through training and before it: where it vanishes or explodes") \
    F(hidden_dynamics, 4, "percentiles of what enters the nonlinearities, over training and over time; a recurrence left to itself") \
    F(gamma_beta, 5, "the first gamma and beta: an LSTM's training with each, and what they make of a distribution") \
    F(epsilon, 1, "epsilon from 0 to 0.1: output, gradient and error, on a row that hardly varies, a constant one, ordinary ones") \
    F(batch_size, 15, "BatchNorm, LayerNorm and GroupNorm at batches of 1 to 128: accuracy, and training mode against evaluation mode") \
    F(learning_rate, 13, "final loss against learning rate and initial scale: the largest that trains") \
    F(padding, 2, "BatchNorm's statistics against the share of padding, plain and with lengths, and LayerNorm") \
    F(invariance, 1, "scaling and shifting of weights, inputs and one case: how far outputs and gradients move, under four norms") \
    F(cost, 1, "LayerNorm in six ways: time forward and backward over sizes, and error") \
    F(claims, 4, "the table of all statements, what was measured, and whether it holds")

/* TINY: --check alone, a few steps of everything. */
typedef enum { DIVE_TINY, DIVE_QUICK, DIVE_FULL } dive_mode;

typedef struct dive {
    kit_run *r;                /* its tape holds data, runs and figures: never reset; errors go to it */
    dive_mode mode;
    size_t seeds;              /* of a comparison that is repeated: o->seed, o->seed + 1, .. */
    kit_data data;             /* images: MNIST or drawn */
    const char *text;          /* path of a text, NULL: made-up sentences */
    kit_bytes read;            /* what was in it */
    const char *plotly;        /* the text of a plotly.min.js for the page, or NULL */
    const char *preprocessing; /* for settings: "Drawn digits, 28 x 28, pixels 0 to 1" */
    plot_runs runs;
    const char *settings;      /* all on which the numbers depend, as runs.jsonl has it */
    const char *figure;        /* the name of the one that is being measured */
    struct { double began, total, before, weight, drawn; } progress; /* the clock; seconds of --quick in all, before this figure, of it */
} dive;

/* One of three numbers, by mode. */
size_t dive_pick(const dive *d, size_t tiny, size_t quick, size_t full);
uint64_t dive_seed(const dive *d, size_t k); /* the k-th seed */

/* In measure: how far this figure is, 0 to 1, and at what; shows progress. False when it is time to stop: Ctrl-C or an error. */
bool dive_tick(dive *d, double share, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* In measure: a tape of its own on the program's threads, and its end, which passes an error on. */
gr_tape *dive_tape(const dive *d, uint64_t seed);
void dive_tape_free(dive *d, gr_tape *t);

/* In measure: plot_runs_put of the figure being measured. In draw and claims: plot_runs_get and _value by the figure's name. */
#define dive_put(d, shape, values, ...) plot_runs_put(&(d)->runs, (d)->figure, shape, values, __VA_ARGS__)

/* A statement of a paper, or one that is often made, and what became of it here. Texts may be temporary. */
typedef enum { DIVE_PASS, DIVE_FAIL, DIVE_DIFFERS } dive_verdict;
typedef struct {
    const char *statement, *source; /* "LayerNorm is invariant to scaling the weights"; "Ba et al. 2016, table 1" */
    const char *measured, *control; /* with numbers; what it is held against */
    const char *why;                /* of FAIL and DIFFERS alone */
    dive_verdict verdict;
    bool exact;                     /* it is mathematics: --check wants it to PASS */
} dive_claim;
enum { DIVE_CLAIMS = 160 };
typedef struct dive_claims { plot_figure *f; dive_claim *claim[DIVE_CLAIMS]; size_t n; } dive_claims;
void dive_claim_add(dive_claims *c, const dive_claim *claim);
/* One that is mathematics. */
void dive_claim_exact(dive_claims *c, bool holds, const char *statement, const char *source, const char *measured, const char *control,
                      const char *why);
/* PASS when both parts of a statement hold, DIFFERS when one does, else FAIL. */
dive_verdict dive_both(bool a, bool b);

typedef struct {
    const char *name, *what;
    double seconds;
    void (*measure)(dive *d);
    void (*draw)(const dive *d, plot_figure *f); /* f is new: sets title, says and panels */
    void (*claims)(const dive *d, dive_claims *c);
} dive_figure;
extern const dive_figure dive_figures[];
extern const size_t dive_figures_n;
/* The claims of all figures that are whole. */
void dive_collect(const dive *d, dive_claims *c);
/* Whether that figure is whole, with these settings. */
bool dive_is_done(const dive *d, const dive_figure *figure);

#define DIVE_DECLARE(name, seconds, what) \
    void dive_##name##_measure(dive *d); \
    void dive_##name##_draw(const dive *d, plot_figure *f); \
    void dive_##name##_claims(const dive *d, dive_claims *c);
DIVE_FIGURES(DIVE_DECLARE)
#undef DIVE_DECLARE

/* The three arms of every comparison, in this order: "none", "BN", "LN"; their names, norms and inks. */
enum { DIVE_ARMS = 3 };
extern const char *const dive_arm_name[DIVE_ARMS];
extern const gr_norm_kind dive_arm_norm[DIVE_ARMS];

#endif
