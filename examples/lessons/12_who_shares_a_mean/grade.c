/* grade.c - the grader of lesson 12. */
#include "../grader.h"
#include <math.h>
#include <string.h>

size_t my_group(gr_norm_kind kind, size_t i, size_t C, size_t L, size_t groups);
gr_tensor *my_rms_norm(gr_tape *t, gr_tensor *x, gr_tensor *gamma, double eps);

/* ---- The known mistakes ---- */

#define GROUP(M) \
    M(group_over_batch, "Your groups join the samples: number n * groups + .. is needed. In GroupNorm each sample has means of its own.") \
    M(group_interleaved, "You deal the channels out, c % groups. The channels of a group are neighbours: c / (C / groups).") \
    M(group_of_size_groups, "You use c / groups. A group has C / groups channels: divide c by that.") \
    M(group_for_all, "Your GroupNorm has one mean for everything. It has `groups` means for each sample.") \
    M(group_numbers_by_size, \
      "You count C / groups means for each sample. That is how many channels a group has; there are `groups` groups.") \
    M(group_numbers_with_gaps, "You count C means for each sample of a GroupNorm. It has `groups` of them.") \
    M(instance_over_batch, "Your InstanceNorm returns c, and so joins the samples: that is BatchNorm. It has C means for each sample.") \
    M(instance_for_all, "Your InstanceNorm has one mean for everything. It has one for each channel of each sample.") \
    M(batch_is_layer, "Your BatchNorm returns n: that is LayerNorm. BatchNorm has one mean for each channel.") \
    M(batch_for_each_sample, "Your BatchNorm has means for each sample: that is InstanceNorm. It takes a channel over all samples.\n" \
                             "If your c is i / L, it counts the channels of all samples. c must stay below C: i / L % C.") \
    M(batch_for_each_position, "Your BatchNorm has a mean for each position. It takes a channel over all samples and all positions.") \
    M(layer_is_batch, "Your LayerNorm returns c: that is BatchNorm. LayerNorm has one mean for each sample.") \
    M(layer_for_each_position, \
      "Your LayerNorm has a mean for each position: that is the LayerNorm of a Transformer. Here it is over C and L.") \
    M(layer_for_each_channel, "Your LayerNorm has a mean for each channel. Here it is over C and L: one mean for each sample.") \
    M(layer_over_batch, "Your LayerNorm has one mean for everything. It has one for each sample.") \
    M(channels_last, "You read x as [N, L, C]. In [N, C, L] the L values of a channel are neighbours: c = i / L % C.") \
    M(channel_over_all, "Your c grows from sample to sample: i / L counts the channels of all samples. c is the remainder, i / L % C.") \
    M(sample_by_channels, "Your n is i / C. A sample has C * L values: n = i / (C * L).")

#define FORWARD(M) \
    M(mean_subtracted, "You subtract the mean: that is LayerNorm. RMSNorm divides x by its RMS, and subtracts nothing.") \
    M(sum_not_divided, "You divide by the length of the row. RMS is the root of the mean of x^2: divide the sum by N first.") \
    M(rms_root_missing, "You divide by the mean of x^2. Divide by its root.") \
    M(eps_outside_root, "You add eps to the root. It stands inside, beside the mean of x^2.") \
    M(eps_missing, "You leave eps out: 1 / sqrt(mean of x^2 + eps).") \
    M(rms_n_minus_1, "You divide the sum of x^2 by N - 1. The mean of N values divides by N.") \
    M(eps_after_fraction, "You add eps to 1 / RMS. It stands under the root: 1 / sqrt(mean of x^2 + eps).") \
    M(mean_after_root, "You divide the root of the sum by N. Divide the sum by N first: RMS = sqrt(mean of x^2 + eps).") \
    M(one_rms_for_all, "You have one RMS for all rows. Which values share one? In an RMSNorm each row has its own.") \
    M(sum_not_cleared, "Your sum of x^2 goes on from row to row. Each row has an RMS of its own: begin each sum with 0.") \
    M(integer_division, "Your mean of x^2 is 0. Is nothing added to the sum, or do you multiply by 1 / N, which is 0 for integers? Divide the sum by N.") \
    M(gamma_of_row, "You use gamma[r]. gamma has one value for each place in a row: gamma[i].") \
    M(gamma_missing_in_y, "Your y does not contain gamma: y = gamma * xhat.")

