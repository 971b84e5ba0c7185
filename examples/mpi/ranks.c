/* examples/mpi/ranks.c - sums over the ranks of an MPI job in a fixed order. */
#include "examples/mpi/ranks.h"
#include "core/op.h"
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD
#define REAL (sizeof(gr_real) == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE)

ranks ranks_start(int *argc, char ***argv)
{
    ranks r = { 0 };
    MPI_Init(argc, argv);
    MPI_Comm_rank(WORLD, &r.rank), MPI_Comm_size(WORLD, &r.ranks);
    return r;
}

void ranks_end(void) { MPI_Finalize(); }

/* ---- Sharing ---- */

/* The first round of the exchange is among 2 ranks, or among all if their number is odd. */
static size_t round_size(size_t ranks_left) { return ranks_left % 2 ? ranks_left : 2; }

static bool can_share(size_t shards, size_t n)
{
    const size_t count = shards / n;
    return n == 1 || (shards % n == 0 && (count & (count - 1)) == 0);
}

static bool refuse(gr_tape *t, const ranks *r, size_t shards)
{
    char fit[200] = "";
    size_t length = 0;
    for (size_t n = 1; n <= shards && length < sizeof fit - 24; n++)
        if (can_share(shards, n)) length += (size_t)snprintf(fit + length, sizeof fit - length, "%s%zu", length ? ", " : "", n);
    return gr_fail_as(t, GR_MISUSE, "", "%d ranks cannot share %zu shards: the shards of a rank must be a power of 2, so the number of ranks must be one of %s",
                      r->ranks, shards, fit);
}

bool ranks_share(gr_tape *t, ranks *r, size_t shards, size_t len)
{
    const size_t n = (size_t)r->ranks;
    if (gr_failed(t)) return false;
    if (!can_share(shards, n)) return refuse(t, r, shards);
    if (len > INT_MAX) return gr_fail_as(t, GR_MISUSE, "", "MPI sends at most %d numbers in a message; got %zu", INT_MAX, len);
    r->count = shards / n, r->first = r->count * (size_t)r->rank, r->len = len;
    r->spare_len = n == 1 ? 0 : (round_size(n) == 2 ? len / 2 + 1 : len) + n; /* parts of a vector differ by 1 in length */
    for (size_t k = r->count; k; k /= 2) r->room++;
    for (size_t k = 0; k < r->room; k++) r->sum[k] = gr_memory_new(gr_tape_allocator(t), len * sizeof **r->sum);
    if (n > 1) r->spare = gr_memory_new(gr_tape_allocator(t), r->spare_len * sizeof *r->spare);
    bool made = n == 1 || r->spare;
    for (size_t k = 0; k < r->room; k++) made = made && r->sum[k];
    return made || gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: %zu vectors of %zu numbers for the sums of gradients", r->room + (n > 1), len);
}

void ranks_free(gr_tape *t, ranks *r)
{
    for (size_t k = 0; k < r->room; k++) gr_memory_free(gr_tape_allocator(t), r->sum[k], r->len * sizeof **r->sum);
    gr_memory_free(gr_tape_allocator(t), r->spare, r->spare_len * sizeof *r->spare);
    r->room = 0, r->spare = NULL;
}

/* ---- The tree ---- */

static void add(gr_real *restrict a, const gr_real *restrict b, size_t n)
{
    for (size_t i = 0; i < n; i++) a[i] += b[i];
}

gr_real *ranks_next(ranks *r) { return r->sum[r->depth]; }

/* Two sums of the same number of shards are added at once. */
void ranks_add(ranks *r)
{
    r->depth++;
    for (size_t n = ++r->added; n % 2 == 0; n /= 2) r->depth--, add(r->sum[r->depth - 1], r->sum[r->depth], r->len);
}

/* One round: q ranks, `stride` apart, have a sum each over the same part [low, high) of the vector. Afterwards each has 1 / q of this part, summed over all q. */
typedef struct { size_t q, stride, low, high; } part_round;

static size_t part(const part_round *x, size_t i) { return x->low + (x->high - x->low) * i / x->q; }
static size_t digit(const ranks *r, const part_round *x) { return (size_t)r->rank / x->stride % x->q; }
static int member(const ranks *r, const part_round *x, size_t i) { return r->rank + ((int)i - (int)digit(r, x)) * (int)x->stride; }

