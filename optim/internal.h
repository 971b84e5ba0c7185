/* optim/internal.h - the inside of an optimizer. */
#ifndef GR_OPTIM_INTERNAL_H
#define GR_OPTIM_INTERNAL_H
#include "nn/internal.h"
#include "optim/optim.h"

enum { OPTIM_CHUNK = 16384, OPTIM_CONSTANTS = 8 };

/* One parameter. */
typedef struct {
    gr_slot *slot;                        /* NULL, as x, once its module was freed */
    gr_tensor *x;
    size_t number;                        /* the slot's */
    size_t offset;                        /* of its part of each state */
    double lr_scale, weight_decay;
    gr_real constants[OPTIM_CONSTANTS];   /* of the running step, for the kernel */
} optim_entry;

/* A range of one parameter: what a thread does at a time. */
typedef struct { size_t entry; gr_range range; } optim_chunk;

typedef struct {
    const char *name;
    const char *state[2]; /* what it keeps for each number, by PyTorch's name */
    void (*constants)(gr_optim *o, size_t entry, double lr);  /* move its counts on by a step, and make the constants of it */
    void (*run)(int isa, gr_real *x, const gr_real *grad, gr_real *first, gr_real *second, size_t n, const gr_real *constants);
} optim_rule;

struct gr_optim {
    gr_allocator memory;
    const optim_rule *rule;
    double beta1, beta2, eps, momentum, dampening, weight_decay;
    bool nesterov, refuse_nonfinite;
    optim_entry *entry;
    optim_chunk *chunk;
    double *partial;      /* a sum for each chunk */
    int64_t *step;        /* of each entry: how often it was moved */
    double *power;        /* of each entry: beta1^step, beta2^step */
    gr_real *state[2];
    size_t entries, chunks, state_len;
    gr_module *module;    /* that it was made for */
    gr__watch watch;      /* of the module's root */
    size_t changes;       /* of the root when the entries were last compared with the tree: gr__optim_look */
    size_t lost, late;    /* how many entries were freed; how many parameters under module are not among the entries */
    gr_schedule schedule;
    struct { double lr, plateau_scale, best; } rate; /* saved as three numbers, and as two: */
    struct { int64_t steps, bad; } count;
};

/* An optimizer of that rule for the parameters under m, all settings 0. */
gr_optim *gr__optim_new(gr_tape *t, gr_module *m, const optim_rule *rule);
/* The optimizer's settings to all parameters; NULL after an error on the tape, and then o is freed. */
gr_optim *gr__optim_ready(gr_tape *t, gr_optim *o, double lr, double weight_decay, bool decay_all);
/* optim/held.c: count o as a holder of its entries; no longer. */
void gr__optim_hold(gr_optim *o, gr_module *m);
void gr__optim_release(gr_optim *o);
void gr__optim_look(const gr_optim *o); /* find which entries were freed and which parameters are new; at no cost when the tree is as it was */
/* False, and the error, when o is NULL or holds parameters of a freed module. False on a tape in error. */
bool gr__optim_is(gr_tape *t, const gr_optim *o, const char *who);
bool gr__optim_holds(const gr_optim *o, const gr_tensor *x);
bool gr__optim_misses_none(gr_tape *t, const gr_optim *o); /* else the error: parameters with a gradient that nobody holds */

#endif
