/* ops/pool.c - pooling and interpolation over windows of one axis or two. One axis is treated as two, of which the first has size 1.
 *
 *     max     y = the largest x of the window, NaN if one is NaN         dx += dy for that x
 *     avg     y = the sum of the window's x, row by row, / n             dx += dy / n for each x of the window
 *     linear  y = sum over the window of x, times its share along each axis       dx += dy times the shares
 * max_pool1d, max_pool2d, avg_pool1d and avg_pool2d have windows of one size; adaptive_max_pool1d, adaptive_max_pool2d, adaptive_avg_pool1d and
 * adaptive_avg_pool2d have as many windows as y has values; interpolate is linear.
 * Shapes: x [N, C, L] or [N, C, H, W]; y with other sizes along the last axes.   Kinks: max gives dy to the first of equal ones.   Source: none.
 * The windows of linear have one value, with the share 1, or two values, with the shares 1 - part and part.
 * A window has a start and an end inside x along each axis, and a count, which may include padding: n is the product of the counts. Windows of
 * 2 x 2 side by side have loops of their own, which add in the same order.
 * Saved: the windows. Backward looks for the maximum again: it is the first x that equals y, and where several are NaN, one of them. */
#include "core/simd.h"
#include "ops/window.h"

typedef struct { size_t start, end, count; gr_real part; } pool_window; /* part: only linear */
enum { POOL_MAX, POOL_AVG, POOL_LINEAR }; /* kinds */
typedef struct {
    size_t planes, H[2], out[2];
    const pool_window *window[2]; /* [out] of H and of W */
    bool halves;                  /* windows of 2 x 2, side by side */
    int kind;
} pool_plan;

#define POOL_EACH(h, w, p) \
    for (const pool_window *h = (p)->window[0], *const h_end_ = h + (p)->out[0]; h < h_end_; h++) \
        for (const pool_window *w = (p)->window[1], *const w_end_ = w + (p)->out[1]; w < w_end_; w++)

/* y of a window; a window of whole rows is one run, whose sum is taken in lanes. In the next two functions `max` is a constant. */
INLINE gr_real pool_value(const gr_real *x, size_t W, const pool_window *h, const pool_window *w, bool max)
{
    const gr_real *const first = x + h->start * W;
    gr_real v = max ? R(-INFINITY) : 0;
    if (!max && w->end - w->start == W) v = SUM(i, (h->end - h->start) * W, first[i]);
    else
        for (size_t i = h->start; i < h->end; i++)
            for (size_t j = w->start; j < w->end; j++) v = max ? r_larger(v, x[i * W + j]) : v + x[i * W + j];
    return max ? v : v / (gr_real)(h->count * w->count);
}
/* y of n windows of 2 by 2, side by side; at most a vector */
INLINE r_vec pool_quarters(const gr_real *x, size_t W, size_t n, bool max)
{
    r_vec v[4];
    UNROLL for (size_t i = 0; i < 2; i++) v_load_split(v + 2 * i, v + 2 * i + 1, x + i * W, 2 * n);
    return max ? v_larger(v_larger(v_larger(v[0], v[1]), v[2]), v[3]) : (v[0] + v[1] + v[2] + v[3]) / 4;
}
INLINE void pool_forward_of(gr_real *restrict y, const gr_real *restrict x, const pool_plan *p, size_t planes, bool max)
{
    const size_t W = p->H[1], n = p->out[1];
    const bool part = GR_VECTOR_BYTES > 16 && sizeof *x == 4 && n < R_WIDTH; /* else the compiler's loop is as fast */
    for (; planes--; x += p->H[0] * W) {
        for (size_t i = 0; p->halves && i < p->out[0]; i++, y += n) {
            const gr_real *const row = x + 2 * i * W, *const below = row + W;
            if (part) v_store_part(y, pool_quarters(row, W, n, max), n);
            else for (size_t j = 0; j < n; j++) {
                const gr_real a = row[2 * j], b = row[2 * j + 1], c = below[2 * j], d = below[2 * j + 1];
                y[j] = max ? r_larger(r_larger(r_larger(a, b), c), d) : (a + b + c + d) / 4;
            }
        }
        if (!p->halves) POOL_EACH(h, w, p) *y++ = pool_value(x, W, h, w, max);
    }
}

/* n windows of 2 by 2, of which at most a vector is looked at: the first value of each that has the bits of y gets dy. These are those of
 * the first of equal values, since v_larger keeps its first argument then. */
