/* ops/norm_groups.h - what batch, group, instance and channel norm share: x seen as groups of elements with one mean each.
 *
 * x is [P, R, K, I], and group (p, k) holds x[p][r][k][i] for all r and i: group number p * K + k of P * K.
 *     batch norm of [N, C, L]      P 1       R N         K C   I L        instance norm of [N, C, L]   P N * C   R 1   K 1   I L
 *     batch norm of [.., C]        P 1       R all rows  K C   I 1        instance norm of [N, L, C]   P N       R L   K C   I 1
 *     group norm of [N, C, L]      P N * G   R C / G     K 1   I L        channel norm of [N, C, L]    P N       R C   K L   I 1
 * With I > 1 a group is made of runs of neighbours (planes); with I = 1 neighbours belong to different groups (columns). A list of runs, the
 * same for each group, says which values are real (not padding), so that no kernel knows a mask. For each group, with its mean in two parts
 * m + e (see ops/layer_norm.c):
 *     xhat = (x - m - e) * rstd         y = gamma * xhat + beta
 *     s1 = sum of dy, s2 = sum of dy * xhat, for each of the group's gammas: these are dbeta and dgamma, and weighted by gamma
 *     dx = rstd * (gamma * dy - mean(gamma * dy) - xhat * mean(gamma * dy * xhat))
 * Statistics that are constants (evaluation mode) lack the two means in dx. A group whose variance is too large or too small for gr_real has
 * m = e = rstd = 0, and ops/norm_far.c computes it. */
#ifndef GR_NORM_GROUPS_H
#define GR_NORM_GROUPS_H
#include "core/op.h"
#include "ops/ops.h"

/* Check the arguments that every norm takes; false with an error. */
bool gr__norm_ready(gr_tape *t, const gr_op *op, gr_tensor *x, const gr_tensor *gamma, const gr_tensor *beta);
bool gr__norm_check_pair(gr_tape *t, const gr_op *op, const gr_tensor *x, const char *names, const gr_tensor *a, const gr_tensor *b, size_t n);
bool gr__norm_check_eps(gr_tape *t, const gr_op *op, double eps);

/* n neighbours (in columns: n rows), the first of which is `at` elements after the group's first element. */
typedef struct { size_t at, n; } gr__norm_run;

enum { GR__NORM_STATS = 4 };
typedef struct {
    size_t P, R, K, I, groups, count;  /* count: real values in a group */
    const gr__norm_run *run;
    size_t runs;
    bool fixed;                        /* the statistics are constants */
    gr_real *stat;                     /* [GR__NORM_STATS, groups]: m, e, rstd, and the variance */
    gr_real eps;
    const gr_real *gamma, *beta;       /* or NULL; group g's are number g % of_groups * per_group .. */
    size_t of_groups, per_group;       /* per_group: one for each of its runs; or 1 */
} gr__norm_groups;

/* The runs of x without padding: one for each r. NULL when out of memory. s->groups must be set; if x is empty it becomes 0. */
const gr__norm_run *gr__norm_all(gr_tape *t, gr__norm_groups *s);

/* Compute y of the real values, and the statistics unless they are fixed. */
void gr__norm_forward(gr_tape *t, const gr__norm_groups *s, const gr_real *x, gr_real *y);

/* backward and scratch of a node that saved a gr__norm_groups: its inputs are x, gamma, beta. */
void gr__norm_backward(gr_tape *t, const gr_node *n);
size_t gr__norm_scratch(const gr_node *n);

#endif
