/* ops/conv_direct.c - convolution by its definition, for all shapes. All three passes are one product, whose factors lie where tables of offsets say:
 *
 *     C[r][n] = start[r][n] + sum over k of A[row[r] + a(k)] B[b(k) + n]
 *
 *     pass        r                k                         A               B
 *     forward     outputs          c, kernel position        planes of x     weight, turned: lanes run over O
 *     back        inputs           o, kernel position        planes of y     weight, turned: lanes run over C
 *     dweight     c, position      outputs                   planes of x     dy, turned: lanes run over O
 * Where the channels of the result would not fill the vectors, r is its channels, A the weight, B the planes: the lanes run over outputs, and also over
 * what lies between two rows of them. Each output is one chain over k in either case, so the choice changes no bit.
 * A group of one channel in and one out (depthwise) has loops of its own: its lanes run over a row of outputs.
 * Back with a stride: the positions of x whose row and column have the same remainder by the stride see the same kernel positions: a product for each
 * remainder. */
#include "core/gemm_copy.h"
#include "ops/conv_plan.h"
#include "ops/parts.h"
#include "ops/strided.h"

/* ---- The product ---- */

enum { CONV_ROWS = 12, CONV_STEP = 144, CONV_BLOCK = 96 }; /* of k, and of r */
/* The most rows of a tile: the pointers to them must stay in registers, too. */
INLINE size_t conv_rows(size_t vectors) { return vectors == 1 ? 10 : gemm_min(gemm_rows[vectors], 8); }

typedef struct { size_t a, b; } conv_at; /* offsets in A and in B */
typedef struct {
    const gr_real *A, *B, *start;
    const conv_at *row, *k;
    size_t M, N, K, start_row, c_row, last; /* last: lanes of the last vector that are inside C */
    gr_real *C;
} conv_product;

