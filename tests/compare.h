/* tests/compare.h - compare a function with its twin, and a sample alone with the same sample in a batch; run a function while allocations
 * fail. */
#ifndef GR_COMPARE_H
#define GR_COMPARE_H
#include "tests/failing.h"

typedef struct { gr_tape *t; gr_tensor *x[8], *y; } compared;

static inline void compare_backward(compared *c, const gr_real *dy)
{
    assert_ok(c->t);
    assert_non_null(c->y);
    assert_true(gr_backward_from(c->t, c->y, dy));
}

/* Draw the inputs from one stream and apply f. */
static inline compared compare_start(gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n)
{
    compared c = { .t = gr_tape_new(1, NULL) };
    for (size_t k = 0; k < n; k++) {
        const bool given = in[k].low != 0 || in[k].high != 0;
        c.x[k] = gr_rand(c.t, in[k].shape, given ? in[k].low : -2, given ? in[k].high : 2, "x");
        if (!in[k].no_grad) gr_want_grad(c.t, c.x[k]);
    }
    c.y = f(c.t, c.x, argument);
    assert_ok(c.t);
    return c;
}

/* f and its twin agree in values and in the gradients of all inputs. */
static inline void assert_agree(gr_gradcheck_function *f, gr_gradcheck_function *twin, void *argument, const gr_gradcheck_input *in, size_t n,
                                double tolerance)
{
    compared a = compare_start(f, argument, in, n), b = compare_start(twin, argument, in, n);
    gr_tensor *dy = gr_rand(a.t, gr_shape_of(a.y), -1, 1, "dy");
    assert_tensors_close(a.y, b.y, tolerance);
    compare_backward(&a, dy->data), compare_backward(&b, dy->data);
    for (size_t k = 0; k < n; k++)
        if (!in[k].no_grad) assert_close(gr_grad(a.t, a.x[k]), gr_grad(b.t, b.x[k]), a.x[k]->len, tolerance);
    gr_tape_free(a.t), gr_tape_free(b.t);
}

/* A copy of x on another tape; NULL for NULL. */
static inline gr_tensor *on_tape(gr_tape *t, const gr_tensor *x) { return x ? gr_input(t, x->data, gr_shape_of(x)) : NULL; }

/* Samples lie along the axis `batch` of in[0] and of the result. Each sample has the same bits alone as in the batch. Only input 0 gets a
 * gradient. */
static inline void assert_alone_as_in_batch(gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n, int batch)
{
    compared a = compare_start(f, argument, in, n);
    gr_tensor *dy = gr_rand(a.t, gr_shape_of(a.y), -1, 1, "dy");
    compare_backward(&a, dy->data);
    gr_tensor *dx = gr_input(a.t, gr_grad(a.t, a.x[0]), gr_shape_of(a.x[0]));
    for (size_t i = 0; i < a.x[0]->dim[batch]; i++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_tensor *x[8] = { 0 };
        for (size_t k = 1; k < n; k++) x[k] = on_tape(t, a.x[k]);
        x[0] = gr_want_grad(t, gr_narrow(t, on_tape(t, a.x[0]), batch, i, 1));
        gr_tensor *y = f(t, x, argument);
        assert_ok(t);
        assert_same_bits(y->data, gr_narrow(t, on_tape(t, a.y), batch, i, 1)->data, y->len);
        assert_true(gr_backward_from(t, y, gr_narrow(t, on_tape(t, dy), batch, i, 1)->data));
        assert_same_bits(gr_grad(t, x[0]), gr_narrow(t, on_tape(t, dx), batch, i, 1)->data, x[0]->len);
        gr_tape_free(t);
    }
    gr_tape_free(a.t);
}

/* With every allocation failing in turn, f and backward end in an error and leak nothing. */
typedef struct { gr_gradcheck_function *f; void *argument; const gr_gradcheck_input *in; size_t n; } compare_call;
static inline bool compare_program(gr_tape *t, void *argument)
{
    const compare_call *c = argument;
    gr_tensor *x[8];
    for (size_t k = 0; k < c->n; k++)
        if (!(x[k] = gr_want_grad(t, gr_rand(t, c->in[k].shape, -1, 1, "x")))) return false;
    gr_tensor *y = c->f(t, x, c->argument), *dy = y ? gr_ones(t, gr_shape_of(y)) : NULL;
    return dy && gr_backward_from(t, y, dy->data);
}
static inline void assert_survives_failing_memory(gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n)
{
    fail_every_allocation(compare_program, &(compare_call){ f, argument, in, n });
}
#endif
