/* tests/bench/work.c - make, run and free the work of a cell. */
#include "tests/bench/bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const bench_kind *bench_kind_find(const char *name)
{
    for (const bench_kind *k = bench_models; k->name; k++)
        if (!strcmp(k->name, name)) return k;
    for (const bench_kind *k = bench_operators; k->name; k++)
        if (!strcmp(k->name, name)) return k;
    return NULL;
}

/* An operator's name is its kind and its sizes, and f for forward or fb for forward and backward: "softmax 768x65 fb". */
static const char *name_of(const bench_cell *c, const bench_kind *kind)
{
    static char text[320];
    const char *sizes = kind->sizes;
    size_t at = (size_t)snprintf(text, sizeof text, "%.100s", c->name ? c->name : c->kind);
    for (size_t k = 0; !c->name && *sizes && k < BENCH_SIZES; k++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%c%zu", k ? 'x' : ' ', c->size[k]);
        sizes += strcspn(sizes, " ");
        sizes += strspn(sizes, " ");
    }
    if (c->mode == BENCH_FORWARD || c->mode == BENCH_BACKWARD) snprintf(text + at, sizeof text - at, c->mode == BENCH_FORWARD ? " f" : " fb");
    return text;
}
const char *bench_name(int i) { return name_of(&bench_cells[i], bench_kind_find(bench_cells[i].kind)); }

/* ---- Mistakes in the list ---- */

/* Whether the first n characters of word are one of words, which the character `between` separates. */
static bool one_of(const char *words, char between, const char *word, size_t n)
{
    const char ends[] = { between, 0 };
    for (const char *at = words; *at; at += strcspn(at, ends), at += *at == between)
        if (strcspn(at, ends) == n && !strncmp(at, word, n)) return true;
    return false;
}

const char *bench_cell_wrong(const bench_cell *c)
{
    static char text[512];
    const bench_kind *kind = bench_kind_find(c->kind);
    if (!kind) return snprintf(text, sizeof text, "no kind \"%s\"; models.c and operators.c have the kinds", c->kind), text;
    const char *name = name_of(c, kind), *sizes = kind->sizes;
    if (strpbrk(name, "\"\\")) return snprintf(text, sizeof text, "the name has a quotation mark or a backslash: %s", name), text;
    for (const char *word = c->sections; *word; word += strcspn(word, " "), word += strspn(word, " "))
        if (!one_of(BENCH_SECTIONS, '|', word, strcspn(word, " ")))
            return snprintf(text, sizeof text, "%s: no section \"%.*s\"; there are " BENCH_SECTIONS, name, (int)strcspn(word, " "), word), text;
    for (int k = 0; k < BENCH_SIZES; k++) {
        const size_t n = strcspn(sizes, " ");
        if (n && !c->size[k] && sizes[n - 1] != '?')
            return snprintf(text, sizeof text, "%s: %.*s is 0, and must be 1 or more; %s needs %s", name, (int)n, sizes, kind->name, kind->sizes), text;
        if (!n && c->size[k]) return snprintf(text, sizeof text, "%s: size %d is one too many; %s needs %s", name, k + 1, kind->name, kind->sizes), text;
        sizes += n + strspn(sizes + n, " ");
    }
    return NULL;
}

const char *bench_wrong(void)
{
    static char text[600];
    for (int i = 0; i < bench_cells_count; i++) {
        const char *wrong = bench_cell_wrong(&bench_cells[i]);
        if (wrong) return snprintf(text, sizeof text, "tests/bench/cells.c, cell %d: %s", i + 1, wrong), text;
    }
    return NULL;
}

static size_t count(gr_shape s)
{
    size_t n = 1;
    for (int i = 0; i < s.rank; i++) n *= s.dim[i];
    return n;
}

static uint32_t next(uint32_t *state) { return *state = *state * 1664525u + 1013904223u, *state >> 8; }

static gr_real *drawn(size_t n, uint32_t state)
{
    gr_real *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; x && i < n; i++) x[i] = (gr_real)next(&state) / (1 << 23) - 1;
    return x;
}

int bench_values(bench_work *w, const char *name, gr_shape shape)
{
    gr_real *x = drawn(count(shape), 12345 + (uint32_t)w->ins);
    if (x) w->in[w->ins] = (bench_array){ name, x, false, shape };
    return x ? w->ins++ : -1;
}

int bench_ints(bench_work *w, const char *name, gr_shape shape, size_t below)
{
    const size_t n = count(shape);
    int *x = malloc((n + 1) * sizeof *x);
    uint32_t state = 777 + (uint32_t)w->ins;
    for (size_t i = 0; x && i < n; i++) x[i] = (int)(next(&state) % (uint32_t)below);
    if (x) w->in[w->ins] = (bench_array){ name, x, true, shape };
    return x ? w->ins++ : -1;
}

/* ---- Operators: leaves, y, and backward from dy ---- */

/* dy repeats after PERIOD values, so that a copy of it reads a table that stays in the second cache. A prime: rows differ. */
enum { PERIOD = 16381 };
static gr_real *cotangent_values(size_t n)
{
    gr_real *dy = drawn(n, 99);
    for (size_t i = PERIOD; dy && i < n; i++) dy[i] = dy[i - PERIOD];
    return dy;
}

static const gr_real *cotangent_from;
static double cotangent_seconds;
static void cotangent_backward(gr_tape *t, const gr_node *n)
{
    const double begin = bench_now();
    gr_real *dy = gr_grad(t, n->in[0]);
    for (size_t left = n->in[0]->len, at_once; left; left -= at_once, dy += at_once) {
        at_once = left < PERIOD ? left : PERIOD;
        memcpy(dy, cotangent_from, at_once * sizeof *dy);
    }
    cotangent_seconds = bench_now() - begin;
}

