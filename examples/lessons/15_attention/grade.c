/* grade.c - the grader of lesson 15. */
#include "../grader.h"
#include <math.h>
#include <string.h>

typedef gr_tensor *part(gr_tape *t, gr_tensor *x);
void my_attention(int T, int d, const double *q, const double *k, const double *v, double *p, double *y);
void my_attention_backward(int T, int d, const double *q, const double *k, const double *v, const double *p, const double *dy, double *dq,
                           double *dk, double *dv);
gr_tensor *my_block(gr_tape *t, gr_tensor *x, bool pre_norm, part *f);

/* ---- The known mistakes ---- */

#define FORWARD(M) \
    /* p */ \
    M(scale_missing, \
      "You do not divide the scores by sqrt(d). Their deviation grows with sqrt(d), and with it the largest weight: the softmax of\n" \
      "large scores passes almost no gradient.") \
    M(scale_by_d, "You divide the scores by d. Their deviation is sqrt(d) when q and k have deviation 1: divide by the root of d.") \
    M(scale_by_tokens, "You divide the scores by sqrt(T). A score is a sum of d products: divide by sqrt(d).") \
    M(scale_inverted, "You multiply the scores by sqrt(d). Divide by it.") \
    M(k_transposed, "You read k as [d, T]. Value c of key j is k[j * d + c].") \
    M(exp_missing, "Your weights are the scores, divided by their sum. A softmax takes exp of each score first.") \
    M(self_hidden, "Your query does not see itself. Query i sees the keys 0 .. i: j <= i.") \
    M(next_seen, "Your query sees one token too many, the next one. Query i sees the keys 0 .. i: j <= i.") \
    M(mask_missing, "Your query sees later tokens. A causal query i sees the keys 0 .. i, itself included.") \
    M(mask_after_softmax, \
      "You take the softmax over all keys and then set the hidden weights to 0. The other weights of the row do not add up to 1\n" \
      "then. Leave hidden keys out of the sum.") \
    M(mask_zero_score, \
      "You give a hidden key the score 0. exp(0) is 1, so the key gets a weight. Its score would have to be minus infinity: leave it\n" \
      "out.") \
    M(mask_reversed, "Your query i sees the keys i .. T - 1. It sees those up to itself: j <= i.") \
    M(softmax_over_queries, \
      "Your weights add up to 1 for each key. They are a softmax over the keys: the row of each query adds up to 1.") \
    M(q_and_k_exchanged, "You exchange q and k. The score of query i and key j is the product of q's row i and k's row j.") \
    M(not_divided, "Your weights are exp(score - largest). Divide by their sum, so that each row adds up to 1.") \
    M(hidden_not_written, "You write no weight for the hidden keys, so that p keeps what was there before. Write 0.") \
    M(hidden_scores_left, "Your p holds the scores of the hidden keys. Their weight is 0: write it.") \
    /* y */ \
    M(own_value_missing, "Your y_i lacks p_ii v_i. Query i sees the keys 0 .. i: j <= i.") \
    M(own_value_alone, "Your y_i is p_ii v_i, one term of the sum. Do you write = where += is needed, or read p as p[j * T + i]?") \
    M(value_of_query, "Your y_i is the sum of p_ij v_i. It is a mean of the keys' values: p_ij v_j.") \
    M(unweighted, "Your y_i is the sum of v_j. Weigh each with p_ij.") \
    M(y_not_cleared, "You add to y, which is not 0 before. Set y[i * d + c] to 0 first: only gradients are added to.") \
    M(p_transposed, "Your y_i is the sum of p_ji v_j. Query i has row i of p: y_i is the sum over j of p_ij v_j.")

