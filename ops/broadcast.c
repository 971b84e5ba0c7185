/* ops/broadcast.c - elementwise kernels over broadcast shapes, and the sums over the axes that a small shape lacks. */
#include "ops/broadcast.h"
#include "core/kernel.h"

enum { PIECE = 1024, BLOCK = 64, LEVELS = 4, NARROW = 128, COLUMNS = 1024 };

/* Long sums stay accurate when no accumulator takes more than BLOCK terms. So BLOCK sums of a level make one sum of the next level, as the digits
 * of a counter carry. sum[level] has width values; sum[0] is now number `count` of its level. */
INLINE void carry(gr_real *sum, size_t width, size_t count)
{
    for (int level = 1; level < LEVELS; level++, sum += width, count /= BLOCK) {
        for (size_t i = 0; i < width; i++) sum[width + i] += sum[i], sum[i] = 0;
        if (count % BLOCK) return;
    }
}

/* y [rows] += the sums of x [rows, n]; level 0 is PIECE values in 16 lanes */
KERNEL(void, sum_rows, gr_real *restrict y, const gr_real *restrict x, size_t rows, size_t n, bool far)
{
    /* Two short ones at a time: while one sum waits for its last addition, the other adds. Row r + 2 is fetched; the processor foresees r + 3. */
    for (size_t r = 0, at_once; r < rows; r += at_once, x += at_once * n) {
        at_once = n <= PIECE / 2 && r + 1 < rows ? 2 : 1;
        const size_t other = (at_once - 1) * n;
        gr_real sum[LEVELS][2] = { { 0 } };
        for (size_t at = 0, count = 1; at < n; at += PIECE, count++) {
            const gr_real *const a = x + at, *const b = a + other;
            const size_t m = n - at < PIECE ? n - at : PIECE;
            if (other) SUM2_FETCH(a, 2 * n, i, m, sum[0][0], a[i], sum[0][1], b[i]);
            else sum[0][0] = far ? SUM_FETCH(a, R_AHEAD, i, m, a[i]) : SUM(i, m, a[i]);
            carry(sum[0], 2, count);
        }
        for (int level = 1; level < LEVELS; level++) y[r] += sum[level][0];
        for (int level = 1; level < LEVELS && other; level++) y[r + 1] += sum[level][1];
    }
}

/* y [columns] += the sums of x [n, columns] over its rows, which are stride apart; level 0 is BLOCK rows; columns <= COLUMNS */
KERNEL(void, sum_columns, gr_real *restrict y, const gr_real *restrict x, size_t n, size_t columns, size_t stride)
{
    gr_real sum[LEVELS * COLUMNS];
    for (size_t i = 0; i < LEVELS * columns; i++) sum[i] = 0;
    for (size_t count = 1, r; n; count++) {
        const size_t m = n < BLOCK ? n : BLOCK;
        for (size_t i = 0; i < columns; i++) sum[i] = x[i];
        for (r = 1; r + 3 <= m; r += 3) /* three rows at a time: a sum is loaded and stored less often */
            for (size_t i = 0; i < columns; i++) sum[i] = ((sum[i] + x[r * stride + i]) + x[(r + 1) * stride + i]) + x[(r + 2) * stride + i];
        for (; r < m; r++)
            for (size_t i = 0; i < columns; i++) sum[i] += x[r * stride + i];
        x += m * stride, n -= m;
        carry(sum, columns, count);
    }
    for (size_t level = 1; level < LEVELS; level++)
        for (size_t i = 0; i < columns; i++) y[i] += sum[level * columns + i];
}

/* out becomes m runs of n values: run i repeats from[i]
 * scalar kernel spread_values: it computes nothing, and stores vectors */
KERNEL(void, spread_values, gr_real *restrict out, const gr_real *restrict from, size_t m, size_t n)
{
    for (size_t i = 0; i < m; i++, out += n) {
        const gr_real x = from[i];
        for (size_t j = 0; j < n; j++) out[j] = x;
    }
}

