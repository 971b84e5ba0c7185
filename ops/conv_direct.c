/* ops/conv_direct.c - convolution by its definition, for all shapes. All three passes are one product (ops/conv_product.h):
 *
 *     pass        r                                k                                A                B
 *     forward     positions of y                   kernel row, c, kernel column     planes of x      weight, turned: lanes run over o
 *     back        positions of dx                  kernel row, o, kernel column     planes of dy     weight, turned: lanes run over c
 *     dweight     kernel row, c, kernel column     positions of dy                  planes of x      dy, turned: lanes run over o
 * Where the channels of the result would not fill the vectors, r is its channels, A the weight, B the planes: the lanes run over a row of outputs.
 * Groups of one channel in and one out (depthwise) are computed all at once: the lanes run over the groups in A, too, whose planes have the channels last.
 * Forward and back of depthwise with 3 x 3 kernels and stride 1 can have a product of their own (depth_fits), with the same bits: ops/conv_depthwise.h.
 * The row of the kernel changes last in k. So the rows that see nothing but padding are at the ends of k, and are left out.
 * A kernel of 1 x 1 with stride 1 and without padding is a matrix product in place, forward and back: each output sees the values at its own place.
 * Back with a stride: the positions of x whose row and column have the same remainders by the stride see the same kernel positions: a phase. */
#include "ops/conv_depthwise.h"
#include "ops/conv_product.h"
#include "ops/parts.h"
#include "ops/strided.h"

/* scalar kernel conv_multiply: it cuts into tiles; the arithmetic is in conv_tile_1_1 and the others. */
KERNEL(void, conv_multiply, const conv_product *g)
{
    const size_t vectors = (g->N + R_WIDTH - 1) / R_WIDTH, panels = (vectors + GEMM_VECTORS - 1) / GEMM_VECTORS;
    for (size_t p = 0, j = 0; p < panels; p++) {
        const size_t v = vectors / panels + (p < vectors % panels);
        size_t most = gemm_rows[v];
        while (most > CONV_FAST_ROWS && g->run % most) most--;
        const size_t n = (g->M + most - 1) / most;
        conv_product t = *g;
        t.A += t.each ? j : 0, t.B += j, t.C += j, t.last = size_min(R_WIDTH, g->N - j - (v - 1) * R_WIDTH);
        if (t.start) t.start += j;
        for (size_t q = 0, rows; q < n; q++, t.row += rows) {
            rows = g->M / n + (q < g->M % n);
            conv_tiles[v][rows][g->run % most ? t.each : 2](&t);
        }
        j += v * R_WIDTH;
    }
}

/* to [m, n] = from [n, m], rows of both apart by their steps.
 * scalar kernel conv_turn: it copies. */
KERNEL(void, conv_turn, gr_real *to, size_t to_row, const gr_real *from, size_t from_row, size_t m, size_t n)
{
    gemm_copy(m, n, n, (gr_mat){ from, 1, from_row }, to, to_row);
}

#if GR_HOST
/* ---- A pass, cut into tiles of results: several whole rows or, where one row is too large for the cache, a part of a row ---- */

enum { CONV_TILE = 65536, CONV_ROOM = 16 }; /* reals; what a vector may read behind an array */
typedef enum { CONV_FORWARD, CONV_BACK, CONV_DWEIGHT } conv_kind;
typedef struct { size_t K, row; } conv_terms; /* of a phase: in all, and with the same row of the kernel */

typedef struct {
    gr__conv_image image;              /* what is read, as the first tile sees it */
    size_t G, O, to[2], K;             /* groups; the result: its channels, the size of its image; terms of all phases */
    size_t phases[2], unit[2], step[2]; /* from a result of a phase to the next: so far in what is read; in the result */
    size_t tile[2], tiles[2], line;    /* of each phase; line: from a row of results to the next where a tile is turned */
    size_t planes, len;                /* reals of a thread: planes; and the results, or the turned dy */
    size_t weight, shared;             /* reals of all threads: the turned weight; and the tables */
    bool back, turned, each, in_place; /* turned: lanes run over channels; each: over all groups; in_place: x is its own plane */
} conv_tiling;

