/* nn/position.c - positions in a sequence: waves of many wavelengths, or a learned row for each position */
#include "nn/internal.h"
#include "ops/index.h"
#include <limits.h>

/* 10000^(-1 / n) for n >= 1, by e^-x = (e^(-x / 32))^32. Plain double arithmetic gives the same value on every machine. */
static double position_ratio(size_t n)
{
    const double x = 9.2103403719761836 / (double)n / 32;
    double e = 0;
    for (int k = 20; k >= 1; k--) e = (1 + e) * -x / k;
    e += 1;
    for (int i = 0; i < 5; i++) e *= e;
    return e;
}

gr_tensor *gr_add_positions(gr_tape *t, gr_tensor *x) { return gr_add_positions_from(t, x, NULL); }

/* Whether starts is NULL, or x is [B, T, size] and starts has B values in 0 .. most; otherwise the error. */
static bool positions_fit(gr_tape *t, const gr_op *op, const gr_tensor *x, const gr_ints *starts, size_t most)
{
    if (starts && x->rank != 3) return gr_fail(t, op, "with starts, x must be [B, T, size]; got %s", gr_shape_text(t, x));
    return index_counts_fit(t, op, "starts", starts, "x", x, x->dim[0], most);
}

gr_tensor *gr_add_positions_from(gr_tape *t, gr_tensor *x, const gr_ints *starts)
{
    static const gr_op op = { .name = "add_positions" };
    if (!gr_ready(t, &op, x)) return NULL;
    if (x->rank < 2) return gr_fail(t, &op, "x must be [.., T, size]; got %s", gr_shape_text(t, x));
    const size_t T = gr_size(x, -2), size = gr_size(x, -1);
    gr_tensor *table = positions_fit(t, &op, x, starts, INT_MAX) ? gr__empty(t, &op, starts ? gr_shape_of(x) : GR_SHAPE(T, size)) : NULL;
    if (!table) return NULL;
    const double ratio = size ? position_ratio(size) : 1;
    double turns = 0.15915494309189534; /* 1 / (2 pi): how much of a circle lies between two positions */
    for (size_t i = 0; i < size; i += 2, turns *= ratio * ratio)
        for (size_t row = 0; row * size < table->len; row++) {
            const size_t p = row % T + (starts ? (size_t)starts->data[row / T] : 0);
            const double whole = (double)p * turns, u = whole - (double)(size_t)whole; /* sin is cos a quarter turn earlier */
            table->data[row * size + i] = (gr_real)gr__cosine_of_turn(u < 0.25 ? u + 0.75 : u - 0.25);
            if (i + 1 < size) table->data[row * size + i + 1] = (gr_real)gr__cosine_of_turn(u);
        }
    return gr_add(t, x, table);
}

static gr_tensor *positions_module_forward(gr_tape *t, const gr_module *m, gr_tensor *x) { return gr_positions_forward(t, (gr_positions *)m, x); }

gr_positions *gr_positions_new(gr_tape *t, gr_module *parent, const char *name, size_t count, size_t size)
{
    gr_positions *m = gr_module_make(t, parent, name, "Positions", sizeof *m);
    if (!m) return NULL;
    if (gr__size_is_positive(t, &m->module, "count", count)) gr__size_is_positive(t, &m->module, "size", size);
    m->weight = gr_param(t, &m->module, "weight", GR_SHAPE(count, size), gr_init_normal(0, 1));
    m->module.forward = positions_module_forward;
    return gr_module_ready(t, &m->module) ? m : NULL;
}

gr_tensor *gr_positions_forward(gr_tape *t, const gr_positions *m, gr_tensor *x) { return gr_positions_forward_from(t, m, x, NULL); }

gr_tensor *gr_positions_forward_from(gr_tape *t, const gr_positions *m, gr_tensor *x, const gr_ints *starts)
{
    static const gr_op op = { .name = "positions" };
    if (!m) return gr_fail(t, &op, "the module is NULL");
    GR_WITHIN(t, &m->module);
    if (!gr_ready(t, &op, x)) return NULL;
    if (x->rank < 2 || gr_size(x, -2) > m->weight->dim[0] || gr_size(x, -1) != m->weight->dim[1])
        return gr_fail(t, &op, "x must be [.., T, %zu] with T at most %zu; got %s", m->weight->dim[1], m->weight->dim[0], gr_shape_text(t, x));
    const size_t T = gr_size(x, -2);
    if (!positions_fit(t, &op, x, starts, m->weight->dim[0] - T)) return NULL;
    if (!starts) return gr_add(t, x, gr_slice(t, m->weight, 0, T));
    gr_ints *place = gr_ints_new(t, NULL, GR_SHAPE(x->dim[0], T));
    for (size_t i = 0; place && i < place->len; i++) place->data[i] = starts->data[i / T] + (int)(i % T);
    return place ? gr_add(t, x, gr_embedding(t, m->weight, place, GR_NONE)) : NULL;
}
