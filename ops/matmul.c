/* ops/matmul.c - the matrix product, over batches of matrices and for vectors, and linear, a product with a bias.   Derivation: ops/derivations.md
 *
 *     matmul     c = a b              a [.., M, K]   b [.., K, N]   c [.., M, N]      ' is the transpose
 *                da = dc b'           db = a' dc
 *     linear     y = x w' + bias      x [rows, I]   w [O, I]   bias [O]   y [rows, O]
 *                dx = dy w            dw = dy' x           dbias = the sum of dy's rows
 *
 * core/gemm.h computes every product. It starts its sums from the bias, and in backward from the gradient so far, if there is one, so that adding
 * costs no pass of its own. Where a or b was broadcast over the batch, its gradient is the sum over the batch, in ascending order.
 * matmul_t reads a or b as the transpose of what is stored: nothing is copied.
 * Shapes: as above.   Kinks: none.   Saved: the sizes.   Source: none. */
#include "core/gemm.h"
#include "core/kernel.h"
#include "ops/broadcast.h"
#include "ops/ops.h"

/* Of two vectors. Its sums are shorter than the chain of core/gemm.h, and so is its error. */
KERNEL(void, dot_forward, gr_real *c, const gr_real *restrict a, const gr_real *restrict b, size_t n) 
{
    gr_real sum = 0;
    for (size_t m; n; n -= m, a += m, b += m) m = n < R_BLOCK ? n : R_BLOCK, sum += DOT(i, m, a[i], b[i]);
    *c = sum;
}

#if GR_HOST

/* ---- matmul ---- */

typedef struct {
    size_t M, N, K, matrices;  /* matrices: how many c has */
    bool ta, tb;               /* a, b is stored transposed */
    gr__runs a, b;             /* c's leading axes, and which of them a and b have */
} matmul_saved;

/* What computes c, da or db, matrix by matrix. */
typedef struct {
    gr_tape *t;
    const matmul_saved *s;
    const gr_real *a, *b, *dc;
    gr_real *out;
    bool fresh; /* out is a gradient that is not cleared yet: the first product starts from 0 */
    bool alone; /* there is one matrix: the threads share it. Several are handed out */
} matmul_call;

/* Matrix number i of rows x columns, as it is stored or transposed. */
static gr_mat matmul_matrix(const gr_real *data, size_t i, size_t rows, size_t columns, bool transposed)
{
    data += i * rows * columns;
    return transposed ? (gr_mat){ data, 1, rows } : (gr_mat){ data, columns, 1 };
}
static gr_mat matmul_turned(gr_mat A) { return (gr_mat){ A.data, A.col, A.row }; }

/* The matrices behind matrix r of c. */
static gr_mat matmul_a(const matmul_call *c, size_t r) { return matmul_matrix(c->a, gr__runs_small(&c->s->a, r, NULL), c->s->M, c->s->K, c->s->ta); }
static gr_mat matmul_b(const matmul_call *c, size_t r) { return matmul_matrix(c->b, gr__runs_small(&c->s->b, r, NULL), c->s->K, c->s->N, c->s->tb); }
static gr_mat matmul_dc(const matmul_call *c, size_t r) { return matmul_matrix(c->dc, r, c->s->M, c->s->N, false); }

/* C [rows, columns] = A B, or += A B; A has n columns. With turned, C holds the transpose, which is B' A'. */
static void matmul_product(const matmul_call *c, int thread, size_t rows, size_t columns, size_t n, gr_mat A, gr_mat B, gr_real *C, bool turned, bool add)
{
    if (turned) {
        matmul_product(c, thread, columns, rows, n, matmul_turned(B), matmul_turned(A), C, false, add);
        return;
    }
    const gr_start start = { add ? C : NULL, columns };
    if (c->alone) gr__gemm(c->t, rows, columns, n, A, B, C, columns, start);
    else gr__gemm_serial(gr_isa(c->t), rows, columns, n, A, B, C, columns, start, gr__work(c->t, thread));
}

