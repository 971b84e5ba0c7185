/* ops/matmul.c - products: matmul over matrices, batches of them and vectors; linear, a matmul with a bias.
 *
 *     matmul     c = a b        a [.., M, K]   b [.., K, N]   c [.., M, N]        either may be stored transposed
 *                da = dc b'     db = a' dc
 *     linear     y = x w' + bias     x [rows, I]   w [O, I]   bias [O]   y [rows, O]
 *                dx = dy w      dw = dy' x      dbias = the sum of dy's rows
 * All by core/gemm.h: the bias is where linear's chains start, and a gradient where the chains of backward start, so adding costs no
 * pass. An operand that is broadcast over a batch adds up its gradient over the batch in ascending order: one chain again.
 * Saved: the sizes. */
#include "core/gemm.h"
#include "ops/broadcast.h"
#include "ops/ops.h"

/* ---- matmul ---- */

/* The sizes of a product; the leading axes of c, and which of them a and b have. */
typedef struct {
    size_t M, N, K;
    bool ta, tb;
    int axes;
    size_t dim[GR_MAX_RANK];
    bool a_has[GR_MAX_RANK], b_has[GR_MAX_RANK];
} matmul_saved;

/* How many combinations of the axes in has there are, or of the others. */
static size_t matmul_count(const matmul_saved *s, const bool *has, bool wanted)
{
    size_t n = 1;
    for (int i = 0; i < s->axes; i++)
        if (has[i] == wanted) n *= s->dim[i];
    return n;
}

/* The matrix of an operand that matrix number i of c comes from. */
static size_t matmul_operand(const matmul_saved *s, const bool *has, size_t i)
{
    size_t at = 0, stride = 1;
    for (int axis = s->axes - 1; axis >= 0; axis--) {
        if (has[axis]) at += i % s->dim[axis] * stride, stride *= s->dim[axis];
        i /= s->dim[axis];
    }
    return at;
}

/* The inverse: of the matrices of c that come from matrix i of an operand, the j-th. */
static size_t matmul_result(const matmul_saved *s, const bool *has, size_t i, size_t j)
{
    size_t at = 0, stride = 1;
    for (int axis = s->axes - 1; axis >= 0; axis--) {
        size_t *index = has[axis] ? &i : &j;
        at += *index % s->dim[axis] * stride, stride *= s->dim[axis];
        *index /= s->dim[axis];
    }
    return at;
}

/* Matrix number i of rows x columns, as it is stored or transposed. */
static gr_mat matmul_matrix(const gr_real *data, size_t i, size_t rows, size_t columns, bool transposed)
{
    data += i * rows * columns;
    return transposed ? (gr_mat){ data, 1, rows } : (gr_mat){ data, columns, 1 };
}

/* One of c, da and db, matrix by matrix, each independent of the others. One alone is shared among the threads; several are handed out. */
typedef struct matmul_call {
    gr_tape *t;
    const matmul_saved *s;
    const gr_real *a, *b, *dc;
    gr_real *out;
    void (*one)(const struct matmul_call *c, size_t i, int thread);
    bool alone;
} matmul_call;

static void matmul_gemm(const matmul_call *c, int thread, size_t M, size_t N, size_t K, gr_mat A, gr_mat B, gr_real *C, bool add)
{
    const gr_start start = { add ? C : NULL, N };
    if (c->alone) gr__gemm(c->t, M, N, K, A, B, C, N, start);
    else gr__gemm_serial(gr_isa(c->t), M, N, K, A, B, C, N, start, gr__work(c->t, thread));
}

static void matmul_c(const matmul_call *c, size_t i, int thread)
{
    const matmul_saved *s = c->s;
    const gr_mat A = matmul_matrix(c->a, matmul_operand(s, s->a_has, i), s->M, s->K, s->ta),
                 B = matmul_matrix(c->b, matmul_operand(s, s->b_has, i), s->K, s->N, s->tb);
    matmul_gemm(c, thread, s->M, s->N, s->K, A, B, c->out + i * s->M * s->N, false);
}

