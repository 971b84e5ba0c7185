/* ops/pool.c - pooling over windows of one axis or two. One axis is two, of which the first has size 1.
 *
 *     max     y = the largest x of the window, the first NaN if there is one         dx += dy where it is: the first of equals
 *     avg     y = the sum of the window's x, row by row, / n                         dx += dy / n for all of them
 * The windows of an axis are given by where each starts and ends inside x, and by how many values it counts for: padding is in the
 * count, and nowhere else. Windows of 2 x 2 side by side have loops of their own, with the same order.
 * Saved: the windows. Where a maximum is, backward finds again: the first x that equals y. */
#include "core/kernel.h"
#include "core/library.h"
#include "ops/conv.h"

typedef struct { size_t start, end, count; } pool_window;
typedef struct {
    size_t planes, H[2], out[2];
    const pool_window *window[2]; /* [out] of H and of W */
    bool halves;                  /* windows of 2 x 2, side by side */
} pool_plan;

#define POOL_EACH(h, w, p) \
    for (const pool_window *h = (p)->window[0], *const h_end_ = h + (p)->out[0]; h < h_end_; h++) \
        for (const pool_window *w = (p)->window[1], *const w_end_ = w + (p)->out[1]; w < w_end_; w++)

INLINE gr_real pool_largest(const gr_real *x, const gr_real *below) { return r_larger(r_larger(r_larger(x[0], x[1]), below[0]), below[1]); }

KERNEL(void, pool_max_forward, gr_real *restrict y, const gr_real *restrict x, const pool_plan *p, size_t planes)
{
    const size_t W = p->H[1], n = p->out[1];
    for (; planes--; x += p->H[0] * W) {
        if (p->halves) {
            for (size_t i = 0; i < p->out[0]; i++, y += n) {
                const gr_real *const row = x + 2 * i * W, *const below = row + W;
                for (size_t j = 0; j < n; j++) y[j] = pool_largest(row + 2 * j, below + 2 * j);
            }
            continue;
        }
        POOL_EACH(h, w, p) {
            gr_real m = R(-INFINITY);
            for (size_t i = h->start; i < h->end; i++)
                for (size_t j = w->start; j < w->end; j++) m = r_larger(m, x[i * W + j]);
            *y++ = m;
        }
    }
}

/* Whether x is the maximum m, which is NaN where any x is. */
#define POOL_IS(x, m) ((x) == (m) || (x) != (x))

/* A row of windows of 2 by 2. */
INLINE void pool_max_quarters(gr_real *restrict d, gr_real *restrict d_below, const gr_real *restrict dy, const gr_real *restrict y,
                              const gr_real *restrict row, const gr_real *restrict below, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        const gr_real m = y[j], a = row[2 * j], b = row[2 * j + 1], c = below[2 * j];
        gr_real g = dy[j];
        d[2 * j] += POOL_IS(a, m) ? g : 0, g = POOL_IS(a, m) ? 0 : g;
        d[2 * j + 1] += POOL_IS(b, m) ? g : 0, g = POOL_IS(b, m) ? 0 : g;
        d_below[2 * j] += POOL_IS(c, m) ? g : 0, g = POOL_IS(c, m) ? 0 : g;
        d_below[2 * j + 1] += g;
    }
}

KERNEL(void, pool_max_backward, gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, const gr_real *restrict x,
       const pool_plan *p, size_t planes)
{
    const size_t W = p->H[1], n = p->out[1];
    for (; planes--; x += p->H[0] * W, dx += p->H[0] * W) {
        if (p->halves) {
            for (size_t i = 0; i < p->out[0]; i++, y += n, dy += n) {
                const gr_real *const row = x + 2 * i * W;
                pool_max_quarters(dx + 2 * i * W, dx + (2 * i + 1) * W, dy, y, row, row + W, n);
            }
            continue;
        }
        POOL_EACH(h, w, p) {
            const gr_real m = *y++, g = *dy++;
            bool found = false;
            for (size_t i = h->start; i < h->end && !found; i++)
                for (size_t j = w->start; j < w->end && !found; j++)
                    if ((found = POOL_IS(x[i * W + j], m))) dx[i * W + j] += g;
        }
    }
}