INLINE void pool_max_quarters(gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, const gr_real *restrict x, size_t W, size_t n,
                              bool add)
{
    const r_vec m = v_load_most(y, n), g = v_load_most(dy, n);
    r_vec v[4];
    r_lane_numbers open = ~(r_lane_numbers){ 0 }; /* all ones in the windows whose maximum was not met yet */
    UNROLL for (size_t i = 0; i < 2; i++) v_load_split(v + 2 * i, v + 2 * i + 1, x + i * W, 2 * n);
    UNROLL for (int k = 0; k < 4; k++) {
        const r_lane_numbers is = k < 3 ? open & ((r_lane_numbers)v[k] == (r_lane_numbers)m) : open;
        v[k] = (r_vec)((r_lane_numbers)g & is), open &= ~is;
    }
    UNROLL for (size_t i = 0; i < 2; i++) v_store_zip(dx + i * W, v[2 * i], v[2 * i + 1], 2 * n, add);
}

INLINE void pool_max_backward(gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, const gr_real *restrict x,
                              const pool_plan *p, size_t planes, bool add)
{
    const size_t W = p->H[1], n = p->out[1];
    for (; planes--; x += p->H[0] * W, dx += p->H[0] * W) {
        if (p->halves) {
            for (size_t i = 0; i < p->out[0]; i++, y += n, dy += n)
                for (size_t j = 0; j < n; j += R_WIDTH)
                    pool_max_quarters(dx + 2 * (i * W + j), dy + j, y + j, x + 2 * (i * W + j), W, n - j, add);
            continue;
        }
        POOL_EACH(h, w, p) {
            const gr_real m = *y++, g = *dy++;
            bool found = false;
            for (size_t i = h->start; i < h->end && !found; i++)
                for (size_t j = w->start; j < w->end && !found; j++)
                    if ((found = x[i * W + j] == m || x[i * W + j] != x[i * W + j])) dx[i * W + j] += g; /* m is NaN where any x is */
        }
    }
}

INLINE void pool_avg_backward(gr_real *restrict dx, const gr_real *restrict dy, const pool_plan *p, size_t planes)
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

INLINE gr_real pool_between(const pool_window *w, gr_real a, gr_real b) { return w->end - w->start > 1 ? a * (1 - w->part) + b * w->part : a; }

INLINE void pool_linear_forward(gr_real *restrict y, const gr_real *restrict x, const pool_plan *p, size_t planes)
{
    const size_t W = p->H[1];
    for (; planes--; x += p->H[0] * W)
        POOL_EACH(h, w, p) {
            const gr_real *const above = x + h->start * W + w->start, *const below = x + (h->end - 1) * W + w->start;
            const size_t right = w->end - 1 - w->start;
            *y++ = pool_between(h, pool_between(w, above[0], above[right]), pool_between(w, below[0], below[right]));
        }
}

/* d += share dy, for a row dy of n outputs. Neighbours that see the same values of x are added up first. */
INLINE void pool_linear_row(gr_real *restrict d, const gr_real *restrict dy, const pool_window *w, size_t n, gr_real share)
{
    for (size_t i = 0; i < n;) {
        const size_t at = w[i].start, two = w[i].end - at - 1;
        gr_real first = 0, second = 0;
        for (; i < n && w[i].start == at; i++) {
            const gr_real g = share * dy[i];
            first += g * (1 - w[i].part), second += g * w[i].part;
        }
        d[at] += first;
        if (two) d[at + 1] += second;
    }
}

INLINE void pool_linear_backward(gr_real *restrict dx, const gr_real *restrict dy, const pool_plan *p, size_t planes)
{
    for (; planes--; dx += p->H[0] * p->H[1])
        for (const pool_window *h = p->window[0]; h < p->window[0] + p->out[0]; h++, dy += p->out[1]) {
            pool_linear_row(dx + h->start * p->H[1], dy, p->window[1], p->out[1], 1 - h->part);
            if (h->end - h->start > 1) pool_linear_row(dx + (h->end - 1) * p->H[1], dy, p->window[1], p->out[1], h->part);
        }
}

KERNEL(void, pool_forward, gr_real *restrict y, const gr_real *restrict x, const pool_plan *p, size_t planes)
{
    if (p->kind == POOL_LINEAR) pool_linear_forward(y, x, p, planes);
    else if (p->kind == POOL_MAX) pool_forward_of(y, x, p, planes, true);
    else pool_forward_of(y, x, p, planes, false);
}

