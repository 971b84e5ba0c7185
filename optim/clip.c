/* optim/clip.c - clip gradients: their common norm, or each value; and whether they are finite. */
#include "core/kernel.h"
#include "optim/internal.h"

/* The sum of x^2 in double: 16 lanes, then a tree. */
KERNEL(double, square_sum, const gr_real *x, size_t n)
{
    double lane[16] = { 0 };
    size_t i = 0;
    for (const size_t full = n - n % 16; i < full; i += 16)
        KEEP_LOOP for (size_t l = 0; l < 16; l++) lane[l] += (double)x[i + l] * (double)x[i + l];
    for (size_t l = 0; i < n; l++, i++) lane[l] += (double)x[i] * (double)x[i];
    for (size_t width = 8; width; width /= 2)
        for (size_t l = 0; l < width; l++) lane[l] += lane[l + width];
    return lane[0];
}

/* 0 when every value is finite, else NaN. */
KERNEL(gr_real, finite_check, const gr_real *x, size_t n) { return SUM(i, n, x[i] - x[i]); }

KERNEL(void, scale_all, gr_real *x, size_t n, gr_real factor) { for (size_t i = 0; i < n; i++) x[i] *= factor; }

KERNEL(void, clamp_all, gr_real *x, size_t n, gr_real max)
{
    for (size_t i = 0; i < n; i++) x[i] = r_max(-max, r_min(max, x[i])); /* a NaN stays one */
}

#if GR_HOST
typedef struct {
    gr_tape *t;
    gr_optim *o;
    enum clip_kind { CLIP_CHECK, CLIP_SUM, CLIP_SCALE, CLIP_CLAMP } what;
    gr_real number; /* the factor of CLIP_SCALE, the largest value of CLIP_CLAMP */
} clip_work;

static void clip_chunk(void *argument, size_t i, int thread UNUSED)
{
    const clip_work *const w = argument;
    optim_chunk *const c = &w->o->chunk[i];
    gr_real *const dx = gr_grad(w->t, w->o->entry[c->entry].x), *const x = dx ? dx + c->range.first : NULL;
    const int isa = gr_isa(w->t);
    if (w->what == CLIP_CHECK) c->sum = x ? (double)finite_check[isa](x, c->range.count) : 0;
    else if (w->what == CLIP_SUM) c->sum = x ? square_sum[isa](x, c->range.count) : 0;
    else if (x && w->what == CLIP_SCALE) scale_all[isa](x, c->range.count, w->number);
    else if (x) clamp_all[isa](x, c->range.count, w->number);
}

static void clip_all(gr_tape *t, gr_optim *o, enum clip_kind what, double number)
{
    for (size_t i = 0; i < o->entries; i++) gr_grad(t, o->entry[i].x); /* the chunks find it cleared, also where no operator added to it */
    gr_parallel(t, o->chunks, (double)o->state_len * 0.1, clip_chunk, &(clip_work){ t, o, what, (gr_real)number });
}

/* Add the sums of all chunks in order. *culprit: the path of the parameter where the sum stops being finite, or NULL. */
static double clip_total(const gr_optim *o, const char **culprit)
{
    double sum = 0;
    *culprit = NULL;
    for (size_t i = 0; i < o->chunks && !*culprit; i++) {
        sum += o->chunk[i].sum;
        if (!(sum < HUGE_VAL)) *culprit = o->entry[o->chunk[i].entry].held.slot->path;
    }
    return sum;
}

bool gr__optim_gradients_are_finite(gr_tape *t, gr_optim *o)
{
    const char *culprit;
    clip_all(t, o, CLIP_CHECK, 0), clip_total(o, &culprit);
    return !culprit || gr_fail_as(t, GR_NOT_FINITE, "optim_step", "the gradient of %s holds a NaN or an infinity: the step is refused; "
                                  "gr_tape_set_anomaly finds the operator", culprit);
}

double gr_clip_grad_norm(gr_tape *t, gr_optim *o, double max)
{
    const char *culprit;
    if (!gr__optim_is(t, o, "clip_grad_norm")) return (double)NAN;
    if (!(max >= 0)) return gr_fail(t, NULL, "clip_grad_norm: the largest norm must be 0 or more; got %g", max), (double)NAN;
    clip_all(t, o, CLIP_SUM, 0);
    const double sum = clip_total(o, &culprit), norm = __builtin_sqrt(sum), factor = max / (norm + 1e-6); /* 1e-6 as in PyTorch */
    if (culprit)
        return gr_fail_as(t, GR_NOT_FINITE, "clip_grad_norm", "the gradient norm is %s at %s: nothing was clipped; gr_tape_set_anomaly finds the operator",
                          sum > 0 ? "infinite" : "NaN", culprit), (double)NAN;
    if (factor < 1) clip_all(t, o, CLIP_SCALE, factor);
    return norm;
}

bool gr_clip_grad_value(gr_tape *t, gr_optim *o, double max)
{
    if (!gr__optim_is(t, o, "clip_grad_value")) return false;
    if (!(max >= 0)) return gr_fail(t, NULL, "clip_grad_value: the largest value must be 0 or more; got %g", max);
    clip_all(t, o, CLIP_CLAMP, max);
    return true;
}
#endif
