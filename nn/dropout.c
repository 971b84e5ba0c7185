/* nn/dropout.c - random zeros in training; the masks come from the random stream "<path>/mask" */
#include "nn/internal.h"

static gr_tensor *dropout_module_forward(gr_tape *t, const gr_module *m, gr_tensor *x) { return gr_dropout_forward(t, (gr_dropout_module *)m, x); }

static gr_dropout_module *dropout_new(gr_tape *t, gr_module *parent, const char *name, double p, bool channels)
{
    gr_dropout_module *d = gr_module_make(t, parent, name, channels ? "Dropout2d" : "Dropout", sizeof *d + gr__stream_room(parent, name, "mask"));
    if (!d) return NULL;
    if (!(p >= 0 && p <= 1)) gr_fail(t, NULL, "%s: the probability must be in [0, 1]; got %g", d->module.path, p);
    d->p = p, d->channels = channels, d->stream = gr__stream_name((char *)(d + 1), &d->module, "mask");
    d->module.forward = dropout_module_forward;
    return gr_module_ready(t, &d->module) ? d : NULL;
}

gr_dropout_module *gr_dropout_new(gr_tape *t, gr_module *parent, const char *name, double p) { return dropout_new(t, parent, name, p, false); }
gr_dropout_module *gr_dropout2d_new(gr_tape *t, gr_module *parent, const char *name, double p) { return dropout_new(t, parent, name, p, true); }

gr_tensor *gr_dropout_forward(gr_tape *t, const gr_dropout_module *d, gr_tensor *x)
{
    if (!d) return gr_fail_as(t, GR_MISUSE, "dropout", "the module is NULL");
    GR_WITHIN(t, &d->module);
    return (d->channels ? gr_dropout2d : gr_dropout)(t, x, d->p, d->stream);
}
