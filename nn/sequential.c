/* nn/sequential.c - modules one after the other, and operators as modules; PReLU, which has a weight */
#include "nn/internal.h"

typedef struct { gr_function *f; gr_function_1 *f1; gr_function_2 *f2; gr_function_axis *along; double p, q; int axis; } operator_call;
typedef struct { gr_module module; operator_call call; } activation;

static gr_tensor *sequential_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    for (gr_module *child = m->child; child; child = child->next) x = gr_forward(t, child, x);
    return x;
}

static gr_tensor *residual_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    static const gr_op op = { .name = "residual" };
    gr_tensor *y = sequential_forward(t, m, x);
    if (y && !gr_same_shape(x, y)) return gr_fail(t, &op, "f(x) must be shaped as x; got %s and %s", gr_shape_text(t, y), gr_shape_text(t, x));
    return gr_add(t, x, y);
}

static gr_module *chain_new(gr_tape *t, gr_module *parent, const char *name, bool residual)
{
    gr_module *m = gr_module_make(t, parent, name, residual ? "Residual" : "Sequential", sizeof *m);
    if (m) m->forward = residual ? residual_forward : sequential_forward;
    return m;
}
gr_module *gr_sequential_new(gr_tape *t, gr_module *parent, const char *name) { return chain_new(t, parent, name, false); }
gr_module *gr_residual_new(gr_tape *t, gr_module *parent, const char *name) { return chain_new(t, parent, name, true); }

/* ---- Activations ---- */

static gr_tensor *activation_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    const operator_call c = ((const activation *)m)->call;
    return c.f ? c.f(t, x) : c.f1 ? c.f1(t, x, c.p) : c.f2 ? c.f2(t, x, c.p, c.q) : c.along(t, x, c.axis);
}

static gr_module *activation_make(gr_tape *t, gr_module *parent, const char *name, const char *kind, operator_call c)
{
    activation *a = gr_module_make(t, parent, name, kind, sizeof *a);
    if (!a) return NULL;
    if (!c.f && !c.f1 && !c.f2 && !c.along) gr_fail(t, NULL, "%s (%s): the function is NULL", a->module.path, kind);
    a->call = c, a->module.forward = activation_forward;
    return gr_module_ready(t, &a->module) ? &a->module : NULL;
}

gr_module *gr_activation_new(gr_tape *t, gr_module *parent, const char *name, const char *kind, gr_function *f)
{
    return activation_make(t, parent, name, kind, (operator_call){ .f = f });
}
gr_module *gr_activation_1_new(gr_tape *t, gr_module *parent, const char *name, const char *kind, gr_function_1 *f, double p)
{
    return activation_make(t, parent, name, kind, (operator_call){ .f1 = f, .p = p });
}
gr_module *gr_activation_2_new(gr_tape *t, gr_module *parent, const char *name, const char *kind, gr_function_2 *f, double p, double q)
{
    return activation_make(t, parent, name, kind, (operator_call){ .f2 = f, .p = p, .q = q });
}
gr_module *gr_activation_axis_new(gr_tape *t, gr_module *parent, const char *name, const char *kind, gr_function_axis *f, int axis)
{
    return activation_make(t, parent, name, kind, (operator_call){ .along = f, .axis = axis });
}

static gr_tensor *prelu_module_forward(gr_tape *t, const gr_module *m, gr_tensor *x) { return gr_prelu(t, x, ((gr_prelu_module *)m)->weight); }

gr_prelu_module *gr_prelu_new(gr_tape *t, gr_module *parent, const char *name, size_t count)
{
    gr_prelu_module *p = gr_module_make(t, parent, name, "PReLU", sizeof *p);
    if (!p) return NULL;
    gr__size_is_positive(t, &p->module, "count", count);
    p->weight = gr_param(t, &p->module, "weight", GR_SHAPE(count), gr_init_constant(0.25));
    p->module.forward = prelu_module_forward;
    return gr_module_ready(t, &p->module) ? p : NULL;
}