/* A window of whole rows is one run, summed in lanes. */
KERNEL(void, pool_avg_forward, gr_real *restrict y, const gr_real *restrict x, const pool_plan *p, size_t planes)
{
    const size_t W = p->H[1], n = p->out[1];
    for (; planes--; x += p->H[0] * W) {
        if (p->halves) {
            for (size_t i = 0; i < p->out[0]; i++, y += n) {
                const gr_real *const row = x + 2 * i * W, *const below = row + W;
                for (size_t j = 0; j < n; j++) y[j] = (row[2 * j] + row[2 * j + 1] + below[2 * j] + below[2 * j + 1]) / 4;
            }
            continue;
        }
        POOL_EACH(h, w, p) {
            const gr_real *const first = x + h->start * W;
            gr_real sum = 0;
            if (w->end - w->start == W) sum = SUM(i, (h->end - h->start) * W, first[i]);
            else
                for (size_t i = h->start; i < h->end; i++)
                    for (size_t j = w->start; j < w->end; j++) sum += x[i * W + j];
            *y++ = sum / (gr_real)(h->count * w->count);
        }
    }
}

KERNEL(void, pool_avg_backward, gr_real *restrict dx, const gr_real *restrict dy, const pool_plan *p, size_t planes)
{
    const size_t W = p->H[1], n = p->out[1];
    for (; planes--; dx += p->H[0] * W) {
        if (p->halves) {
            for (size_t i = 0; i < p->out[0]; i++, dy += n) {
                gr_real *const d = dx + 2 * i * W, *const below = d + W;
                for (size_t j = 0; j < n; j++) {
                    const gr_real g = dy[j] / 4;
                    d[2 * j] += g, d[2 * j + 1] += g, below[2 * j] += g, below[2 * j + 1] += g;
                }
            }
            continue;
        }
        POOL_EACH(h, w, p) {
            const gr_real g = *dy++ / (gr_real)(h->count * w->count);
            for (size_t i = h->start; i < h->end; i++)
                for (size_t j = w->start; j < w->end; j++) dx[i * W + j] += g;
        }
    }
}

#if GR_HOST
enum { POOL_CHUNK = 8192 }; /* values of x */

static size_t pool_chunk_planes(const pool_plan *p) { return POOL_CHUNK / (p->H[0] * p->H[1]) + 1; }
static size_t pool_chunks(const pool_plan *p) { return gr_chunks(p->planes, pool_chunk_planes(p)); }

typedef struct {
    const pool_plan *p;
    bool max, back;
    const gr_real *x, *dy;
    gr_real *y, *dx;
    int isa;
} pool_run;

static void pool_chunk(void *argument, size_t chunk, int thread)
{
    const pool_run *r = argument;
    const pool_plan *p = r->p;
    const gr_range planes = gr_chunk(chunk, pool_chunk_planes(p), p->planes);
    const size_t in = planes.first * p->H[0] * p->H[1], out = planes.first * p->out[0] * p->out[1];
    (void)thread;
    if (!r->back) (r->max ? pool_max_forward : pool_avg_forward)[r->isa](r->y + out, r->x + in, p, planes.count);
    else if (r->max) pool_max_backward[r->isa](r->dx + in, r->dy + out, r->y + out, r->x + in, p, planes.count);
    else pool_avg_backward[r->isa](r->dx + in, r->dy + out, p, planes.count);
}

static void pool_run_all(gr_tape *t, pool_run *r)
{
    r->isa = gr_isa(t);
    gr_parallel(t, pool_chunks(r->p), (double)r->p->planes * (double)(r->p->H[0] * r->p->H[1]), pool_chunk, r);
}

static void pool_node(gr_tape *t, const gr_node *n, bool max)
{
    pool_run r = { n->saved, max, true, n->in[0]->data, gr_grad(t, n->out[0]), n->out[0]->data, gr_grad(t, n->in[0]), 0 };
    if (r.dx) pool_run_all(t, &r);
}
static void pool_max_node(gr_tape *t, const gr_node *n) { pool_node(t, n, true); }
static void pool_avg_node(gr_tape *t, const gr_node *n) { pool_node(t, n, false); }