static conv_tiling conv_tiling_of(const gr__conv_plan *p, conv_kind kind)
{
    const bool back = kind == CONV_BACK, deep = p->C * p->O == 1;
    conv_tiling w = { .G = p->G, .O = back ? p->C : p->O, .image.C = back ? p->O : p->C, .back = back };
    size_t span[2], m[2];
    w.K = conv_times(w.image.C, conv_taps(p)), w.in_place = true;
    for (int k = 0; k < 2; k++) {
        const size_t s = p->stride[k], reach = (p->kernel[k] - 1) * p->dilation[k], before = p->padding[k] / s;
        w.unit[k] = back ? 1 : s, w.step[k] = back ? s : 1;
        w.image.H[k] = back ? p->out[k] : p->H[k], w.to[k] = back ? p->H[k] : p->out[k];
        w.image.padding[k] = back ? (ptrdiff_t)(reach / s) - (ptrdiff_t)before : (ptrdiff_t)p->padding[k];
        span[k] = back ? reach / s + (p->padding[k] + s - 1) / s - before : reach, m[k] = gr_chunks(w.to[k], w.step[k]);
        w.phases[k] = size_min(w.step[k], w.to[k]);
        w.in_place = w.in_place && !w.image.padding[k] && (m[k] - 1) * w.unit[k] + span[k] < w.image.H[k];
    }
    if (!m[0] || !m[1]) return w;
    /* The cost of either product, with its copies, in vectors of 16. */
    const size_t lanes = deep ? p->G : w.O, rows = deep ? 4 * p->G : w.O < 4 ? 4 : w.O; /* a tile of less than four rows waits for its sums */
    const double K = (double)w.K / (double)(w.step[0] * w.step[1]), by_channels = (K + 4) * (double)(conv_round(lanes) * m[1]);
    w.turned = kind == CONV_DWEIGHT || by_channels < (K + 2) * (double)(rows * conv_round(m[1]));
    w.each = deep && w.turned, w.in_place = w.in_place && w.turned && !deep;
    if (w.each) w.O = w.image.C = p->G, w.G = 1;
    const size_t seen = conv_times(w.image.C, conv_times(w.unit[0], w.unit[1])), made = conv_times(w.O, conv_times(w.step[0], w.step[1]));
    const size_t row = conv_times(conv_plus(seen, made), m[1] + span[1]);
    w.tiles[0] = size_min(gr_chunks(conv_times(row, m[0]), CONV_TILE), m[0]), w.tile[0] = gr_chunks(m[0], w.tiles[0]);
    w.tiles[1] = w.tile[0] > 1 ? 1 : size_min(gr_chunks(row, CONV_TILE), gr_chunks(m[1], CONV_ROOM));
    w.tile[1] = gr_chunks(m[1], w.tiles[1]);
    for (int k = 0; k < 2; k++) w.tiles[k] = gr_chunks(m[k], w.tile[k]), w.image.split[k] = w.turned ? 1 : w.unit[k];
    w.line = w.tiles[1] == 1 ? w.to[1] : w.tile[1] * w.step[1];
    w.image.rows = ((w.tile[0] - 1) * w.unit[0] + span[0]) / w.image.split[0] + 1;
    w.image.width = ((w.tile[1] - 1) * w.unit[1] + span[1]) / w.image.split[1] + 1;
    if (w.in_place) w.image.width = w.image.H[1], w.image.plane = w.image.planes = w.image.H[0] * w.image.H[1];
    else w.image = conv_planes_of(w.image);
    w.planes = w.in_place ? CONV_ROOM : conv_round(conv_plus(conv_times(w.image.C, w.image.planes), CONV_ROOM));
    w.len = conv_plus(w.planes, conv_round(conv_plus(conv_times(conv_times(w.O, w.line), conv_times(w.tile[0], w.phases[0])), CONV_ROOM)));
    w.weight = conv_round(conv_plus(conv_weight_len(p), CONV_ROOM));
    const size_t tables = conv_times(conv_plus(w.K, conv_plus(w.tile[0] * w.tile[1], w.O)), sizeof(conv_at) / sizeof(gr_real));
    w.shared = conv_round(conv_plus(conv_plus(w.weight, tables), conv_times(w.phases[0] * w.phases[1], sizeof(conv_terms) / sizeof(gr_real))));
    return w;
}