static void scatter_and_add(ranks *r, const part_round *x, gr_real *v)
{
    const size_t me = digit(r, x), q = x->q, len = part(x, me + 1) - part(x, me);
    gr_real *from[q];
    from[me] = v + part(x, me);
    for (size_t k = 1; k < q; k++) {
        const size_t to = (me + k) % q, source = (me + q - k) % q;
        from[source] = r->spare + (k - 1) * len;
        MPI_Sendrecv(v + part(x, to), (int)(part(x, to + 1) - part(x, to)), REAL, member(r, x, to), 0, from[source], (int)len, REAL,
                     member(r, x, source), 0, WORLD, MPI_STATUS_IGNORE);
    }
    for (size_t d = 1; d < q; d *= 2)
        for (size_t k = 0; k + d < q; k += 2 * d) {
            gr_real *const a = from[k], *const b = from[k + d], *const mine = v + part(x, me);
            from[k] = b == mine ? b : a; /* a + b and b + a have the same bits, so the sum can stay in v */
            add(from[k], b == mine ? a : b, len);
        }
}

static void gather(const ranks *r, const part_round *x, gr_real *v)
{
    const size_t me = digit(r, x), q = x->q;
    for (size_t k = 1; k < q; k++) {
        const size_t to = (me + k) % q, source = (me + q - k) % q;
        MPI_Sendrecv(v + part(x, me), (int)(part(x, me + 1) - part(x, me)), REAL, member(r, x, to), 1, v + part(x, source),
                     (int)(part(x, source + 1) - part(x, source)), REAL, member(r, x, source), 1, WORLD, MPI_STATUS_IGNORE);
    }
}

/* Recursive halving, then doubling: halves of the vector with the neighbour, quarters with the rank 2 away, and so on; an odd number that remains
 * takes one round among all of them. */
gr_real *ranks_sum(ranks *r)
{
    for (; r->depth > 1; r->depth--) add(r->sum[r->depth - 2], r->sum[r->depth - 1], r->len);
    gr_real *const v = r->sum[0];
    part_round x[RANKS_DEPTH];
    size_t rounds = 0, low = 0, high = r->len;
    for (size_t left = (size_t)r->ranks, stride = 1; left > 1; rounds++) {
        const part_round now = { round_size(left), stride, low, high };
        x[rounds] = now;
        scatter_and_add(r, &now, v);
        low = part(&now, digit(r, &now)), high = part(&now, digit(r, &now) + 1);
        left /= now.q, stride *= now.q;
    }
    while (rounds) gather(r, &x[--rounds], v);
    r->depth = r->added = 0;
    return v;
}

/* ---- Agreement ---- */

static int first_rank(const ranks *r, bool yes) /* the first that says yes; r->ranks if none does */
{
    int mine = yes ? r->rank : r->ranks, first;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, WORLD);
    return first;
}

bool ranks_agree(gr_tape *t, const ranks *r, const char *what, uint64_t value)
{
    const int failed = first_rank(r, gr_failed(t));
    if (failed < r->ranks) {
        char text[1000];
        int code = gr_error_code(t);
        snprintf(text, sizeof text, "%s", gr_message(t));
        MPI_Bcast(&code, 1, MPI_INT, failed, WORLD), MPI_Bcast(text, sizeof text, MPI_CHAR, failed, WORLD);
        return gr_failed(t) ? false : gr_fail_as(t, (gr_error)code, "", "rank %d: %s", failed, text);
    }
    uint64_t of_rank_0 = value;
    MPI_Bcast(&of_rank_0, 1, MPI_UINT64_T, 0, WORLD);
    const int differs = first_rank(r, value != of_rank_0);
    return differs == r->ranks || gr_fail_as(t, GR_MISUSE, "", "rank %d and rank 0 do not have the same %s", differs, what);
}

int ranks_code(int code)
{
    MPI_Allreduce(MPI_IN_PLACE, &code, 1, MPI_INT, MPI_MAX, WORLD);
    return code;
}

void ranks_total(double *x, size_t n) { MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_DOUBLE, MPI_SUM, WORLD); }
void ranks_most(double *x, size_t n) { MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_DOUBLE, MPI_MAX, WORLD); }
void ranks_wait(void) { MPI_Barrier(WORLD); }
