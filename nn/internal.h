/* nn/internal.h - what the files of nn/ and optim/ share and nobody else includes. */
#ifndef GR_NN_INTERNAL_H
#define GR_NN_INTERNAL_H
#include "nn/module.h"

/* Fill s's tensor by s->init. False, with an error, for a rule that the shape does not fit, or when out of memory. */
bool gr__init_draw(gr_tape *t, const gr_slot *s);

/* Where s is found from m on: its path without m's. */
const char *gr__slot_key(const gr_module *m, const gr_slot *s);

/* The tensor that m keeps under that name, made as zeros of that shape when there is none yet. */
gr_tensor *gr__keep(gr_tape *t, gr_module *m, const char *name, gr_shape shape);

#endif