static bool conv_is(const size_t v[2], size_t n) { return v[0] == n && v[1] == n; }
static bool point_fits(const gr__conv_plan *p) { return conv_is(p->kernel, 1) && conv_is(p->stride, 1) && conv_is(p->padding, 0) && conv_is(p->extra, 0); }

/* How far row (or column) a of the kernel leads a phase, which begins at `first`, in what is read; SIZE_MAX: the phase does not see it. */
static size_t conv_tap(const gr__conv_plan *p, bool back, int k, size_t first, size_t a)
{
    const size_t s = p->stride[k], d = p->dilation[k], at = first + p->padding[k];
    return !back ? a * d : a * d % s == at % s ? (p->kernel[k] - 1) * d / s + at / s - p->padding[k] / s - a * d / s : SIZE_MAX;
}

typedef struct {
    gr_tape *t;
    const gr__conv_plan *p;
    const gr__conv_pass *c;
    conv_tiling w;
    const gr_real *dy;
    conv_at *k, *rows;      /* of the product: of all phases, by rows of the kernel; places in a tile, or rows of the weight */
    conv_terms *terms;      /* of each phase */
    gr_real *weight, *part, *scratch;
    int isa;
} conv_run;

/* The tables, and where the rest of the scratch lies. */
static conv_run conv_run_of(gr_tape *t, const gr__conv_plan *p, conv_kind kind, gr_real *scratch)
{
    conv_run r = { .t = t, .p = p, .w = conv_tiling_of(p, kind), .isa = gr_isa(t) };
    const conv_tiling *w = &r.w;
    const size_t taps = conv_taps(p), O = w->O, apart = w->step[1] > 1 ? w->tile[1] : w->to[0] * w->to[1];
    const size_t C = w->each ? 1 : w->image.C, lanes = w->each ? O : 1;
    r.weight = scratch, r.scratch = scratch + w->shared;
    conv_at *k = r.k = (conv_at *)(void *)(scratch + w->weight), *row = r.rows = k + w->K;
    r.terms = (conv_terms *)(void *)(row + w->tile[0] * w->tile[1] + O);
    const conv_at next = w->turned ? (conv_at){ w->image.planes * lanes, p->kernel[1] * O, 0 } : (conv_at){ taps * (w->back ? p->C : 1), w->image.planes, 0 };
    for (size_t phase = 0; phase < w->phases[0] * w->phases[1]; phase++) {
        const conv_at *const first = k;
        size_t n = 0;
        for (size_t a = 0; C && a < p->kernel[0]; a++) {
            const size_t i = conv_tap(p, w->back, 0, phase / w->phases[1], a);
            if (i == SIZE_MAX) continue;
            for (size_t b = n = 0; b < p->kernel[1]; b++) {
                const size_t j = conv_tap(p, w->back, 1, phase % w->phases[1], b), shift = conv_shift(&w->image, i, j), tap = a * p->kernel[1] + b;
                if (j != SIZE_MAX) k[n++] = w->turned ? (conv_at){ shift * lanes, (a * C * p->kernel[1] + b) * O, i } : (conv_at){ tap, shift, i };
            }
            for (size_t e = n; e < C * n; e++) k[e] = (conv_at){ k[e - n].a + next.a, k[e - n].b + next.b, i }; /* the next channel */
            k += C * n;
        }
        r.terms[phase] = (conv_terms){ (size_t)(k - first), C * n };
    }
    for (size_t i = 0; w->turned && i < w->tile[0]; i++)
        for (size_t j = 0; j < w->tile[1]; j++)
            *row++ = (conv_at){ (i * w->unit[0] * w->image.width + j * w->unit[1]) * lanes, (i * w->step[0] * w->line + j * w->step[1]) * O, i * w->unit[0] };
    for (size_t o = 0; !w->turned && o < O; o++) *row++ = (conv_at){ o * taps * (w->back ? 1 : p->C), o * apart, o };
    return r;
}