#if GR_HOST
enum { CHUNK = 16384, AT_ONCE = 512, MAX_IN = 4 };

/* ---- Runs ---- */

gr__runs gr__runs_of(gr_shape large, const bool *kept)
{
    gr__runs r = { 0 };
    for (int axis = 0; axis < large.rank; axis++) {
        if (large.dim[axis] == 1) continue;
        if (r.n && r.kept[r.n - 1] == kept[axis]) r.size[r.n - 1] *= large.dim[axis];
        else r.kept[r.n] = kept[axis], r.size[r.n++] = large.dim[axis];
    }
    return r;
}

gr__runs gr__runs_in(gr_shape large, gr_shape small)
{
    bool kept[GR_MAX_RANK] = { false };
    const int missing = large.rank - small.rank;
    for (int axis = missing; axis < large.rank; axis++) kept[axis] = small.dim[axis - missing] == large.dim[axis];
    return gr__runs_of(large, kept);
}

bool gr__broadcast(gr_shape a, gr_shape b, gr_shape *to)
{
    to->rank = a.rank > b.rank ? a.rank : b.rank;
    for (int i = 1; i <= to->rank; i++) { /* from the last axis */
        const size_t m = i <= a.rank ? a.dim[a.rank - i] : 1, n = i <= b.rank ? b.dim[b.rank - i] : 1;
        if (m != n && m != 1 && n != 1) return false;
        to->dim[to->rank - i] = m == 1 ? n : m;
    }
    return true;
}

size_t gr__runs_count(const gr__runs *r, bool kept)
{
    size_t n = 1;
    for (int k = 0; k < r->n; k++)
        if (r->kept[k] == kept) n *= r->size[k];
    return n;
}

static bool keeps_all(const gr__runs *r) { return r->n == 0 || (r->n == 1 && r->kept[0]); }

size_t gr__runs_small(const gr__runs *r, size_t i, size_t *left)
{
    size_t at = 0, stride = 1;
    if (left) *left = 1;
    for (int k = r->n - 1; k >= 0; k--) {
        const size_t index = i % r->size[k];
        i /= r->size[k];
        if (left && k == r->n - 1) *left = r->size[k] - index;
        if (r->kept[k]) at += index * stride, stride *= r->size[k];
    }
    return at;
}

size_t gr__runs_large(const gr__runs *r, size_t i, size_t j)
{
    size_t at = 0, stride = 1;
    for (int k = r->n - 1; k >= 0; k--) {
        size_t *index = r->kept[k] ? &i : &j;
        at += *index % r->size[k] * stride;
        *index /= r->size[k], stride *= r->size[k];
    }
    return at;
}

/* large[first .. first + count - 1] of small broadcast to the large shape, written to out. */
static void spread(const gr__runs *r, const gr_real *small, size_t first, size_t count, gr_real *out, int isa)
{
    const bool kept = r->n && r->kept[r->n - 1];
    while (count) {
        size_t m;
        const gr_real *from = small + gr__runs_small(r, first, &m);
        if (m > count) m = count;
        if (kept) memcpy(out, from, m * sizeof *out);
        else {
            const size_t runs = r->n == 2 && m == r->size[1] ? count / m : 1; /* whole ones, whose values lie side by side */
            spread_values[isa](out, from, runs, m);
            m *= runs;
        }
        first += m, out += m, count -= m;
    }
}

/* The same, but without a copy where the values lie side by side in small, or, unless one is NULL, are all the same: then *one becomes true. */
static const gr_real *values(const gr__runs *r, const gr_real *small, size_t first, size_t count, gr_real *buffer, int isa, bool *one)
{
    if (keeps_all(r)) return small + first;
    size_t left;
    const gr_real *from = small + gr__runs_small(r, first, &left);
    const bool kept = r->kept[r->n - 1];
    if (count <= left && (kept || one)) {
        if (!kept) *one = true;
        return from;
    }
    spread(r, small, first, count, buffer, isa);
    return buffer;
}

/* ---- Sums ---- */