/* backward */
#define MISTAKES(M) \
    M(backward_self_missing, "Your backward leaves out the key of the query itself. Query i sees the keys 0 .. i: j <= i.") \
    M(ds_without_p, "Your ds is dp - mean. It is p_ij (dp_ij - mean_i).") \
    M(p_on_dp_alone, "Your p multiplies dp alone. It multiplies the difference: p_ij (dp_ij - mean_i).") \
    M(mean_not_cleared, "Your mean goes on from query to query. Each query has a mean of its own: begin with 0.") \
    M(mean_incomplete, "You use the mean before it is complete. First add up p dp of all keys of the query, then compute each ds.") \
    M(dq_assigned, "You write dq[..] = .. where += is needed. dq_i is a sum over the keys, and dq was not 0 before.") \
    M(dk_assigned, "You write dk[..] = .. where += is needed. dk_j is a sum over the queries, and dk was not 0 before.") \
    M(dv_assigned, "You write dv[..] = .. where += is needed. dv_j is a sum over the queries, and dv was not 0 before.") \
    M(dq_scale_missing, "Your dq lacks 1 / sqrt(d). The score is q k / sqrt(d): dq needs the factor as dk does.") \
    M(dk_scale_missing, "Your dk lacks 1 / sqrt(d). The score is q k / sqrt(d): dk needs the factor as dq does.") \
    M(dv_scaled, "You divide dv by sqrt(d). v does not stand in the scores: dv_j is the sum over i of p_ij dy_i.") \
    M(dv_without_p, "Your dv_j is the sum of dy_i. v_j is in y_i with the weight p_ij: weigh each dy_i.") \
    M(dv_with_own_dy, "Your dv_j is the sum of p_ij dy_j. v_j is in the results of all queries i: p_ij dy_i.") \
    M(dv_transposed, "Your dv_j is the sum of p_ji dy_i. v_j is in y_i with the weight p_ij: exchange the indices of p.") \
    M(softmax_skipped, \
      "Your ds is dp: you pass the softmax as if it were not there. ds_ij = p_ij (dp_ij - sum over j of p_ij dp_ij), times the scale.") \
    M(mean_missing, \
      "Your ds is p dp. A score moves all weights of its row: subtract the mean of dp, weighted with p. You can see it in your own\n" \
      "numbers, since the ds of a row must add up to 0.") \
    M(diagonal_alone, \
      "Your ds is p (1 - p) dp: what a score does to its own weight. It moves all other weights of its row as well. Together that\n" \
      "is p_ij (dp_ij - mean_i).") \
    M(sum_for_mean, "You subtract the sum of dp. Weigh each dp with its p: sum over j of p_ij dp_ij.") \
    M(mean_unweighted, "You subtract the plain mean of dp. It is weighted with p: sum over j of p_ij dp_ij.") \
    M(backward_scale_missing, "Your dq and dk lack 1 / sqrt(d). The score is q k / sqrt(d), so both gradients carry that factor.") \
    M(backward_scale_by_d, "You divide ds by d. The score is q k / sqrt(d): divide by the root of d.") \
    M(dv_with_ds, "Your dv contains ds. v_j is in y_i with the weight p_ij: dv_j is the sum over i of p_ij dy_i.") \
    M(assigned, \
      "You write = where += is needed, so that only the last of the terms is left. dq_i is a sum over the keys, dk_j and dv_j are\n" \
      "sums over the queries.") \
    M(dq_with_q, "Your dq contains q. The derivative of the score by q_i is k_j: dq_i is the sum over j of ds_ij k_j.") \
    M(dk_with_k, "Your dk contains k. The derivative of the score by k_j is q_i: dk_j is the sum over i of ds_ij q_i.") \
    M(dq_with_own_k, "You multiply each ds_ij by k_i, so your dq_i is 0: the ds of a row add up to 0. dq_i is the sum over j of ds_ij k_j.") \
    M(dk_with_own_q, "You multiply each ds_ij by q_j. k_j is in the scores of all queries i: dk_j is the sum over i of ds_ij q_i.") \
    M(ds_transposed, "Your dk_j is the sum of ds_ji q_i. k_j is in the scores ds_ij of all queries i: exchange the indices of ds.") \
    M(sum_assigned, "You write your sums over dq, dk and dv. Something was there before, from other uses of q, k and v: add with +=.")