static const gr_op max_pool1d_op = { .name = "max_pool1d", .backward = pool_max_node };
static const gr_op max_pool2d_op = { .name = "max_pool2d", .backward = pool_max_node };
static const gr_op avg_pool1d_op = { .name = "avg_pool1d", .backward = pool_avg_node };
static const gr_op avg_pool2d_op = { .name = "avg_pool2d", .backward = pool_avg_node };
static const gr_op adaptive_max_pool1d_op = { .name = "adaptive_max_pool1d", .backward = pool_max_node };
static const gr_op adaptive_max_pool2d_op = { .name = "adaptive_max_pool2d", .backward = pool_max_node };
static const gr_op adaptive_avg_pool1d_op = { .name = "adaptive_avg_pool1d", .backward = pool_avg_node };
static const gr_op adaptive_avg_pool2d_op = { .name = "adaptive_avg_pool2d", .backward = pool_avg_node };

/* ---- The public functions ---- */

/* x's sizes, and on an axis that is not there one window of one value. */
static bool pool_planes(gr_tape *t, const gr_op *op, gr_tensor *x, int axes, pool_plan *p)
{
    static const pool_window one = { 0, 1, 1 };
    if (!gr_ready(t, op, x)) return false;
    if (x->rank != axes + 2)
        return gr_fail(t, op, "x must be %s; got %s", axes == 2 ? "[N, C, H, W]" : "[N, C, L]", gr_shape_text(t, x));
    *p = (pool_plan){ .planes = x->dim[0] * x->dim[1], .H = { 1, 1 }, .out = { 1, 1 }, .window = { &one } };
    for (int k = 2 - axes; k < 2; k++) {
        if (!(p->H[k] = x->dim[k + axes])) return gr_fail(t, op, "x is %s: there is nothing to pool on axis %d", gr_shape_text(t, x), k + axes);
    }
    return true;
}

static gr_tensor *pool(gr_tape *t, const gr_op *op, gr_tensor *x, int axes, const pool_plan *p)
{
    gr_shape shape = { .rank = axes + 2, .dim = { x->dim[0], x->dim[1] } };
    for (int k = 2 - axes; k < 2; k++) shape.dim[k + axes] = p->out[k];
    gr_tensor *y = gr_empty(t, shape);
    if (!y) return NULL;
    pool_run r = { .p = p, .max = op->backward == pool_max_node, .x = x->data, .y = y->data };
    pool_run_all(t, &r);
    return gr_record(t, op, p, sizeof *p, GR_OUT(y), GR_IN(x));
}

typedef struct { size_t kernel, stride, padding; } pool_axis;

static bool pool_settings(gr_tape *t, const gr_op *op, const gr_pool_config *c, bool two, pool_axis axis[2])
{
    const struct { const char *name; int value, least; } s[] = {
        { "kernel", c->kernel, 1 },
        { "stride", c->stride, 0 },
        { "padding", c->padding, 0 },
        { "kernel_w", two ? c->kernel_w : 0, 0 },
        { "stride_w", two ? c->stride_w : 0, 0 },
        { "padding_w", two && c->padding_w != GR_NONE ? c->padding_w : 0, 0 },
    };
    for (size_t i = 0; i < sizeof s / sizeof *s; i++)
        if (s[i].value < s[i].least) return gr_fail(t, op, "%s must be %d or more; got %d", s[i].name, s[i].least, s[i].value);
    for (int k = 0; k < 2; k++) {
        const bool w = k == 1 && two;
        const int kernel = w && c->kernel_w ? c->kernel_w : c->kernel, stride = w && c->stride_w ? c->stride_w : c->stride;
        const int padding = w ? (int)gr__setting(c->padding_w, c->padding) : c->padding;
        axis[k] = (pool_axis){ (size_t)kernel, (size_t)(stride ? stride : kernel), (size_t)padding };
        if (padding > kernel / 2) return gr_fail(t, op, "padding can be at most half of the kernel; got %d for a kernel of %d", padding, kernel);
    }
    return true;
}

