/* core/gemm.c - the matrix product: how it is cut into tiles whose operands are in a near cache.
 *
 *     columns of C, N        up to 1024 at a time, so that their part of B fits the slab (2 MiB)
 *       rows of C, M         up to 128 at a time: their part of C stays in L2 while
 *         K                  runs in steps of up to 1 KiB (256 floats, 128 doubles), or fewer (gemm_step_of)
 *           panels of B      of GEMM_VECTORS vectors, or one fewer where a panel would be too large (GEMM_NEAR)
 *             tiles          of up to 14 rows of A: registers (core/gemm_tile.h)
 *
 * A tile reads a panel of B in place if B is stored by rows. When more than a few tiles share a panel, the first one writes a dense and aligned
 * copy for the others, which costs almost nothing. A panel that is stored by columns, or that ends within a vector, is copied first.
 * When C has more rows than a block, all panels are kept in the slab for the later blocks. All parts are of nearly equal size: 9 vectors are
 * three panels of 3, not two of 4 and one of 1.
 *
 * Five shapes take other ways (gemm_product): a tall C that is narrower than a vector is computed transposed; so is a wide C whose B is stored by
 * columns (gemm_is_wide); few rows turn such a B in registers (core/gemm_turned.h); few terms need no tiles (gemm_flat); and last columns that fill at
 * most half a vector are a product of their own, if C is tall or B is packed.
 *
 * Every output is one sum over k, or over a part of at most 2048 (core/gemm.h). A step over K ends by writing the sums to C, or to a block beside it,
 * and the next step reads them again. This is exact, so the sizes of the steps cannot change a bit. */
#include "core/gemm.h"
#include "core/gemm_tile.h"
#include "core/gemm_turned.h"

enum {
    GEMM_STEP = 1024 / sizeof(gr_real), GEMM_SHORT_STEP = 32, /* of K; shorter steps touch C more often */
    GEMM_NEAR = (48 << 10) / sizeof(gr_real), /* a panel that is larger, or a packed one of more than half, has one vector fewer, so that L1 holds it */
    GEMM_BLOCK = 128, GEMM_COLUMNS = 1024, /* of C: rows, columns */
    GEMM_SLAB = (2 << 20) / sizeof(gr_real),
    GEMM_DEEP = 2048,                    /* a longer K is cut; the sums of each part but the first are added to C */
    GEMM_PANEL = 4 * 64 / sizeof(float), /* columns, at most */
    GEMM_LINE = 64 / sizeof(gr_real), GEMM_PAD = 3 * GEMM_LINE, /* the pad is so that the rows of copies do not share the same few sets of a cache */
    GEMM_FLAT = GR_VECTOR_BYTES == 32 ? 8 : 4, /* this few terms are added by whole rows of C */
    GEMM_STRIP = 1024,        /* rows of C that are computed at a time, transposed */
    GEMM_FEW = 8,             /* this few tiles gain nothing from a copy of the panel that they share */
    GEMM_INLINE = 5000,       /* less work than these nanoseconds is not worth a second thread */
};

/* A thread's scratch. */
typedef struct {
    gr_real panel[GEMM_STEP * GEMM_PANEL];                 /* of B */
    gr_real rows[GEMM_BLOCK * (GEMM_STEP + GEMM_PAD)];     /* of A */
    gr_real block[GEMM_BLOCK * (GEMM_COLUMNS + GEMM_PAD)]; /* of C */
    gr_real strip[16 * (GEMM_STRIP + GEMM_LINE)];          /* of C transposed */
    gr_real slab[GEMM_SLAB];
} gemm_work;