#define BLOCK(M) \
    M(pre_post_exchanged, "You exchange the two: pre-norm is x + f(LN(x)), post-norm is LN(x + f(x)).") \
    M(residual_missing, "Your block lacks the residual path: add x to what f gives.") \
    M(residual_normalized, \
      "Your block is LN(x) + f(LN(x)). The residual path has no norm, so that x passes: pre-norm is x + f(LN(x)), post-norm is\n" \
      "LN(x + f(x)).") \
    M(norm_beside, \
      "Your block is LN(x) + f(x). Pre-norm is x + f(LN(x)): f gets LN(x). Post-norm is LN(x + f(x)): the norm takes the sum.") \
    M(two_norms, "Your block has both norms at once, LN(x + f(LN(x))). Pre-norm is x + f(LN(x)), post-norm is LN(x + f(x)).") \
    M(norm_of_branch, "You normalize what f gives, and then add x. Pre-norm is x + f(LN(x)), post-norm is LN(x + f(x)).") \
    M(norm_missing, "Your block has no norm: pre-norm is x + f(LN(x)), post-norm is LN(x + f(x)).")

GRADER_MISTAKES_OF(forward, FORWARD);
GRADER_MISTAKES(MISTAKES);
GRADER_MISTAKES_OF(block, BLOCK);
static const unsigned of_p = own_value_missing - 1, of_y = (1u << forward_count) - own_value_missing, of_backward = (1u << list_count) - 1,
                      of_block = (1u << block_count) - 1;

/* ---- The formula, with a switch for each ---- */

enum { TOKENS = 4, SIZE = 3, LEN = TOKENS * SIZE, PAIRS = TOKENS * TOKENS };
typedef struct {
    int T, d;
    const double *q, *k, *v, *dy, *before; /* before: [3 T d], what was in dq, dk and dv */
} problem;

static const double BEFORE = 0.7; /* what is in p and y before the learner writes them */
static bool sees(unsigned m, int i, int j)
{
    if (m & (mask_missing | mask_zero_score)) return true;
    return m & mask_reversed ? j >= i : m & self_hidden ? j < i : m & next_seen ? j <= i + 1 : j <= i;
}

static void formula_p(unsigned m, const void *data, double *p)
{
    const problem *a = data;
    const int T = a->T, d = a->d;
    const double divide = m & scale_missing     ? 1
                          : m & scale_by_d      ? d
                          : m & scale_by_tokens ? sqrt(T)
                          : m & scale_inverted  ? 1 / sqrt(d)
                                                : sqrt(d);
    double e[PAIRS];
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++) {
            double s = 0;
            for (int c = 0; c < d; c++)
                s += m & q_and_k_exchanged ? a->k[i * d + c] * a->q[j * d + c]
                                           : a->q[i * d + c] * a->k[m & k_transposed ? c * T + j : j * d + c];
            e[i * T + j] = m & mask_zero_score && j > i ? 0 : s / divide;
        }
    for (int i = 0; i < T; i++) {
        double sum = 0, largest = -INFINITY;
        const int step = m & softmax_over_queries ? T : 1, first = m & softmax_over_queries ? i : i * T;
        for (int j = 0; j < T; j++) {
            const bool seen = m & mask_after_softmax || (m & softmax_over_queries ? sees(m, j, i) : sees(m, i, j));
            if (seen) largest = fmax(largest, e[first + j * step]);
        }
        for (int j = 0; j < T; j++) {
            const bool seen = m & mask_after_softmax || (m & softmax_over_queries ? sees(m, j, i) : sees(m, i, j));
            const double score = e[first + j * step];
            sum += p[first + j * step] = !seen ? 0 : m & exp_missing ? score : exp(score - largest);
        }
        for (int j = 0; j < T; j++) {
            const bool seen = m & softmax_over_queries ? sees(m, j, i) : sees(m, i, j);
            const double hidden = m & hidden_not_written ? BEFORE : m & hidden_scores_left ? e[first + j * step] : 0;
            p[first + j * step] = seen ? p[first + j * step] / (m & not_divided ? 1 : sum) : hidden;
        }
    }
}