KERNEL(void, pool_backward, gr_real *restrict dx, const gr_real *restrict dy, const gr_real *restrict y, const gr_real *restrict x,
       const pool_plan *p, size_t planes, bool add)
{
    if (p->kind == POOL_LINEAR) pool_linear_backward(dx, dy, p, planes);
    else if (p->kind == POOL_MAX) pool_max_backward(dx, dy, y, x, p, planes, add);
    else pool_avg_backward(dx, dy, p, planes);
}

#if GR_HOST
enum { POOL_CHUNK = 10240 }; /* values of x and y */

typedef struct {
    const pool_plan *p;
    const gr_real *x, *dy;
    gr_real *y, *dx; /* dx NULL: forward */
    int isa;
    bool fresh; /* dx is not cleared yet */
} pool_run;

static void pool_chunk(void *argument, gr_range planes)
{
    const pool_run *r = argument;
    const pool_plan *p = r->p;
    const size_t in = planes.first * p->H[0] * p->H[1], out = planes.first * p->out[0] * p->out[1];
    /* whole: each dx is written, so that none need be cleared */
    const bool whole = r->fresh && p->kind == POOL_MAX && p->halves && p->H[0] == 2 * p->out[0] && p->H[1] == 2 * p->out[1];
    if (r->fresh && !whole) memset(r->dx + in, 0, planes.count * p->H[0] * p->H[1] * sizeof *r->dx);
    if (r->dx) pool_backward[r->isa](r->dx + in, r->dy + out, r->y + out, r->x + in, p, planes.count, !whole);
    else pool_forward[r->isa](r->y + out, r->x + in, p, planes.count);
}

static void pool_all(gr_tape *t, pool_run r)
{
    const size_t plane = r.p->H[0] * r.p->H[1] + r.p->out[0] * r.p->out[1];
    gr__parallel_rows(t, r.p->planes, POOL_CHUNK / plane + 1, (double)r.p->planes * (double)plane, pool_chunk, &r);
}

static void pool_node(gr_tape *t, const gr_node *n)
{
    pool_run r = { .p = n->saved, .x = n->in[0]->data, .dy = gr_grad(t, n->out[0]), .y = n->out[0]->data, .isa = gr_isa(t) };
    r.dx = gr__grad_to_fill(t, n->in[0], &r.fresh);
    if (r.dx) pool_all(t, r);
}

/* ---- The public functions ---- */

/* The sizes of x; along H, where x has one axis only, one window of one value. */
static bool pool_planes(gr_tape *t, const gr_op *op, gr_tensor *x, int dims, int kind, pool_plan *p)
{
    static const pool_window one = { 0, 1, 1, 0 };
    if (!gr_ready(t, op, x)) return false;
    if (x->rank != dims + 2) return gr_fail(t, op, "x must be %s; got %s", dims == 2 ? "[N, C, H, W]" : "[N, C, L]", gr_shape_text(t, x));
    *p = (pool_plan){ .planes = x->dim[0] * x->dim[1], .H = { 1, 1 }, .out = { 1, 1 }, .window = { &one }, .kind = kind };
    for (int k = 2 - dims; k < 2; k++)
        if (!(p->H[k] = x->dim[k + dims])) return gr_fail(t, op, "x is %s: axis %d is empty", gr_shape_text(t, x), k + dims);
    return true;
}

/* n windows along axis k, for the caller to fill. NULL when out of memory. Without planes no window is looked at: there may be very many. */
static pool_window *pool_windows(gr_tape *t, const gr_op *op, pool_plan *p, int k, size_t n)
{
    size_t bytes;
    gr_size_mul(p->planes ? n : 0, sizeof(pool_window), &bytes);
    pool_window *w = gr__save(t, op->name, bytes);
    p->out[k] = n, p->window[k] = w;
    return w;
}

static gr_tensor *pool(gr_tape *t, const gr_op *op, gr_tensor *x, int dims, const pool_plan *p)
{
    gr_shape shape = { .rank = dims + 2, .dim = { x->dim[0], x->dim[1] } };
    for (int k = 2 - dims; k < 2; k++) shape.dim[k + dims] = p->out[k];
    gr_tensor *y = gr__empty(t, op, shape);
    if (!y) return NULL;
    pool_all(t, (pool_run){ .p = p, .x = x->data, .y = y->data, .isa = gr_isa(t) });
    return gr_record(t, op, p, sizeof *p, GR_OUT(y), GR_IN(x));
}