/* da = dc b', or where a is stored transposed, its transpose b dc'. */
static void matmul_da(const matmul_call *c, size_t i, int thread)
{
    const matmul_saved *s = c->s;
    gr_real *da = c->out + i * s->M * s->K;
    for (size_t j = 0, n = matmul_count(s, s->a_has, false); j < n; j++) {
        const size_t r = matmul_result(s, s->a_has, i, j);
        const gr_mat B = matmul_matrix(c->b, matmul_operand(s, s->b_has, r), s->K, s->N, s->tb),
                     dC = matmul_matrix(c->dc, r, s->M, s->N, false);
        if (s->ta) matmul_gemm(c, thread, s->K, s->M, s->N, B, (gr_mat){ dC.data, dC.col, dC.row }, da, true);
        else matmul_gemm(c, thread, s->M, s->K, s->N, dC, (gr_mat){ B.data, B.col, B.row }, da, true);
    }
}

/* db = a' dc, or its transpose dc' a. */
static void matmul_db(const matmul_call *c, size_t i, int thread)
{
    const matmul_saved *s = c->s;
    gr_real *db = c->out + i * s->K * s->N;
    for (size_t j = 0, n = matmul_count(s, s->b_has, false); j < n; j++) {
        const size_t r = matmul_result(s, s->b_has, i, j);
        const gr_mat A = matmul_matrix(c->a, matmul_operand(s, s->a_has, r), s->M, s->K, s->ta),
                     dC = matmul_matrix(c->dc, r, s->M, s->N, false);
        if (s->tb) matmul_gemm(c, thread, s->N, s->K, s->M, (gr_mat){ dC.data, dC.col, dC.row }, A, db, true);
        else matmul_gemm(c, thread, s->K, s->N, s->M, (gr_mat){ A.data, A.col, A.row }, dC, db, true);
    }
}

static void matmul_task(void *argument, size_t chunk, int thread)
{
    const matmul_call *c = argument;
    c->one(c, chunk, thread);
}

static void matmul_run(matmul_call *c, size_t matrices)
{
    const matmul_saved *s = c->s;
    const double terms =
        (double)s->M * (double)s->N * (double)s->K * (double)matmul_count(s, s->a_has, true) * (double)matmul_count(s, s->a_has, false);
    c->alone = matrices == 1;
    if (c->alone) c->one(c, 0, 0);
    else gr_parallel(c->t, matrices, terms / 50, matmul_task, c);
}

static void matmul_node(gr_tape *t, const gr_node *n)
{
    const matmul_saved *s = n->saved;
    if (!n->out[0]->len) return; /* matrices without values, and perhaps very many */
    gr_real *da = gr_grad(t, n->in[0]), *db = gr_grad(t, n->in[1]);
    matmul_call c = { .t = t, .s = s, .a = n->in[0]->data, .b = n->in[1]->data, .dc = gr_grad(t, n->out[0]) };
    if (da) c.one = matmul_da, c.out = da, matmul_run(&c, matmul_count(s, s->a_has, true));
    if (db) c.one = matmul_db, c.out = db, matmul_run(&c, matmul_count(s, s->b_has, true));
}
static const gr_op matmul_op = { .name = "matmul", .backward = matmul_node };

/* A vector is a matrix of one row (a) or one column (b) whose other axis is not in the result. */
static bool matmul_shape(gr_tape *t, const gr_tensor *a, bool ta, const gr_tensor *b, bool tb, matmul_saved *s, gr_shape *shape)
{
    const bool a_matrix = a->rank > 1, b_matrix = b->rank > 1;
    if (!a->rank || !b->rank) return gr_fail(t, &matmul_op, "%s must be a vector or a matrix; got []", a->rank ? "b" : "a");
    s->ta = ta && a_matrix, s->tb = tb && b_matrix;
    s->M = a_matrix ? gr_size(a, s->ta ? -1 : -2) : 1, s->K = gr_size(a, s->ta ? -2 : -1),
    s->N = b_matrix ? gr_size(b, s->tb ? -2 : -1) : 1;
    const size_t K = gr_size(b, b_matrix && !s->tb ? -2 : -1);
    if (K != s->K)
        return gr_fail(t, &matmul_op, "a is %s%s and b is %s%s: a row of a holds %zu values, a column of b %zu", gr_shape_text(t, a),
                       s->ta ? " transposed" : "", gr_shape_text(t, b), s->tb ? " transposed" : "", s->K, K);

    const int a_axes = a_matrix ? a->rank - 2 : 0, b_axes = b_matrix ? b->rank - 2 : 0;
    s->axes = a_axes > b_axes ? a_axes : b_axes;
    for (int i = 0; i < s->axes; i++) {
        const int ia = i + a_axes - s->axes, ib = i + b_axes - s->axes;
        const size_t m = ia < 0 ? 1 : a->dim[ia], n = ib < 0 ? 1 : b->dim[ib];
        if (m != n && m != 1 && n != 1)
            return gr_fail(t, &matmul_op,
                           "a is %s and b is %s: the axes before the matrices do not broadcast: counted from the last, sizes must be "
                           "equal or 1",
                           gr_shape_text(t, a), gr_shape_text(t, b));
        s->dim[i] = shape->dim[i] = m == 1 ? n : m, s->a_has[i] = ia >= 0 && m == s->dim[i], s->b_has[i] = ib >= 0 && n == s->dim[i];
    }
    shape->rank = s->axes;
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
    gr_tensor *c = gr_empty(t, shape);
    if (!c) return NULL;
    if (!s.ta && matmul_count(&s, s.b_has, true) == 1 && matmul_count(&s, s.a_has, false) == 1) /* one b for all: a is one tall matrix */
        s.M *= matmul_count(&s, s.a_has, true), s.axes = 0;
    matmul_call call = { .t = t, .s = &s, .a = a->data, .b = b->data, .out = c->data, .one = matmul_c };
    if (c->len) matmul_run(&call, matmul_count(&s, s.a_has, true) * matmul_count(&s, s.a_has, false));
    return gr_record(t, &matmul_op, &s, sizeof s, GR_OUT(c), GR_IN(a, b));
}

