/* ops/batch_norm.c - zero mean and unit variance for each channel over the batch, then scale and shift.   Ioffe, Szegedy 2015. Derivation: ops/batch_norm.md
 *
 * Shapes: x, y [N, C, ..] or [.., C]; gamma, beta and the running statistics [C]. For the n values of a channel, over samples and positions,
 * without padding:
 *     xhat = (x - mean(x)) * rstd,   rstd = 1 / sqrt(var(x) + eps)              y = gamma * xhat + beta
 * Training then moves the running statistics; a value below 2^-100 becomes 0:
 *     running_mean = (1 - momentum) * running_mean + momentum * mean(x)
 *     running_var  = (1 - momentum) * running_var  + momentum * var(x) * n / (n - 1)
 * Evaluation normalizes by the running statistics instead of mean(x) and var(x); they are constants there.
 * Backward, with g = gamma * dy:
 *     dx     = rstd * (g - mean(g) - xhat * mean(g * xhat))                     in evaluation dx = rstd * g
 *     dgamma = sum of dy * xhat,   dbeta = sum of dy
 * Padding cannot change a bit, because sums run over the real positions in order; with channels on axis 1 they run in 16 lanes from each
 * sample's start, and the samples are added in order.
 * Kinks: where var + eps is 0, rstd is 0 by definition. A channel of one value is refused in training.
 * Saved: the statistics of each channel; xhat is recomputed. A channel is a group of ops/norm_groups.h, whose kernels compute all this except
 * the running statistics. These move last, when nothing but the note for gr_tape_recover can still fail. */
#include "core/kernel.h"
#include "ops/index.h"
#include "ops/norm_far.h"

static const gr_op batch_norm_op = { .name = "batch_norm", .backward = gr__norm_backward, .scratch = gr__norm_scratch };

/* ---- Which positions are real (not padding). A position is an index over all axes but the channel ---- */

/* L: how many positions a sample has, where lengths are given. */
static bool batch_norm_is_real(const gr_batch_norm_config *o, size_t L, size_t position)
{
    if (o->lengths && position % L >= (size_t)o->lengths->data[position / L]) return false;
    return !o->mask || o->mask->data[position] != 0;
}

/* Write the real positions to run, as runs of neighbours, and return how many runs there are; run NULL: only count them. In planes a run ends
 * with its sample. */
static size_t batch_norm_runs(const gr__norm_groups *s, const gr_batch_norm_config *o, size_t L, gr__norm_run *run)
{
    size_t runs = 0;
    bool open = false;
    for (size_t p = 0; p < s->R * s->I; p++) {
        const bool real = batch_norm_is_real(o, L, p);
        if (s->I > 1 && p % s->I == 0) open = false;
        if (real && !open && run) run[runs] = (gr__norm_run){ p / s->I * s->K * s->I + p % s->I, 0 };
        runs += real && !open, open = real;
        if (real && run) run[runs - 1].n++;
    }
    return runs;
}

static const gr__norm_run *batch_norm_real_runs(gr_tape *t, gr__norm_groups *s, const gr_batch_norm_config *o, size_t L)
{
    if ((!o->lengths && !o->mask) || !s->groups || !s->R || !s->I) return gr__norm_all(t, s);
    gr__norm_run *run = gr_save(t, (s->runs = batch_norm_runs(s, o, L, NULL)) * sizeof *run);
    if (run) batch_norm_runs(s, o, L, run);
    for (size_t k = s->count = 0; run && k < s->runs; k++) s->count += run[k].n;
    return s->run = run;
}

/* ---- Checks ---- */

static bool batch_norm_check_lengths(gr_tape *t, const gr_tensor *x, const gr_ints *lengths, int axis, size_t *L)
{
    if (!lengths) return true;
    if (x->rank != 3) return gr_fail(t, &batch_norm_op, "x is %s, and lengths are for 3 axes: use a mask", gr_shape_text(t, x));
    if (!axis) return gr_fail(t, &batch_norm_op, "x is %s, and lengths are for samples on axis 0: use a mask", gr_shape_text(t, x));
    *L = x->dim[3 - axis];
    return index_counts_fit(t, &batch_norm_op, "lengths", lengths, "x", x, x->dim[0], *L);
}

static bool batch_norm_check_mask(gr_tape *t, const gr_tensor *x, const gr_tensor *mask, int axis)
{
    if (!mask) return true;
    gr_shape want = { .rank = x->rank - 1 };
    for (int i = 0, k = 0; i < x->rank; i++)
        if (i != axis) want.dim[k++] = x->dim[i];
    if (gr__shapes_are_equal(gr_shape_of(mask), want)) return true;
    return gr_fail(t, &batch_norm_op, "x is %s and its channels are axis %d, so mask must be %s; got %s", gr_shape_text(t, x), axis,
                   gr_shape_name(t, want), gr_shape_text(t, mask));
}