static void matmul_c(void *argument, size_t i, int thread) /* c = a b */
{
    const matmul_call *c = argument;
    const matmul_saved *s = c->s;
    matmul_product(c, thread, s->M, s->N, s->K, matmul_a(c, i), matmul_b(c, i), c->out + i * s->M * s->N, false, false);
}

static void matmul_da(void *argument, size_t i, int thread) /* da += dc b', for each matrix of c that matrix i of a was used for */
{
    const matmul_call *c = argument;
    const matmul_saved *s = c->s;
    for (size_t j = 0, n = gr__runs_count(&s->a, false); j < n; j++) {
        const size_t r = gr__runs_large(&s->a, i, j);
        matmul_product(c, thread, s->M, s->K, s->N, matmul_dc(c, r), matmul_turned(matmul_b(c, r)), c->out + i * s->M * s->K, s->ta, j || !c->fresh);
    }
}

static void matmul_db(void *argument, size_t i, int thread) /* db += a' dc */
{
    const matmul_call *c = argument;
    const matmul_saved *s = c->s;
    for (size_t j = 0, n = gr__runs_count(&s->b, false); j < n; j++) {
        const size_t r = gr__runs_large(&s->b, i, j);
        matmul_product(c, thread, s->K, s->N, s->M, matmul_turned(matmul_a(c, r)), matmul_dc(c, r), c->out + i * s->K * s->N, s->tb, j || !c->fresh);
    }
}

static void matmul_run(matmul_call c, gr_task *one, gr_real *out, size_t matrices)
{
    const double terms = (double)c.s->M * (double)c.s->N * (double)c.s->K * (double)c.s->matrices;
    c.out = out, c.alone = matrices == 1;
    if (c.alone) one(&c, 0, 0);
    else gr_parallel(c.t, matrices, terms / 50, one, &c);
}

static void matmul_node(gr_tape *t, const gr_node *n)
{
    const matmul_saved *s = n->saved;
    if (!n->out[0]->len) return; /* matrices without values, and perhaps very many */
    matmul_call c = { .t = t, .s = s, .a = n->in[0]->data, .b = n->in[1]->data, .dc = gr_grad(t, n->out[0]) };
    gr_real *const da = gr__grad_to_fill(t, n->in[0], &c.fresh);
    if (da) matmul_run(c, matmul_da, da, gr__runs_count(&s->a, true));
    gr_real *const db = gr__grad_to_fill(t, n->in[1], &c.fresh);
    if (db) matmul_run(c, matmul_db, db, gr__runs_count(&s->b, true));
}
static const gr_op matmul_op = { .name = "matmul", .backward = matmul_node };

/* A vector is a matrix of one row (a) or one column (b) whose other axis is not in the result. */
static bool matmul_shape(gr_tape *t, const gr_tensor *a, bool ta, const gr_tensor *b, bool tb, matmul_saved *s, gr_shape *shape)
{
    const bool a_matrix = a->rank > 1, b_matrix = b->rank > 1;
    if (!a->rank || !b->rank) return gr_fail(t, &matmul_op, "%s must be a vector or a matrix; got []", a->rank ? "b" : "a");
    s->ta = ta && a_matrix, s->tb = tb && b_matrix;
    s->M = a_matrix ? gr_size(a, s->ta ? -1 : -2) : 1, s->K = gr_size(a, s->ta ? -2 : -1);
    s->N = b_matrix ? gr_size(b, s->tb ? -2 : -1) : 1;
    const size_t K = gr_size(b, b_matrix && !s->tb ? -2 : -1);
    if (K != s->K)
        return gr_fail(t, &matmul_op, "a is %s%s and b is %s%s: a row of a holds %zu values, a column of b %zu", gr_shape_text(t, a),
                       s->ta ? " transposed" : "", gr_shape_text(t, b), s->tb ? " transposed" : "", s->K, K);

    gr_shape a_axes = gr_shape_of(a), b_axes = gr_shape_of(b); /* the leading ones */
    a_axes.rank = a_matrix ? a->rank - 2 : 0, b_axes.rank = b_matrix ? b->rank - 2 : 0;
    if (!gr__broadcast(a_axes, b_axes, shape))
        return gr_fail(t, &matmul_op, "a is %s and b is %s: the axes before the matrices do not broadcast: counted from the last, sizes must be equal or 1",
                       gr_shape_text(t, a), gr_shape_text(t, b));
    s->a = gr__runs_in(*shape, a_axes), s->b = gr__runs_in(*shape, b_axes);
    s->matrices = gr__runs_count(&s->a, true) * gr__runs_count(&s->a, false);
    if (a_matrix) shape->dim[shape->rank++] = s->M;
    if (b_matrix) shape->dim[shape->rank++] = s->N;
    return true;
}