typedef struct {
    gr__runs outer;              /* those before the two that the kernels see */
    const gr_real *large;
    gr_real *small;
    int isa;
    bool far, columns;           /* far: R_FAR values and more; columns: those two are [n, width], summed over n; else [width, n] */
    size_t n, width, tile, tiles, lacking;
} sum_call;

static void sum_task(void *argument, gr_range units)
{
    const sum_call *c = argument;
    for (size_t unit = units.first; unit < units.first + units.count; unit++) {
        const size_t i = unit / c->tiles;
        const gr_range tile = gr_chunk(unit % c->tiles, c->tile, c->width);
        gr_real *y = c->small + i * c->width + tile.first;
        for (size_t j = 0; j < c->lacking; j++) {
            const gr_real *x = c->large + gr__runs_large(&c->outer, i, j) * c->n * c->width;
            if (c->columns) sum_columns[c->isa](y, x + tile.first, c->n, tile.count, c->width);
            else sum_rows[c->isa](y, x + tile.first * c->n, tile.count, c->n, c->far);
        }
    }
}

/* One sum can be so long that the other threads would wait for it. Then the threads share it: pieces that end where level 1 carries are summed
 * into parts, and the parts are added here as the levels above would add them. So the bits are those of one walk. */
enum { PARTS = 2048, LONGEST = BLOCK * PIECE, HIGHEST = BLOCK * BLOCK };

typedef struct { const sum_call *c; const gr_real *x; size_t n, m; gr_real *part; } part_call; /* each part is n rows of m columns, or n values */

static void part_task(void *argument, size_t k, int thread UNUSED)
{
    const part_call *p = argument;
    gr_real *y = memset(p->part + k * p->m, 0, p->m * sizeof *y);
    if (p->c->columns) sum_columns[p->c->isa](y, p->x + k * p->n * p->m, p->n, p->m, p->m);
    else sum_rows[p->c->isa](y, p->x + k * p->n, 1, p->n, p->c->far);
}

static void sum_in_parts(gr_tape *t, const sum_call *c)
{
    const size_t m = c->width;
    gr_real part[PARTS], level[2][COLUMNS] = { { 0 } };
    part_call p = { c, c->large, c->columns ? HIGHEST : LONGEST, m, part };
    const size_t whole = c->n / p.n, at_once = PARTS / m;
    for (size_t k = 0; k < whole;) {
        const size_t parts = whole - k < at_once ? whole - k : at_once;
        gr_parallel(t, parts, 0.1 * (double)(parts * p.n * m), part_task, &p);
        p.x += parts * p.n * m;
        for (const gr_real *from = part; from < part + parts * m; from += m) {
            const bool carries = ++k % BLOCK == 0;
            for (size_t i = 0; i < m; i++) {
                level[0][i] += from[i];
                if (carries) level[1][i] += level[0][i], level[0][i] = 0;
            }
        }
    }
    p.n = c->n % p.n;
    if (p.n) part_task(&p, 0, 0);
    for (size_t i = 0; i < m; i++) c->small[i] = ((c->small[i] + (p.n ? part[i] : 0)) + level[0][i]) + level[1][i];
}

