/* ops/conv_winograd.c - convolution with 3 x 3 kernels and stride 1 by Winograd's F(2 x 2, 3 x 3).   Lavin and Gray 2016
 *
 * 2 x 2 outputs see 4 x 4 values of x, the tile d. With the kernel g, and B, G, A below:
 *     y = A' [ (G g G') * (B' d B) ] A          * element by element: 16 products instead of 36
 * Summed over the channels c, each of the 16 elements is a matrix product over all tiles t of a block of tiles:
 *     forward     M[e] [O, t]  = U[e] [O, C]  V[e] [C, t]       U = G g G'      V = B' d B       y += A' M A
 *     dx          the same of dy, with the kernel rotated by 180 degrees, and C and O exchanged
 *     dweight     dU[e] [O, C] = Z[e] [O, t]  V[e] [C, t]'      Z = A dy A'     dweight += G' dU G
 *
 *     B' d = d0 - d2, d1 + d2, d2 - d1, d1 - d3        G g = g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2
 *     A' m = m0 + m1 + m2, m1 - m2 - m3
 * Such a sum has C terms instead of 9 C, and the factors of B, G and A are 1 and 1/2: on average y and dx have smaller errors than plain sums. What
 * a NaN and an infinity reach is in ops/conv.h.
 *
 * The values of x lie in planes (ops/conv_plan.h), split by 2: in these each of the 16 places of a tile is a shift, and the tiles lie side by side.
 * From one row of tiles to the next there is a place that belongs to no tile. V and M leave it out, unless that would leave too many lanes idle. */
#include "core/gemm.h"
#include "core/simd.h"
#include "ops/conv_plan.h"
#include "ops/parts.h"
#include "ops/strided.h"

/* The planes of one channel, from x, with the split of m: down along H, s along W. The padding is left as it is. A vector may end behind its row: the next
 * row comes later. */
INLINE void conv_fill_split(const size_t down, const size_t s, gr_real *restrict planes, const gr_real *restrict x, const gr__conv_image *m)
{
    size_t begin[2], skip[2], n[2]; /* padding; what lies before the part; what is copied */
    for (int k = 0; k < 2; k++) {
        const ptrdiff_t pad = m->padding[k];
        const size_t room = (k ? m->width : m->rows) * (k ? s : down);
        begin[k] = pad > 0 ? size_min((size_t)pad, room) : 0, skip[k] = pad < 0 ? size_min((size_t)-pad, m->H[k]) : 0;
        n[k] = size_min(m->H[k] - skip[k], room - begin[k]);
    }
    const size_t W = m->H[1], left = begin[1], plane = m->plane;
    const size_t even_at = left % 2 * plane + left / 2, odd_at = (left + 1) % 2 * plane + (left + 1) / 2, rest = n[1] % (2 * R_WIDTH);
    const r_mask low = v_mask(0, size_min(rest, R_WIDTH)), high = v_mask(0, rest - size_min(rest, R_WIDTH)); /* of the last two vectors of a row */
    const gr_real *from = x + skip[0] * W + skip[1];
    gr_real *to = planes + begin[0] / down * m->width;
    for (size_t i = 0, r = begin[0] % down; i < n[0]; i++, from += W) {
        gr_real *const row = to + r * s * plane;
        if (s == 2)
            for (size_t j = 0; j < n[1]; j += 2 * R_WIDTH) {
                r_vec even, odd;
                const bool last = n[1] - j < 2 * R_WIDTH;
                /* A processor by itself waits for each row (measured: CNNs 1.05 to 1.1 times as fast). */
                for (size_t l = 0; l < 2 * R_WIDTH; l += 64 / sizeof *x) __builtin_prefetch((const void *)((uintptr_t)(from + j + l) + 4096));
                v_split(&even, &odd, last ? v_load_mask(from + j, low) : v_load(from + j),
                        last ? v_load_mask(from + j + R_WIDTH, high) : v_load(from + j + R_WIDTH));
                v_store(row + even_at + j / 2, even), v_store(row + odd_at + j / 2, odd);
            }
        else if (s == 1) for (size_t j = 0; j < n[1]; j += R_WIDTH) v_store(row + left + j, v_load_most(from + j, n[1] - j));
        else for (size_t j = 0; j < n[1]; j++) row[(left + j) % s * plane + (left + j) / s] = from[j];
        if (++r == down) r = 0, to += m->width;
    }
}
/* scalar kernel conv_fill: it copies. */
KERNEL(void, conv_fill, gr_real *restrict planes, const gr_real *restrict x, const gr__conv_image *m)
{
    memset(planes, 0, m->C * m->planes * sizeof *planes);
    for (size_t c = 0; c < m->C; c++, planes += m->planes, x += m->H[0] * m->H[1])
        if (m->split[1] == 1) conv_fill_split(m->split[0], 1, planes, x, m);
        else if (m->split[1] == 2) conv_fill_split(m->split[0], 2, planes, x, m);
        else conv_fill_split(m->split[0], m->split[1], planes, x, m);
}

