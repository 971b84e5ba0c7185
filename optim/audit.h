/* optim/audit.h - does every parameter learn? Ask once, after the first backward:
 *
 *     gr_tape_set_tracing(t, step == 0);                  // before the forward, so that the audit can say why not
 *     ... forward, gr_optim_zero_grad, gr_backward ...
 *     if (step == 0 && gr_print_audit(t, net, adam, NULL)) gr_print_audit(t, net, adam, stderr);                             */
#ifndef GR_AUDIT_H
#define GR_AUDIT_H
#include "core/trace.h"
#include "optim/optim.h"

typedef enum {
    GR_AUDIT_REACHED,     /* a gradient reached the parameter */
    GR_AUDIT_ZERO,        /* a gradient reached it, and all its values are 0 */
    GR_AUDIT_FROZEN,      /* frozen by gr_requires_grad */
    GR_AUDIT_NOT_REACHED } gr_audit_kind;

typedef struct {
    gr_audit_kind kind;
    double norm;      /* the Euclidean norm of the gradient */
    size_t zeros;     /* how many values of the gradient are 0 */
    gr_cut cut;       /* GR_AUDIT_NOT_REACHED: where the path from the parameter to the loss ends */
    bool not_held;    /* the optimizer does not hold it: it was made after the optimizer, or under another module */
} gr_audit_entry;

/* Say what a backward did for parameter s, even a backward that failed. o may be NULL; then not_held is false. */
GR_API gr_audit_entry gr_audit(gr_tape *t, const gr_slot *s, const gr_optim *o);

/* Print a line for each parameter under m, and a last line with the totals. out NULL prints nothing. Returns how many parameters do not learn: the
 * gradient is zero, did not reach them, or the optimizer does not hold them. Frozen parameters do not count. */
GR_API size_t gr_print_audit(gr_tape *t, const gr_module *m, const gr_optim *o, FILE *out);

#endif
