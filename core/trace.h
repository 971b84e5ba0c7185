/* core/trace.h - why no gradient reached a tensor. */
#ifndef GR_TRACE_H
#define GR_TRACE_H

typedef enum {
    GR_CUT_UNKNOWN,       /* nothing was traced, or not from the start: gr_tape_set_tracing(t, true) belongs before the forward */
    GR_CUT_NO_BACKWARD,   /* none was run since the last reset */
    GR_CUT_UNUSED,        /* no operator took x */
    GR_CUT_ASTRAY,        /* nothing that depends on x leads to the loss; op is the last that does */
    GR_CUT_BY_OP,         /* op lets no gradient pass, or is not recorded: detach, detach_keep, argmax, a comparison */
    GR_CUT_RECORDING_OFF, /* recording was off while op ran */
    GR_CUT_NONE,          /* all is recorded from x to the loss: backward failed, or the gradient was cleared again */
} gr_cut_kind;

typedef struct {
    gr_cut_kind kind;
    const char *op, *place; /* the operator, and the path of its module or NULL; NULL where no operator is to blame */
} gr_cut;

#endif