static gr_tensor *pool_slide(gr_tape *t, const gr_op *op, int axes, gr_tensor *x, const gr_pool_config *config)
{
    pool_plan p;
    pool_axis axis[2];
    if (!pool_planes(t, op, x, axes, &p)) return NULL;
    if (!config) return gr_fail(t, op, "config is NULL: it holds the size of the kernel");
    if (!pool_settings(t, op, config, axes == 2, axis)) return NULL;
    for (int k = 2 - axes; k < 2; k++) {
        const pool_axis a = axis[k];
        if (p.H[k] + 2 * a.padding < a.kernel)
            return gr_fail(t, op, "x is %s, so with padding %zu axis %d has %zu values; a kernel of %zu is larger", gr_shape_text(t, x),
                           a.padding, k + axes, p.H[k] + 2 * a.padding, a.kernel);
        p.out[k] = (p.H[k] + 2 * a.padding - a.kernel) / a.stride + 1;
        const size_t windows = p.planes ? p.out[k] : 0;
        pool_window *w = gr_save(t, windows * sizeof *w);
        for (size_t i = 0; w && i < windows; i++) {
            const size_t start = i * a.stride, end = start + a.kernel; /* in the padded x */
            w[i].start = start > a.padding ? start - a.padding : 0;
            w[i].end = end < p.H[k] + a.padding ? end - a.padding : p.H[k];
            w[i].count = config->exclude_padding ? w[i].end - w[i].start : a.kernel;
        }
        if (!(p.window[k] = w)) return NULL;
    }
    p.halves = axes == 2;
    for (int k = 0; k < 2; k++) p.halves = p.halves && axis[k].kernel == 2 && axis[k].stride == 2 && !axis[k].padding;
    return pool(t, op, x, axes, &p);
}

static gr_tensor *pool_adapt(gr_tape *t, const gr_op *op, int axes, gr_tensor *x, size_t height, size_t width)
{
    pool_plan p;
    const size_t out[2] = { height, width };
    if (!pool_planes(t, op, x, axes, &p)) return NULL;
    for (int k = 2 - axes; k < 2; k++) {
        if (!out[k]) return gr_fail(t, op, "%s must be 1 or more; got 0", axes == 1 ? "length" : k ? "width" : "height");
        size_t bytes = SIZE_MAX;
        const size_t windows = p.planes ? out[k] : 0;
        gr_size_mul(windows, sizeof(pool_window), &bytes);
        pool_window *w = gr_save(t, bytes);
        p.out[k] = out[k];
        for (size_t i = 0; w && i < windows; i++) {
            const size_t H = p.H[k], n = out[k];
            w[i].start = i / n * H + i % n * H / n, w[i].end = ((i + 1) * H + n - 1) / n;
            w[i].count = w[i].end - w[i].start;
        }
        if (!(p.window[k] = w)) return NULL;
    }
    return pool(t, op, x, axes, &p);
}

#define POOL_SLIDE(name, axes) \
    gr_tensor *gr_##name(gr_tape *t, gr_tensor *x, const gr_pool_config *config) { return pool_slide(t, &name##_op, axes, x, config); }
POOL_SLIDE(max_pool1d, 1)
POOL_SLIDE(max_pool2d, 2)
POOL_SLIDE(avg_pool1d, 1)
POOL_SLIDE(avg_pool2d, 2)

gr_tensor *gr_adaptive_max_pool1d(gr_tape *t, gr_tensor *x, size_t length) { return pool_adapt(t, &adaptive_max_pool1d_op, 1, x, 1, length); }
gr_tensor *gr_adaptive_avg_pool1d(gr_tape *t, gr_tensor *x, size_t length) { return pool_adapt(t, &adaptive_avg_pool1d_op, 1, x, 1, length); }
gr_tensor *gr_adaptive_max_pool2d(gr_tape *t, gr_tensor *x, size_t height, size_t width)
{
    return pool_adapt(t, &adaptive_max_pool2d_op, 2, x, height, width);
}
gr_tensor *gr_adaptive_avg_pool2d(gr_tape *t, gr_tensor *x, size_t height, size_t width)
{
    return pool_adapt(t, &adaptive_avg_pool2d_op, 2, x, height, width);
}
#endif