void gr__runs_sum(gr_tape *t, const gr__runs *r, const gr_real *large, gr_real *small)
{
    sum_call c = { .outer = *r, .large = large, .small = small, .isa = gr_isa(t), .columns = r->n && r->kept[r->n - 1], .n = 1, .width = 1 };
    c.outer.n = r->n > 2 ? r->n - 2 : 0;
    for (int k = c.outer.n; k < r->n; k++) *(r->kept[k] ? &c.width : &c.n) = r->size[k];
    c.lacking = gr__runs_count(&c.outer, false);
    const size_t keeping = gr__runs_count(&c.outer, true), each = c.lacking * c.n; /* each: elements behind one output */
    if (!each || !keeping || !c.width) return;
    /* Columns: the wider a tile, the longer the pieces of memory that it reads; but each thread shall have work. */
    const size_t share = gr_chunks(c.width, (size_t)gr_tape_threads(t));
    c.tile = !c.columns ? (each < CHUNK ? CHUNK / each : 1) : share < NARROW ? NARROW : size_min(share, COLUMNS);
    if (c.tile > c.width) c.tile = c.width;
    c.tiles = gr_chunks(c.width, c.tile), c.far = each * keeping * c.width >= R_FAR;
    const size_t units = keeping * c.tiles, to_a_chunk = each * c.tile < CHUNK ? CHUNK / (each * c.tile) : 1;
    if (units == 1 && c.lacking == 1 && c.n >= (size_t)2 * (c.columns ? HIGHEST : LONGEST)) {
        sum_in_parts(t, &c);
        return;
    }
    gr__parallel_rows(t, units, to_a_chunk, 0.1 * (double)(each * keeping * c.width), sum_task, &c);
}

/* ---- Elementwise kernels ---- */

typedef struct {
    gr__map *kernel;
    gr_real *out;
    size_t block, row;           /* elements a kernel sees at once; how many of them are one sum, or 0 */
    size_t ins;
    const gr_real *in[MAX_IN], *p;
    gr__runs runs[MAX_IN];
    int isa, how;                /* how: GR__FIRST or 0 */
    bool ones;                   /* the kernel knows one */
} map_call;

/* Whether a broadcast input looks the same in every block of n values. */
static bool repeats(const gr__runs *r, size_t n) { return r->n == 2 && r->kept[1] ? r->size[1] == n || n % r->size[1] == 0 : r->n == 1 && !r->kept[0]; }

static void map_task(void *argument, gr_range part)
{
    const map_call *c = argument;
    const size_t begin = part.first, end = begin + part.count;
    _Alignas(64) gr_real buffer[MAX_IN][AT_ONCE], rows[AT_ONCE];
    const gr_real *in[MAX_IN];
    bool one[MAX_IN] = { false };
    for (size_t i = begin; i < end; i += c->block) {
        const size_t n = end - i < c->block ? end - i : c->block;
        for (size_t k = 0; k < c->ins; k++) {
            const gr__runs *r = &c->runs[k];
            if (i > begin && one[k] && r->n == 2 && r->size[1] == c->block) in[k]++; /* one value for each block, one after the other */
            else if (i == begin || !repeats(r, c->block)) {
                one[k] = false;
                in[k] = values(r, c->in[k], i, n, buffer[k], c->isa, c->ones && !(k && one[0]) ? &one[k] : NULL);
            }
        }
        gr_real *const out = c->row ? rows : c->out + i;
        c->kernel(out, in, n, c->p, c->how | (one[0] ? GR__ONE_A : one[1] ? GR__ONE_B : 0));
        if (c->row) sum_rows[c->isa](c->out + i / c->row, rows, n / c->row, c->row, false);
    }
}

/* A block holds whole rows, where these are not too long: then a row vector is copied once for a chunk at most, and a column gives one value. Chunks are
 * whole blocks, so that what has more values than a buffer need not be copied. */
void gr__map_to(gr_tape *t, gr__map *const *kernel, gr_real *out, size_t row, int how, bool ones, const gr_tensor *like, gr_tensor *const *in, size_t ins,
                const gr_real *p)
{
    map_call c;
    if (!like->len) return;
    c.kernel = kernel[gr_isa(t)], c.out = out, c.how = how, c.ins = ins, c.p = p, c.isa = gr_isa(t), c.ones = ones;
    c.row = row, c.block = row ? AT_ONCE / row * row : CHUNK;
    for (size_t k = 0; k < ins; k++) {
        gr__runs *r = &c.runs[k];
        c.in[k] = in[k]->data, *r = (gr__runs){ 0 };
        if (gr_same_shape(in[k], like)) continue;
        *r = gr__runs_in(gr_shape_of(like), gr_shape_of(in[k]));
        if (keeps_all(r)) continue;
        /* A row at a time, if the input has one value for it, which the kernel knows, or has it as it is; else no more than a buffer holds */
        const bool rows = r->n == 2 && r->size[1] <= CHUNK && (r->kept[1] ? r->size[1] > AT_ONCE : ones && r->size[1] >= BLOCK);
        if (rows && (c.block == CHUNK || c.block % r->size[1] == 0)) c.block = r->size[1];
        else if (c.block > AT_ONCE && !(rows && r->size[1] % c.block == 0))
            c.block = r->n == 2 && r->size[1] <= AT_ONCE ? AT_ONCE / r->size[1] * r->size[1] : AT_ONCE;
    }
    if (like->len <= CHUNK) map_task(&c, (gr_range){ 0, like->len });
    else gr__parallel_rows(t, like->len, CHUNK / c.block * c.block, (double)like->len * 0.5, map_task, &c);
}

