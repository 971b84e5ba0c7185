/* optim/audit.h - does every parameter learn?
 *
 *     gr_tape_set_tracing(t, step == 0);                  // before the forward, so that the audit can say why not
 *     ... forward, gr_optim_zero_grad, gr_backward ...
 *     if (step == 0 && gr_print_audit(t, net, adam, NULL)) gr_print_audit(t, net, adam, stderr);                             */
#ifndef GR_AUDIT_H
#define GR_AUDIT_H
#include "core/trace.h"
#include "optim/optim.h"
GR_BEGIN

typedef enum {
    GR_AUDIT_REACHED,     /* a gradient reached it */
    GR_AUDIT_ZERO,        /* one of nothing but zeros */
    GR_AUDIT_FROZEN,      /* by gr_requires_grad */
    GR_AUDIT_NOT_REACHED,
} gr_audit_kind;

typedef struct {
    gr_audit_kind kind;
    double norm;      /* of the gradient */
    size_t zeros;     /* in it */
    gr_cut cut;       /* of NOT_REACHED: where the way from it to the loss ends */
    bool not_held;    /* the optimizer does not hold it: made after it, or under another module */
} gr_audit_entry;

/* What has become of parameter s after a backward, also one that failed. o may be NULL: then nothing is said of optimizers. */
GR_API gr_audit_entry gr_audit(gr_tape *t, const gr_slot *s, const gr_optim *o);

/* The same for all parameters under m, a line each, and one with their numbers; out NULL: nowhere. Returns how many do not learn: zero,
 * not reached, or not held, frozen ones left out. */
GR_API size_t gr_print_audit(gr_tape *t, const gr_module *m, const gr_optim *o, FILE *out);

GR_END
#endif
