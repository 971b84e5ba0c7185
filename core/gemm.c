/* core/gemm.c - the matrix product: how it is cut into tiles that find their operands in the nearest cache.
 *
 *     columns of C, N            at most `columns` at a time: their part of B, packed, is the slab (2 MiB)
 *       rows of C, M             128 at a time: their part of C stays in L2 while
 *         K                      runs in steps of at most 160
 *           panels of B          of up to 4 vectors: 160 rows of it fill L1
 *             tiles              of up to 12 rows of A: registers (core/gemm_tile.h)
 *
 * A panel that is used by more than two tiles is read in place by the first, which leaves a copy, dense and aligned, for the others; so packing costs
 * next to nothing. What is not stored by rows, or ends within a vector, is copied first. All cuts are even: 9 vectors are three panels of 3, not two of 4
 * and a sliver.
 *
 * Every output is one chain over k (core/gemm.h). A step over K ends by writing the chains to C, or to a block beside it, and the next
 * one reads them again: that is exact, so no cut can change a bit. */
#include "core/gemm.h"
#include "core/gemm_tile.h"

enum {
    GEMM_STEP = 640 / sizeof(gr_real), /* of K: a panel of B takes 40 KiB, about L1 */
    GEMM_BLOCK = 128,                  /* rows of C */
    GEMM_COLUMNS = 1024,
    GEMM_SLAB = (2 << 20) / sizeof(float), /* elements */
    GEMM_DEEP = 2048,                      /* a longer K is done in parts, the next one starting from C */
    GEMM_PANEL = 4 * 64 / sizeof(float),   /* columns, at most */
    GEMM_LINE = 64 / sizeof(gr_real),
    GEMM_PAD = 3 * GEMM_LINE, /* keeps rows of copies from falling into the same few sets of a cache */
    GEMM_STRIP = 1024,        /* of the transposed C */
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
    const size_t parts = (n + most - 1) / most;
    return parts ? gemm_round((n + parts - 1) / parts, unit) : most;
}

/* A product, or a part of one. */
typedef struct {
    size_t M, N, K;
    gr_mat A, B;
    gr_real *packed; /* room for all panels of B, or NULL */
    bool ready;      /* B is there already */
    gr_real *C;
    size_t c_row;
    gr_start start;
} gemm_job;

INLINE gr_mat gemm_at(gr_mat X, size_t i, size_t j) { return (gr_mat){ X.data + i * X.row + j * X.col, X.row, X.col }; }
INLINE gr_start gemm_start_at(gr_start s, size_t i, size_t j) { return s.data ? (gr_start){ s.data + i * s.row + j, s.row } : s; }

/* The part of g from row i, column j and step k on; its panels are at `packed`. */
INLINE gemm_job gemm_sub(const gemm_job *g, size_t i, size_t j, size_t k, size_t M, size_t N, size_t K, gr_real *packed)
{
    return (gemm_job){ M,
                       N,
                       K,
                       gemm_at(g->A, i, k),
                       gemm_at(g->B, k, j),
                       packed,
                       g->ready,
                       g->C + i * g->c_row + j,
                       g->c_row,
                       gemm_start_at(g->start, i, j) };
}