static void formula_y(unsigned m, const void *data, double *y)
{
    const problem *a = data;
    double p[PAIRS];
    formula_p(0, a, p);
    for (int i = 0; i < a->T; i++)
        for (int c = 0; c < a->d; c++) {
            y[i * a->d + c] = m & y_not_cleared ? BEFORE : 0;
            for (int j = 0; j < a->T; j++) {
                if ((m & own_value_missing && j == i) || (m & own_value_alone && j != i)) continue;
                const double weight = m & p_transposed ? p[j * a->T + i] : m & unweighted ? j <= i : p[i * a->T + j];
                y[i * a->d + c] += weight * a->v[(m & value_of_query ? i : j) * a->d + c];
            }
        }
}

/* answer: dq, dk, dv. */
static void formula_backward(unsigned m, const void *data, double *answer)
{
    const problem *a = data;
    const int T = a->T, d = a->d;
    double p[PAIRS], ds[PAIRS] = { 0 }, *dq = answer, *dk = answer + T * d, *dv = answer + 2 * T * d, mean = 0;
    formula_p(0, a, p);
    for (int n = 0; n < 3 * T * d; n++) answer[n] = m & sum_assigned || !a->before ? 0 : a->before[n];
    for (int i = 0; i < T; i++) {
        double dp[TOKENS] = { 0 }, until[TOKENS]; /* until: the mean when key j has been added */
        const int end = m & backward_self_missing ? i : i + 1;
        if (!(m & mean_not_cleared)) mean = 0;
        for (int j = 0; j < end; j++) {
            for (int c = 0; c < d; c++) dp[j] += a->dy[i * d + c] * a->v[j * d + c];
            until[j] = mean += dp[j] * (m & sum_for_mean ? 1 : m & mean_unweighted ? 1.0 / (i + 1) : p[i * T + j]);
        }
        for (int j = 0; j < end; j++) {
            const double weight = p[i * T + j], subtract = m & mean_missing ? 0 : m & mean_incomplete ? until[j] : mean;
            ds[i * T + j] = m & p_on_dp_alone ? weight * dp[j] - subtract : (m & ds_without_p ? 1 : weight) * (dp[j] - subtract);
            if (m & softmax_skipped) ds[i * T + j] = dp[j];
            if (m & diagonal_alone) ds[i * T + j] = weight * (1 - weight) * dp[j];
            if (!(m & backward_scale_missing)) ds[i * T + j] /= m & backward_scale_by_d ? d : sqrt(d);
        }
    }
    const double for_q = m & dq_scale_missing ? sqrt(d) : 1, for_k = m & dk_scale_missing ? sqrt(d) : 1,
                 for_v = m & dv_scaled ? sqrt(d) : 1;
    for (int i = 0; i < T; i++)
        for (int j = 0; j < (m & (dv_transposed | ds_transposed) ? T : m & backward_self_missing ? i : i + 1); j++)
            for (int c = 0; c < d; c++) {
                double *to_q = &dq[i * d + c], *to_k = &dk[j * d + c], *to_v = &dv[j * d + c];
                if (m & (assigned | dq_assigned) && j <= i) *to_q = 0;
                if (m & (assigned | dk_assigned) && j <= i) *to_k = 0;
                if (m & (assigned | dv_assigned) && j <= i) *to_v = 0;
                const double by = m & dv_with_ds ? ds[i * T + j] : m & dv_without_p ? j <= i : p[m & dv_transposed ? j * T + i : i * T + j];
                *to_v += by * a->dy[(m & dv_with_own_dy ? j : i) * d + c] / for_v;
                *to_q += for_q * ds[i * T + j] * (m & dq_with_q ? a->q : a->k)[(m & dq_with_own_k ? i : j) * d + c];
                *to_k += for_k * ds[m & ds_transposed ? j * T + i : i * T + j] * (m & dk_with_k ? a->k : a->q)[(m & dk_with_own_q ? j : i) * d + c];
            }
}