static bool pool_settings_fit(gr_tape *t, const gr_op *op, const gr_pool_config *c, bool two)
{
    if (!c) return gr_fail(t, op, "config is NULL: it holds the size of the kernel");
    const window_value s[] = { { "kernel", c->kernel, 1 }, { "kernel_w", c->kernel_w, 1 }, { "stride", c->stride, 1 },
                               { "stride_w", c->stride_w, 1 }, { "padding", c->padding, 0 }, { "padding_w", c->padding_w, 0 } };
    if (!c->kernel) return gr_fail(t, op, "kernel must be 1 or more; got 0");
    return gr__window_fits(t, op->name, s, 6, two);
}

static gr_tensor *pool_slide(gr_tape *t, const gr_op *op, int kind, int dims, gr_tensor *x, const gr_pool_config *c)
{
    pool_plan p;
    if (!pool_planes(t, op, x, dims, kind, &p) || !pool_settings_fit(t, op, c, dims == 2)) return NULL;
    p.halves = dims == 2;
    for (int k = 2 - dims; k < 2; k++) {
        const size_t kernel = window_setting(c->kernel, k ? c->kernel_w : 0, 0), padding = window_setting(c->padding, k ? c->padding_w : 0, 0);
        const size_t stride = window_setting(c->stride, k ? c->stride_w : 0, (int)kernel), padded = p.H[k] + 2 * padding;
        if (padding > kernel / 2) return gr_fail(t, op, "padding can be at most half of the kernel; got %zu for a kernel of %zu", padding, kernel);
        if (padded < kernel)
            return gr_fail(t, op, "x is %s, so with padding %zu axis %d has %zu values; a kernel of %zu is larger", gr_shape_text(t, x), padding,
                           k + dims, padded, kernel);
        pool_window *w = pool_windows(t, op, &p, k, (padded - kernel) / stride + 1);
        if (!w) return NULL;
        for (size_t i = 0; p.planes && i < p.out[k]; i++) {
            const size_t start = i * stride, end = start + kernel; /* in the padded x */
            w[i].start = start > padding ? start - padding : 0, w[i].end = end < p.H[k] + padding ? end - padding : p.H[k];
            w[i].count = c->exclude_padding ? w[i].end - w[i].start : kernel;
        }
        p.halves = p.halves && kernel == 2 && stride == 2 && !padding;
    }
    return pool(t, op, x, dims, &p);
}

static gr_tensor *pool_adapt(gr_tape *t, const gr_op *op, int kind, int dims, gr_tensor *x, size_t height, size_t width)
{
    pool_plan p;
    const size_t out[2] = { height, width };
    if (!pool_planes(t, op, x, dims, kind, &p)) return NULL;
    for (int k = 2 - dims; k < 2; k++) {
        if (!out[k]) return gr_fail(t, op, "%s must be 1 or more; got 0", dims == 1 ? "length" : k ? "width" : "height");
        const size_t H = p.H[k], n = out[k];
        pool_window *w = pool_windows(t, op, &p, k, n);
        if (!w) return NULL;
        for (size_t i = 0; p.planes && i < n; i++) w[i].start = i * H / n, w[i].end = ((i + 1) * H + n - 1) / n, w[i].count = w[i].end - w[i].start;
    }
    return pool(t, op, x, dims, &p);
}