/* One plane with the channels last. */
static void conv_fill_last(const conv_run *r, gr_real *plane, const gr_real *x, const gr__conv_image *m)
{
    const size_t before = m->padding[1] > 0 ? size_min((size_t)m->padding[1], m->width) : 0, skip = m->padding[1] < 0 ? (size_t)-m->padding[1] : 0;
    const size_t n = size_min(m->H[1] - size_min(skip, m->H[1]), m->width - before), C = m->C;
    for (size_t i = 0; i < m->rows; i++, plane += m->width * C) {
        const size_t row = i - (size_t)m->padding[0], end = row < m->H[0] ? before + n : before;
        memset(plane, 0, before * C * sizeof *plane);
        memset(plane + end * C, 0, (m->width - end) * C * sizeof *plane);
        if (row < m->H[0]) conv_turn[r->isa](plane + before * C, C, x + row * m->H[1] + skip, m->H[0] * m->H[1], n, C);
    }
}

/* Tile number i of all samples: its group, its part of the result, which begins at y, and what it reads, of which the first row is row `top`. */
typedef struct { size_t g, n[2], y; size_t top; const gr_real *planes; gr_real *rest; } conv_spot;
static conv_spot conv_see(const conv_run *r, const gr_real *x, size_t i, int thread)
{
    const conv_tiling *w = &r->w;
    const size_t tiles = w->tiles[0] * w->tiles[1], number = i % tiles, group = i / tiles;
    const size_t at[2] = { number / w->tiles[1] * w->tile[0], number % w->tiles[1] * w->tile[1] };
    gr__conv_image m = w->image;
    conv_spot b = { .g = group % w->G, .y = (group * w->O * w->to[0] + at[0] * w->step[0]) * w->to[1] + at[1] * w->step[1] };
    for (int k = 0; k < 2; k++)
        b.n[k] = size_min(w->tile[k] * w->step[k], w->to[k] - at[k] * w->step[k]), m.padding[k] -= (ptrdiff_t)(at[k] * w->unit[k]);
    x += group * m.C * m.H[0] * m.H[1];
    gr_real *const planes = r->scratch + (size_t)thread * w->len;
    b.top = (size_t)-m.padding[0], b.planes = w->in_place ? x + at[0] * w->unit[0] * m.width + at[1] * w->unit[1] : planes, b.rest = planes + w->planes;
    if (w->each) conv_fill_last(r, planes, x, &m);
    else if (!w->in_place) gr__conv_fill(r->isa, planes, x, &m);
    return b;
}

/* Leave out the first and the last terms that see only padding: row i of what is read is row top + i of the image of H rows. Above
 * the image, top + i wraps around, and is H or more there, too. */
static void conv_cut(const conv_at **k, size_t *K, size_t in_row, size_t top, size_t H)
{
    while (*K && top + (*k)->i >= H) *k += in_row, *K -= in_row;
    while (*K && top + (*k)[*K - 1].i >= H) *K -= in_row;
}

/* The results of a tile with the channels last, from or to where they lie. */
static void conv_turn_tile(const conv_run *r, const conv_spot *b, gr_real *y, bool in)
{
    const conv_tiling *w = &r->w;
    const size_t whole = w->line == w->to[1] ? b->n[0] : 1, n = whole * b->n[1], size = w->to[0] * w->to[1];
    for (size_t i = 0; i < b->n[0]; i += whole) {
        gr_real *const at = y + i * w->to[1], *const turned = b->rest + i * w->line * w->O;
        if (in) conv_turn[r->isa](turned, w->O, at, size, n, w->O);
        else conv_turn[r->isa](at, size, turned, w->O, w->O, n);
    }
}