static const double q_[LEN] = { 0.5, -1.2, 0.7, 1.4, 0.3, -0.9, -0.6, 1.1, 0.2, 0.8, -0.4, 1.3 };
static const double k_[LEN] = { 1.1, 0.4, -0.7, -0.2, 1.5, 0.6, 0.9, -1.3, 0.1, -0.5, 0.7, 1.2 };
static const double v_[LEN] = { 2.0, -0.3, 0.8, 0.4, 1.7, -1.1, -0.9, 0.6, 1.3, 0.2, -1.6, 0.5 };
static const double dy_[LEN] = { 0.3, 0.9, -0.5, 1.2, -0.7, 0.4, -0.8, 0.6, 1.5, 0.1, -1.1, 0.75 };
static const double before_[3 * LEN] = { 0.2,  -0.4, 0.6,  0.9,  0.1,  -0.3, 0.5, 0.7,  -0.8, 1.1,  0.35, 0.15,
                                         -0.6, 0.25, 0.45, 0.8,  -0.2, 0.55, 0.7, 0.3,  0.4,  -0.9, 0.6,  0.05,
                                         1.2,  0.1,  0.65, -0.5, 0.85, 0.95, 0.2, -0.7, 0.3,  0.5,  0.75, -0.1 };
static const problem general = { TOKENS, SIZE, q_, k_, v_, dy_, before_ };
static const grader_input inputs[] = { { "q", q_, TOKENS, SIZE }, { "k", k_, TOKENS, SIZE }, { "v", v_, TOKENS, SIZE }, { "dy", dy_, TOKENS, SIZE }, { NULL } };

/* ---- A block ---- */

static gr_tensor *some_part(gr_tape *t, gr_tensor *x) /* tanh of the values, each moved by its own number */
{
    static const double shift[SIZE] = { 0.4, -0.7, 0.2 };
    return gr_tanh(t, gr_add(t, gr_scale(t, x, 0.8), gr_input(t, shift, GR_SHAPE(SIZE))));
}
static gr_tensor *norm(gr_tape *t, gr_tensor *x) { return gr_layer_norm(t, x, 1, NULL, NULL, 0); }

static void formula_block(unsigned m, const void *data, double *y)
{
    const bool pre = *(const bool *)data != !!(m & pre_post_exchanged), one = m & (norm_missing | norm_of_branch | norm_beside);
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_input(t, q_, GR_SHAPE(TOKENS, SIZE));
    gr_tensor *out = some_part(t, !one && (pre || m & (residual_normalized | two_norms)) ? norm(t, x) : x);
    if (m & norm_of_branch) out = norm(t, out);
    if (!(m & residual_missing)) out = gr_add(t, m & (residual_normalized | norm_beside) ? norm(t, x) : x, out);
    if (m & two_norms || (!pre && !one && !(m & residual_normalized))) out = norm(t, out);
    memcpy(y, out->data, LEN * sizeof *y);
    gr_tape_free(t);
}

static void check_block(bool pre)
{
    double got[LEN];
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_input(t, q_, GR_SHAPE(TOKENS, SIZE)), *y = my_block(t, x, pre, some_part);
    if (!y && !gr_failed(t)) grader_stop("no_block", "my_block returns NULL. Attention is right: go on at TODO 3, two lines.");
    if (!y || gr_failed(t)) grader_stop("tape_error", "my_block returns NULL. The tape says: \"%s\"", gr_message(t));
    if (!gr_same_shape(x, y))
        grader_stop("wrong_shape", "x is %s and the block gives %s. It keeps the shape.", gr_shape_text(t, x), gr_shape_text(t, y));
    memcpy(got, y->data, sizeof got);
    gr_tape_free(t);
    const grader_result r = { "the block",   pre ? "4 tokens of 3 values, pre-norm" : "4 tokens of 3 values, post-norm",
                              formula_block, &pre,
                              of_block,      TOKENS,
                              SIZE,          got,
                              NULL };
    grader_judge(block, &r, NULL);
}