/* One axis of each transform. The values are `from` apart, the results `to`. */
INLINE void wino_b(r_vec *v, int to, const r_vec *d, int from)
{
    v[0] = d[0] - d[2 * from], v[to] = d[from] + d[2 * from], v[2 * to] = d[2 * from] - d[from], v[3 * to] = d[from] - d[3 * from];
}
INLINE void wino_a(r_vec *y, int to, const r_vec *m, int from) { y[0] = m[0] + m[from] + m[2 * from], y[to] = m[from] - m[2 * from] - m[3 * from]; }
INLINE void wino_a_back(r_vec *z, int to, const r_vec *y, int from)
{
    z[0] = y[0], z[to] = y[0] + y[from], z[2 * to] = y[0] - y[from], z[3 * to] = -y[from];
}

/* V[e] of a vector of tiles, or with dy Z[e]. wino_v and wino_z are not inlined: in the loops below gcc would keep a pointer to each value and read the
 * values again, which takes twice the time. */
INLINE void wino_tiles(const bool dy, gr_real *restrict V, const gr_real *restrict planes, size_t plane, size_t width, size_t step)
{
    const size_t side = dy ? 2 : 4;
    r_vec d[4], half[16];
    UNROLL for (size_t b = 0; b < side; b++) {
        UNROLL for (size_t a = 0; a < side; a++) d[a] = v_load(planes + (a % 2 * 2 + b % 2) * plane + a / 2 * width + b / 2);
        (dy ? wino_a_back : wino_b)(half + b, 4, d, 1);
    }
    UNROLL for (size_t a = 0; a < 4; a++) {
        (dy ? wino_a_back : wino_b)(d, 1, half + 4 * a, 1);
        UNROLL for (size_t b = 0; b < 4; b++) v_store(V + (4 * a + b) * step, d[b]);
    }
}
#define WINO_TILES(name, dy) static __attribute__((noinline)) void GR_NAME(name) \
    (gr_real *V, const gr_real *planes, size_t plane, size_t width, size_t step) { wino_tiles(dy, V, planes, plane, width, step); }
WINO_TILES(wino_v, false)
WINO_TILES(wino_z, true)

/* V[e][c][t] of an image x, or Z[e][o][t] of dy: `runs` runs of places that lie side by side. Rows are `row` apart, elements `step`. A vector may end behind
 * its run: the next run comes later, and what lies behind the last is not used. The planes are those of one channel, which L1 holds (measured: 1.03 to 1.1
 * times as fast as planes of all channels).
 * scalar kernel wino_in: the arithmetic is in wino_v and wino_z. */
KERNEL(void, wino_in, gr_real *restrict V, gr_real *restrict planes, const gr_real *x, const gr__conv_image *p, bool dy, size_t runs, size_t run, size_t row,
       size_t step)
{
    memset(planes, 0, p->planes * sizeof *planes); /* the padding; all channels write the same places */
    for (size_t c = 0; c < p->C; c++, x += p->H[0] * p->H[1], V += row) {
        conv_fill_split(2, 2, planes, x, p);
        for (size_t i = 0; i < runs; i++)
            for (size_t t = 0; t < run; t += R_WIDTH)
                (dy ? GR_NAME(wino_z) : GR_NAME(wino_v))(V + i * run + t, planes + i * p->width + t, p->plane, p->width, step);
    }
}