/* backward: dgamma, then dx */
#define MISTAKES(M) \
    M(rms_saved, "s.rstd holds the RMS, and backward multiplies by it. Save 1 / RMS.") \
    M(mean_square_saved, "s.rstd holds the mean of x^2, and backward multiplies by it. Save 1 / RMS.") \
    M(dgamma_of_row, "You add to dgamma[r]. gamma has one value for each place in a row: add to dgamma[i].") \
    M(dgamma_raw_x, "Your dgamma is the sum of dy * x. gamma multiplies the normalized value: use xhat.") \
    M(dgamma_with_gamma, "Your dgamma uses g = gamma * dy. The derivative of gamma * xhat by gamma is xhat: use dy.") \
    M(dgamma_assigned, "You write dgamma[i] = .. where += is needed. Each row adds its part, and dgamma was not 0 before.") \
    /* dx */ \
    M(mean_term_added, "You subtract mean(g): that is LayerNorm's dx. RMSNorm subtracts no mean, so no gradient comes through one.") \
    M(second_term_missing, "Your dx is g / RMS alone. x_j also moves the RMS: subtract xhat_j * mean(g * xhat).\n" \
                           "If you do subtract it: 1 / N is 0 in C, because both are integers.") \
    M(second_term_sign, "You add the second term. A larger x makes the RMS larger, and every xhat smaller: subtract it.") \
    M(xhat_not_scaled, "Your second term contains x. It contains xhat = x / RMS, here and inside mean(g * xhat).") \
    M(second_term_too_large, \
      "Your second term lacks a factor 1 / RMS. Look at three places: is xhat_j only x_j, is the mean that of g * x, or does 1 / RMS\n" \
      "multiply g alone, because parentheses are missing?") \
    M(xhat_missing, "Your second term is mean(g * xhat) alone. It is xhat_j times that mean.") \
    M(xhat_missing_in_mean, "Your second term is xhat_j * mean(g). The mean is that of g * xhat.") \
    M(sums_not_divided, "You use the sum of g * xhat. It is a mean: divide by N.") \
    M(sums_by_rows, "You divide the sum of g * xhat by the number of rows. It is a mean over the values of one row: divide by N.") \
    M(rstd_missing, "Your dx lacks the factor 1 / RMS. xhat is x / RMS, so both terms of dx carry it.") \
    M(gamma_missing_in_mean, "Your mean is that of dy * xhat. It contains g = gamma * dy, as the first term does.") \
    M(gamma_in_front, "You multiply the whole bracket by gamma_j. The mean needs the gamma of each value i: use g = gamma * dy in both terms.") \
    M(gamma_missing_in_first, "Your first term is dy / RMS. It is g / RMS with g = gamma * dy, as in the mean.") \
    M(gamma_missing_in_g, "Your dx starts from dy. It starts from the gradient of xhat: g = gamma * dy, inside the mean as well.") \
    M(dx_assigned, "You write dx[..] = .. where += is needed. x has another use here, and its gradient was already in dx.")

GRADER_MISTAKES_OF(group, GROUP);
GRADER_MISTAKES_OF(forward, FORWARD);
GRADER_MISTAKES(MISTAKES);
static const unsigned of_group = (1u << group_count) - 1, of_y = (1u << forward_count) - 1, of_dgamma = mean_term_added - 1,
                      of_dx = (1u << list_count) - mean_term_added;

/* ---- The formulas, with a switch for each ---- */

