/* core/tensor.c - make tensors, read them, and make parameters, which outlive the tape. Views are in core/view.c. */
#include "core/internal.h"
#include <math.h>

/* ---- Shapes ---- */

bool gr__shape_len(gr_shape shape, size_t *len)
{
    *len = 1;
    if (shape.rank < 0 || shape.rank > GR_MAX_RANK) return false;
    size_t whole = 1; /* the product without zeros, so that [0, huge, huge] is refused, as [1, huge, huge] is */
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dim[i] && __builtin_mul_overflow(whole, shape.dim[i], &whole)) return false;
        *len *= shape.dim[i];
    }
    return whole <= SIZE_MAX / 2 / sizeof(double);
}

gr_shape gr_shape_of(const gr_tensor *x)
{
    gr_shape shape = { 0 };
    if (x) shape.rank = x->rank, memcpy(shape.dim, x->dim, sizeof shape.dim);
    return shape;
}

bool gr_same_shape(const gr_tensor *a, const gr_tensor *b)
{
    bool same = a && b && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->dim[i] == b->dim[i];
    return same;
}

const char *gr_shape_name(gr_tape *t, gr_shape shape)
{
    char *const text = gr_save(t, GR__SHAPE_ROOM);
    return text ? gr__shape_write(text, shape.rank, shape.dim) : "?";
}

const char *gr_shape_text(gr_tape *t, const gr_tensor *x) { return x ? gr_shape_name(t, gr_shape_of(x)) : "NULL"; }

int gr_axis(gr_tape *t, const gr_op *op, const gr_tensor *x, int axis)
{
    if (!x) return gr_fail(t, op, "x is NULL"), -1;
    if (axis >= -x->rank && axis < x->rank) return axis < 0 ? axis + x->rank : axis;
    if (x->rank) gr_fail(t, op, "x is %s, so an axis must be in %d .. %d; got %d", gr_shape_text(t, x), -x->rank, x->rank - 1, axis);
    else gr_fail(t, op, "x is [] and has no axis; got axis %d", axis);
    return -1;
}

size_t gr_size(const gr_tensor *x, int axis)
{
    if (!x || axis < -x->rank || axis >= x->rank) return 0;
    return x->dim[axis < 0 ? axis + x->rank : axis];
}

double gr_item(const gr_tensor *x)
{
    if (!x) return (double)NAN;
    const bool poisoned = GR__POISONED(x, sizeof *x);
    GR__UNPOISON(x, sizeof *x);
    gr_tape *const t = x->stamp == GR__OVERWRITTEN ? NULL : x->tape; /* then len is wrong, too, and the result is NaN */
    if (t && (poisoned || !gr__alive(t, x))) gr__refuse_dead(t, "gr_item", "x", 0, x);
    else if (x->len == 1) return (double)x->data[0];
    else if (t) gr_fail_as(t, GR_MISUSE, "gr_item", "x must hold one value; got %s. Reduce it with gr_mean or gr_sum, or read its data", gr_shape_text(t, x));
    return (double)NAN;
}

/* ---- Making ---- */

/* *len = the product of the sizes; false, and an error of the function `who`, when there is no such shape. */
static bool shape_exists(gr_tape *t, gr_shape shape, const char *who, size_t *len)
{
    if (gr_failed(t)) return false;
    if (gr__shape_len(shape, len)) return true;
    if (shape.rank < 0 || shape.rank > GR_MAX_RANK) return gr_fail_as(t, GR_MISUSE, who, "the rank must be 0 .. %d; got %d", GR_MAX_RANK, shape.rank);
    for (int i = 0; i < shape.rank; i++)
        if (shape.dim[i] > PTRDIFF_MAX) return gr_fail_as(t, GR_MISUSE, who, "sizes must be 0 or more; size %d is %td", i, (ptrdiff_t)shape.dim[i]);
    return gr_fail_as(t, GR_MISUSE, who, "%s is too large for this machine", gr_shape_name(t, shape));
}

static gr_tensor *make(gr_tape *t, gr_shape shape, const char *who)
{
    size_t len = 0;
    if (!shape_exists(t, shape, who, &len)) return NULL;
    gr_tensor *x = gr_save(t, sizeof *x);
    gr_real *data = gr__save(t, who, len * sizeof *data);
    if (!data) return NULL;
    *x = (gr_tensor){ .data = data, .len = len, .rank = shape.rank, .flags = GR__TENSOR, .tape = t, .stamp = gr__stamp(t) };
    memcpy(x->dim, shape.dim, sizeof x->dim);
    return x;
}