static void conv_direct_tile(void *argument, size_t number, int thread)
{
    const conv_run *r = argument;
    const conv_tiling *w = &r->w;
    const conv_spot b = conv_see(r, r->c->x, number, thread);
    const size_t O = w->O, across = w->phases[1];
    const bool spread = !w->turned && w->step[1] > 1, add = r->c->add && !spread;
    const gr_real *const bias = r->c->bias ? r->c->bias + b.g * O : NULL;
    const gr_real *const weight = (w->turned ? r->weight : r->c->weight) + b.g * (conv_weight_len(r->p) / w->G);
    const conv_at *k = r->k;
    gr_real *const y = r->c->y + b.y;
    if (w->turned && add) conv_turn_tile(r, &b, y, true);
    for (size_t phase = 0; phase < w->phases[0] * across; k += r->terms[phase++].K) {
        const size_t first[2] = { phase / across, phase % across };
        size_t n[2];
        for (int e = 0; e < 2; e++) n[e] = b.n[e] > first[e] ? gr_chunks(b.n[e] - first[e], w->step[e]) : 0;
        for (size_t i = 0, rows; n[1] && i < n[0]; i += rows) {
            conv_product g = { .k = k, .K = r->terms[phase].K, .each = w->each, .run = 1 };
            conv_cut(&g.k, &g.K, r->terms[phase].row, b.top + i * w->unit[0], w->image.H[0]);
            for (rows = 1; w->turned && n[1] == w->tile[1] && i + rows < n[0]; rows++) {
                const conv_at *next = k;
                size_t K = r->terms[phase].K;
                conv_cut(&next, &K, r->terms[phase].row, b.top + (i + rows) * w->unit[0], w->image.H[0]);
                if (next != g.k || K != g.K) break;
            }
            gr_real *const to = y + (first[0] + i * w->step[0]) * w->to[1] + first[1];
            if (w->turned) {
                g.A = b.planes, g.B = weight, g.row = r->rows + i * w->tile[1], g.M = rows * n[1], g.N = O, g.run = w->each || w->unit[1] > 1 ? 1 : n[1];
                g.C = b.rest + (first[0] * w->line + first[1]) * O, g.start = add ? g.C : bias;
                if (r->p->kernel[1] == 5 && r->p->stride[1] * r->p->dilation[1] == 1) g.five = w->back ? -1 : 1;
            } else {
                g.A = weight, g.B = b.planes + i * w->image.width, g.row = r->rows, g.M = O, g.N = n[1];
                g.C = spread ? b.rest : to, g.bias = bias, g.start = add ? g.C : NULL;
            }
            conv_multiply[r->isa](&g);
            for (size_t e = 0; spread && e < O * n[1]; e++) {
                gr_real *const at = to + e / n[1] * w->to[0] * w->to[1] + e % n[1] * w->step[1];
                *at = (r->c->add ? *at : 0) + b.rest[e / n[1] * w->tile[1] + e % n[1]];
            }
        }
    }
    if (w->turned) conv_turn_tile(r, &b, y, false);
}

/* The weight [G, O, C, kernel] with the channels of the result last, behind the kernel's rows, those that are summed, and its columns. */
static gr__layout conv_turned_weight(const gr__conv_plan *p, bool back)
{
    int *const order = p->C * p->O == 1 ? (int[]){ 1, 2, 3, 4, 0 } : back ? (int[]){ 0, 3, 1, 4, 2 } : (int[]){ 0, 3, 2, 4, 1 };
    return gr__layout_of(GR_SHAPE(p->G, p->O, p->C, p->kernel[0], p->kernel[1]), order);
}

/* A kernel of 1 x 1: y [O, P] = bias + weight [O, C] x [C, P], and dx [C, P] = weight' [C, O] dy [O, P] */
static void point_group(void *argument, size_t i, int thread)
{
    const conv_call *r = argument;
    const gr__conv_pass *c = r->c;
    const size_t C = r->p->C, O = r->p->O, P = r->p->out[0] * r->p->out[1], from = c->back ? O : C, to = c->back ? C : O, g = i % r->p->G;
    gr_real *const y = c->y + i * to * P;
    const gr_start start = c->bias ? (gr_start){ c->bias + g * to, 1 } : (gr_start){ c->add ? y : NULL, P };
    gr__gemm_serial(r->isa, to, P, from, (gr_mat){ c->weight + g * O * C, c->back ? 1 : C, c->back ? C : 1 }, (gr_mat){ c->x + i * from * P, P, 1 },
                    y, P, start, gr__work(r->t, thread));
}

/* With AVX2 and AVX-512, other sizes are no slower by the other product. Without them no size is: there a load of a part of a vector is a loop. */
static bool depth_fits(const gr__conv_plan *p, bool back, int isa)
{
    const bool plain = p->C * p->O == 1 && conv_is(p->kernel, 3) && conv_is(p->stride, 1) && conv_is(p->dilation, 1);
    return plain && isa && sizeof(gr_real) == 4 && p->H[0] > 1 && conv_times(back ? p->H[1] : p->out[1], conv_round(p->G)) / 7 >= p->G;
}