enum { SAMPLES = 2, CHANNELS = 6, POSITIONS = 4, VALUES = SAMPLES * CHANNELS * POSITIONS, GROUPS = 2, KINDS = 4 };
static const gr_norm_kind kinds[KINDS] = { GR_NORM_BATCH, GR_NORM_LAYER, GR_NORM_INSTANCE, GR_NORM_GROUP };
static const char *const names[KINDS] = { "BatchNorm", "LayerNorm", "InstanceNorm", "GroupNorm, 2 groups" };

/* The numbers of all values in one norm, which data names. */
static void formula_group(unsigned m, const void *data, double *answer)
{
    const gr_norm_kind kind = *(const gr_norm_kind *)data;
    for (size_t i = 0; i < VALUES; i++) {
        const size_t n = i / (m & sample_by_channels ? CHANNELS : CHANNELS * POSITIONS), l = i % POSITIONS;
        const size_t c = m & channels_last ? i % CHANNELS : m & channel_over_all ? i / POSITIONS : i / POSITIONS % CHANNELS;
        size_t number = 0;
        if (kind == GR_NORM_BATCH)
            number = m & batch_for_each_sample     ? n * CHANNELS + c
                     : m & batch_for_each_position ? c * POSITIONS + l
                     : m & batch_is_layer          ? n
                                                   : c;
        if (kind == GR_NORM_LAYER)
            number = m & layer_for_each_channel    ? n * CHANNELS + c
                     : m & layer_for_each_position ? n * POSITIONS + l
                     : m & layer_over_batch        ? 0
                     : m & layer_is_batch          ? c
                                                   : n;
        if (kind == GR_NORM_INSTANCE) number = m & instance_for_all ? 0 : m & instance_over_batch ? c : n * CHANNELS + c;
        if (kind == GR_NORM_GROUP) {
            number = m & group_interleaved ? c % GROUPS : m & group_of_size_groups ? c / GROUPS : c / (CHANNELS / GROUPS);
            if (!(m & group_over_batch))
                number += n * (m & group_numbers_with_gaps ? CHANNELS : m & group_numbers_by_size ? CHANNELS / GROUPS : GROUPS);
            if (m & group_for_all) number = 0;
        }
        answer[i] = (double)number;
    }
}

enum { R = 3, N = 5, LEN = R * N };
typedef struct {
    size_t rows, n;
    double eps;
    const double *x, *gamma, *dy;
    bool other; /* whether other_x and other_gamma are in dx and dgamma before, from other operators */
} problem;

static const double other_x[LEN] = { 0.4, 0.9, -0.2, 0.6, -0.7, 0.35, 0.15, -0.45, 0.55, -0.8, 0.25, 0.65, -0.3, 0.75, 0.1 };
static const double other_gamma[N] = { 0.7, 0.1, -0.4, 0.8, 0.45 };

static void statistics(unsigned m, const problem *p, size_t r, double *mean, double *rstd)
{
    const size_t begin = m & (one_rms_for_all | sum_not_cleared) ? 0 : r, end = m & one_rms_for_all ? p->rows : r + 1;
    const double *x = p->x + r * p->n, eps = m & eps_missing ? 0 : p->eps, n = (double)(m & one_rms_for_all ? p->rows * p->n : p->n);
    double ms = 0;
    *mean = 0;
    for (size_t i = 0; i < p->n && m & mean_subtracted; i++) *mean += x[i] / (double)p->n;
    for (size_t i = begin * p->n; i < end * p->n; i++) ms += (p->x[i] - *mean) * (p->x[i] - *mean);
    if (!(m & (sum_not_divided | mean_after_root))) ms /= m & rms_n_minus_1 ? n - 1 : n;
    if (m & integer_division) ms = 0;
    *rstd = m & eps_outside_root ? 1 / (sqrt(ms) + eps) : m & eps_after_fraction ? 1 / sqrt(ms) + eps : 1 / sqrt(ms + eps);
    if (m & mean_after_root) *rstd = m & eps_outside_root ? 1 / (sqrt(ms) / n + eps) : *rstd * n;
    if (m & rms_root_missing) *rstd *= *rstd;
}