/* One value whose gradient with respect to y is dy. In a network, the next operator writes dy, so the time of the copy does not count. */
static gr_tensor *cotangent(gr_tape *t, gr_tensor *y)
{
    static const gr_op op = { .name = "cotangent", .backward = cotangent_backward };
    return gr_record(t, &op, NULL, 0, GR_OUT(gr_zeros(t, GR_SCALAR)), GR_IN(y));
}

/* Leaves outlive a step, as tensors of the peers do, and with backward they want a gradient. Copies for each step would fill the cache, although
 * their time does not count. */
static gr_tensor *lasting(bench_work *w, int i, bool back)
{
    char name[16];
    snprintf(name, sizeof name, "leaf%d", i);
    const gr_shape shape = w->in[i].shape;
    gr_tensor *x = back ? gr_param(w->t, w->net, name, shape, gr_init_constant(0)) : gr_buffer(w->t, w->net, name, shape, 0);
    if (x) memcpy(x->data, w->in[i].data, x->len * sizeof(gr_real));
    return x;
}

static bool operator_step(bench_work *w)
{
    const bool back = w->cell->mode == BENCH_BACKWARD;
    gr_tape_reset(w->t);
    gr_module_zero_grad(w->net);
    const double begin = bench_now();
    for (int i = 0, leaves = 0; i < w->ins; i++) {
        if (w->in[i].ints) continue;
        gr_tensor **x = &w->leaf[leaves++];
        if (!*x) *x = lasting(w, i, back);
    }
    w->untimed = bench_now() - begin;
    w->y = w->kind->op(w, w->leaf);
    if (!w->y || !back) return !gr_failed(w->t);
    if (w->y->rank == 0) return gr_backward(w->t, w->y);
    if (!w->dy && !(w->dy = cotangent_values(w->y->len))) return gr_fail(w->t, NULL, "out of memory"), false;
    cotangent_from = w->dy, cotangent_seconds = 0;
    const bool good = gr_backward(w->t, cotangent(w->t, w->y));
    w->untimed += cotangent_seconds;
    return good;
}

/* Forward reads the leaves and writes y. Backward reads dy, and the leaves unless the operator is linear, and writes the gradient of each leaf. */
static void count_bytes(bench_work *w)
{
    double leaves = 0;
    for (int i = 0; i < w->ins; i++) leaves += (double)count(w->in[i].shape) * (w->in[i].ints ? sizeof(int) : sizeof(gr_real));
    const double y = (double)w->y->len * sizeof(gr_real);
    w->bytes = w->held = (w->kind->picks ? y : leaves) + y;
    if (w->cell->mode == BENCH_BACKWARD) w->bytes += y + leaves * (w->kind->linear ? 1 : 2), w->held *= 2, w->flop *= 3;
}

/* A network reads its parameters; Adam reads four values for each and writes three, and backward writes the gradient. */
static void count_network_bytes(bench_work *w)
{
    const double parameters = sizeof(gr_real) * (double)gr_module_parameters(w->net);
    w->bytes = parameters * (bench_trains(w) ? 8 : 1), w->held = parameters * (bench_trains(w) ? 4 : 1);
}

static double part(double done, double limit, double seconds) { return limit > 0 ? done / limit / seconds : 0; }
double bench_of_peak(const bench_work *w, double seconds) { return part(w->flop, bench_peak(gr_tape_threads(w->t)), seconds); }
double bench_of_bandwidth(const bench_work *w, double seconds)
{
    return part(w->bytes, bench_bandwidth(gr_tape_threads(w->t), w->held), seconds);
}

bench_work *bench_open(int i, int threads)
{
    bench_work *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->cell = &bench_cells[i], w->size = w->cell->size, w->kind = bench_kind_find(w->cell->kind);
    w->t = gr_tape_new(1, (&(gr_tape_config){ .threads = threads }));
    w->net = gr_module_new(w->t);
    if (w->kind->op) w->step = operator_step;
    if (!w->kind->make(w)) gr_fail(w->t, NULL, "out of memory");
    if (w->cell->mode == BENCH_INFER || w->cell->mode == BENCH_FORWARD) gr_tape_set_recording(w->t, false);
    if (w->cell->mode == BENCH_INFER) gr_tape_set_training(w->t, false);
    if (bench_trains(w) && !w->optim) w->optim = gr_adam_new(w->t, w->net, NULL);
    if (!w->kind->op && !w->bytes) count_network_bytes(w);
    if (w->kind->op && !gr_failed(w->t) && w->step(w)) count_bytes(w);
    return w;
}

bool bench_run(bench_work *w, size_t n, double *seconds)
{
    for (size_t i = 0; i < n; i++) {
        w->untimed = 0;
        const double begin = bench_now();
        if (gr_failed(w->t) || !w->step(w)) return false;
        const double took = bench_now() - begin - w->untimed;
        seconds[i] = took > 1e-9 ? took : 1e-9; /* the clock counts nanoseconds */
    }
    return true;
}

void bench_close(bench_work *w)
{
    if (!w) return;
    gr_tape_reset(w->t);
    gr_optim_free(w->optim), gr_module_free(w->net), gr_module_free(w->fused), gr_tape_free(w->t);
    for (int i = 0; i < w->ins; i++) free(w->in[i].data);
    free(w->dy), free(w);
}
