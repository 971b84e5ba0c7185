/* ops/norm_groups.h - what batch, group, instance and channel norm share: they see x as groups of values, and each group has one mean.
 *
 * x is [P, R, K, I], and group (p, k) holds x[p][r][k][i] for all r and i: group number p * K + k of P * K.
 *     batch norm of [N, C, L]      P 1       R N         K C   I L        instance norm of [N, C, L]   P N * C   R 1   K 1   I L
 *     batch norm of [.., C]        P 1       R all rows  K C   I 1        instance norm of [N, L, C]   P N       R L   K C   I 1
 *     group norm of [N, C, L]      P N * G   R C / G     K 1   I L        channel norm of [N, C, L]    P N       R C   K L   I 1
 * With I > 1 a group consists of runs of neighbours (we call them planes); with I = 1 neighbours belong to different groups (columns). A list
 * of runs, the same for each group, says which values are real (not padding), so that no kernel needs a mask. The maths of a group, whose mean
 * is kept in two parts m + e (see ops/layer_norm.c):
 *     xhat = (x - m - e) * rstd         y = gamma * xhat + beta
 *     s1 = sum of dy, s2 = sum of dy * xhat, for each gamma of the group
 *     dbeta = sum of s1 and dgamma = sum of s2 over the groups that share a gamma
 *     dx = rstd * (gamma * dy - mean(gamma * dy) - xhat * mean(gamma * dy * xhat)),  whose means are sums of gamma * s1 and gamma * s2
 * In evaluation mode the statistics are constants, and dx = rstd * gamma * dy.
 * Kinks: where var + eps is 0, rstd is 0 by definition. A group whose variance is too large or too small for gr_real has m = e = rstd = 0, and
 * ops/norm_far.c computes it.
 * Saved: m, e, rstd and the variance of each group; xhat is recomputed. */
#ifndef GR_NORM_GROUPS_H
#define GR_NORM_GROUPS_H
#include "core/library.h"
#include "ops/ops.h"

/* Check the arguments that every norm takes. They return false, with an error on t, if something does not fit: x is NULL or a tensor is dead; a
 * or b, called `names`, is given and does not hold n values; eps is negative or NaN; momentum is outside
 * 0 .. 1. */
bool gr__norm_ready(gr_tape *t, const gr_op *op, gr_tensor *x, const gr_tensor *gamma, const gr_tensor *beta);
bool gr__norm_check_pair(gr_tape *t, const gr_op *op, const gr_tensor *x, const char *names, const gr_tensor *a, const gr_tensor *b, size_t n);
bool gr__norm_check_eps(gr_tape *t, const gr_op *op, double eps);
bool gr__norm_check_momentum(gr_tape *t, const gr_op *op, double momentum);

/* n neighbours (in columns: the values of n rows). The first is `at` values after the beginning of the group. */
typedef struct { size_t at, n; } gr__norm_run;

enum { GR__NORM_STATS = 4 };
typedef struct {
    size_t P, R, K, I, groups, count;  /* count: how many real values a group has */
    const gr__norm_run *run;
    size_t runs;
    bool fixed;                        /* the statistics are constants, and group g has number g % of_groups of them */
    gr_real *stat;                     /* [GR__NORM_STATS, groups]: m, e, rstd, and the variance */
    gr_real eps;
    const gr_real *gamma, *beta;       /* or NULL; group g begins at number g % of_groups * per_group */
    size_t of_groups, per_group;       /* per_group: how many gammas a group has: 1, or one for each run */
} gr__norm_groups;

/* Set s->run, s->runs and s->count for an x without padding, and return s->run; NULL when out of memory. The caller has set s->groups, which
 * becomes 0 if x is empty. */
const gr__norm_run *gr__norm_all(gr_tape *t, gr__norm_groups *s);

/* Compute y where x is real, and the statistics unless they are fixed. */
void gr__norm_forward(gr_tape *t, const gr__norm_groups *s, const gr_real *x, gr_real *y);

/* backward and scratch of a node that saved a gr__norm_groups: its inputs are x, gamma, beta. */
void gr__norm_backward(gr_tape *t, const gr_node *n);
size_t gr__norm_scratch(const gr_node *n);

#endif
