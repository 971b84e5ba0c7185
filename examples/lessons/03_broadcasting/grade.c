/* grade.c - the grader of lesson 3. */
#include "../grader.h"
#include "gradus.h"
#include <string.h>

bool my_shape(gr_shape a, gr_shape b, gr_shape *to);
size_t my_index(gr_shape large, size_t i, gr_shape small);
void my_sum_to(gr_shape large, const double *dy, gr_shape small, double *dx);

/* ---- The known mistakes ---- */

#define MISTAKES(M) \
    /* my_shape */ \
    M(shape_from_the_left, \
      "You compare the first axes. Shapes are compared from their last axes: [2, 3] and [3] fit, [2, 3] and [2] do not.") \
    M(ones_refused, "You refuse an axis of size 1 beside a larger one. Size 1 fits every size: [2, 1] and [2, 3] give [2, 3].") \
    M(missing_refused, "You refuse shapes of different ranks. An axis that is missing at the front counts as size 1: [2, 3] and [3] fit.") \
    M(anything_goes, "You refuse nothing. Two sizes that differ, and of which none is 1, do not fit: [2, 3] and [2].") \
    M(size_of_a, \
      "You take the size of a wherever a has the axis. If it is 1 there, the result has the size of b: [2, 1] and [2, 3] give [2, 3].") \
    M(rank_of_a, "You take the rank of a. The result has the larger of the two ranks: [3] and [2, 3] give [2, 3].") \
    M(larger_size, "You take the larger of two sizes. Take the one that is not 1: an axis may hold 0 values, and 0 beside 1 gives 0.") \
    M(rank_missing, "You do not write to->rank. It is the number of axes of the result: the larger of the two ranks.") \
    /* my_index */ \
    M(ones_move, "Your index moves along an axis on which the small tensor has size 1. There is one value there, so its index stays 0.") \
    M(index_from_the_left, "You match the small tensor's axes with the first axes of the large one. The last axes belong together.") \
    M(index_modulo, \
      "You take i % n, with n values in the small tensor. That is right for [2, 3] and [3], and wrong for [2, 3] and [2, 1].") \
    M(step_of_large, "You multiply the step by sizes of the large tensor. Neighbours along an axis of the small tensor are apart by the\n" \
                     "product of its own later sizes.") \
    M(step_stays_1, "Your step is 1 on every axis. In a tensor [2, 3] two neighbours along the first axis are 3 values apart.") \
    M(step_replaced, "Your step is the size of one axis. Neighbours are apart by the product of all later sizes: multiply the step.") \
    M(first_axis_first, \
      "You take the first axis out of i first, as if its neighbours lay side by side. The values along the last axis do: value\n" \
      "(r, c) of [2, 3] is number 3 r + c.") \
    M(i_not_divided, "You do not divide i by the size of the axis that is done, so every axis sees the index of the last one.") \
    /* my_sum_to */ \
    M(sum_assigned, \
      "You write dx[..] = .. where += is needed. Several values of dy belong to the same value of dx, and dx was not 0 before.") \
    M(averaged, \
      "You divide by the number of copies. The gradient is a sum: if a bias moves by 1, every row moves by 1, and the loss by the sum\n" \
      "of their gradients. If the loss is a mean, dy has been divided already.") \
    M(cleared, "You set dx to 0 first. Other uses of the same tensor have added their gradients to it before. Add yours to them.") \
    M(small_alone, "You read as many values of dy as dx has. Every value of dy belongs to some value of dx.") \
    M(sum_modulo, "You add dy[i] to dx[i % n]. That sums over the first axes, whichever axes the small shape lacks. Use my_index.") \
    M(wrong_axis, "You sum dy in runs of neighbours, over the last axes. Which axes to sum over depends on the small shape: those that " \
                  "it lacks, and\n" \
                  "those where its size is 1. Use my_index.")

GRADER_MISTAKES(MISTAKES);
static const unsigned of_shape = ones_move - 1, of_index = sum_assigned - ones_move, of_sum = 2 * wrong_axis - sum_assigned;

static size_t values(gr_shape s)
{
    size_t n = 1;
    for (int k = 0; k < s.rank; k++) n *= s.dim[k];
    return n;
}