/* ---- The learner's numbers ---- */

typedef struct {
    double p[PAIRS + 1], y[LEN], back[3 * LEN]; /* p[T * T] is behind the end */
} numbers;

static numbers run(const problem *a, bool back)
{
    const size_t n = (size_t)(a->T * a->d);
    numbers r = { 0 };
    double in[4][LEN];
    const double *const given[] = { a->q, a->k, a->v, a->dy };
    for (int k = 0; k < 4; k++) memcpy(in[k], given[k], n * sizeof(double));
    for (int i = 0; i <= PAIRS; i++) r.p[i] = BEFORE;
    for (int i = 0; i < LEN; i++) r.y[i] = BEFORE;
    if (!back) my_attention(a->T, a->d, in[0], in[1], in[2], r.p, r.y);
    if (!back && r.p[a->T * a->T] != BEFORE)
        grader_stop("beyond_the_end", "You write behind the end of p. The last key that query i sees is i: j <= i.");
    if (back) {
        formula_p(0, a, r.p); /* backward starts from the right weights */
        if (a->before) memcpy(r.back, a->before, 3 * n * sizeof(double));
        my_attention_backward(a->T, a->d, in[0], in[1], in[2], r.p, in[3], r.back, r.back + n, r.back + 2 * n);
    }
    for (int k = 0; k < 4; k++)
        if (memcmp(in[k], given[k], n * sizeof(double)))
            grader_stop("input_changed", "Your code writes into q, k, v or dy. It only reads them.");
    return r;
}

/* The README's example: the query is that of the last token. */
static const double worked_q[] = { 0, 0, 1, 0 }, worked_k[] = { 1, 0, 1, 2 }, worked_v[] = { 2, 0, 6, 0 }, worked_dy[] = { 0, 0, 1, 0 };
static const problem worked = { 2, 2, worked_q, worked_k, worked_v, worked_dy, NULL };
#define BY_HAND "q = (0, 0), (1, 0); k = (1, 0), (1, 2); v = (2, 0), (6, 0); dy = (0, 0), (1, 0)"

static void judge(const grader_mistake *known, const char *const *alone, const char *name, const char *of, grader_formula *f,
                  unsigned among, size_t N, const double *got, const double *before, size_t small_rows, const double *small)
{
    const grader_result whole = { name, of, f, &general, among, before ? 3 * TOKENS : TOKENS, N, got, before, inputs, .alone = alone };
    const grader_result example = { name, before ? BY_HAND ": rows 0 and 1 are dq, 2 and 3 dk, 4 and 5 dv" : BY_HAND, f, &worked, among, small_rows, 2, small, NULL };
    grader_judge(known, &whole, &example);
}

#define LAST_ROW "Only the last of 4 rows is right. Its query sees all keys. Which keys do the other rows see?"
static const char *const in_p[] = { "Only row 0 of 4 is right. It has one key, so its weight is 1. Look at the score and the softmax.",
                                    NULL, NULL, LAST_ROW };
static const char *const in_y[] = { "Only row 0 of 4 is right, and it has one key. Look at the sum over the keys.", NULL, NULL,
                                    LAST_ROW };
static const char *const in_gradients[3 * TOKENS] = { NULL }; /* one row that is right says nothing */

/* ---- The exercise as an operator, for gr_gradcheck ---- */

static void head_backward(gr_tape *t, const gr_node *n)
{
    const int T = (int)n->in[0]->dim[0], d = (int)n->in[0]->dim[1];
    double *const *p = n->saved;
    my_attention_backward(T, d, n->in[0]->data, n->in[1]->data, n->in[2]->data, *p, gr_grad(t, n->out[0]), gr_grad(t, n->in[0]),
                          gr_grad(t, n->in[1]), gr_grad(t, n->in[2]));
}
static const gr_op head_op = { .name = "my_attention", .backward = head_backward };

