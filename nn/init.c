/* nn/init.c - the first values of parameters. Everything is drawn and computed in double, then rounded once. */
#include "nn/internal.h"

gr_init gr_init_constant(double value) { return (gr_init){ GR_INIT_CONSTANT, value, 0, GR_FAN_IN }; }
gr_init gr_init_uniform(double low, double high) { return (gr_init){ GR_INIT_UNIFORM, low, high, GR_FAN_IN }; }
gr_init gr_init_normal(double mean, double std) { return (gr_init){ GR_INIT_NORMAL, mean, std, GR_FAN_IN }; }
gr_init gr_init_orthogonal(double gain) { return (gr_init){ GR_INIT_ORTHOGONAL, gain, 0, GR_FAN_IN }; }
gr_init gr_init_xavier_uniform(double gain) { return (gr_init){ GR_INIT_XAVIER_UNIFORM, gain, 0, GR_FAN_IN }; }
gr_init gr_init_xavier_normal(double gain) { return (gr_init){ GR_INIT_XAVIER_NORMAL, gain, 0, GR_FAN_IN }; }
gr_init gr_init_kaiming_uniform(double gain, gr_fan fan) { return (gr_init){ GR_INIT_KAIMING_UNIFORM, gain, 0, fan }; }
gr_init gr_init_kaiming_normal(double gain, gr_fan fan) { return (gr_init){ GR_INIT_KAIMING_NORMAL, gain, 0, fan }; }

/* A Xavier or Kaiming rule as the uniform or normal rule that it means for x [out, in, ...]. */
static gr_init init_resolve(gr_init init, const gr_tensor *x)
{
    double in = (double)x->dim[1], out = (double)x->dim[0];
    for (int i = 2; i < x->rank; i++) in *= (double)x->dim[i], out *= (double)x->dim[i];
    const bool xavier = init.kind == GR_INIT_XAVIER_UNIFORM || init.kind == GR_INIT_XAVIER_NORMAL;
    const double fan = xavier ? (in + out) / 2 : init.fan == GR_FAN_IN ? in : out;
    const double std = fan > 0 ? init.a / __builtin_sqrt(fan) : 0, bound = __builtin_sqrt(3) * std;
    const bool uniform = init.kind == GR_INIT_XAVIER_UNIFORM || init.kind == GR_INIT_KAIMING_UNIFORM;
    return uniform ? gr_init_uniform(-bound, bound) : gr_init_normal(0, std);
}

static double init_dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Make the rows of q [rows, n], rows <= n, orthonormal by Gram-Schmidt. Each row is orthogonalized twice, because once leaves rounding errors. */
static void orthonormalize(double *q, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++) {
        double *const row = q + r * n;
        for (int pass = 0; pass < 2; pass++)
            for (size_t other = 0; other < r; other++) {
                const double s = init_dot(row, q + other * n, n);
                for (size_t i = 0; i < n; i++) row[i] -= s * q[other * n + i];
            }
        const double norm = __builtin_sqrt(init_dot(row, row, n));
        for (size_t i = 0; i < n; i++) row[i] /= norm;
    }
}

static bool draw_orthogonal(gr_tape *t, const gr_slot *s, gr_stream *stream)
{
    gr_tensor *const x = s->tensor;
    const size_t rows = x->dim[0], columns = rows ? x->len / rows : 0;
    const bool tall = rows > columns;
    const size_t few = tall ? columns : rows, many = tall ? rows : columns;
    size_t bytes;
    double *const q = gr_size_mul(x->len, sizeof *q, &bytes) ? gr_memory_new(&s->owner->memory, bytes) : NULL;
    if (!q) return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: making %s", s->path);
    for (size_t i = 0; i < x->len; i++) q[i] = gr_stream_normal(stream, 0, 1);
    orthonormalize(q, few, many);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) x->data[r * columns + c] = (gr_real)(s->init.a * (tall ? q[c * many + r] : q[r * many + c]));
    gr_memory_free(&s->owner->memory, q, bytes);
    gr__was_written(x);
    return true;
}

bool gr__init_draw(gr_tape *t, const gr_slot *s)
{
    gr_tensor *const x = s->tensor;
    gr_init init = s->init;
    gr_stream stream = gr__stream_of(s->owner->seed, s->path, "/init");
    if ((unsigned)init.kind > GR_INIT_KAIMING_NORMAL)
        return gr_fail(t, NULL, "%s: the kind of an initialization must be GR_INIT_CONSTANT .. GR_INIT_KAIMING_NORMAL; got %d", s->path, (int)init.kind);
    if (init.kind >= GR_INIT_ORTHOGONAL && x->rank < 2)
        return gr_fail(t, NULL, "%s: an orthogonal, Xavier or Kaiming initialization needs rank 2 or more; got %s", s->path, gr_shape_text(t, x));
    if (init.kind == GR_INIT_ORTHOGONAL) return !x->len || draw_orthogonal(t, s, &stream);
    if (init.kind > GR_INIT_ORTHOGONAL) init = init_resolve(init, x);
    for (size_t i = 0; i < x->len; i++) {
        const double value = init.kind == GR_INIT_UNIFORM  ? gr_stream_uniform(&stream, init.a, init.b)
                             : init.kind == GR_INIT_NORMAL ? gr_stream_normal(&stream, init.a, init.b) : init.a;
        x->data[i] = (gr_real)value;
    }
    gr__was_written(x);
    return true;
}
