/* tests/bench/bench.h - the benchmark's workloads. cells.c lists them; `make bench` times them alone (main.c), and `make bench-peers` loads the
 * same code as a shared library (library.c) and times them in turns with other frameworks.
 *
 * A cell is one line of the tables: a kind ("lstm"), its sizes, and a mode. bench_open makes its networks and its data; each run is one
 * training step, one inference, or one operator. */
#ifndef BENCH_H
#define BENCH_H
#include "gradus.h"
#include <stdbool.h>
#include <stddef.h>

enum { BENCH_SIZES = 8, BENCH_PARTS = 4 };
/* bench-peers alone measures the last two. */
#define BENCH_SECTIONS "steps|operators|optimizers|inference|growth|memory|start-up"

typedef enum { BENCH_TRAIN, BENCH_INFER, BENCH_FORWARD, BENCH_BACKWARD } bench_mode; /* BENCH_BACKWARD: forward and backward */

typedef struct {
    const char *sections; /* "steps memory": the sections in which it appears */
    bench_mode mode;
    const char *kind, *name;   /* in an operator's cell, name is NULL: it is made from kind and sizes */
    size_t size[BENCH_SIZES];  /* bench_kind.sizes has their names */
} bench_cell;
extern const bench_cell bench_cells[];
extern const int bench_cells_count;

typedef struct bench_work bench_work;
typedef struct {
    const char *name, *sizes; /* "lstm", "batch time in hidden norm?"; a size with ? may be 0 */
    bool (*make)(bench_work *w);
    gr_tensor *(*op)(bench_work *w, gr_tensor *const *x); /* operators: y from the leaves */
    bool linear; /* operators: backward reads dy alone */
    bool picks;  /* and forward reads no more than it writes */
} bench_kind;
const bench_kind *bench_kind_find(const char *name); /* NULL when there is none */
extern const bench_kind bench_models[], bench_operators[]; /* each ends with a name of NULL */

/* What is wrong with a cell, or NULL: a kind or a section that does not exist, a name with a quotation mark, too few or too many sizes. */
const char *bench_cell_wrong(const bench_cell *c);
/* The first wrong cell of the list and what is wrong with it, or NULL. Call it first: the functions below need a list without mistakes. */
GR_API const char *bench_wrong(void);

/* Values that the other frameworks start from or compare with. */
typedef struct {
    const char *name;
    void *data; /* gr_real, or int where ints is set */
    bool ints;
    gr_shape shape;
} bench_array;

struct bench_work {
    const bench_cell *cell;
    const bench_kind *kind;
    const size_t *size;
    gr_tape *t;
    gr_module *net, *fused;      /* fused: convolutions that an inference runs instead of those of net, with their norms */
    gr_optim *optim;
    bool (*step)(bench_work *w); /* one run */
    void *part[BENCH_PARTS];     /* the modules that step calls */
    bench_array in[BENCH_PARTS]; /* inputs: free() frees their data */
    int ins;
    gr_tensor *leaf[BENCH_PARTS], *y;
    gr_real *dy;                 /* operators: what backward starts from */
    double loss;
    double untimed;              /* seconds of the last run that do not count: making the leaves of an operator, and copying dy */
    double flop, bytes, held;    /* of a run: the arithmetic of its products; the least memory traffic; the working set */
};

/* Make the work of cell i. NULL when there is no memory. Another failure is in gr_message(w->t). */
GR_API bench_work *bench_open(int i, int threads);
GR_API void bench_close(bench_work *w);
/* Run n times; seconds[i] gets the time of run i, at least 1e-9. False if gradus reports an error. */
GR_API bool bench_run(bench_work *w, size_t n, double *seconds);
const char *bench_name(int i); /* valid until the next call */
double bench_now(void);

/* For the makers: an input of values in [-1, 1), and one of integers 0 .. below-1. Both return the number of the input, or -1. */
int bench_values(bench_work *w, const char *name, gr_shape shape);
int bench_ints(bench_work *w, const char *name, gr_shape shape, size_t below);
static inline bool bench_trains(const bench_work *w) { return w->cell->mode == BENCH_TRAIN; }

/* What the machine can do with this many threads: FMA arithmetic in flop per second, and reading plus writing a working set of this many bytes,
 * in bytes per second, or 0 without the memory to measure it. Both are measured at the first call. */
GR_API double bench_peak(int threads);
GR_API double bench_bandwidth(int threads, double bytes);
/* The part of these limits that w reaches if a run takes this many seconds; 0 when the limit is not known. w's arithmetic is that of the plain
 * formula of a product or a convolution, so that an algorithm that needs less of it, as Winograd's, can exceed 1. */
GR_API double bench_of_peak(const bench_work *w, double seconds);
GR_API double bench_of_bandwidth(const bench_work *w, double seconds);

/* ---- For peers/ours.py, which loads the shared library: library.c ---- */

GR_API int bench_count(void);
GR_API const char *bench_describe(int i); /* the cell as a JSON object, valid until the next call */
GR_API const char *bench_message(const bench_work *w); /* "" while all is well */
GR_API double bench_loss(const bench_work *w); /* of the last run */
GR_API int bench_real_bytes(void);
GR_API const char *bench_version(void); /* of gradus: "0.1.0" */

/* Look at array i of a kind: 'p' parameters, 'i' inputs, 'y' the result of the last run, 'd' what backward starts from, 'g' the gradient of leaf i.
 * Results and gradients are valid until the next run. False when there is no such array. */
GR_API bool bench_look(bench_work *w, char what, int i, bench_array *out);
#endif