gr_tensor *gr_matmul_t(gr_tape *t, gr_tensor *a, bool ta, gr_tensor *b, bool tb)
{
    if (!gr_ready(t, &matmul_op, a, b)) return NULL;
    matmul_saved s = { 0 };
    gr_shape shape;
    if (!matmul_shape(t, a, ta, b, tb, &s, &shape)) return NULL;
    gr_tensor *c = gr__empty(t, &matmul_op, shape);
    if (!c) return NULL;
    if (!s.ta && gr__runs_count(&s.b, true) == 1 && gr__runs_count(&s.a, false) == 1) /* one b for all: a is one tall matrix */
        s.M *= s.matrices, s.matrices = 1, s.a = s.b = (gr__runs){ 0 };
    if (a->rank + b->rank == 2) dot_forward[gr_isa(t)](c->data, a->data, b->data, s.K);
    else if (c->len) matmul_run((matmul_call){ .t = t, .s = &s, .a = a->data, .b = b->data }, matmul_c, c->data, s.matrices);
    return gr_record(t, &matmul_op, &s, sizeof s, GR_OUT(c), GR_IN(a, b));
}

gr_tensor *gr_matmul(gr_tape *t, gr_tensor *a, gr_tensor *b) { return gr_matmul_t(t, a, false, b, false); }

/* ---- linear: one x w', and the bias ---- */

static void linear_node(gr_tape *t, const gr_node *n)
{
    gr_real *const dbias = gr_grad(t, n->in[2]);
    matmul_node(t, n);
    if (dbias) {
        const gr__runs runs = gr__runs_in(gr_shape_of(n->out[0]), gr_shape_of(n->in[2]));
        gr__runs_sum(t, &runs, gr_grad(t, n->out[0]), dbias);
    }
}
static const gr_op linear_op = { .name = "linear", .backward = linear_node };

gr_tensor *gr_linear(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b)
{
    if (!gr_ready(t, &linear_op, x, w) || !gr_alive(t, &linear_op, "b", b)) return NULL;
    if (!x->rank) return gr_fail(t, &linear_op, "x must have at least one axis; got []");
    const size_t I = gr_size(x, -1), O = gr_size(w, 0);
    if (w->rank != 2) return gr_fail(t, &linear_op, "w must be [O, I]; got %s", gr_shape_text(t, w));
    if (w->dim[1] != I) return gr_fail(t, &linear_op, "w is %s, so x must be [.., %zu]; got %s", gr_shape_text(t, w), w->dim[1], gr_shape_text(t, x));
    if (b && (b->rank != 1 || b->len != O)) return gr_fail(t, &linear_op, "w is %s, so b must be [%zu]; got %s", gr_shape_text(t, w), O, gr_shape_text(t, b));
    gr_shape shape = gr_shape_of(x);
    shape.dim[shape.rank - 1] = O;
    gr_tensor *y = gr__empty(t, &linear_op, shape);
    if (!y) return NULL;
    const matmul_saved s = { .M = gr__sizes(x->dim, 0, x->rank - 1), .N = O, .K = I, .matrices = 1, .tb = true };
    gr__gemm(t, s.M, O, I, (gr_mat){ x->data, I, 1 }, (gr_mat){ w->data, 1, I }, y->data, O, (gr_start){ b ? b->data : NULL, 0 });
    return gr_record(t, &linear_op, &s, sizeof s, GR_OUT(y), GR_IN(x, w, b));
}
#endif
