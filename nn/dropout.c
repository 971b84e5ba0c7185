/* nn/dropout.c - zeros at random in training, from the stream "<path>/mask" */
#include "core/op.h"
#include "nn/nn.h"
#include <stdio.h>
#include <string.h>

static gr_tensor *dropout_module_forward(gr_tape *t, const gr_module *m, gr_tensor *x) { return gr_dropout_forward(t, (gr_dropout_module *)m, x); }

gr_dropout_module *gr_dropout_new(gr_tape *t, gr_module *parent, const char *name, double p)
{
    enum { NUMBER = 24 }; /* room for the name that a NULL stands for */
    const size_t room = (parent ? strlen(parent->path) : 0) + (name ? strlen(name) : NUMBER) + sizeof "./mask";
    gr_dropout_module *d = gr_module_make(t, parent, name, "Dropout", sizeof *d + room);
    if (!d) return NULL;
    if (!(p >= 0 && p <= 1)) gr_fail(t, NULL, "%s: the probability must be in [0, 1]; got %g", d->module.path, p);
    d->p = p, d->stream = (char *)(d + 1);
    snprintf(d->stream, room, "%s/mask", d->module.path);
    d->module.forward = dropout_module_forward;
    return gr_module_ready(t, &d->module) ? d : NULL;
}

gr_tensor *gr_dropout_forward(gr_tape *t, const gr_dropout_module *d, gr_tensor *x)
{
    if (!d) return gr_fail(t, NULL, "dropout: the module is NULL");
    GR_WITHIN(t, &d->module);
    return gr_dropout(t, x, d->p, d->stream);
}