/* Some pairs of shapes. The formulas and the learner write their answers one after another. */
typedef struct {
    const char *name;
    gr_shape a, b;
} pair;
typedef struct {
    int count;
    const pair *list;
} pairs;

/* ---- my_shape: for each pair whether it fits, the rank, and three sizes ---- */

enum { RECORD = 5 };
static const pair of_shapes[] = {
    { "[2, 3] + [2, 3]: fits, rank, sizes", { 2, { 2, 3 } }, { 2, { 2, 3 } } },
    { "[2, 3] + [3]: fits, rank, sizes", { 2, { 2, 3 } }, { 1, { 3 } } },
    { "[2, 3] + [2]: fits, rank, sizes", { 2, { 2, 3 } }, { 1, { 2 } } },
    { "[3] + [2, 3]: fits, rank, sizes", { 1, { 3 } }, { 2, { 2, 3 } } },
    { "[2, 3] + [2, 1]: fits, rank, sizes", { 2, { 2, 3 } }, { 2, { 2, 1 } } },
    { "[2, 1] + [2, 3]: fits, rank, sizes", { 2, { 2, 1 } }, { 2, { 2, 3 } } },
    { "[2, 3] + [4, 3]: fits, rank, sizes", { 2, { 2, 3 } }, { 2, { 4, 3 } } },
    { "[4, 1, 3] + [2, 1]: fits, rank, sizes", { 3, { 4, 1, 3 } }, { 2, { 2, 1 } } },
    { "[] + [2, 3]: fits, rank, sizes", { 0, { 0 } }, { 2, { 2, 3 } } },
    { "[0, 1] + [1, 3]: fits, rank, sizes", { 2, { 0, 1 } }, { 2, { 1, 3 } } },
};
enum { SHAPES = sizeof of_shapes / sizeof *of_shapes };
static const pairs shapes = { SHAPES, of_shapes };

static bool shape_of(unsigned m, gr_shape a, gr_shape b, gr_shape *to)
{
    to->rank = m & rank_of_a || a.rank > b.rank ? a.rank : b.rank;
    if (m & missing_refused && a.rank != b.rank) return false;
    for (int axis = 0; axis < to->rank; axis++) {
        const int i = m & shape_from_the_left ? axis : a.rank - to->rank + axis,
                  j = m & shape_from_the_left ? axis : b.rank - to->rank + axis;
        const bool in_a = i >= 0 && i < a.rank, in_b = j >= 0 && j < b.rank;
        const size_t n = in_a ? a.dim[i] : 1, k = in_b ? b.dim[j] : 1;
        const bool fits = n == k || (m & ones_refused ? !(in_a && in_b) : n == 1 || k == 1);
        if (!fits && !(m & anything_goes)) return false;
        to->dim[axis] = m & size_of_a ? (in_a ? n : k) : m & larger_size ? (n > k ? n : k) : n == 1 ? k : n;
    }
    if (m & rank_missing) to->rank = 0;
    return true;
}

static void record(bool fits, gr_shape s, double *answer)
{
    for (int k = 0; k < RECORD; k++) answer[k] = 0;
    if (!fits) return;
    answer[0] = 1, answer[1] = s.rank;
    for (int k = 0; k < s.rank && k < 3; k++) answer[2 + k] = (double)s.dim[k];
}

static void formula_shapes(unsigned m, const void *data, double *answer)
{
    const pairs *p = data;
    for (int i = 0; i < p->count; i++) {
        gr_shape s = { 0 };
        const bool fits = shape_of(m, p->list[i].a, p->list[i].b, &s);
        record(fits, s, answer + i * RECORD);
    }
}

/* ---- my_index and my_sum_to: a is the large shape, b the small one ---- */

static const pair fitting[] = {
    { "[2, 3] and [3]", { 2, { 2, 3 } }, { 1, { 3 } } },
    { "[2, 3] and [2, 1]", { 2, { 2, 3 } }, { 2, { 2, 1 } } },
    { "[2, 3, 2] and [3, 1]", { 3, { 2, 3, 2 } }, { 2, { 3, 1 } } },
    { "[2, 2, 2] and [2, 1, 2]", { 3, { 2, 2, 2 } }, { 3, { 2, 1, 2 } } },
    { "[2, 3] and []", { 2, { 2, 3 } }, { 0, { 0 } } },
    { "[2, 3, 2] and [2, 3, 2]", { 3, { 2, 3, 2 } }, { 3, { 2, 3, 2 } } },
};
enum { FITTING = sizeof fitting / sizeof *fitting };
static const pairs several = { FITTING, fitting };