/* One step over K of at most GEMM_BLOCK rows and g.columns columns. */
static void gemm_step(const gemm_job *g, gemm_work *work)
{
    const size_t M = g->M, N = g->N, K = g->K, vectors = (N + R_WIDTH - 1) / R_WIDTH, panels = (vectors + GEMM_VECTORS - 1) / GEMM_VECTORS;
    gr_mat A = g->A, B = g->B;
    if (M > 8 && ((panels > 1 && A.row % 1024 == 0) || (A.col != 1 && (panels > 2 || A.col % 1024 == 0)))) {
        const size_t row = gemm_round(K, 2 * GEMM_LINE) + GEMM_LINE;
        gemm_copy(M, K, K, A, work->rows, row);
        A = (gr_mat){ work->rows, row, 1 };
    }
    gemm_tile t = { .K = K, .a_row = A.row, .a_col = A.col, .start_row = g->start.row, .c_row = g->c_row };
    for (size_t p = 0, j = 0; p < panels; p++) {
        const size_t v = vectors / panels + (p < vectors % panels), width = v * R_WIDTH, n = gemm_min(width, N - j);
        const size_t tiles = (M + gemm_rows[v] - 1) / gemm_rows[v];
        gr_real *P = g->packed ? g->packed + j * K : work->panel;
        const bool in_place = !g->ready && B.col == 1 && n == width && M, keep = in_place && (tiles > 12 || g->packed);
        if (!g->ready && !in_place) gemm_copy(K, n, width, gemm_at(B, 0, j), P, width);
        t.last = n - width + R_WIDTH;
        for (size_t x = 0, i = 0; x < tiles; x++) {
            const size_t rows = M / tiles + (x < M % tiles), here = in_place && (x == 0 || !keep);
            const gr_start start = gemm_start_at(g->start, i, j);
            t.A = A.data + i * A.row, t.start = start.data, t.C = g->C + i * g->c_row + j;
            t.B = here ? B.data + j : P, t.b_row = here ? B.row : width;
            t.panel = x == 0 && keep ? P : NULL;
            t.next = 0;
            if (in_place && x == gemm_min(1, tiles - 1) && p + 1 < panels)
                t.next = (uintptr_t)(B.data + j) + width * sizeof(gr_real), t.next_row = B.row * sizeof(gr_real);
            gemm_tiles[v][rows](&t);
            i += rows;
        }
        j += width;
    }
}

static void gemm_product(const gemm_job *g, gemm_work *work);

/* Few columns waste lanes: compute C transposed, its rows along the lanes. */
static void gemm_narrow(const gemm_job *g, gemm_work *work)
{
    const size_t row = GEMM_STRIP + GEMM_LINE;
    const gr_mat B = g->ready ? (gr_mat){ g->packed, R_WIDTH, 1 } : g->B;
    for (size_t i = 0; i < g->M; i += GEMM_STRIP) {
        const size_t m = gemm_min(GEMM_STRIP, g->M - i);
        gemm_job part = {
            g->N,        m,   g->K,         { B.data, B.col, B.row }, { g->A.data + i * g->A.row, g->A.col, g->A.row }, NULL, false,
            work->strip, row, { NULL, row }
        };
        if (g->start.data) {
            gemm_copy(g->N, m, m, (gr_mat){ g->start.data + i * g->start.row, 1, g->start.row }, work->strip, row);
            part.start.data = work->strip;
        }
        gemm_product(&part, work);
        gemm_copy(m, g->N, g->N, (gr_mat){ work->strip, 1, row }, g->C + i * g->c_row, g->c_row);
    }
}

/* All columns, at most GEMM_DEEP of K. */
static void gemm_deep(const gemm_job *g, gemm_work *work)
{
    const size_t unit = GEMM_VECTORS * R_WIDTH, M = g->M, N = g->N, K = g->K;
    const size_t most = K ? gemm_min(GEMM_COLUMNS, GEMM_SLAB / K / unit * unit) : GEMM_COLUMNS;
    const size_t columns = gemm_part(N, most, unit), rows = gemm_part(M, GEMM_BLOCK, 1);
    const size_t step = gemm_part(K, g->packed || g->B.col != 1 || M > gemm_rows[GEMM_VECTORS] ? GEMM_STEP : 32, 8);
    for (size_t j = 0; j < N; j += columns) {
        const size_t n = gemm_min(columns, N - j), padded = gemm_round(n, R_WIDTH);
        const bool beside = K > 2 * step && M * N > 65536;
        gr_real *packed = g->packed ? g->packed + j * K : M > rows ? work->slab : NULL;
        size_t i = 0;
        do {
            size_t k = 0;
            do {
                gemm_job s = gemm_sub(g, i, j, k, gemm_min(rows, M - i), n, gemm_min(step, K - k), packed ? packed + k * padded : NULL);
                s.ready |= i > 0;
                if (k) s.start = beside ? (gr_start){ work->block, padded + GEMM_LINE } : (gr_start){ s.C, s.c_row };
                if (beside && k + step < K) s.C = work->block, s.c_row = padded + GEMM_LINE;
                gemm_step(&s, work);
                k += step;
            } while (k < K);
            i += rows;
        } while (i < M);
    }
}