/* y [O, H, W] of rows of tiles, from M[e][o][t]. In M, `wide` is the distance from a row of tiles to the next. */
typedef struct { size_t O, H, W, size, wide, row, step; bool add; } wino_result;
INLINE void wino_out_tiles(gr_real *restrict y, const gr_real *restrict M, r_vec start, const wino_result *w, size_t rows, size_t n)
{
    r_vec m[16], half[8], v[4];
    UNROLL for (size_t e = 0; e < 16; e++) m[e] = v_load(M + e * w->step);
    UNROLL for (int b = 0; b < 4; b++) wino_a(half + b, 4, m + b, 4);
    UNROLL for (int a = 0; a < 2; a++) wino_a(v + 2 * a, 1, half + 4 * a, 1);
    for (size_t a = 0; a < rows; a++) v_store_zip(y + a * w->W, v[2 * a] + start, v[2 * a + 1] + start, n, w->add);
}
KERNEL(void, wino_out, gr_real *restrict y, const gr_real *restrict M, const gr_real *bias, const wino_result *w)
{
    const size_t rest = w->W % (2 * R_WIDTH), whole = w->W - rest;
    for (size_t o = 0; o < w->O; o++, y += w->size, M += w->row) {
        const r_vec start = v_set(bias ? bias[o] : 0);
        for (size_t i = 0; i < w->H; i += 2) {
            const gr_real *const from = M + i / 2 * w->wide;
            const size_t rows = size_min(w->H - i, 2);
            for (size_t j = 0; j < whole; j += 2 * R_WIDTH) wino_out_tiles(y + i * w->W + j, from + j / 2, start, w, rows, 2 * R_WIDTH);
            if (rest) wino_out_tiles(y + i * w->W + whole, from + whole / 2, start, w, rows, rest);
        }
    }
}

#if GR_HOST
void gr__conv_fill(int isa, gr_real *planes, const gr_real *x, const gr__conv_image *m) { conv_fill[isa](planes, x, m); }

/* In reals: a cache line, and the largest vector; V and M of a block of rows of tiles, about; of a block of whole samples, which takes another
 * sample until it has them. WINO_LEAST: channels, in and out. WINO_IDLE: lanes of 16 that may be idle at the end of a row of tiles; with more, a vector
 * goes on into the next row (measured: rows of their own are .99 to 1.15 times as fast with 16 to 26 columns, and .93 to 1.00 with 14). */
enum { WINO_LINE = 16, WINO_BLOCK = 1 << 20, WINO_SAMPLES = 1 << 17, WINO_LEAST = 16, WINO_IDLE = 8 };

bool gr__winograd_fits(const gr__conv_plan *p)
{
    for (int k = 0; k < 2; k++)
        if (p->kernel[k] != 3 || p->stride[k] != 1 || p->dilation[k] != 1 || p->padding[k] > 2 || !p->H[k]) return false;
    return p->G == 1 && p->C >= WINO_LEAST && p->O >= WINO_LEAST;
}

/* How a convolution of images [N, in.C, in.H] to results [N, O, H, W] is cut into blocks of tiles: some rows of tiles of one sample, or
 * whole samples. */
typedef struct {
    gr__conv_image in;                  /* the planes of the images */
    size_t N, O, H, W;
    size_t rows, wide, blocks;          /* rows of tiles in a block; places in a row; blocks of a sample */
    size_t run;                         /* places that vectors fill: those of a row, or of a sample */
    size_t samples, line, row;          /* samples in a block; places of a sample, and of all, with room for a vector */
    size_t step[2];                     /* from one element of V, and of M, to the next */
    size_t scratch;                     /* reals for a thread */
} wino;

