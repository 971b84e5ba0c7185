/* core/trace.h - why no gradient reached a tensor: what gr_audit (optim/audit.h) reports while gr_tape_set_tracing is on. */
#ifndef GR_TRACE_H
#define GR_TRACE_H

typedef enum {
    GR_CUT_UNKNOWN,       /* tracing was off, or was turned on after the forward began */
    GR_CUT_NO_BACKWARD,   /* gr_backward was not called since the last reset */
    GR_CUT_UNUSED,        /* no operator had x as an input */
    GR_CUT_ASTRAY,        /* the loss depends on nothing that was computed from x; op is the last operator of that computation */
    GR_CUT_BY_OP,         /* op lets no gradient pass: detach, detach_keep, argmax, a comparison */
    GR_CUT_RECORDING_OFF, /* recording was off while op ran */
    GR_CUT_NONE,          /* every operator from x to the loss was recorded: backward failed, or the gradient was cleared afterwards */
} gr_cut_kind;

typedef struct {
    gr_cut_kind kind;
    const char *op, *place; /* the operator's name, and the path of its module or NULL; op is NULL where no operator is to blame */
} gr_cut;

#endif