static void gemm_product(const gemm_job *g, gemm_work *work)
{
    const size_t M = g->M, N = g->N, K = g->K, tail = N % R_WIDTH, whole = N - tail;
    const bool tall = M > 2 * R_WIDTH;
    if (tall && N < R_WIDTH) {
        gemm_narrow(g, work);
    } else if (whole && tail && tail <= R_WIDTH / 2 && (tall || g->packed)) {
        const gemm_job a = gemm_sub(g, 0, 0, 0, M, whole, K, g->packed),
                       b = gemm_sub(g, 0, whole, 0, M, tail, K, g->packed ? g->packed + whole * K : NULL);
        gemm_product(&a, work);
        gemm_product(&b, work);
    } else {
        const size_t part = gemm_part(K, GEMM_DEEP, 8);
        size_t k = 0;
        do {
            gemm_job deep = gemm_sub(g, 0, 0, k, M, N, gemm_min(part, K - k), g->packed ? g->packed + k * gemm_round(N, R_WIDTH) : NULL);
            if (k) deep.start = (gr_start){ g->C, g->c_row };
            gemm_deep(&deep, work);
            k += part;
        } while (k < K);
    }
}

/* scalar kernel gemm_run: it cuts; the arithmetic is in gemm_tile_1_1 and the others. */
KERNEL(void, gemm_run, const gemm_job *g, gemm_work *work) { gemm_product(g, work); }

#if GR_HOST
size_t gr__work_bytes(void) { return sizeof(gemm_work); }
size_t gr__gemm_packed_len(size_t N, size_t K) { return gemm_round(N, 16) * K; }

void gr__gemm_pack(int isa, size_t N, size_t K, gr_mat B, gr_real *P)
{
    static const gr_real none[1];
    if (N && K) gemm_run[isa](&(gemm_job){ 0, N, K, { none, 0, 0 }, B, P, false, P, 0, { NULL, 0 } }, NULL);
}

void gr__gemm_serial(int isa, size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, size_t ldc, gr_start start, void *work)
{
    if (!K) A.data = B.data = C; /* not read */
    if (M && N) gemm_run[isa](&(gemm_job){ M, N, K, A, B, NULL, false, C, ldc, start }, work);
}

void gr__gemm_serial_packed(int isa, size_t M, size_t N, size_t K, gr_mat A, const gr_real *P, gr_real *C, size_t ldc, gr_start start,
                            void *work)
{
    if (!K) A.data = P = C;
    if (M && N) gemm_run[isa](&(gemm_job){ M, N, K, A, { P, 0, 1 }, (gr_real *)P, true, C, ldc, start }, work);
}

/* The longer side of C, cut evenly over the threads; what is not cut is read by all. */
typedef struct {
    gr_tape *t;
    gemm_job g;
    size_t rows, columns;
} gemm_parts;

static void gemm_one_part(void *argument, size_t chunk, int thread)
{
    const gemm_parts *p = argument;
    const gemm_job *g = &p->g;
    const size_t i = p->rows < g->M ? chunk * p->rows : 0, j = p->rows < g->M ? 0 : chunk * p->columns;
    const gemm_job part = gemm_sub(g, i, j, 0, gemm_min(p->rows, g->M - i), gemm_min(p->columns, g->N - j), g->K, NULL);
    gemm_run[gr_isa(p->t)](&part, gr__work(p->t, thread));
}

void gr__gemm(gr_tape *t, size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, size_t ldc, gr_start start)
{
    if (!M || !N) return;
    if (!K) A.data = B.data = C;
    const size_t threads = (size_t)gr_tape_threads(t);
    gemm_parts p = { t, { M, N, K, A, B, NULL, false, C, ldc, start }, M, N };
    if (M >= N) p.rows = gemm_round((M + threads - 1) / threads, 8);
    else p.columns = gemm_round((N + threads - 1) / threads, GEMM_PANEL);
    const size_t chunks = M >= N ? (M + p.rows - 1) / p.rows : (N + p.columns - 1) / p.columns;
    gr_parallel(t, chunks, (double)M * (double)N * (double)K / 50, gemm_one_part, &p);
}
#endif