static wino wino_of(const gr__conv_plan *p, bool dx)
{
    const size_t *const from = dx ? p->out : p->H, *const to = dx ? p->H : p->out, C = p->C + p->O, tiles = gr_chunks(to[0], 2);
    const size_t across = gr_chunks(to[1], 2), dense = conv_round(across) - across <= WINO_IDLE;
    wino w = { .N = p->N, .O = dx ? p->C : p->O, .H = to[0], .W = to[1], .wide = across + !dense, .samples = 1 };
    w.rows = gr_chunks(tiles, gr_chunks(16 * C * tiles * w.wide, WINO_BLOCK)), w.blocks = gr_chunks(tiles, w.rows);
    w.line = w.rows * w.wide, w.run = dense ? w.wide : w.line;
    if (w.blocks == 1) w.samples = size_min(gr_chunks(WINO_SAMPLES, 16 * C * w.line), p->N);
    w.row = conv_round(w.samples * w.line) + WINO_LINE;
    w.in = conv_planes_of((gr__conv_image){ .C = dx ? p->O : p->C, .H = { from[0], from[1] }, .split = { 2, 2 }, .rows = w.rows + 1, .width = across + 1 });
    for (int k = 0; k < 2; k++) w.in.padding[k] = (ptrdiff_t)(dx ? 2 - p->padding[k] : p->padding[k]);
    w.step[0] = w.in.C * w.row + 3 * WINO_LINE, w.step[1] = w.O * w.row + 3 * WINO_LINE;
    w.scratch = conv_round(w.in.planes + WINO_LINE) + 16 * (w.step[0] + w.step[1]);
    return w;
}

/* part: dU of each chunk. */
typedef struct { gr_tape *t; const gr__conv_pass *c; wino w; const gr_real *U, *dy; gr_real *part, *scratch; size_t len, chunk; int isa; } wino_run;

/* A block: its tiles in a sample, the samples, and a thread's scratch. */
typedef struct { gr_range samples; wino_result result; size_t first, y, n; gr_real *planes, *V, *M; } wino_block;
static wino_block wino_block_of(const wino_run *r, gr_range samples, size_t i, int thread)
{
    const wino *w = &r->w;
    const size_t first = i % w->blocks * w->rows, rows = size_min(w->H - 2 * first, 2 * w->rows);
    wino_block b = { .first = 2 * first, .samples = gr_chunk(i / w->blocks, w->samples, samples.count) };
    b.samples.first += samples.first;
    b.result = (wino_result){ w->O, rows, w->W, w->H * w->W, w->wide, w->row, w->step[1], r->c->add };
    b.y = b.samples.first * w->O * w->H * w->W + 2 * first * w->W, b.n = b.samples.count * w->line;
    b.planes = r->scratch + (size_t)thread * w->scratch;
    b.M = b.planes + w->scratch - 16 * w->step[1], b.V = b.M - 16 * w->step[0];
    return b;
}

/* V of the block, from x; or Z from dy, whose planes begin without padding and whose rows behind its last are 0. */
static void wino_see(const wino_run *r, const wino_block *b, bool dy)
{
    const wino *w = &r->w;
    gr__conv_image in = w->in;
    if (dy) in.C = w->O, in.H[0] = w->H, in.H[1] = w->W, in.padding[0] = in.padding[1] = 0;
    in.padding[0] -= (ptrdiff_t)b->first;
    for (size_t s = 0; s < b->samples.count; s++) {
        const gr_real *const x = (dy ? r->dy : r->c->x) + (b->samples.first + s) * in.C * in.H[0] * in.H[1];
        wino_in[r->isa]((dy ? b->M : b->V) + s * w->line, b->planes, x, &in, dy, w->line / w->run, w->run, w->row, w->step[dy]);
    }
}

static void wino_block_forward(void *argument, size_t i, int thread)
{
    const wino_run *r = argument;
    const wino *w = &r->w;
    const wino_block b = wino_block_of(r, (gr_range){ 0, w->N }, i, thread);
    wino_see(r, &b, false);
    for (size_t e = 0; e < 16; e++)
        gr__gemm_serial(r->isa, w->O, conv_round(b.n), w->in.C, (gr_mat){ r->U + e * r->len, w->in.C, 1 }, (gr_mat){ b.V + e * w->step[0], w->row, 1 },
                        b.M + e * w->step[1], w->row, (gr_start){ NULL, 0 }, gr__work(r->t, thread));
    for (size_t s = 0; s < b.samples.count; s++) wino_out[r->isa](r->c->y + b.y + s * w->O * w->H * w->W, b.M + s * w->line, r->c->bias, &b.result);
}

