/* optim/internal.h - an optimizer from the inside. */
#ifndef GR_OPTIM_INTERNAL_H
#define GR_OPTIM_INTERNAL_H
#include "nn/internal.h"
#include "optim/optim.h"

enum { OPTIM_CHUNK = 16384 };

/* One parameter. */
typedef struct {
    gr__hold held;                        /* held.slot is NULL once its module was freed */
    gr_tensor *x;                         /* its tensor until then */
    size_t offset;                        /* where its part of each state begins */
    double lr_scale, weight_decay;
} optim_entry;

/* A range of one parameter, and a sum over it: one task of gr_parallel. */
typedef struct { size_t entry; gr_range range; double sum; } optim_chunk;

struct gr_optim {
    gr_allocator memory;
    const gr_optim_rule *rule;
    void *settings;       /* the rule's, settings_size bytes; NULL without settings */
    size_t settings_size;
    double beta[2], weight_decay;
    bool refuse_nonfinite;
    optim_entry *entry;
    optim_chunk *chunk;
    int64_t *step;        /* [entries]: how many steps moved the entry */
    double *power;        /* [entries, 2]: beta[0]^step, beta[1]^step, as running products */
    gr_real *state[GR_OPTIM_STATES];
    size_t entries, chunks, values, state_len; /* values: of all parameters; state_len also counts the gaps between them */
    gr_module *module;    /* the module that it was made for; freed if all entries were */
    gr_schedule schedule;
    struct { double lr, plateau_scale, best; } rate; /* a checkpoint has rate as three numbers and count as two */
    struct { int64_t steps, bad; } count;
};

/* The slot that counts the optimizers for all slots that share its tensor. */
static inline gr_slot *gr__held_owner(gr_slot *s) { return s->tied ? s->tied : s; }
size_t gr__optim_lost(const gr_optim *o); /* how many entries were freed */
/* Whether o can be used; otherwise the error: o is NULL, or a module with its parameters was freed. False on a tape in error. */
bool gr__optim_is(gr_tape *t, const gr_optim *o, const char *who);
bool gr__optim_gradients_are_finite(gr_tape *t, gr_optim *o); /* otherwise the error: which one is not */

#endif