/* gr_max_pool1d, gr_adaptive_max_pool1d and so on. sizes: the parameters of the adaptive one, of which h and w are the numbers of windows. */
#define POOL(kind, d, which, dims, sizes, h, w) \
    static const gr_op kind##_pool##d##_op = { .name = #kind "_pool" #d, .backward = pool_node }; \
    static const gr_op adaptive_##kind##_pool##d##_op = { .name = "adaptive_" #kind "_pool" #d, .backward = pool_node }; \
    gr_tensor *gr_##kind##_pool##d(gr_tape *t, gr_tensor *x, const gr_pool_config *config) \
    { \
        return pool_slide(t, &kind##_pool##d##_op, which, dims, x, config); \
    } \
    gr_tensor *gr_adaptive_##kind##_pool##d(gr_tape *t, gr_tensor *x, sizes) \
    { \
        return pool_adapt(t, &adaptive_##kind##_pool##d##_op, which, dims, x, h, w); \
    }
#define POOL_HW size_t height, size_t width
POOL(max, 1d, POOL_MAX, 1, size_t length, 1, length) POOL(avg, 1d, POOL_AVG, 1, size_t length, 1, length)
POOL(max, 2d, POOL_MAX, 2, POOL_HW, height, width) POOL(avg, 2d, POOL_AVG, 2, POOL_HW, height, width)

/* ---- Interpolation: windows of one value or two ---- */

static const gr_op interpolate_op = { .name = "interpolate", .backward = pool_node };

bool gr__interpolate_fits(gr_tape *t, const char *name, const gr_interpolate_config *c)
{
    if (!c) return gr_fail_as(t, GR_MISUSE, name, "config is NULL: it holds the size or the scale_factor");
    const double factor[] = { c->scale_factor, c->scale_factor_w };
    for (int k = 0; k < 2; k++)
        if (!(factor[k] >= 0 && factor[k] < (double)INFINITY)) return gr_fail_as(t, GR_MISUSE, name, "scale_factor must be above 0; got %g", factor[k]);
    if ((c->size || c->size_w) && (factor[0] > 0 || factor[1] > 0)) return gr_fail_as(t, GR_MISUSE, name, "only one of size and scale_factor can be given");
    if (!c->size && !(factor[0] > 0)) return gr_fail_as(t, GR_MISUSE, name, "a size or a scale_factor is needed");
    if (c->mode != GR_INTERPOLATE_NEAREST && c->mode != GR_INTERPOLATE_LINEAR)
        return gr_fail_as(t, GR_MISUSE, name, "mode must be GR_INTERPOLATE_NEAREST or GR_INTERPOLATE_LINEAR; got %d", (int)c->mode);
    if (c->align_corners && c->mode == GR_INTERPOLATE_NEAREST) return gr_fail_as(t, GR_MISUSE, name, "align_corners needs GR_INTERPOLATE_LINEAR");
    return true;
}

/* What output i of an axis with n inputs sees; the outputs are `step` inputs apart. Nearest computes in float, because PyTorch does. */
static pool_window interpolate_window(size_t i, size_t n, double step, bool linear, bool corners)
{
    const double centred = ((double)i + 0.5) * step - 0.5, at = corners ? (double)i * step : centred > 0 ? centred : 0;
    size_t first = linear ? (size_t)at : (size_t)((float)i * (float)step);
    if (first >= n) first = n - 1;
    const bool two = linear && first + 1 < n;
    return (pool_window){ first, first + 1 + two, 1, two ? (gr_real)(at - (double)first) : 0 };
}

gr_tensor *gr_interpolate(gr_tape *t, gr_tensor *x, const gr_interpolate_config *c)
{
    pool_plan p;
    if (!gr_ready(t, &interpolate_op, x)) return NULL;
    const int dims = x->rank - 2;
    if (dims != 1 && dims != 2) return gr_fail(t, &interpolate_op, "x must be [N, C, L] or [N, C, H, W]; got %s", gr_shape_text(t, x));
    if (c && dims == 1 && (c->size_w || c->scale_factor_w > 0))
        return gr_fail(t, &interpolate_op, "size_w and scale_factor_w are for two axes; x is %s", gr_shape_text(t, x));
    if (!gr__interpolate_fits(t, interpolate_op.name, c) || !pool_planes(t, &interpolate_op, x, dims, POOL_LINEAR, &p)) return NULL;
    for (int k = 2 - dims; k < 2; k++) {
        const size_t n = p.H[k], size = k && c->size_w ? c->size_w : c->size;
        const double factor = k && c->scale_factor_w > 0 ? c->scale_factor_w : c->scale_factor, scaled = (double)n * factor;
        const size_t out = size ? size : scaled < 0x1p63 ? (size_t)scaled : SIZE_MAX;
        if (!out) return gr_fail(t, &interpolate_op, "x is %s: a scale_factor of %g leaves nothing of axis %d", gr_shape_text(t, x), factor, k + dims);
        pool_window *w = pool_windows(t, &interpolate_op, &p, k, out);
        if (!w) return NULL;
        const bool linear = c->mode == GR_INTERPOLATE_LINEAR && out != n; /* equal sizes: a copy */
        double step = size ? (double)n / (double)out : 1 / factor;
        if (c->align_corners) step = out > 1 ? (double)(n - 1) / (double)(out - 1) : 0;
        if (c->mode == GR_INTERPOLATE_LINEAR && out == n) step = 1;
        for (size_t i = 0; p.planes && i < out; i++) w[i] = interpolate_window(i, n, step, linear, c->align_corners);
    }
    return pool(t, &interpolate_op, x, dims, &p);
}
#endif