static size_t index_of(unsigned m, gr_shape large, size_t i, gr_shape small)
{
    const int missing = m & index_from_the_left ? 0 : large.rank - small.rank;
    size_t at = 0, step = 1;
    if (m & index_modulo) return i % values(small);
    for (int k = 0; k < large.rank; k++) {
        const int axis = m & first_axis_first ? k : large.rank - 1 - k, j = axis - missing;
        const bool has = j >= 0 && j < small.rank;
        const size_t size = has ? small.dim[j] : 1, index = i % large.dim[axis];
        if (m & ones_move ? has : size != 1) at += index * step;
        if (m & step_replaced && size != 1) step = size;
        else if (!(m & step_stays_1)) step *= m & step_of_large ? large.dim[axis] : size;
        if (!(m & i_not_divided)) i /= large.dim[axis];
    }
    return at;
}

static void formula_indices(unsigned m, const void *data, double *answer)
{
    const pairs *p = data;
    for (int k = 0; k < p->count; k++)
        for (size_t i = 0; i < values(p->list[k].a); i++) *answer++ = (double)index_of(m, p->list[k].a, i, p->list[k].b);
}

static double dy_of(size_t i) { return (double)i + 1; }
static double dx_before(size_t i) { return 0.5 * (double)i - 0.3; }

static void formula_sums(unsigned m, const void *data, double *answer)
{
    const pairs *p = data;
    for (int k = 0; k < p->count; k++) {
        const gr_shape large = p->list[k].a, small = p->list[k].b;
        const size_t n = values(small), copies = values(large) / n;
        for (size_t j = 0; j < n; j++) answer[j] = m & cleared ? 0 : dx_before(j);
        for (size_t i = 0; i < (m & small_alone ? n : values(large)); i++) {
            const size_t j = m & small_alone ? i : m & sum_modulo ? i % n : m & wrong_axis ? i / copies : index_of(0, large, i, small);
            answer[j] = (m & sum_assigned ? 0 : answer[j]) + dy_of(i) / (m & averaged ? (double)copies : 1);
        }
        answer += n;
    }
}

/* ---- The learner's numbers ---- */

static void learner_shapes(const pairs *p, double *got)
{
    for (int i = 0; i < p->count; i++) {
        gr_shape s = { 0 };
        const bool fits = my_shape(p->list[i].a, p->list[i].b, &s);
        record(fits, s, got + i * RECORD);
    }
}

static void learner_indices(const pairs *p, double *got)
{
    for (int k = 0; k < p->count; k++)
        for (size_t i = 0; i < values(p->list[k].a); i++) *got++ = (double)my_index(p->list[k].a, i, p->list[k].b);
}

static void learner_sums(const pairs *p, double *got)
{
    double dy[32], dx[32];
    for (int k = 0; k < p->count; k++) {
        const size_t n = values(p->list[k].b);
        for (size_t i = 0; i < 32; i++) dy[i] = dy_of(i), dx[i] = dx_before(i);
        my_sum_to(p->list[k].a, dy, p->list[k].b, dx);
        memcpy(got, dx, n * sizeof *got);
        got += n;
    }
}

/* Judge all pairs together, and show the first one that is wrong. */
static void judge(const char *name, grader_formula *f, unsigned among, void (*learner)(const pairs *p, double *got), const pairs *all,
                  size_t n)
{
    double got[GRADER_MOST], one[GRADER_MOST], right[GRADER_MOST], before[GRADER_MOST] = { 0 };
    learner(all, got);
    for (int k = 0, at = 0; f == formula_sums && k < all->count; k++)
        for (size_t i = 0; i < values(all->list[k].b); i++) before[at++] = dx_before(i);
    for (int k = 0, at = 0; k < all->count; k++) {
        const pair *p = all->list + k;
        const pairs alone = { 1, p };
        const size_t m = f == formula_shapes ? RECORD : f == formula_indices ? values(p->a) : values(p->b);
        learner(&alone, one), f(0, &alone, right);
        at += (int)m;
        if (grader_same(one, right, m)) continue;
        const grader_result whole = { name, p->name, f, all, among, 1, n, got, f == formula_sums ? before : NULL, .unlike = true },
                            shown = { name, p->name, f, &alone, among, 1, m, one, f == formula_sums ? before + at - m : NULL };
        grader_judge(list, &whole, &shown);
    }
}