gr_tensor *gr_empty(gr_tape *t, gr_shape shape) { return make(t, shape, "empty"); }
gr_tensor *gr__empty(gr_tape *t, const gr_op *op, gr_shape shape) { return make(t, shape, op->name); }
gr_tensor *gr_empty_like(gr_tape *t, const gr_tensor *x)
{
    return x ? make(t, gr_shape_of(x), "empty_like") : gr_fail_as(t, GR_MISUSE, "empty_like", "x is NULL");
}

gr_tensor *gr_input(gr_tape *t, const gr_real *values, gr_shape shape)
{
    if (!values && !gr_failed(t)) return gr_fail_as(t, GR_MISUSE, "input", "values is NULL");
    gr_tensor *x = make(t, shape, "input");
    if (x) memcpy(x->data, values, x->len * sizeof *values);
    return x;
}

static gr_tensor *filled(gr_tape *t, gr_shape shape, double value, const char *who)
{
    gr_tensor *x = make(t, shape, who);
    for (size_t i = 0; x && i < x->len; i++) x->data[i] = (gr_real)value;
    return x;
}
gr_tensor *gr_full(gr_tape *t, gr_shape shape, double value) { return filled(t, shape, value, "full"); }
gr_tensor *gr_zeros(gr_tape *t, gr_shape shape) { return filled(t, shape, 0, "zeros"); }
gr_tensor *gr_ones(gr_tape *t, gr_shape shape) { return filled(t, shape, 1, "ones"); }
gr_tensor *gr_scalar(gr_tape *t, double value) { return filled(t, GR_SCALAR, value, "scalar"); }

gr_tensor *gr_arange(gr_tape *t, size_t n)
{
    gr_tensor *x = make(t, GR_SHAPE(n), "arange");
    for (size_t i = 0; x && i < n; i++) x->data[i] = (gr_real)i;
    return x;
}

typedef double sampler(gr_stream *s, double a, double b);
static gr_tensor *random_tensor(gr_tape *t, gr_shape shape, sampler *next, double a, double b, const char *stream, const char *who)
{
    if (!stream && !gr_failed(t)) return gr_fail_as(t, GR_MISUSE, who, "the stream's name is NULL");
    gr_tensor *x = make(t, shape, who);
    gr_stream *s = gr_tape_stream(t, stream);
    if (!x || !s || !gr_undo_note(t, &s->counter, sizeof s->counter)) return NULL;
    for (size_t i = 0; i < x->len; i++) x->data[i] = (gr_real)next(s, a, b);
    return x;
}
gr_tensor *gr_rand(gr_tape *t, gr_shape shape, double low, double high, const char *stream)
{
    return random_tensor(t, shape, gr_stream_uniform, low, high, stream, "rand");
}
gr_tensor *gr_randn(gr_tape *t, gr_shape shape, double mean, double std, const char *stream)
{
    return random_tensor(t, shape, gr_stream_normal, mean, std, stream, "randn");
}

gr_ints *gr_ints_new(gr_tape *t, const int *values, gr_shape shape)
{
    size_t len = 0;
    if (!shape_exists(t, shape, "ints", &len)) return NULL;
    gr_ints *x = gr_save(t, sizeof *x);
    int *data = gr_save(t, len * sizeof *data);
    if (!data) return NULL;
    *x = (gr_ints){ .data = data, .len = len, .rank = shape.rank, .tape = t, .stamp = gr__stamp(t) };
    memcpy(x->dim, shape.dim, (size_t)shape.rank * sizeof *x->dim);
    if (values) memcpy(data, values, len * sizeof *data);
    else memset(data, 0, len * sizeof *data);
    return x;
}

/* ---- Tensors that outlive the tape ---- */

gr_tensor *gr__tensor_new_home(const gr_allocator *home, gr_shape shape)
{
    size_t len, bytes;
    if (!gr__shape_len(shape, &len) || !gr_size_mul(len, sizeof(gr_real), &bytes)) return NULL;
    gr_tensor *x = gr_memory_new(home, sizeof *x);
    if (!x) return NULL;
    *x = (gr_tensor){ .data = gr_memory_new(home, bytes), .len = len, .rank = shape.rank, .home = home };
    memcpy(x->dim, shape.dim, sizeof x->dim);
    if (x->data) return x;
    gr_memory_free(home, x, sizeof *x);
    return NULL;
}

void gr__tensor_free_home(gr_tensor *x)
{
    if (!x) return;
    const gr_allocator *home = x->home;
    gr_memory_free(home, x->grad, x->len * sizeof(gr_real));
    gr_memory_free(home, x->data, x->len * sizeof(gr_real));
    gr_memory_free(home, x, sizeof *x);
}

void gr__wants_grad(gr_tensor *x, bool wanted) { x->flags = wanted ? x->flags | GR__WANTS_GRAD : x->flags & ~(unsigned)GR__WANTS_GRAD; }
void gr__was_written(gr_tensor *x) { x->stamp++; }