static void formula_y(unsigned m, const void *data, double *y)
{
    const problem *p = data;
    for (size_t i = 0; i < p->rows * p->n; i++) {
        double mean, rstd;
        statistics(m, p, i / p->n, &mean, &rstd);
        y[i] = (m & gamma_missing_in_y ? 1 : p->gamma[m & gamma_of_row ? i / p->n : i % p->n]) * (p->x[i] - mean) * rstd;
    }
}

static void formula_dgamma(unsigned m, const void *data, double *dgamma)
{
    const problem *p = data;
    for (size_t i = 0; i < p->n; i++) dgamma[i] = p->other && !(m & dgamma_assigned) ? other_gamma[i] : 0;
    for (size_t at = 0; at < p->rows * p->n; at++) {
        const size_t r = at / p->n, i = at % p->n, place = m & dgamma_of_row ? r : i;
        double mean, rstd;
        statistics(0, p, r, &mean, &rstd);
        if (m & rms_saved) rstd = 1 / rstd;
        if (m & mean_square_saved) rstd = 1 / (rstd * rstd);
        if (m & dgamma_assigned) dgamma[place] = 0;
        dgamma[place] += p->dy[at] * p->x[at] * (m & dgamma_raw_x ? 1 : rstd) * (m & dgamma_with_gamma ? p->gamma[i] : 1);
    }
}

static void formula_dx(unsigned m, const void *data, double *dx)
{
    const problem *p = data;
    const double count = m & sums_not_divided ? 1 : (double)(m & sums_by_rows ? p->rows : p->n);
    for (size_t r = 0; r < p->rows; r++) {
        const double *x = p->x + r * p->n, *dy = p->dy + r * p->n;
        double unused, rstd, mean_g = 0, mean_gx = 0;
        statistics(0, p, r, &unused, &rstd);
        for (size_t i = 0; i < p->n; i++) {
            const double g = (m & (gamma_missing_in_g | gamma_in_front | gamma_missing_in_mean) ? 1 : p->gamma[i]) * dy[i];
            const double xhat = m & xhat_missing_in_mean ? 1 : x[i] * (m & xhat_not_scaled ? 1 : rstd);
            mean_g += g / count, mean_gx += g * xhat / count;
        }
        if (!(m & mean_term_added)) mean_g = 0;
        if (m & second_term_missing) mean_gx = 0;
        if (m & second_term_sign) mean_gx = -mean_gx;
        for (size_t i = 0; i < p->n; i++) {
            const size_t at = r * p->n + i;
            const double g = (m & (gamma_missing_in_g | gamma_in_front | gamma_missing_in_first) ? 1 : p->gamma[i]) * dy[i];
            const double xhat = m & xhat_missing ? 1 : x[i] * (m & (xhat_not_scaled | second_term_too_large) ? 1 : rstd);
            const double dx_i = (m & gamma_in_front ? p->gamma[i] : 1) * (m & rstd_missing ? 1 : rstd) * (g - mean_g - xhat * mean_gx);
            dx[at] = (p->other && !(m & dx_assigned) ? other_x[at] : 0) + dx_i;
        }
    }
}

/* ---- The learner's numbers ---- */

typedef struct {
    double y[LEN], dx[LEN], dgamma[N];
} numbers;
enum { X = 1, GAMMA = 2, ALL = 3 };

static gr_tensor *put(gr_tape *t, const double *v, gr_shape shape, bool want)
{
    gr_tensor *x = gr_input(t, v, shape); /* gr_real is double here */
    return want ? gr_want_grad(t, x) : x;
}
static void take(double *out, const gr_real *v, size_t n)
{
    if (v) memcpy(out, v, n * sizeof *v); /* NULL: no gradient has come */
}