/* dU of a chunk of samples. */
static void wino_chunk_dweight(void *argument, size_t chunk, int thread)
{
    const wino_run *r = argument;
    const wino *w = &r->w;
    const gr_range samples = gr_chunk(chunk, r->chunk, w->N);
    gr_real *part = r->part + chunk * 16 * r->len;
    for (size_t i = 0; i < gr_chunks(samples.count, w->samples) * w->blocks; i++) {
        const wino_block b = wino_block_of(r, samples, i, thread);
        wino_see(r, &b, false);
        wino_see(r, &b, true);
        for (size_t e = 0; e < 16; e++)
            gr__gemm_serial(r->isa, w->O, w->in.C, b.n, (gr_mat){ b.M + e * w->step[1], w->row, 1 }, (gr_mat){ b.V + e * w->step[0], 1, w->row },
                            part + e * r->len, w->in.C, (gr_start){ i ? part + e * r->len : NULL, w->in.C }, gr__work(r->t, thread));
    }
}

static size_t wino_len(const gr__conv_plan *p, bool backward)
{
    const wino a = wino_of(p, false), b = wino_of(p, true);
    const size_t chunks = backward ? gr_chunks(p->N, p->chunk) : 0;
    return conv_plus(conv_times(p->threads, a.scratch > b.scratch ? a.scratch : b.scratch), conv_times(16 * (chunks + 2), p->C * p->O));
}

/* The map from the 9 values of g to the 16 of U = G g G'; turn: from those of g rotated by 180 degrees. */
static void wino_matrix(gr_real *m, bool turn)
{
    static const gr_real G[4][3] = { { 1, 0, 0 }, { R(0.5), R(0.5), R(0.5) }, { R(0.5), R(-0.5), R(0.5) }, { 0, 0, 1 } };
    for (size_t e = 0; e < 16; e++)
        for (size_t k = 0; k < 9; k++) m[9 * e + (turn ? 8 - k : k)] = G[e / 4][k / 3] * G[e % 4][k % 3];
}

static void wino_convolve(gr_tape *t, const gr__conv_plan *p, const gr__conv_pass *c)
{
    const size_t n = p->C * p->O;
    gr_real m[16 * 9], *const U = c->scratch, *const swapped = U + 16 * n;
    wino_run r = { .t = t, .c = c, .w = wino_of(p, c->back), .U = U, .scratch = U + 32 * n, .len = n, .isa = gr_isa(t) };
    wino_matrix(m, c->back);
    if (c->back) gr__strided_copy(t, gr__layout_of(GR_SHAPE(p->O, p->C, 9), (int[]){ 1, 0, 2 }), swapped, c->weight);
    gr__gemm(t, 16, n, 9, (gr_mat){ m, 9, 1 }, (gr_mat){ c->back ? swapped : c->weight, 1, 9 }, U, n, (gr_start){ NULL, 0 });
    gr_parallel(t, gr_chunks(p->N, r.w.samples) * r.w.blocks, conv_work(p) * 4 / 9, wino_block_forward, &r);
}

static void wino_dweight(gr_tape *t, const gr__conv_plan *p, const gr_real *x, const gr_real *dy, gr_real *dweight, gr_real *scratch)
{
    const size_t chunks = gr_chunks(p->N, p->chunk), n = p->C * p->O;
    gr_real m[16 * 9];
    wino_run r = { .t = t, .c = &(gr__conv_pass){ .x = x }, .w = wino_of(p, false), .dy = dy, .part = scratch, .scratch = scratch + chunks * 16 * n, .len = n,
                   .chunk = p->chunk, .isa = gr_isa(t) };
    gr_parallel(t, chunks, conv_work(p) * 4 / 9, wino_chunk_dweight, &r);
    gr__add_parts(t, scratch, scratch + 16 * n, chunks - 1, 16 * n, 16 * n);
    wino_matrix(m, false);
    gr__gemm(t, n, 9, 16, (gr_mat){ scratch, 1, n }, (gr_mat){ m, 9, 1 }, dweight, 9, (gr_start){ dweight, 9 });
}

const gr__conv_way gr__conv_winograd = { wino_len, wino_convolve, wino_dweight };
#endif
