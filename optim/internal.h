/* optim/internal.h - an optimizer from the inside. */
#ifndef GR_OPTIM_INTERNAL_H
#define GR_OPTIM_INTERNAL_H
#include "nn/internal.h"
#include "optim/optim.h"

enum { OPTIM_CHUNK = 16384, OPTIM_CONSTANTS = 8 };

/* One parameter. */
typedef struct {
    gr_slot *slot;                        /* NULL, as x, once its module was freed */
    gr_tensor *x;
    size_t number;                        /* the slot's number */
    size_t offset;                        /* where its part of each state begins */
    double lr_scale, weight_decay;
    gr_real constants[OPTIM_CONSTANTS];   /* what the kernel needs in this step */
} optim_entry;

/* A range of one parameter, and a sum over it: one task of gr_parallel. */
typedef struct { size_t entry; gr_range range; double sum; } optim_chunk;

/* Move n numbers x, given their gradient, their states (NULL where the rule has none) and the entry's constants. */
typedef void optim_kernel(gr_real *restrict x, const gr_real *restrict dx, gr_real *restrict first, gr_real *restrict second, size_t n,
                          const gr_real *constants);

typedef struct {
    const char *name;
    const char *state[2]; /* PyTorch's names of the values that it keeps for each number of a parameter */
    void (*constants)(gr_optim *o, size_t entry, double lr);  /* count a step of the entry, and compute its constants */
    optim_kernel *const *kernel; /* one for each instruction set */
    bool decoupled;       /* AdamW: weight decay acts on x, not on the gradient */
} optim_rule;

struct gr_optim {
    gr_allocator memory;
    const optim_rule *rule;
    double beta1, beta2, eps, momentum, dampening, weight_decay;
    bool nesterov, refuse_nonfinite;
    optim_entry *entry;
    optim_chunk *chunk;
    int64_t *step;        /* [entries]: how many steps moved the entry */
    double *power;        /* [entries, 2]: beta1^step, beta2^step */
    gr_real *state[2];
    size_t entries, chunks, state_len;
    gr_module *module;    /* the module that it was made for */
    gr__watch watch;      /* on the module's root */
    size_t changes;       /* the root's changes when gr__optim_look last compared the entries with the tree */
    size_t lost, late;    /* how many entries were freed; how many parameters under module have no entry */
    gr_schedule schedule;
    struct { double lr, plateau_scale, best; } rate; /* a checkpoint has rate as three numbers and count as two */
    struct { int64_t steps, bad; } count;
};

/* Make an optimizer of that rule for the parameters under m. All its settings are 0. */
gr_optim *gr__optim_new(gr_tape *t, gr_module *m, const optim_rule *rule);
/* Give the settings to all parameters. After an error on the tape it frees o and returns NULL. */
gr_optim *gr__optim_ready(gr_tape *t, gr_optim *o, double lr, double weight_decay, bool decay_all);
/* Count o as a holder of its entries, or no longer. */
void gr__optim_hold(gr_optim *o, gr_module *m);
void gr__optim_release(gr_optim *o);
void gr__optim_look(const gr_optim *o); /* find entries that were freed and parameters that are new; free of cost unless the tree changed */
/* Whether o can be used; otherwise the error: o is NULL, or a module with its parameters was freed. False on a tape in error. */
bool gr__optim_is(gr_tape *t, const gr_optim *o, const char *who);
bool gr__optim_holds(const gr_optim *o, const gr_tensor *x); /* whether x is the tensor of an entry */
bool gr__optim_misses_none(gr_tape *t, const gr_optim *o); /* otherwise the error: which parameters have a gradient and no optimizer */

#endif