#define MISMATCH "do not broadcast: counted from the last axis, sizes must be equal or 1"

gr_tensor *gr__map_values(gr_tape *t, const gr_op *op, gr__map *const *kernel, gr_tensor *const *in, size_t ins, const gr_real *p)
{
    if (!gr_ready_list(t, op, in, ins)) return NULL;
    gr_shape shape = gr_shape_of(in[0]);
    bool fits = true;
    for (size_t k = 1; k < ins; k++) fits = fits && (gr_same_shape(in[0], in[k]) || gr__broadcast(shape, gr_shape_of(in[k]), &shape));
    if (!fits)
        return ins == 2 ? gr_fail(t, op, "a %s and b %s " MISMATCH, gr_shape_text(t, in[0]), gr_shape_text(t, in[1]))
                        : gr_fail(t, op, "cond %s, a %s and b %s " MISMATCH, gr_shape_text(t, in[0]), gr_shape_text(t, in[1]), gr_shape_text(t, in[2]));
    gr_tensor *y = gr__empty(t, op, shape);
    if (!y) return NULL;
    gr__map_to(t, kernel, y->data, 0, 0, ins < 3, y, in, ins, p);
    return y;
}

gr_tensor *gr__map_op(gr_tape *t, const gr_op *op, gr__map *const *kernel, gr_tensor *const *in, size_t ins, const gr_real *p, size_t ps)
{
    gr_tensor *y = gr__map_values(t, op, kernel, in, ins, p);
    return y ? gr_record(t, op, p, ps * sizeof *p, GR_OUT(y), in, ins) : NULL;
}

void gr__map_backward(gr_tape *t, const gr_node *n, unsigned k, gr__map *const *kernel, bool is_dy, gr_tensor *const *values, size_t count)
{
    const gr_tensor *y = n->out[0];
    const bool direct = n->in[k]->len == y->len;
    bool first = true;
    gr_real *const dx = direct ? gr__grad_to_fill(t, n->in[k], &first) : gr_grad(t, n->in[k]), *const out = direct ? dx : gr_scratch(t);
    if (!dx) return;
    gr_tensor dy = *y, *in[MAX_IN] = { &dy };
    dy.data = gr_grad(t, y);
    for (size_t i = 0; i < count; i++) in[i + 1] = values[i];
    const gr__runs runs = gr__runs_in(gr_shape_of(y), gr_shape_of(n->in[k]));
    const bool in_rows = !direct && !is_dy && runs.n == 2 && runs.kept[0] && runs.size[1] <= AT_ONCE; /* they are summed while they are in L1 */
    if (direct || !is_dy) gr__map_to(t, kernel, in_rows ? dx : out, in_rows ? runs.size[1] : 0, first ? GR__FIRST : 0, false, y, in, count + 1, n->saved);
    if (direct || in_rows) return;
    gr__runs_sum(t, &runs, is_dy ? dy.data : out, dx);
}

size_t gr__map_scratch(const gr_node *n)
{
    for (unsigned k = 0; k < n->ins; k++)
        if (n->in[k]->len != n->out[0]->len) return n->out[0]->len * sizeof(gr_real);
    return 0;
}
#endif