gr_tensor *gr_matmul(gr_tape *t, gr_tensor *a, gr_tensor *b) { return gr_matmul_t(t, a, false, b, false); }

/* ---- linear ---- */

typedef struct {
    size_t rows, I, O;
} linear_saved;

static void linear_node(gr_tape *t, const gr_node *n)
{
    const linear_saved *s = n->saved;
    const gr_tensor *x = n->in[0], *w = n->in[1], *bias = n->in[2], *y = n->out[0];
    const size_t rows = s->rows, I = s->I, O = s->O;
    const gr_real *dy = gr_grad(t, y);
    gr_real *dx = gr_grad(t, x), *dw = gr_grad(t, w), *dbias = gr_grad(t, bias);
    if (dx) gr__gemm(t, rows, I, O, (gr_mat){ dy, O, 1 }, (gr_mat){ w->data, I, 1 }, dx, I, (gr_start){ dx, I });
    if (dw) gr__gemm(t, O, I, rows, (gr_mat){ dy, 1, O }, (gr_mat){ x->data, I, 1 }, dw, I, (gr_start){ dw, I });
    if (dbias) {
        const gr__runs runs = gr__runs_in(gr_shape_of(y), bias);
        gr__runs_sum(t, &runs, dy, dbias);
    }
}
static const gr_op linear_op = { .name = "linear", .backward = linear_node };

gr_tensor *gr_linear(gr_tape *t, gr_tensor *x, gr_tensor *w, gr_tensor *b)
{
    if (!gr_ready(t, &linear_op, x, w) || !gr_alive(t, &linear_op, "b", b)) return NULL;
    if (!x->rank) return gr_fail(t, &linear_op, "x must have at least one axis; got []");
    const size_t I = gr_size(x, -1), O = gr_size(w, 0);
    if (w->rank != 2) return gr_fail(t, &linear_op, "w must be [O, I]; got %s", gr_shape_text(t, w));
    if (w->dim[1] != I)
        return gr_fail(t, &linear_op, "w is %s, so x must be [.., %zu]; got %s", gr_shape_text(t, w), w->dim[1], gr_shape_text(t, x));
    if (b && (b->rank != 1 || b->len != O))
        return gr_fail(t, &linear_op, "w is %s, so b must be [%zu]; got %s", gr_shape_text(t, w), O, gr_shape_text(t, b));
    gr_shape shape = gr_shape_of(x);
    shape.dim[shape.rank - 1] = O;
    gr_tensor *y = gr_empty(t, shape);
    if (!y) return NULL;
    linear_saved s = { 1, I, O };
    for (int i = 0; i < x->rank - 1; i++) s.rows *= x->dim[i];
    gr__gemm(t, s.rows, O, I, (gr_mat){ x->data, I, 1 }, (gr_mat){ w->data, 1, I }, y->data, O, (gr_start){ b ? b->data : NULL, 0 });
    return gr_record(t, &linear_op, &s, sizeof s, GR_OUT(y), GR_IN(x, w, b));
}