/* Run the exercise on p, asking for some gradients. x and gamma get another part from operators recorded later, which backward visits first. */
static numbers run(const problem *p, int want)
{
    numbers r = { 0 };
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_shape row = GR_SHAPE(p->n), whole = GR_SHAPE(p->rows, p->n);
    gr_tensor *in[2] = { put(t, p->x, whole, want & X), put(t, p->gamma, row, want & GAMMA) };
    const double *other[2] = { other_x, other_gamma };
    gr_tensor *y = my_rms_norm(t, in[0], in[1], p->eps);
    if (!y) grader_stop("no_result", "my_rms_norm returned NULL. The tape says: \"%s\"", gr_message(t));
    take(r.y, y->data, y->len);
    gr_tensor *loss = gr_sum(t, gr_mul(t, y, gr_input(t, p->dy, whole)), GR_ALL_AXES, false);
    for (int k = 0; k < 2 && p->other; k++)
        if (want & 1 << k)
            loss = gr_add(t, loss, gr_sum(t, gr_mul(t, in[k], gr_input(t, other[k], gr_shape_of(in[k]))), GR_ALL_AXES, false));
    if (want) gr_backward(t, loss);
    take(r.dx, gr_grad(t, in[0]), in[0]->len), take(r.dgamma, gr_grad(t, in[1]), p->n);
    if (memcmp(in[0]->data, p->x, in[0]->len * sizeof(double)))
        grader_stop("input_changed", "Your code writes into x->data. An operator never changes its inputs.");
    gr_tape_free(t);
    return r;
}

static const double x[LEN] = { 0.3, -1.2, 2.1, 0.7, -0.4, 1.9, 0.2, -0.6, 1.1, 3.0, -2.2, 0.9, 0.1, -0.8, 1.6 };
static const double gamma_[N] = { 1.3, -0.7, 0.4, 2.1, 0.6 };
static const double dy[LEN] = { 0.5, -0.3, 0.8, 0.1, -0.9, -0.2, 0.7, 0.4, -0.6, 0.3, 0.9, -0.1, -0.5, 0.2, 0.6 };
static const problem general = { R, N, 0.3, x, gamma_, dy, true };
static const grader_input inputs[] = { { "x", x, R, N }, { "gamma", gamma_, 1, N }, { "dy", dy, R, N }, { NULL } };
static const problem worked = { 1, 2, 0, (const double[]){ 3, 4 }, (const double[]){ 1, 1 }, (const double[]){ 1, 0 }, false };

static void judge(const grader_mistake *known, const char *name, grader_formula *f, unsigned among, const double *got, size_t n_rows,
                  const double *small, const double *before)
{
    const grader_result whole = { name, "3 rows of 5 values, eps = 0.3", f, &general, among, n_rows, N, got, before, inputs },
                        few = { name, "x = (3, 4), gamma = 1, eps = 0, dy = (1, 0)", f, &worked, among, 1, 2, small, NULL };
    grader_judge(known, &whole, &few);
}

static gr_tensor *checked(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    return my_rms_norm(t, in[0], in[1], 0.3);
}

/* Show two samples as gr_print_norm does: equal letters share a mean. */
static void show_letters(const char *label, const double *number)
{
    printf("      %-8s", label);
    for (size_t i = 0; i < VALUES; i++) {
        const bool letter = number[i] >= 0 && number[i] < 26;
        printf("%s%c",
               i && i % POSITIONS == 0 ? i % (CHANNELS * POSITIONS) ? " " : "\n               "
               : i                     ? ""
                                       : " ",
               letter ? 'A' + (int)number[i] : '?');
    }
    printf("\n");
}

/* Whether the same values share a mean, whatever its number. */
static bool same_groups(const double *a, const double *b)
{
    for (size_t i = 0; i < VALUES; i++)
        for (size_t j = 0; j < i; j++)
            if ((a[i] == a[j]) != (b[i] == b[j])) return false;
    return true;
}

