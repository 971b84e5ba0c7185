/* nn/internal.h - what the files of nn/ and optim/ share and nobody else includes. */
#ifndef GR_NN_INTERNAL_H
#define GR_NN_INTERNAL_H
#include "core/safetensors.h"
#include "nn/module.h"

/* The note that tells a checkpoint from a plain state_dict. */
#define GR__CHECKPOINT "gradus checkpoint 1"

/* Fill s's tensor by s->init. False, with an error, for a rule that the shape does not fit, or when out of memory. */
bool gr__init_draw(gr_tape *t, const gr_slot *s);

/* Whether s is the one slot under m that stands for its tensor, which tied slots share; and the bytes that m saves for it. */
bool gr__slot_stands(const gr_module *m, const gr_slot *s);
size_t gr__slot_bytes(const gr_module *m, const gr_slot *s);

/* Where s is found from m on: its path without m's. */
const char *gr__slot_key(const gr_module *m, const gr_slot *s);

/* Learn of the end of m's root: root becomes NULL then. For whoever keeps pointers to slots. */
typedef struct gr__watch {
    struct gr__watch *next;
    gr_module *root;
} gr__watch;
void gr__watch_start(gr__watch *w, gr_module *m);
void gr__watch_stop(gr__watch *w);

/* "fc: in must be 1 or more; got 0": the error, and false, when m was asked for a size of 0. */
bool gr__size_is_positive(gr_tape *t, const gr_module *m, const char *what, size_t n);
bool gr__sizes_are_positive(gr_tape *t, const gr_module *m, gr_shape shape); /* of a norm over last axes */

bool gr__is_batch_norm(const gr_module *m);

/* What m keeps under that name; when it keeps nothing there, memory of that shape for it. */
gr_slot *gr__keep(gr_tape *t, gr_module *m, const char *name, gr_shape shape);

/* A state_dict in three steps. The items to save; items NULL: only their number. */
size_t gr__state_items(const gr_module *m, gr_safetensors_item *items);
/* Whether f fits m: otherwise one error lists all that does not. exact: gr_real as it was, no conversion. Entries with a '/' in
 * their name are no module's, and left over unless others is set. */
bool gr__state_check(gr_tape *t, const gr_safetensors *f, const gr_module *m, const char *path, bool exact, bool others);
/* Fill m from f, which was checked. */
void gr__state_fill(const gr_safetensors *f, gr_module *m);

#endif