/* Check x, axis, gamma, beta and the running statistics; make *axis count from 0, and fill in the sizes of s. */
static bool batch_norm_check(gr_tape *t, const gr_tensor *x, int *axis, const gr_tensor *gamma, const gr_tensor *beta,
                             const gr_batch_norm_config *o, gr__norm_groups *s)
{
    if (x->rank < 2) return gr_fail(t, &batch_norm_op, "x is %s, and must have 2 axes or more", gr_shape_text(t, x));
    if ((*axis = gr_axis(t, &batch_norm_op, x, *axis)) < 0) return false;
    *s = (gr__norm_groups){ .P = 1, .R = 1, .K = x->dim[*axis], .I = 1, .groups = x->dim[*axis], .of_groups = x->dim[*axis], .per_group = 1 };
    for (int i = 0; i < x->rank; i++)
        if (i != *axis) *(i < *axis ? &s->R : &s->I) *= x->dim[i];
    if (!gr__norm_check_pair(t, &batch_norm_op, x, "gamma and beta", gamma, beta, s->K)) return false;
    if (!o->running_mean != !o->running_var)
        return gr_fail(t, &batch_norm_op, "running_mean and running_var go together; got %s and %s", gr_shape_text(t, o->running_mean),
                       gr_shape_text(t, o->running_var));
    if (!gr__norm_check_pair(t, &batch_norm_op, x, "running_mean and running_var", o->running_mean, o->running_var, s->K)) return false;
    if (!gr__norm_check_momentum(t, &batch_norm_op, o->momentum)) return false;
    if (o->cumulative && o->running_mean && !o->batches)
        return gr_fail(t, &batch_norm_op, "cumulative is the average over all batches, so batches must count them; got NULL");
    if (!gr__norm_check_eps(t, &batch_norm_op, o->eps)) return false;
    s->eps = (gr_real)gr__setting(o->eps, GR_NORM_EPS);
    return true;
}

/* ---- Statistics ---- */

static bool batch_norm_move(gr_tape *t, const gr__norm_groups *s, const gr_batch_norm_config *o, const gr_real *x)
{
    const size_t C = s->groups, bytes = C * sizeof(gr_real);
    if (!gr_undo_note(t, o->running_mean->data, bytes) || !gr_undo_note(t, o->running_var->data, bytes)) return false;
    if (o->batches && !gr_undo_note(t, o->batches, sizeof *o->batches)) return false;
    if (o->batches) ++*o->batches;
    const double momentum = o->cumulative ? 1 / (double)*o->batches : gr__setting(o->momentum, 0.1);
    const gr_real w = (gr_real)momentum, keep = (gr_real)(1 - momentum), unbiased = (gr_real)s->count / (gr_real)(s->count - 1);
    for (size_t c = 0; c < C; c++) {
        gr_real *const mean = o->running_mean->data + c, *const var = o->running_var->data + c;
        *mean = r_flush(keep * *mean + w * gr__far_group_mean(s, x, c));
        *var = r_flush(keep * *var + w * (s->stat[3 * C + c] * unbiased));
    }
    return true;
}

gr_tensor *gr_batch_norm(gr_tape *t, gr_tensor *x, int axis, gr_tensor *gamma, gr_tensor *beta, const gr_batch_norm_config *config)
{
    const gr_batch_norm_config o = config ? *config : (gr_batch_norm_config){ 0 };
    gr__norm_groups s;
    size_t L = 0;
    const gr_op *const op = &batch_norm_op;
    if (!gr__norm_ready(t, op, x, gamma, beta) || !gr_alive(t, op, "running_mean", o.running_mean) ||
        !gr_alive(t, op, "running_var", o.running_var) || !gr_ints_alive(t, op, "lengths", o.lengths) || !gr_alive(t, op, "mask", o.mask))
        return NULL;
    if (!batch_norm_check(t, x, &axis, gamma, beta, &o, &s)) return NULL;
    if (!batch_norm_check_lengths(t, x, o.lengths, axis, &L) || !batch_norm_check_mask(t, x, o.mask, axis)) return NULL;
    if (!batch_norm_real_runs(t, &s, &o, L)) return NULL;
    s.fixed = o.running_mean && !gr_tape_training(t);
    if (x->len && s.count < 2 && !s.fixed)
        return gr_fail(t, op, "x is %s, and the variance of a channel needs 2 real values or more; got %zu: leave out the last, smaller batch, or "
                       "normalize by gr_layer_norm", gr_shape_text(t, x), s.count);

    s.stat = gr_save_reals(t, GR__NORM_STATS * s.groups), s.gamma = gamma ? gamma->data : NULL, s.beta = beta ? beta->data : NULL;
    gr_tensor *y = o.lengths || o.mask ? gr_zeros(t, gr_shape_of(x)) : gr__empty(t, &batch_norm_op, gr_shape_of(x));
    if (!y || !s.stat) return NULL;
    for (size_t c = 0, C = s.groups; s.fixed && c < C; c++)
        s.stat[c] = o.running_mean->data[c], s.stat[C + c] = 0, s.stat[2 * C + c] = r_rstd(o.running_var->data[c] + s.eps);
    gr__norm_groups order = s; /* with constants, each channel of a sample is computed alone: x is read in its order; small ones cost too many calls */
    if (s.fixed && s.I >= 512 && !o.lengths && !o.mask) order.P = s.R, order.R = order.runs = 1;
    gr__norm_forward(t, &order, x->data, y->data);
    y = gr_record(t, &batch_norm_op, &s, sizeof s, GR_OUT(y), GR_IN(x, gamma, beta));
    const bool moves = y && x->len && o.running_mean && gr_tape_training(t);
    return !moves || batch_norm_move(t, &s, &o, x->data) ? y : NULL;
}