static void check_groups(void)
{
    double got[KINDS][VALUES], right[VALUES];
    bool untouched = true;
    for (int k = 0; k < KINDS; k++)
        for (size_t i = 0; i < VALUES; i++) {
            got[k][i] = (double)my_group(kinds[k], i, CHANNELS, POSITIONS, GROUPS);
            untouched &= got[k][i] == 0;
        }
    if (untouched) grader_stop("not_begun", "my_group returns 0 for every value. Begin at TODO 1 in exercise.c: about six lines.");
    for (int k = 0; k < KINDS; k++) {
        grader_step(names[k]);
        formula_group(0, &kinds[k], right);
        if (grader_same(got[k], right, VALUES)) continue;
        grader_failed();
        printf("      x is [2, 6, 4]; equal letters share a mean, A is number 0\n");
        show_letters("yours", got[k]), show_letters("right", right);
        const unsigned found = grader_explain(formula_group, &kinds[k], of_group, got[k], VALUES);
        if (found) grader_stop_mistakes(group, found);
        if (same_groups(got[k], right))
            grader_stop("groups_renumbered", "Your groups are right, but not their numbers: count the means in the order of their first values in memory.");
        grader_stop("unknown_groups",
                    "None of the known mistakes explains your numbers. Find n and c of one value that has the wrong letter.");
    }
    for (size_t i = 0; i < 4 * 3 * 2 && GROUPS < 3; i++) /* [.., 3, 2], three groups */
        if (my_group(GR_NORM_GROUP, i, 3, 2, 3) != i / 2 || my_group(GR_NORM_LAYER, i, 3, 2, 1) != i / 6)
            grader_stop("other_sizes", "Your numbers are right for [2, 6, 4] and wrong for [4, 3, 2]. Is a size written as a number?");
}

static int ambiguous_groups(void)
{
    const unsigned of[KINDS] = { batch_for_each_sample | batch_for_each_position | batch_is_layer | channels_last,
                                 layer_for_each_channel | layer_over_batch | layer_for_each_position | layer_is_batch | sample_by_channels,
                                 instance_over_batch | instance_for_all | channels_last | channel_over_all | sample_by_channels,
                                 group_over_batch | group_interleaved | group_of_size_groups | group_for_all | group_numbers_by_size |
                                     group_numbers_with_gaps | channels_last | sample_by_channels };
    int count = 0;
    for (int k = 0; k < KINDS; k++) count += grader_ambiguous(group, formula_group, &kinds[k], of[k], VALUES);
    return count;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return ambiguous_groups() + grader_ambiguous(forward, formula_y, &general, of_y, LEN) +
               grader_ambiguous(list, formula_dgamma, &general, of_dgamma, N) + grader_ambiguous(list, formula_dx, &general, of_dx, LEN);
    grader_start("Lesson 12: who shares a mean");
    grader_step("a number for each mean");
    check_groups();

    grader_step("RMSNorm, forward");
    const numbers few = run(&worked, ALL), all = run(&general, ALL);
    if (grader_same(all.y, (double[LEN]){ 0 }, LEN))
        grader_stop(
            "rms_not_begun",
            "my_group is right. Each y is 0: go on at TODO 2, about five lines. If they are written: 1 / N is a division of integers,\n"
            "and its result is 0.");
    judge(forward, "y", formula_y, of_y, all.y, R, few.y, NULL);
    grader_step("RMSNorm, backward: dgamma");
    if (grader_same(all.dx, other_x, LEN) && grader_same(all.dgamma, other_gamma, N))
        grader_stop(
            "half_done",
            "Forward is right. All gradients are 0: either backward is not written yet (TODO 3, about ten lines), or forward did not\n"
            "fill s.rstd.");
    judge(list, "dgamma", formula_dgamma, of_dgamma, all.dgamma, 1, few.dgamma, other_gamma);
    grader_step("RMSNorm, backward: dx");
    judge(list, "dx", formula_dx, of_dx, all.dx, R, few.dx, other_x);
    grader_step("gr_gradcheck: both gradients, by finite differences");
    grader_gradcheck_operator("my_rms_norm", checked, NULL, (gr_gradcheck_input[]){ { .shape = GR_SHAPE(4, 7) }, { .shape = GR_SHAPE(7) } },
                              2, (const char *const[]){ "x", "gamma" });
    return grader_end("All right. gradus does the same in ops/rms_norm.c and ops/norm_groups.c: compare them with yours.");
}