INLINE size_t gemm_round(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
/* n cut evenly into the fewest parts of at most `most`, each but the last a multiple of unit (which divides most). */
INLINE size_t gemm_part(size_t n, size_t most, size_t unit)
{
    if (n <= most) return n ? gemm_round(n, unit) : most;
    return gemm_round(gr_chunks(n, gr_chunks(n, most)), unit);
}

/* A product, or a part of one. */
typedef struct {
    size_t M, N, K;
    gr_mat A, B;
    gr_real *packed; /* room for all panels of B, or NULL */
    bool ready;      /* packed holds B already */
    gr_real *C;
    size_t c_row;
    gr_start start;
    gr__fetch *fetch;
    bool add; /* the sums to C, instead of writing them */
} gemm_job;

/* The part of g with M rows from row i on, N columns from column j on and K steps from step k on. packed has room for its panels. */
INLINE gemm_job gemm_part_of(const gemm_job *g, size_t i, size_t j, size_t k, size_t M, size_t N, size_t K, gr_real *packed)
{
    gemm_job part = *g;
    part.M = M, part.N = N, part.K = K, part.packed = packed;
    part.A.data += i * g->A.row + k * g->A.col, part.B.data += k * g->B.row + j * g->B.col;
    part.C += i * g->c_row + j;
    if (g->start.data) part.start.data += i * g->start.row + (g->start.row == 1 ? 0 : j);
    return part;
}

/* Whether rows or columns are a multiple of 4 KiB apart, so that they share the same few sets of L1. */
INLINE bool gemm_far(size_t stride) { return stride % (4096 / sizeof(gr_real)) == 0; }

/* Let a tile of `vectors` vectors prefetch K rows of the first entry of the list that is not done. */
INLINE void gemm_fetch(gr__fetch *fetch, size_t vectors, gemm_tile *t)
{
    while (fetch->at && !fetch->bytes) fetch++;
    const size_t row = gemm_round(vectors * GR_VECTOR_BYTES, 64), done = size_min(t->K * row, fetch->bytes);
    if (done) t->next = fetch->at, t->ahead = t->K, t->next_row = row;
    fetch->at += done, fetch->bytes -= done;
}

/* What the tiles of a panel prefetch: `rows` rows, `row` bytes apart, of which `bytes` bytes each remain. Each tile takes one panel width of every row. */
typedef struct { uintptr_t at; size_t rows, row, bytes; } gemm_ahead;

/* The next panel of B, from column j on; after the last one, the next part of A, if next_a is not 0. A processor by itself is bad at short rows that lie
 * a multiple of 2 KiB apart (measured: without this, products of 512 to 2048 rows and columns take 1.02 to 1.08 times as long). A packed B that stays in
 * L2 (near) is left alone (measured: with prefetches, an LSTM that reads one sample takes 1.1 times as long). */
INLINE gemm_ahead gemm_ahead_of(const gemm_job *g, bool near, uintptr_t next_a, size_t j, size_t width, bool in_place)
{
    const size_t K = g->K, real = sizeof(gr_real), width_bytes = width * real;
    if (j >= g->N) {
        const bool by_rows = g->A.col == 1;
        const size_t stride = by_rows ? g->A.row : g->A.col, length = by_rows ? K : g->M;
        return (gemm_ahead){ next_a, by_rows ? g->M : K, stride * real, next_a && gemm_far(2 * stride) ? length * real : 0 };
    }
    if (g->ready) return (gemm_ahead){ (uintptr_t)(g->packed + j * K), K, width_bytes, near ? 0 : width_bytes };
    if (in_place) return (gemm_ahead){ (uintptr_t)(g->B.data + j), K, g->B.row * real, width_bytes };
    const bool slow = g->B.row == 1 && (gemm_far(2 * g->B.col) || g->N * g->B.col > 2 * GEMM_SLAB);
    return (gemm_ahead){ (uintptr_t)(g->B.data + j * g->B.col), width, g->B.col * real, slow ? K * real : 0 };
}

/* One step over K, for at most GEMM_BLOCK rows: for each panel of B, all tiles of A. far: what the sums start at, or C, if L2 may not hold it; then each tile
 * prefetches the next one's part. */
static void gemm_step(const gemm_job *g, bool near, gr_start far, uintptr_t next_a, gemm_work *work)
{
    const size_t M = g->M, N = g->N, K = g->K, vectors = (N + R_WIDTH - 1) / R_WIDTH;
    const size_t most = GEMM_VECTORS - (K * GEMM_VECTORS * R_WIDTH > (g->packed ? GEMM_NEAR / 2 : GEMM_NEAR)), fewest = (vectors + most - 1) / most;
    const size_t panels = fewest + (g->packed && vectors % fewest && vectors % (fewest + 1) == 0); /* equal ones, if one more makes them so */
    const size_t wider = vectors % panels, whole = panels - (N % R_WIDTH != 0); /* so many panels have one vector more, and so many no tail */
    const bool together = M == 1 && g->ready && g->start.row != 1;              /* a tile of several panels */
    gr_mat A = g->A, B = g->B;
    /* A copy of A by rows saves time with more than 8 rows, where several panels read A, and A is far or stored by columns. */
    if (M > 8 && (gemm_far(A.col == 1 ? A.row : A.col) ? panels > 1 : panels > 2 && A.col != 1)) {
        const size_t row = gemm_round(K, 2 * GEMM_LINE) + GEMM_LINE;
        gemm_copy(M, K, K, A, work->rows, row);
        A = (gr_mat){ work->rows, row, 1 };
    }
    gemm_tile t = { .K = K, .a_row = A.row, .a_col = A.col, .start_row = g->start.row, .c_row = g->c_row, .add = g->add };
    for (size_t p = 0, j = 0, count; p < panels; p += count) {
        const size_t v = vectors / panels + (p < wider), width = v * R_WIDTH, n = size_min(width, N - j);
        const size_t tiles = (M + gemm_rows[v] - 1) / gemm_rows[v], line = gemm_round(width * sizeof(gr_real), 64);
        const size_t equal = (p < wider ? wider : whole) - p, most_here = v == 2 || v == 3 ? 9 / v : 1;
        count = !together || equal < 2 ? 1 : equal == most_here + 1 && most_here > 1 ? 2 : size_min(equal, most_here); /* rather than leave one */
        gr_real *P = g->packed ? g->packed + j * K : work->panel;
        const bool in_place = M && !g->ready && B.col == 1 && n == width, keep = in_place && (g->packed || tiles > GEMM_FEW || (tiles > 1 && gemm_far(B.row)));
        if (!in_place && !g->ready) gemm_copy(K, n, width, (gr_mat){ B.data + j * B.col, B.row, B.col }, P, width);
        gemm_ahead ahead = gemm_ahead_of(g, near, next_a, j + width, width, in_place);
        t.last = n - width + R_WIDTH;
        for (size_t x = 0, i = 0, rows; x < tiles; x++, i += rows) {
            rows = count > 1 ? count : M / tiles + (x < M % tiles);
            const bool reads_b = in_place && (x == 0 || !keep), prefetches = ahead.bytes && (x || tiles == 1); /* the first of several waits for B itself */
            t.A = A.data + i * A.row, t.C = g->C + i * g->c_row + j;
            t.start = g->start.data ? g->start.data + i * g->start.row + (t.start_row == 1 ? 0 : j) : NULL;
            t.B = reads_b ? B.data + j : P, t.b_row = reads_b ? B.row : width, t.panel = x == 0 && keep ? P : NULL;
            t.next = prefetches ? ahead.at : 0, t.next_row = ahead.row, t.ahead = t.panel ? K : prefetches ? size_min(K, ahead.rows) : 0;
            if (prefetches) ahead.at += line, ahead.bytes -= size_min(line, ahead.bytes);
            if (g->fetch && count == 1) gemm_fetch(g->fetch, v, &t);
            for (size_t r = 0, to = x + 1 < tiles ? (i + rows) * far.row + j : j + width; far.data && r < rows; r++, to += far.row)
                for (size_t c = 0; c < width; c += GEMM_LINE) R_FETCH_TO(far.data, to + c);
            gemm_tiles[v][rows][count > 1 ? 2 : !t.ahead](&t);
        }
        j += count * width;
    }
}

static void gemm_product(const gemm_job *g, gemm_work *work);

/* The transpose of g, whose C fits the strip. packed is for the panels of A, or NULL; ready: it holds them. */
static void gemm_transposed(const gemm_job *g, gr_real *packed, bool ready, gemm_work *work)
{
    const size_t row = gemm_round(g->M, GEMM_LINE) + GEMM_LINE;
    gemm_job turned = { .M = g->N, .N = g->M, .K = g->K, .A = { g->B.data, g->B.col, g->B.row }, .B = { g->A.data, g->A.col, g->A.row } };
    turned.packed = packed, turned.ready = ready, turned.C = work->strip, turned.c_row = row;
    turned.start = g->start.row == 1 ? (gr_start){ g->start.data, 0 } : (gr_start){ g->start.data ? work->strip : NULL, row };
    if (turned.start.row && g->start.data) gemm_copy(g->N, g->M, g->M, (gr_mat){ g->start.data, 1, g->start.row }, work->strip, row);
    gemm_product(&turned, work);
    gemm_copy(g->M, g->N, g->N, (gr_mat){ work->strip, 1, row }, g->C, g->c_row);
}

/* C is narrower than a vector, but tall: the rows fill the vectors. */
static void gemm_narrow(const gemm_job *g, gemm_work *work)
{
    for (size_t i = 0; i < g->M; i += GEMM_STRIP) {
        gemm_job part = gemm_part_of(g, i, 0, 0, size_min(GEMM_STRIP, g->M - i), g->N, g->K, NULL);
        if (g->ready) part.B = (gr_mat){ g->packed, R_WIDTH, 1 };
        gemm_transposed(&part, NULL, false, work);
    }
}

/* Whether turning A and C takes less time than turning B, which is stored by columns: measured 1.0 to 1.4 times as fast with vectors of 64 bytes, and
 * .96 to 1.06 with 32. A narrow tail would need the strip for itself. */
static bool gemm_is_wide(const gemm_job *g)
{
    const size_t rows = gemm_round(g->M, R_WIDTH), most = gemm_far(2 * g->B.col) ? 64 : 128;
    const bool fits = g->M >= R_WIDTH && g->M <= most && rows - g->M < R_WIDTH / 2 && rows * g->K <= GEMM_SLAB;
    const bool turns_b = GR_VECTOR_BYTES == 64 && g->B.row == 1 && g->B.col > 1 && !g->packed;
    return fits && turns_b && !gemm_far(g->B.col) && (rows + 8) * (g->K + 2 * g->N) < g->N * g->K;
}
static void gemm_wide(const gemm_job *g, gemm_work *work)
{
    const size_t most = sizeof work->strip / sizeof(gr_real) / (gemm_round(g->M, GEMM_LINE) + GEMM_LINE), columns = gemm_part(g->N, most, 1);
    for (size_t j = 0; j < g->N; j += columns) {
        const gemm_job part = gemm_part_of(g, 0, j, 0, g->M, size_min(columns, g->N - j), g->K, NULL);
        gemm_transposed(&part, work->slab, j > 0, work);
    }
}

/* All rows of some columns. With more rows than a block, the first block leaves the panels of B for the others. */
static void gemm_slab(const gemm_job *g, size_t step, gemm_work *work)
{
    const size_t M = g->M, N = g->N, K = g->K, rows = gemm_part(M, GEMM_BLOCK, 1), padded = gemm_round(N, R_WIDTH);
    const size_t c_row = padded + (gemm_far(padded + GEMM_LINE) ? 2 : 1) * GEMM_LINE;
    const bool beside = g->add || (K > 2 * step && M * N > 65536); /* between the steps, C is in a block of L2 */
    gr_real *packed = g->packed ? g->packed : M > rows ? work->slab : NULL;
    for (size_t i = 0; i == 0 || i < M; i += rows)
        for (size_t k = 0; k == 0 || k < K; k += step) {
            gemm_job part;
            const gemm_job *s = g; /* the only step: a copy of what was written just now would wait until it has reached the cache */
            if (M > rows || K > step) {
                part = gemm_part_of(g, i, 0, k, size_min(rows, M - i), N, size_min(step, K - k), packed ? packed + k * padded : NULL), s = &part;
                part.ready = g->ready || i > 0;
                if (k) part.start = beside ? (gr_start){ work->block, c_row } : (gr_start){ part.C, part.c_row };
                if (beside && k + step < K) part.C = work->block, part.c_row = c_row, part.add = false;
            }
            const bool last = k + step >= K;
            gr_start far = k == 0 && g->start.data && g->start.row ? s->start : (gr_start){ s->C, gemm_far(s->c_row) ? s->c_row : 0 };
            if (s->K < 64 || M * far.row < GEMM_SLAB / 2) far.data = NULL;
            const size_t next = last ? (i + rows) * g->A.row : i * g->A.row + (k + step) * g->A.col;
            gemm_step(s, padded * K <= GEMM_SLAB / 4, far, last && i + rows >= M ? 0 : (uintptr_t)(g->A.data + next), work);
        }
}

/* The longest step over K. A B by rows that is used once is read in short steps, along its rows. Half a step of 3 vectors of 64 bytes fits L1 beside
 * what a tile reads: measured 3 % faster than a whole step where B comes from beyond L2, and 3 % slower for few rows, which touch C more often. */
INLINE size_t gemm_step_of(const gemm_job *g)
{
    if (!g->packed && g->B.col == 1 && g->M <= gemm_rows[GEMM_VECTORS]) return GEMM_SHORT_STEP;
    const bool half = g->packed ? g->K > 2 * GEMM_STEP : g->K > GEMM_STEP && (g->M > GEMM_BLOCK / 2 || gemm_far(g->B.row));
    return GR_VECTOR_BYTES == 64 && half ? GEMM_STEP / 2 : GEMM_STEP;
}

/* The terms from k on, at most GEMM_DEEP, so that the slab holds a few panels at least. */
static void gemm_columns(const gemm_job *g, size_t k, size_t K, gemm_work *work)
{
    const size_t M = g->M, N = g->N, unit = GEMM_VECTORS * R_WIDTH;
    const size_t columns = gemm_part(N, K ? size_min(GEMM_COLUMNS, GEMM_SLAB / K / unit * unit) : GEMM_COLUMNS, unit);
    if (columns >= N && K == g->K) gemm_slab(g, gemm_part(K, gemm_step_of(g), 8), work);
    else for (size_t j = 0; j < N; j += columns) {
        gr_real *const packed = g->packed ? g->packed + k * gemm_round(N, R_WIDTH) + j * K : NULL;
        gemm_job part = gemm_part_of(g, 0, j, k, M, size_min(columns, N - j), K, packed);
        if (k) part.start.data = NULL, part.add = M > 0;
        gemm_slab(&part, gemm_part(K, gemm_step_of(&part), 8), work);
    }
}

/* Few rows, and a B that is stored by columns. Two vectors of 64 bytes would evict each other's lines where columns are a multiple of 2 KiB apart. */
INLINE size_t gemm_turned_vectors(const gemm_job *g) { return g->M > 2 && (V_TURN == 4 || gemm_far(2 * g->B.col)) ? GEMM_TURNED / 2 : GEMM_TURNED; }
static void gemm_turned(const gemm_job *g)
{
    const size_t blocks = (g->M + V_TURN - 1) / V_TURN, vectors = gemm_turned_vectors(g), width = vectors * R_WIDTH, deep = gemm_part(g->K, GEMM_DEEP, 8);
    for (size_t n = 0; n < g->N; n += width)
        for (size_t b = 0, i = 0, rows; b < blocks; b++, i += rows) {
            rows = g->M / blocks + (b < g->M % blocks);
            const gemm_job t = gemm_part_of(g, i, size_min(n, g->N - width), 0, rows, width, g->K, NULL); /* the last columns may be computed twice */
#define GEMM_CASE(v, r) case 16 * (v) + (r): gemm_turned_tile(v, r, t.K, deep, t.A, t.B, t.start, t.C, t.c_row); break;
            switch (16 * vectors + rows) { GEMM_TURNED_TILES(GEMM_CASE) }
        }
}
/* Not where the lines of one vector would evict each other, where a copy that several tiles share takes less time, or where columns that are computed twice
 * would start at their own result. */
static bool gemm_turns(const gemm_job *g)
{
    const size_t most = gemm_turned_vectors(g) < 2 || V_TURN == 4 ? 4 : g->K < 64 || g->N < 96 ? 8 : 24;
    const bool few = g->M && g->M <= most && g->N >= GEMM_TURNED * R_WIDTH && (V_TURN_PART || g->K % V_TURN == 0) && g->B.row == 1 && !g->packed;
    return few && !gemm_far(g->B.col) && g->start.row != 1 && (g->start.data != g->C || g->N % (gemm_turned_vectors(g) * R_WIDTH) == 0);
}

/* Few terms: a tile would begin and end with more work than it has (measured 1.2 to 3 times as fast), so the sums of a row of C run along the rows of B. */
INLINE r_vec gemm_flat_sum(const int K, const r_vec *a, const gr_real *B, size_t b_row, const gr_real *start, size_t n)
{
    r_vec c = start ? gemm_load(start, n < R_WIDTH, n) : v_set(0);
    UNROLL for (int k = 0; k < K; k++) c = v_fma(a[k], gemm_load(B + (size_t)k * b_row, n < R_WIDTH, n), c);
    return c;
}
INLINE void gemm_flat_rows(const int K, const gemm_job *g)
{
    const size_t tail = g->N % R_WIDTH, whole = g->N - tail, b_row = g->B.row;
    for (size_t i = 0; i < g->M; i++) {
        const gr_real *const B = g->B.data, *const start = g->start.data ? g->start.data + i * g->start.row : NULL;
        gr_real *const C = g->C + i * g->c_row;
        r_vec a[GEMM_FLAT];
        UNROLL for (int k = 0; k < K; k++) a[k] = v_set(g->A.data[i * g->A.row + (size_t)k * g->A.col]);
        for (size_t j = 0; j < whole; j += R_WIDTH) v_store(C + j, gemm_flat_sum(K, a, B + j, b_row, start ? start + j : NULL, R_WIDTH));
        if (tail) v_store_part(C + whole, gemm_flat_sum(K, a, B + whole, b_row, start ? start + whole : NULL, tail), tail);
    }
}

/* The second condition is for the compiler, which warns of what cannot run. */
#define GEMM_FLAT_CASE(v, k) case k: if (k <= GEMM_FLAT) gemm_flat_rows(k <= GEMM_FLAT ? k : 1, g); break;
static __attribute__((noinline)) void GR_NAME(gemm_flat)(const gemm_job *g)
{
    switch (g->K) { GEMM_UP_TO_6(GEMM_FLAT_CASE, 1) GEMM_FLAT_CASE(1, 7) GEMM_FLAT_CASE(1, 8) }
}

/* It also packs: a product without rows only writes the panels of B. */
static void gemm_product(const gemm_job *g, gemm_work *work)
{
    const size_t M = g->M, N = g->N, K = g->K, tail = N % R_WIDTH, whole = N - tail;
    const bool tall = M > 2 * R_WIDTH;
    if (tall && N < R_WIDTH) gemm_narrow(g, work);
    else if (gemm_is_wide(g)) gemm_wide(g, work);
    else if (gemm_turns(g)) gemm_turned(g);
    else if (K && K <= GEMM_FLAT && N >= 2 * R_WIDTH && g->B.col == 1 && !g->packed && g->start.row != 1) GR_NAME(gemm_flat)(g);
    else if (whole && tail && tail <= R_WIDTH / 2 && (tall || g->packed)) { /* compute a tail that would waste most of a vector on its own */
        const gemm_job most = gemm_part_of(g, 0, 0, 0, M, whole, K, g->packed);
        const gemm_job rest = gemm_part_of(g, 0, whole, 0, M, tail, K, g->packed ? g->packed + whole * K : NULL);
        gemm_product(&most, work), gemm_product(&rest, work);
    } else {
        const size_t deep = gemm_part(K, GEMM_DEEP, 8);
        for (size_t k = 0; k == 0 || k < K; k += deep) gemm_columns(g, k, size_min(deep, K - k), work);
    }
}

/* scalar kernel gemm_run: it cuts into tiles; the arithmetic is in gemm_tile_1_1 and the others. */
KERNEL(void, gemm_run, const gemm_job *g, gemm_work *work) { gemm_product(g, work); }

#if GR_HOST
_Static_assert(sizeof(gemm_work) <= GR__WORK_BYTES, "the scratch of a thread holds a matrix product's");
size_t gr__gemm_packed_len(size_t N, size_t K) { return gemm_round(N, 16) * K; }

void gr__gemm_pack(int isa, size_t N, size_t K, gr_mat B, gr_real *P)
{
    if (N && K) gemm_run[isa](&(gemm_job){ .N = N, .K = K, .A.data = P, .B = B, .packed = P, .C = P }, NULL);
}

void gr__gemm_serial(int isa, size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, size_t ldc, gr_start start, void *work)
{
    if (!K) A = B = (gr_mat){ C, 0, 1 }; /* not read */
    if (M && N) gemm_run[isa](&(gemm_job){ M, N, K, A, B, NULL, false, C, ldc, start, NULL, false }, work);
}

void gr__gemm_serial_packed(int isa, size_t M, size_t N, size_t K, gr_mat A, const gr_real *P, gr_real *C, size_t ldc, gr_start start,
                            gr__fetch *fetch, void *work)
{
    if (!K) A = (gr_mat){ C, 0, 1 }, P = C;
    if (M && N) gemm_run[isa](&(gemm_job){ M, N, K, A, { P, 0, 1 }, (gr_real *)P, true, C, ldc, start, fetch, false }, work);
}

/* How much of the longer side of C a part has. */
static size_t gemm_cut(const gr__product *p, size_t parts)
{
    return p->M > p->N ? gemm_round((p->M + parts - 1) / parts, 8) : gemm_round((p->N + parts - 1) / parts, GEMM_PANEL);
}

void gr__gemm_part(gr_tape *t, const gr__product *p, size_t part, size_t parts, int thread)
{
    const size_t M = p->M, N = p->N, K = p->K, most = gemm_cut(p, parts), at = part * most;
    if (!N || (at >= M && at >= N)) return;
    gemm_job g = { M, N, K, p->A, p->B, NULL, false, p->C, p->ldc, p->start, NULL, false };
    if (M > N && M > most) g = gemm_part_of(&g, at, 0, 0, size_min(most, M - at), N, K, NULL);
    if (M <= N && N > most) g = gemm_part_of(&g, 0, at, 0, M, size_min(most, N - at), K, NULL);
    gemm_run[gr_isa(t)](&g, gr__work(t, thread));
}

typedef struct { gr_tape *t; gr__product p; size_t parts; } gemm_region;
static void gemm_task(void *argument, size_t part, int thread)
{
    const gemm_region *r = argument;
    gr__gemm_part(r->t, &r->p, part, r->parts, thread);
}

void gr__gemm(gr_tape *t, size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, size_t ldc, gr_start start)
{
    if (!M || !N) return;
    if (!K) A = B = (gr_mat){ C, 0, 1 };
#ifdef GR_OPENBLAS
    if (gr__gemm_blas(M, N, K, A, B, C, ldc, start)) return;
#endif
    const double work = (double)M * (double)N * (double)K / 50;
    gemm_region r = { t, { M, N, K, A, B, C, ldc, start }, work < GEMM_INLINE ? 1 : (size_t)gr_tape_threads(t) };
    gr_parallel(t, gr_chunks(M > N ? M : N, gemm_cut(&r.p, r.parts)), work, gemm_task, &r);
}
#endif