/* ---- The last word: y = a b, made of the learner's functions ---- */

static void product_backward(gr_tape *t, const gr_node *n)
{
    const gr_tensor *y = n->out[0];
    const gr_real *dy = gr_grad(t, y);
    for (int k = 0; k < 2; k++) {
        const gr_tensor *mine = n->in[k], *other = n->in[1 - k];
        gr_real *dx = gr_grad(t, mine), part[64];
        for (size_t i = 0; i < y->len; i++) part[i] = dy[i] * other->data[my_index(gr_shape_of(y), i, gr_shape_of(other))];
        if (dx) my_sum_to(gr_shape_of(y), part, gr_shape_of(mine), dx);
    }
}
static const gr_op product_op = { .name = "product", .backward = product_backward };

static gr_tensor *product(gr_tape *t, gr_tensor *const *in, void *argument)
{
    gr_shape s = { 0 };
    (void)argument;
    if (!my_shape(gr_shape_of(in[0]), gr_shape_of(in[1]), &s)) return NULL;
    gr_tensor *y = gr_empty(t, s);
    for (size_t i = 0; y && i < y->len; i++)
        y->data[i] = in[0]->data[my_index(s, i, gr_shape_of(in[0]))] * in[1]->data[my_index(s, i, gr_shape_of(in[1]))];
    return gr_record(t, &product_op, NULL, 0, GR_OUT(y), GR_IN(in[0], in[1]));
}

int main(int argc, char **argv)
{
    double begun[GRADER_MOST] = { 0 }, untouched[GRADER_MOST] = { 0 };
    size_t indices = 0, sums = 0;
    for (int k = 0; k < FITTING; k++) indices += values(fitting[k].a), sums += values(fitting[k].b);
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(list, formula_shapes, &shapes, of_shape, (size_t)SHAPES * RECORD) +
               grader_ambiguous(list, formula_indices, &several, of_index, indices) +
               grader_ambiguous(list, formula_sums, &several, of_sum, sums);
    grader_start("Lesson 3: broadcasting");

    grader_step("the shape of a + b");
    learner_shapes(&shapes, begun);
    if (!memcmp(begun, untouched, sizeof begun))
        grader_stop("not_begun", "my_shape still refuses everything. Begin at TODO 1 in exercise.c: about seven lines.");
    judge("the shape", formula_shapes, of_shape, learner_shapes, &shapes, (size_t)SHAPES * RECORD);

    grader_step("the index in the small tensor");
    memset(begun, 0, sizeof begun), learner_indices(&several, begun);
    if (!memcmp(begun, untouched, sizeof begun))
        grader_stop("index_not_begun", "The shapes are right. my_index still returns 0: go on at TODO 2, about eight lines.");
    judge("the index for each i", formula_indices, of_index, learner_indices, &several, indices);

    grader_step("the gradient of the small tensor");
    learner_sums(&several, begun);
    for (int k = 0, at = 0; k < FITTING; k++)
        for (size_t i = 0; i < values(fitting[k].b); i++) untouched[at++] = dx_before(i);
    if (!memcmp(begun, untouched, sums * sizeof *begun))
        grader_stop("sum_not_begun", "The indices are right. my_sum_to adds nothing yet: go on at TODO 3, about three lines.");
    judge("dx for dy = 1, 2, 3 ..", formula_sums, of_sum, learner_sums, &several, sums);

    grader_step("gr_gradcheck: a product of two broadcast tensors");
    grader_gradcheck("product", product, NULL, (gr_gradcheck_input[]){ { .shape = GR_SHAPE(3, 1, 2) }, { .shape = GR_SHAPE(4, 1) } }, 2);
    grader_gradcheck("product", product, NULL, (gr_gradcheck_input[]){ { .shape = GR_SCALAR }, { .shape = GR_SHAPE(2, 1, 3, 1) } }, 2);
    return grader_end(
        "All right. gradus does the same in ops/broadcast.c, with several values at a time: compare gr__broadcast with yours.");
}