INLINE void conv_run_tile(const int vectors, const int rows, const conv_product *t)
{
    r_vec c[CONV_ROWS][GEMM_VECTORS], b[GEMM_VECTORS];
    const gr_real *a[CONV_ROWS], *const B = t->B;
    gr_real *const C = t->C;
    const size_t c_row = t->c_row, last = t->last;
    UNROLL for (int r = 0; r < rows; r++) {
        a[r] = t->A + t->row[r].a;
        UNROLL for (int v = 0; v < vectors; v++) c[r][v] = v_load(t->start + (size_t)r * t->start_row + v * R_WIDTH);
    }
    for (const conv_at *k = t->k, *const end = k + t->K; k < end; k++) {
        UNROLL for (int v = 0; v < vectors; v++) b[v] = v_load(B + k->b + v * R_WIDTH);
        UNROLL for (int r = 0; r < rows; r++) {
            const r_vec x = v_set(a[r][k->a]);
            UNROLL for (int v = 0; v < vectors; v++) c[r][v] = v_fma(x, b[v], c[r][v]);
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < vectors; v++) {
            gr_real *const to = C + (size_t)r * c_row + v * R_WIDTH;
            if (v < vectors - 1 || last == R_WIDTH) v_store(to, c[r][v]);
            else v_store_part(to, c[r][v], last);
        }
}
#define CONV_FUNCTION(v, r) static void GR_NAME(conv_tile_##v##_##r)(const conv_product *t) { conv_run_tile(v, r, t); }
#define CONV_ENTRY(v, r) [v][r] = GR_NAME(conv_tile_##v##_##r),
GEMM_TILES(CONV_FUNCTION)
static void (*const conv_tiles[GEMM_VECTORS + 1][CONV_ROWS + 1])(const conv_product *) = { GEMM_TILES(CONV_ENTRY) };

/* scalar kernel conv_multiply: it cuts into tiles; the arithmetic is in conv_tile_1_1 and the others. */
KERNEL(void, conv_multiply, const conv_product *g)
{
    const size_t vectors = (g->N + R_WIDTH - 1) / R_WIDTH, panels = (vectors + GEMM_VECTORS - 1) / GEMM_VECTORS, steps = g->K ? (g->K + CONV_STEP - 1) / CONV_STEP : 1;
    for (size_t s = 0, first = 0; s < steps; s++) {
        const size_t K = g->K / steps + (s < g->K % steps);
        for (size_t p = 0, j = 0; p < panels; p++) {
            const size_t v = vectors / panels + (p < vectors % panels), n = (g->M + conv_rows(v) - 1) / conv_rows(v), start_row = s ? g->c_row : g->start_row;
            const gr_real *const start = s ? g->C : g->start;
            conv_product t = { .A = g->A, .B = g->B + j, .k = g->k + first, .K = K, .start_row = start_row, .c_row = g->c_row, .last = gemm_min(R_WIDTH, g->N - j - (v - 1) * R_WIDTH) };
            for (size_t q = 0, i = 0; q < n; q++) {
                const size_t rows = g->M / n + (q < g->M % n);
                t.row = g->row + i, t.start = start + i * start_row + j, t.C = g->C + i * g->c_row + j;
                conv_tiles[v][rows](&t);
                i += rows;
            }
            j += v * R_WIDTH;
        }
        first += K;
    }
}

/* to [m, n] = from [n, m], rows of both apart by their steps.
 * scalar kernel conv_turn: it copies. */
KERNEL(void, conv_turn, gr_real *to, size_t to_row, const gr_real *from, size_t from_row, size_t m, size_t n)
{
    gemm_copy(m, n, n, (gr_mat){ from, 1, from_row }, to, to_row);
}

/* width, size: of an image; row, line: from a row and from a channel to the next in `from`. */
typedef struct { size_t O, n[2], step[2], width, size, row, line; } conv_result;
KERNEL(void, conv_place, gr_real *to, const gr_real *from, const conv_result *w, bool add)
{
    for (size_t o = 0; o < w->O; o++)
        for (size_t i = 0; i < w->n[0]; i++) {
            gr_real *const y = to + o * w->size + i * w->step[0] * w->width;
            const gr_real *const x = from + o * w->line + i * w->row;
            if (w->step[1] > 1)
                for (size_t j = 0; j < w->n[1]; j++) y[j * w->step[1]] = (add ? y[j * w->step[1]] : 0) + x[j];
            else
                for (size_t j = 0; j < w->n[1]; j += R_WIDTH) {
                    const size_t n = w->n[1] - j;
                    const r_vec v = v_load(x + j);
                    v_store_most(y + j, add ? v_load_most(y + j, n) + v : v, n);
                }
        }
}

/* ---- One channel of one channel: the lanes run over a row of outputs ---- */

/* Rows of y, from planes: each of n values = bias, or the old value, + sum over k of w[k.a] planes[k.b]. */
INLINE void conv_deep_rows(const int rows, gr_real *y, size_t y_row, const gr_real *planes, size_t width, const gr_real *w, const conv_at *k, size_t K, size_t n, const gr_real *bias)
{
    for (size_t j = 0; j < n; j += R_WIDTH) {
        r_vec sum[4];
        UNROLL for (int i = 0; i < rows; i++) sum[i] = bias ? v_set(*bias) : v_load_most(y + (size_t)i * y_row + j, n - j);
        for (size_t e = 0; e < K; e++) {
            const r_vec weight = v_set(w[k[e].a]);
            UNROLL for (int i = 0; i < rows; i++) sum[i] = v_fma(weight, v_load(planes + k[e].b + (size_t)i * width + j), sum[i]);
        }
        UNROLL for (int i = 0; i < rows; i++)
            v_store_most(y + (size_t)i * y_row + j, sum[i], n - j);
    }
}
KERNEL(void, conv_deep, gr_real *y, size_t y_row, const gr_real *planes, size_t width, const gr_real *w, const conv_at *k, size_t K, const size_t *n, const gr_real *bias)
{
    size_t i = 0;
    for (; i + 4 <= n[0]; i += 4) conv_deep_rows(4, y + i * y_row, y_row, planes + i * width, width, w, k, K, n[1], bias);
    for (; i < n[0]; i++) conv_deep_rows(1, y + i * y_row, y_row, planes + i * width, width, w, k, K, n[1], bias);
}

/* sums [K, 16] += dy times what each kernel position sees of the planes: column j in lane j % 16, which is added up at the end. */
INLINE void conv_deep_sums(const int count, gr_real *sums, const gr_real *dy, size_t row, const gr_real *planes, size_t width, const conv_at *k, const size_t *n)
{
    for (size_t part = 0; part < 16; part += R_WIDTH) {
        r_vec s[9];
        UNROLL for (int q = 0; q < count; q++) s[q] = v_load(sums + 16 * q + part);
        for (size_t i = 0; i < n[0]; i++)
            for (size_t j = part; j < n[1]; j += 16) {
                const size_t m = gemm_min(n[1] - j, R_WIDTH);
                const r_vec d = v_load_part(dy + i * row + j, m);
                UNROLL for (int q = 0; q < count; q++) s[q] = v_fma(d, v_load_part(planes + k[q].a + i * width + j, m), s[q]);
            }
        UNROLL for (int q = 0; q < count; q++) v_store(sums + 16 * q + part, s[q]);
    }
}
KERNEL(void, conv_deep_back, gr_real *sums, const gr_real *dy, size_t row, const gr_real *planes, size_t width, const conv_at *k, size_t K, const size_t *n)
{
    size_t e = 0;
    for (; e + 9 <= K; e += 9) conv_deep_sums(9, sums + 16 * e, dy, row, planes, width, k + e, n);
    for (; e < K; e++) conv_deep_sums(1, sums + 16 * e, dy, row, planes, width, k + e, n);
}
KERNEL(void, conv_deep_add, gr_real *dweight, const gr_real *sums, size_t n)
{
    for (size_t i = 0; i < n; i++, sums += 16) dweight[i] += SUM(l, 16, sums[l]);
}

#if GR_HOST
/* ---- A pass, cut into tiles of results: several whole rows or, where one row is too large for the cache, a part of a row ---- */

enum { CONV_TILE = 65536, CONV_ROOM = 16 }; /* reals; what a vector may read behind an array */
typedef enum { CONV_FORWARD, CONV_BACK, CONV_DWEIGHT } conv_kind;

typedef struct {
    gr__conv_image image;              /* what is read, as the first tile sees it */
    size_t O, to[2];                   /* the result: its channels, the size of its image, */
    size_t first[2], step[2], n[2];    /* and the n values that are computed, from `first` on */
    size_t at[2], reach[2];            /* first + padding; how far the kernel reaches in the planes */
    size_t tile[2], tiles[2], K, line; /* line: values of the largest tile */
    bool turned, in_place;             /* turned: lanes run over channels; in_place: x is its own plane */
} conv_way;

/* Back: so many remainders of positions along axis k. */
static size_t conv_phases(const gr__conv_plan *p, int k) { return conv_min(p->stride[k], p->H[k]); }
/* phase: of back, which remainder; 0 in the other passes. */
static conv_way conv_way_of(const gr__conv_plan *p, conv_kind kind, size_t phase)
{
    const bool back = kind == CONV_BACK;
    const size_t across = conv_phases(p, 1);
    conv_way w = { .O = back ? p->C : p->O, .image.C = back ? p->O : p->C, .K = back ? p->O : p->C, .first = { phase / across, phase % across } };
    for (int k = 0; k < 2; k++) {
        const size_t s = p->stride[k], d = p->dilation[k], at = w.at[k] = w.first[k] + p->padding[k];
        size_t taps = 0;
        for (size_t a = 0; a < p->kernel[k]; a++) taps += !back || a * d % s == at % s;
        w.reach[k] = (p->kernel[k] - 1) * d / s, w.K = conv_times(w.K, taps);
        w.image.H[k] = back ? p->out[k] : p->H[k], w.to[k] = back ? p->H[k] : p->out[k];
        w.image.split[k] = back ? 1 : s, w.step[k] = back ? s : 1;
        w.image.padding[k] = back ? (ptrdiff_t)w.reach[k] - (ptrdiff_t)(at / s) : (ptrdiff_t)at;
        w.n[k] = gr_chunks(w.to[k] - w.first[k], w.step[k]);
    }
    const size_t split = w.image.split[0] * w.image.split[1];
    const size_t row = conv_times(conv_plus(conv_times(w.image.C, split), w.O), w.n[1] + w.reach[1]), all = conv_times(row, w.n[0]);
    if (!w.n[0] || !w.n[1]) return w;
    w.tiles[0] = conv_min(gr_chunks(all, CONV_TILE), w.n[0]), w.tile[0] = gr_chunks(w.n[0], w.tiles[0]);
    w.tiles[1] = w.tile[0] > 1 ? 1 : conv_min(gr_chunks(row, CONV_TILE), gr_chunks(w.n[1], CONV_ROOM));
    w.tile[1] = gr_chunks(w.n[1], w.tiles[1]);
    for (int k = 0; k < 2; k++) w.tiles[k] = gr_chunks(w.n[k], w.tile[k]);
    w.image.rows = w.tile[0] + w.reach[0], w.image.width = w.tile[1] + w.reach[1];
    /* The cost of either product, with its copies, in vectors of 16. */
    w.line = conv_round(w.tile[0] * w.image.width);
    const double by_channels = (double)(w.K + 4) * (double)(conv_round(w.O) * w.tile[0] * w.tile[1]), by_places = (double)(w.K + 2) * (double)(w.O * w.line);
    w.turned = kind == CONV_DWEIGHT || by_channels < by_places;
    w.in_place = w.turned && split == 1;
    for (int k = 0; k < 2; k++) w.in_place = w.in_place && !w.image.padding[k] && w.n[k] + w.reach[k] <= w.image.H[k];
    if (w.in_place) w.image.width = w.image.H[1], w.image.plane = w.image.planes = w.image.H[0] * w.image.H[1];
    else w.image = conv_planes_of(w.image);
    return w;
}

/* Reals of a thread: planes, a block of the product and the tile; or planes and the turned dy. */
static size_t conv_thread_len(const conv_way *w)
{
    const size_t planes = w->in_place ? 0 : conv_times(w->image.C, w->image.planes);
    return conv_plus(conv_round(conv_plus(planes, CONV_ROOM)), conv_plus(conv_times(CONV_BLOCK, conv_round(w->O)), conv_times(w->line, w->O) + CONV_ROOM));
}
/* Reals for the tables, the turned weight and the bias. */
static size_t conv_shared_len(const gr__conv_plan *p, const conv_way *w)
{
    const size_t tables = conv_times(conv_plus(w->K, conv_plus(w->line, w->O)), sizeof(conv_at) / sizeof(gr_real));
    return conv_round(conv_plus(conv_plus(tables, conv_weight_len(p)), conv_times(p->G, w->O) + 2 * CONV_ROOM));
}

typedef struct {
    gr_tape *t;
    const gr__conv_plan *p;
    const gr__conv_pass *c;
    conv_way w;
    const gr_real *weight, *bias, *dy;
    conv_at *k, *rows; /* offsets of k; of outputs, or of the rows of weight */
    gr_real *part, *scratch;
    size_t len;
    int isa;
} conv_run;

/* The tables, and where the rest of the scratch lies. */
static conv_run conv_run_of(gr_tape *t, const gr__conv_plan *p, conv_kind kind, size_t phase, gr_real *scratch)
{
    conv_run r = { .t = t, .p = p, .w = conv_way_of(p, kind, phase), .len = 0, .isa = gr_isa(t) };
    const conv_way *w = &r.w;
    const bool back = kind == CONV_BACK;
    const size_t taps = conv_taps(p), *const s = p->stride, *const at = w->at;
    r.k = (conv_at *)(void *)scratch, r.rows = r.k + w->K, r.len = conv_thread_len(w);
    r.scratch = scratch + conv_shared_len(p, w);
    conv_at *k = r.k;
    for (size_t c = 0; c < w->image.C; c++)
        for (size_t e = 0; e < taps; e++) {
            const size_t i = e / p->kernel[1] * p->dilation[0], j = e % p->kernel[1] * p->dilation[1];
            if (back && (i % s[0] != at[0] % s[0] || j % s[1] != at[1] % s[1])) continue;
            const size_t shift = c * w->image.planes + (back ? conv_shift(&w->image, w->reach[0] - i / s[0], w->reach[1] - j / s[1]) : conv_shift(&w->image, i, j));
            const size_t weight = w->turned ? (c * taps + e) * w->O : c * (back ? p->C * taps : taps) + e;
            *k++ = w->turned ? (conv_at){ shift, weight } : (conv_at){ weight, shift };
        }
    for (size_t i = 0; w->turned && i < w->tile[0]; i++)
        for (size_t j = 0; j < w->tile[1]; j++) r.rows[i * w->tile[1] + j] = (conv_at){ i * w->image.width + j, (i * w->tile[1] + j) * w->O };
    for (size_t o = 0; !w->turned && o < w->O; o++) r.rows[o] = (conv_at){ o * taps * (back ? 1 : p->C), 0 };
    return r;
}

/* Tile number i of all samples: its values, where its group begins in x, and where its first value lies in the result. planes: what it reads. */
typedef struct { size_t g, n[2], x, y; const gr_real *planes; gr_real *rest; } conv_place_of_tile;
static conv_place_of_tile conv_see(const conv_run *r, const gr_real *x, size_t i, int thread)
{
    const conv_way *w = &r->w;
    const size_t tiles = w->tiles[0] * w->tiles[1], number = i % tiles, group = i / tiles;
    const size_t at[2] = { number / w->tiles[1] * w->tile[0], number % w->tiles[1] * w->tile[1] };
    gr__conv_image m = w->image;
    conv_place_of_tile b = { .g = group % r->p->G };
    for (int k = 0; k < 2; k++) b.n[k] = conv_min(w->tile[k], w->n[k] - at[k]), m.padding[k] -= (ptrdiff_t)(at[k] * m.split[k]);
    b.x = group * m.C * m.H[0] * m.H[1];
    b.y = (group * w->O * w->to[0] + w->first[0] + at[0] * w->step[0]) * w->to[1] + w->first[1] + at[1] * w->step[1];
    gr_real *const planes = r->scratch + (size_t)thread * r->len;
    b.planes = w->in_place ? x + b.x + at[0] * m.width + at[1] : planes;
    b.rest = planes + conv_round((w->in_place ? 0 : m.C * m.planes) + CONV_ROOM);
    if (!w->in_place) gr__conv_fill(r->isa, planes, x + b.x, &m);
    return b;
}

static void conv_direct_tile(void *argument, size_t i, int thread)
{
    const conv_run *r = argument;
    const conv_way *w = &r->w;
    const conv_place_of_tile b = conv_see(r, r->c->x, i, thread);
    const size_t n = b.n[0] * b.n[1], wide = (b.n[0] - 1) * w->image.width + b.n[1], block_row = conv_round(w->O), size = w->to[0] * w->to[1];
    const gr_real *const weight = r->weight + b.g * r->p->O * r->p->C * conv_taps(r->p), *const bias = r->bias + b.g * w->O;
    gr_real *const y = r->c->y + b.y, *block = b.rest, *tile = block + CONV_BLOCK * block_row;
    const bool whole = w->step[0] == 1 && w->step[1] == 1 && w->turned && b.n[1] == w->to[1], straight = whole && !r->c->add;
    conv_product g = { .A = b.planes, .B = weight, .start = bias, .row = r->rows, .k = r->k, .N = w->O, .K = w->K, .C = block, .c_row = block_row };
    for (size_t m = 0; w->turned && m < n; m += CONV_BLOCK, g.row += CONV_BLOCK) {
        g.M = conv_min(CONV_BLOCK, n - m);
        conv_multiply[r->isa](&g);
        if (straight) conv_turn[r->isa](y + m, size, block, block_row, w->O, g.M);
        else conv_turn[r->isa](tile + m, w->line, block, block_row, w->O, g.M);
    }
    if (w->O * w->image.C == 1 && w->step[1] == 1) {
        conv_deep[r->isa](y, w->step[0] * w->to[1], b.planes, w->image.width, weight, r->k, w->K, b.n, r->c->add ? NULL : bias);
        return;
    }
    if (!w->turned) {
        gr__conv_begin(r->isa, tile, bias, w->O, w->line, wide);
        g = (conv_product){ .A = weight, .B = b.planes, .start = tile, .row = r->rows, .k = r->k, .M = w->O, .N = wide, .K = w->K, .C = tile, .c_row = w->line, .start_row = w->line };
        conv_multiply[r->isa](&g);
    }
    const conv_result to = { w->O, { whole ? 1 : b.n[0], whole ? n : b.n[1] }, { w->step[0], w->step[1] }, w->to[1], size, w->turned ? b.n[1] : w->image.width, w->line };
    if (!straight) conv_place[r->isa](y, tile, &to, r->c->add);
}

static void conv_direct_convolve(gr_tape *t, const gr__conv_plan *p, const gr__conv_pass *c)
{
    for (size_t phase = 0; phase < (c->back ? conv_phases(p, 0) * conv_phases(p, 1) : 1); phase++) {
        conv_run r = conv_run_of(t, p, c->back ? CONV_BACK : CONV_FORWARD, phase, c->scratch);
        const conv_way *w = &r.w;
        const size_t tasks = p->N * p->G * w->tiles[0] * w->tiles[1], taps = conv_taps(p);
        if (!tasks) continue;
        gr_real *bias = (gr_real *)(void *)(r.rows + w->line + w->O), *turned = bias + p->G * w->O + CONV_ROOM;
        memset(bias, 0, (p->G * w->O + CONV_ROOM) * sizeof *bias);
        if (c->bias) memcpy(bias, c->bias, p->G * w->O * sizeof *bias);
        if (w->turned && c->back) gr__strided_copy(t, gr__layout_of(GR_SHAPE(p->G, p->O, p->C, taps), (int[]){ 0, 1, 3, 2 }), turned, c->weight);
        else if (w->turned) gr__strided_copy(t, gr__layout_of(GR_SHAPE(p->G, p->O, p->C * taps), (int[]){ 0, 2, 1 }), turned, c->weight);
        r.c = c, r.bias = bias, r.weight = w->turned ? turned : c->weight;
        gr_parallel(t, tasks, conv_work(p), conv_direct_tile, &r);
    }
}

/* Sums of dweight for a kernel position of an input channel. */
static size_t conv_lanes(const gr__conv_plan *p) { return p->C * p->O == 1 ? 16 : p->O; }

static void conv_direct_chunk(void *argument, size_t chunk, int thread)
{
    const conv_run *r = argument;
    const conv_way *w = &r->w;
    const gr__conv_plan *p = r->p;
    const size_t tiles = w->tiles[0] * w->tiles[1], P = p->out[0] * p->out[1];
    const gr_range samples = gr_chunk(chunk, p->chunk, p->N);
    for (size_t i = 0; i < samples.count * p->G * tiles; i++) {
        const conv_place_of_tile b = conv_see(r, r->c->x, samples.first * p->G * tiles + i, thread);
        const size_t n = b.n[0] * b.n[1];
        gr_real *const part = r->part + (chunk * p->G + b.g) * w->K * conv_lanes(p);
        const bool first = i / tiles < p->G && i % tiles == 0;
        if (p->C * p->O == 1) {
            if (first) memset(part, 0, 16 * w->K * sizeof *part);
            conv_deep_back[r->isa](part, r->dy + b.y, p->out[1], b.planes, w->image.width, r->k, w->K, b.n);
            continue;
        }
        conv_turn[r->isa](b.rest, p->O, r->dy + b.y, P, n, p->O);
        conv_multiply[r->isa](&(conv_product){ .A = b.planes, .B = b.rest, .start = first ? r->bias : part, .row = r->k, .k = r->rows, .M = w->K, .N = p->O,
                                              .K = n, .C = part, .c_row = p->O, .start_row = first ? 0 : p->O });
    }
}

static void conv_direct_dweight(gr_tape *t, const gr__conv_plan *p, const gr_real *x, const gr_real *dy, gr_real *dweight, gr_real *scratch)
{
    conv_run r = conv_run_of(t, p, CONV_DWEIGHT, 0, scratch);
    const size_t chunks = gr_chunks(p->N, p->chunk), len = p->G * r.w.K * conv_lanes(p);
    gr_real *zeros = (gr_real *)(void *)(r.rows + r.w.line + r.w.O);
    memset(zeros, 0, (p->O + CONV_ROOM) * sizeof *zeros);
    r.c = &(gr__conv_pass){ .x = x }, r.dy = dy, r.bias = zeros, r.part = r.scratch, r.scratch += conv_round(chunks * len + CONV_ROOM);
    gr_parallel(t, chunks, conv_work(p), conv_direct_chunk, &r);
    gr__add_parts(t, r.part, r.part + len, chunks - 1, len, len);
    if (p->C * p->O == 1) conv_deep_add[r.isa](dweight, r.part, p->G * r.w.K);
    else gr__strided_back(t, gr__layout_of(GR_SHAPE(p->G, p->O, r.w.K), (int[]){ 0, 2, 1 }), dweight, r.part, false);
}

static size_t conv_direct_len(const gr__conv_plan *p, bool backward)
{
    size_t most = 0, phases = conv_phases(p, 0) * conv_phases(p, 1);
    for (size_t i = 0; i < phases + 2; i++) {
        const bool needed = backward || (p->transposed ? i < phases : i == phases);
        const conv_way w = conv_way_of(p, i < phases ? CONV_BACK : i == phases ? CONV_FORWARD : CONV_DWEIGHT, i < phases ? i : 0);
        const size_t parts = i > phases ? conv_round(conv_plus(conv_times(gr_chunks(p->N, p->chunk), conv_times(conv_weight_len(p), p->C * p->O == 1 ? 16 : 1)), CONV_ROOM)) : 0;
        const size_t len = conv_plus(conv_plus(conv_shared_len(p, &w), parts), conv_times(p->threads, conv_thread_len(&w)));
        if (needed && len > most) most = len;
    }
    return most;
}

const gr__conv_way gr__conv_direct = { conv_direct_len, conv_direct_convolve, conv_direct_dweight };
#endif