static void conv_direct_convolve(gr_tape *t, const gr__conv_plan *p, const gr__conv_pass *c)
{
    conv_call call = { t, p, c, gr_isa(t) };
    if (point_fits(p)) {
        gr_parallel(t, p->N * p->G, conv_work(p), point_group, &call);
    } else if (depth_fits(p, c->back, gr_isa(t))) {
        gr__parallel_rows(t, p->N * p->G, DEPTH_IMAGES, conv_work(p), conv_depth[gr_isa(t)], &call);
    } else {
        conv_run r = conv_run_of(t, p, c->back ? CONV_BACK : CONV_FORWARD, c->scratch);
        r.c = c;
        if (r.w.turned) gr__strided_copy(t, conv_turned_weight(p, c->back), r.weight, c->weight);
        gr_parallel(t, p->N * r.w.G * r.w.tiles[0] * r.w.tiles[1], conv_work(p), conv_direct_tile, &r);
    }
}

static void conv_direct_chunk(void *argument, size_t chunk, int thread)
{
    const conv_run *r = argument;
    const conv_tiling *w = &r->w;
    const gr__conv_plan *p = r->p;
    const size_t tasks = w->G * w->tiles[0] * w->tiles[1], size = w->to[0] * w->to[1], O = w->O, len = conv_weight_len(p);
    const size_t per = (w->each ? 1 : w->image.C) * p->kernel[1];
    const size_t all = per < 8 ? p->kernel[0] : 1; /* few rows would cost more than the padding that they leave out */
    const gr_range samples = gr_chunk(chunk, p->chunk, p->N);
    gr_real *const part = r->part + chunk * len;
    for (size_t i = 0; i < samples.count * tasks; i++) {
        const conv_spot b = conv_see(r, r->c->x, samples.first * tasks + i, thread);
        conv_turn[r->isa](b.rest, O, r->dy + b.y, size, b.n[0] * b.n[1], O);
        for (size_t a = 0; a < p->kernel[0]; a += all) {
            conv_product g = { .A = b.planes, .B = b.rest, .C = part + b.g * w->K * O, .row = r->k + a * per, .k = r->rows, .M = all * per, .N = O,
                               .K = b.n[0] * b.n[1], .each = w->each, .run = 1 };
            if (all == 1) conv_cut(&g.k, &g.K, b.n[1], b.top + a * p->dilation[0], w->image.H[0]);
            if (i >= tasks || i % (tasks / w->G)) g.start = g.C; /* else the first of its group */
            conv_multiply[r->isa](&g);
        }
    }
}

static void conv_direct_dweight(gr_tape *t, const gr__conv_plan *p, const gr_real *x, const gr_real *dy, gr_real *dweight, gr_real *scratch)
{
    conv_run r = conv_run_of(t, p, CONV_DWEIGHT, scratch);
    const size_t chunks = gr_chunks(p->N, p->chunk), len = conv_weight_len(p);
    r.c = &(gr__conv_pass){ .x = x }, r.dy = dy, r.part = r.scratch, r.scratch += conv_round(chunks * len + CONV_ROOM);
    gr_parallel(t, chunks, conv_work(p), conv_direct_chunk, &r);
    gr__add_parts(t, r.part, r.part + len, chunks - 1, len, len);
    gr__strided_back(t, conv_turned_weight(p, false), dweight, r.part, false);
}

static size_t conv_direct_len(const gr__conv_plan *p, bool backward)
{
    size_t most = 0;
    if (point_fits(p) && !backward) return 0;
    for (int kind = CONV_FORWARD; kind <= CONV_DWEIGHT; kind++) {
        const conv_tiling w = conv_tiling_of(p, (conv_kind)kind);
        const size_t parts = kind == CONV_DWEIGHT ? conv_round(conv_plus(conv_times(gr_chunks(p->N, p->chunk), conv_weight_len(p)), CONV_ROOM)) : 0;
        const size_t len = conv_plus(conv_plus(w.shared, parts), conv_times(p->threads, w.len));
        if ((backward || kind == (p->transposed ? CONV_BACK : CONV_FORWARD)) && len > most) most = len;
    }
    return most;
}

const gr__conv_way gr__conv_direct = { conv_direct_len, conv_direct_convolve, conv_direct_dweight };
#endif
