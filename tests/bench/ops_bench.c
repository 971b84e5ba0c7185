/* tests/bench/ops_bench.c - nanoseconds per element, on one thread, of the elementwise operators, broadcasting, reductions and copies.
 *
 *     ops_bench [PART_OF_A_NAME]
 *
 * A line has the name, forward, and forward and backward: the fastest of many steps on 65,536 elements. tests/bench/compare_ops.py
 * compares it with PyTorch. */
#include "gradus.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ROWS = 512, COLUMNS = 128, N = ROWS * COLUMNS, STEPS = 300 };

typedef struct {
    const char *name;
    gr_tensor *(*f)(gr_tape *t, gr_tensor *x, gr_tensor *row, gr_tensor *column);
    double low, high;
} entry;

#define CASE(name, call) \
    static gr_tensor *name##_case(gr_tape *t, gr_tensor *x, gr_tensor *row, gr_tensor *column) \
    { \
        (void)row, (void)column; \
        return call; \
    }
#define UNARY(op, ...) CASE(op, gr_##op(t, x))
#define UNARY_FAR UNARY
#define UNARY_1(op, a, y, dx, value, ...) CASE(op, gr_##op(t, x, value))
#define UNARY_2(op, a, b, y, dx, value, other, ...) CASE(op, gr_##op(t, x, value, other))
#define BINARY(op, ...) CASE(op, gr_##op(t, x, x))
#define COMPARE(op, ...) CASE(op, gr_##op(t, x, x))
#include "ops/binary.def"
#include "ops/unary.def"
CASE(mul_row, gr_mul(t, x, row))
CASE(mul_column, gr_mul(t, x, column))
CASE(mul_scalar, gr_mul(t, x, gr_scalar(t, 0.5)))
CASE(where, gr_where(t, gr_gt(t, x, gr_scalar(t, 1)), x, row))
CASE(sum, gr_sum(t, x, GR_ALL_AXES, false))
CASE(sum_rows, gr_sum(t, x, GR_AXES(1), false))
CASE(sum_columns, gr_sum(t, x, GR_AXES(0), false))
CASE(mean_rows, gr_mean(t, x, GR_AXES(1), false))
CASE(var_rows, gr_var(t, x, GR_AXES(1), 1, false))
CASE(max_rows, gr_max(t, x, GR_AXES(1), false))
CASE(max_columns, gr_max(t, x, GR_AXES(0), false))
CASE(prod_rows, gr_prod(t, x, GR_AXES(1), false))
CASE(logsumexp_rows, gr_logsumexp(t, x, GR_AXES(1), false))
CASE(vector_norm_rows, gr_vector_norm(t, x, 2, GR_AXES(1), false))
CASE(softmax_rows, gr_softmax(t, x, 1))
CASE(softmax_columns, gr_softmax(t, x, 0))
CASE(log_softmax_rows, gr_log_softmax(t, x, 1))
CASE(transpose, gr_transpose(t, x, 0, 1))
CASE(permute_102, gr_permute(t, gr_reshape(t, x, GR_SHAPE(16, 32, COLUMNS)), GR_AXES(1, 0, 2)))
CASE(flip, gr_flip(t, x, GR_AXES(1)))
CASE(narrow, gr_narrow(t, x, 1, 32, 64))
CASE(cat, gr_cat(t, ((gr_tensor *[]){ x, x }), 2, 1))

static const entry entries[] = {
#define UNARY(op, ...) { #op, op##_case, 0.5, 2 },
#define UNARY_FAR UNARY
#define UNARY_1 UNARY
#define UNARY_2 UNARY
#define BINARY UNARY
#define COMPARE UNARY
#include "ops/binary.def"
#include "ops/unary.def"
#define MORE(op) { #op, op##_case, 0.5, 2 }
    MORE(mul_row), MORE(mul_column), MORE(mul_scalar), MORE(where), MORE(sum), MORE(sum_rows), MORE(sum_columns), MORE(mean_rows), MORE(var_rows),
    MORE(max_rows), MORE(max_columns), MORE(prod_rows), MORE(logsumexp_rows), MORE(vector_norm_rows), MORE(transpose), MORE(permute_102), MORE(flip),
    MORE(narrow), MORE(cat), MORE(softmax_rows), MORE(softmax_columns), MORE(log_softmax_rows),
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* x, row and column are leaves; forward[0] and forward[1] are the fastest times without and with backward */
static bool measure(gr_tape *t, const entry *e, double best[2])
{
    static gr_real values[N], dy[2 * N];
    for (size_t i = 0; i < N; i++) values[i] = (gr_real)(e->low + (e->high - e->low) * (double)(i * 7919 % N) / N);
    for (size_t i = 0; i < 2 * N; i++) dy[i] = (gr_real)0.5;
    for (int back = 0; back < 2; back++) {
        best[back] = 1;
        for (int step = 0; step < STEPS; step++) {
            gr_tape_reset(t);
            gr_tensor *x = gr_want_grad(t, gr_input(t, values, GR_SHAPE(ROWS, COLUMNS)));
            gr_tensor *row = gr_want_grad(t, gr_input(t, values, GR_SHAPE(COLUMNS)));
            gr_tensor *column = gr_want_grad(t, gr_input(t, values, GR_SHAPE(ROWS, 1)));
            const double start = seconds();
            gr_tensor *y = e->f(t, x, row, column);
            if (back && gr_tape_nodes(t)) gr_backward_from(t, y, dy);
            const double took = seconds() - start;
            if (took < best[back]) best[back] = took;
        }
    }
    return !gr_failed(t);
}

int main(int argc, char **argv)
{
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t k = 0; k < sizeof entries / sizeof *entries; k++) {
        double best[2];
        if (argc > 1 && !strstr(entries[k].name, argv[1])) continue;
        if (!measure(t, &entries[k], best)) break;
        printf("%-16s %8.3f %8.3f\n", entries[k].name, best[0] * 1e9 / N, best[1] * 1e9 / N);
    }
    if (gr_failed(t)) fprintf(stderr, "%s\n", gr_message(t));
    const int code = gr_failed(t);
    gr_tape_free(t);
    return code;
}