static gr_tensor *checked(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    const size_t T = in[0]->dim[0];
    gr_real *p = gr_save_reals(t, T * T);
    gr_tensor *y = gr_zeros(t, gr_shape_of(in[0]));
    my_attention((int)T, (int)in[0]->dim[1], in[0]->data, in[1]->data, in[2]->data, p, y->data);
    return gr_record(t, &head_op, &p, sizeof p, GR_OUT(y), GR_IN(in[0], in[1], in[2]));
}

static void check_large_scores(void)
{
    double large[LEN], positive[LEN], right[LEN];
    for (int n = 0; n < LEN; n++) large[n] = 3000 * q_[n], positive[n] = fabs(k_[n]);
    const problem a = { TOKENS, SIZE, large, k_, v_, dy_, NULL }, below = { TOKENS, SIZE, large, positive, v_, dy_, NULL };
    const numbers r = run(&a, false);
    formula_y(0, &a, right);
    if (!grader_same(r.y, right, LEN))
        grader_stop(
            "largest_not_subtracted",
            "With scores of thousands your y is wrong, because exp of a number is infinite, or all of them are 0. Subtract the largest\n"
            "of the numbers that exp gets: of this row, of the keys that its query sees, after the division by sqrt(d).");
    for (int n = 0; n < LEN; n++) large[n] = -fabs(large[n]);
    const numbers far = run(&below, false);
    formula_y(0, &below, right);
    if (!grader_same(far.y, right, LEN))
        grader_stop(
            "largest_begins_too_high",
            "If all scores of a row are far below 0, your y is wrong: every exp is 0, and 0 / 0 is not a number. So the largest score is\n"
            "not what you subtract. Does it begin at 0? Begin with the first score, or with -INFINITY.");
}

int main(int argc, char **argv)
{
    const bool pre = true, post = false;
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(forward, formula_p, &general, of_p, PAIRS) + grader_ambiguous(forward, formula_y, &general, of_y, LEN) +
               grader_ambiguous(list, formula_backward, &general, of_backward, 3 * LEN) +
               grader_ambiguous(block, formula_block, &pre, of_block, LEN) + grader_ambiguous(block, formula_block, &post, of_block, LEN);
    grader_start("Lesson 15: attention");
    grader_step("forward: the weights p");
    const numbers few = run(&worked, false), all = run(&general, false);
    bool begun = false;
    for (int n = 0; n < PAIRS; n++) begun |= all.p[n] != BEFORE;
    if (!begun && all.y[0] == BEFORE)
        grader_stop("not_begun", "my_attention writes nothing yet. Begin at TODO 1 in exercise.c: about twelve lines.");
    judge(forward, in_p, "p", "4 tokens of 3 values", formula_p, of_p, TOKENS, all.p, NULL, 2, few.p);
    grader_step("forward: y");
    judge(forward, in_y, "y", "4 tokens of 3 values", formula_y, of_y, SIZE, all.y, NULL, 2, few.y);
    grader_step("forward: scores of thousands");
    check_large_scores();
    grader_step("backward: q, k and v");
    const numbers back = run(&general, true), small = run(&worked, true);
    if (grader_same(back.back, before_, 3 * LEN))
        grader_stop("half_done", "Forward is right. my_attention_backward adds nothing yet: go on at TODO 2, about twelve lines.");
    judge(list, in_gradients, "the gradient", "4 tokens of 3 values: rows 0 to 3 are dq, 4 to 7 dk, 8 to 11 dv", formula_backward,
          of_backward, SIZE, back.back, before_, 6, small.back);
    grader_step("gr_gradcheck: q, k and v, by finite differences");
    const gr_gradcheck_input in = { .shape = GR_SHAPE(5, 2) };
    grader_gradcheck("my_attention", checked, NULL, (gr_gradcheck_input[]){ in, in, in }, 3);
    grader_step("the block, pre-norm");
    check_block(true);
    grader_step("the block, post-norm");
    check_block(false);
    return grader_end("All right. gradus does the same in ops/attention.c and nn/transformer.c: compare attention_backward with yours.");
}
