/* nn/sequential.c - modules one after the other, and operators as modules */
#include "core/op.h"
#include "nn/nn.h"

typedef struct { gr_module module; gr_function *f; } activation;

static gr_tensor *sequential_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    for (gr_module *child = m->child; child; child = child->next) x = gr_forward(t, child, x);
    return x;
}

gr_module *gr_sequential_new(gr_tape *t, gr_module *parent, const char *name)
{
    gr_module *m = gr_module_make(t, parent, name, "Sequential", sizeof *m);
    if (m) m->forward = sequential_forward;
    return m;
}

static gr_tensor *residual_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    static const gr_op op = { .name = "residual" };
    gr_tensor *y = sequential_forward(t, m, x);
    if (y && !gr_same_shape(x, y)) return gr_fail(t, &op, "f(x) must be shaped as x; got %s and %s", gr_shape_text(t, y), gr_shape_text(t, x));
    return gr_add(t, x, y);
}

gr_module *gr_residual_new(gr_tape *t, gr_module *parent, const char *name)
{
    gr_module *m = gr_module_make(t, parent, name, "Residual", sizeof *m);
    if (m) m->forward = residual_forward;
    return m;
}

static gr_tensor *activation_forward(gr_tape *t, const gr_module *m, gr_tensor *x) { return ((activation *)m)->f(t, x); }

gr_module *gr_activation_new(gr_tape *t, gr_module *parent, const char *name, const char *kind, gr_function *f)
{
    activation *a = gr_module_make(t, parent, name, kind, sizeof *a);
    if (!a) return NULL;
    if (!f) gr_fail(t, NULL, "%s (%s): the function is NULL", a->module.path, kind);
    a->f = f, a->module.forward = activation_forward;
    return gr_module_ready(t, &a->module) ? &a->module : NULL;
}
