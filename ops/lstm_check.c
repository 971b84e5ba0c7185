/* ops/lstm_check.c - the arguments of gr_lstm_sequence, in their order. */
#include "ops/lstm_check.h"
#include <string.h>

static const char *const lstm_input_name[] = { "x",          "w_ih",         "w_hh",       "b_ih",          "b_hh",        "ln_ih.weight",
                                               "ln_ih.bias", "ln_hh.weight", "ln_hh.bias", "ln_sum.weight", "ln_sum.bias", "ln_c.weight",
                                               "ln_c.bias",  "h0",           "c0" };

static bool lstm_shape_is(const gr_tensor *x, gr_shape shape)
{
    bool same = x && x->rank == shape.rank;
    for (int i = 0; same && i < shape.rank; i++) same = x->dim[i] == shape.dim[i];
    return same;
}

static bool lstm_check_norms(gr_tape *t, const gr_op *op, const gr__lstm *s)
{
    static const char *const bit[] = { "GR_LSTM_LN_X", "GR_LSTM_LN_H", "GR_LSTM_LN_SUM", "GR_LSTM_LN_C" };
    if (s->norm > GR_LSTM_BN) return gr_fail(t, op, "norm is %u, which is neither a sum of GR_LSTM_LN_... nor GR_LSTM_BN", s->norm);
    for (int i = LSTM_LN_IH; i <= LSTM_LN_C_SHIFT; i++) {
        const int norm = (i - LSTM_LN_IH) / 2;
        const gr_shape shape = GR_SHAPE(norm == LSTM_NORM_C ? s->H : 4 * s->H);
        if (!gr__lstm_has(s, norm) && s->in[i]) return gr_fail(t, op, "%s is given, but norm lacks %s", lstm_input_name[i], bit[norm]);
        if (gr__lstm_has(s, norm) && !lstm_shape_is(s->in[i], shape))
            return gr_fail(t, op, "norm has %s, so %s must be %s; got %s", bit[norm], lstm_input_name[i], gr_shape_name(t, shape),
                           gr_shape_text(t, s->in[i]));
    }
    return true;
}

static bool lstm_check_bn(gr_tape *t, const gr_op *op, const gr__lstm *s)
{
    static const char *const norm[] = { "bn_ih", "bn_hh", NULL, "bn_c" };
    static const char *const part[] = { "weight", "bias", "running_mean", "running_var" };
    const gr_tensor *first = s->bn[LSTM_NORM_X].running_mean;
    const size_t steps = first && first->rank == 2 && first->dim[0] ? first->dim[0] : 1;
    for (int n = 0; n < LSTM_NORMS; n++) {
        const gr_tensor *const has[] = { s->bn[n].weight, s->bn[n].bias, s->bn[n].running_mean, s->bn[n].running_var };
        const size_t N = n == LSTM_NORM_C ? s->H : 4 * s->H;
        for (int i = 0; i < 4 && norm[n]; i++) {
            const bool wanted = s->norm == GR_LSTM_BN && (i != 1 || n == LSTM_NORM_C);
            const gr_shape shape = i < 2 ? GR_SHAPE(N) : GR_SHAPE(steps, N);
            if (!wanted && has[i])
                return gr_fail(
                    t, op, s->norm == GR_LSTM_BN ? "%s.%s is given, but only bn_c has one" : "%s.%s is given, but norm lacks GR_LSTM_BN",
                    norm[n], part[i]);
            if (wanted && !lstm_shape_is(has[i], shape))
                return gr_fail(t, op, "norm is GR_LSTM_BN, so %s.%s must be %s; got %s", norm[n], part[i], gr_shape_name(t, shape),
                               gr_shape_text(t, has[i]));
        }
    }
    return true;
}

static bool lstm_check_lengths(gr_tape *t, const gr_op *op, const gr__lstm *s, const gr_ints *lengths)
{
    if (!lengths) return true;
    if (lengths->rank != 1 || lengths->len != s->B) {
        gr_shape shape = { .rank = lengths->rank };
        memcpy(shape.dim, lengths->dim, sizeof shape.dim);
        return gr_fail(t, op, "x holds %zu sequences, so lengths must be [%zu]; got %s", s->B, s->B, gr_shape_name(t, shape));
    }
    for (size_t b = 0; b < s->B; b++)
        if (lengths->data[b] < 0 || (size_t)lengths->data[b] > s->T)
            return gr_fail(t, op, "x holds %zu steps, so lengths[%zu] must be in 0 .. %zu; got %d", s->T, b, s->T, lengths->data[b]);
    return true;
}

bool gr__lstm_understand(gr_tape *t, const gr_op *op, gr__lstm *s, const gr_lstm_options *o)
{
    const gr_tensor *x = s->in[LSTM_X], *w = s->in[LSTM_W_IH];
    if (!gr_ready(t, op, s->in[LSTM_X])) return false;
    if (x->rank != 3) return gr_fail(t, op, "x must be %s; got %s", o->batch_first ? "[B, T, I]" : "[T, B, I]", gr_shape_text(t, x));
    s->T = x->dim[o->batch_first], s->B = x->dim[!o->batch_first], s->I = x->dim[2];
    if (!w || w->rank != 2 || !w->dim[0] || w->dim[0] % 4 || w->dim[1] != s->I)
        return gr_fail(t, op, "x is %s, so w_ih must be [4H, %zu]; got %s", gr_shape_text(t, x), s->I, gr_shape_text(t, w));
    const size_t H = s->H = w->dim[0] / 4;
    for (int i = LSTM_W_HH; i <= LSTM_B_HH; i++) {
        const gr_shape shape = i == LSTM_W_HH ? GR_SHAPE(4 * H, H) : GR_SHAPE(4 * H);
        if ((i != LSTM_W_HH && !s->in[i]) || lstm_shape_is(s->in[i], shape)) continue;
        return gr_fail(t, op, "w_ih is %s, so %s must be %s; got %s", gr_shape_text(t, w), lstm_input_name[i], gr_shape_name(t, shape),
                       gr_shape_text(t, s->in[i]));
    }
    if (!lstm_check_norms(t, op, s) || !lstm_check_bn(t, op, s)) return false;
    for (int i = LSTM_H0; i <= LSTM_C0; i++)
        if (s->in[i] && !lstm_shape_is(s->in[i], GR_SHAPE(s->B, H)))
            return gr_fail(t, op, "x holds %zu sequences and w_ih is %s, so %s must be [%zu, %zu]; got %s", s->B, gr_shape_text(t, w),
                           lstm_input_name[i], s->B, H, gr_shape_text(t, s->in[i]));
    if (!lstm_check_lengths(t, op, s, o->lengths)) return false;
    if (!(o->eps >= 0) && o->eps != GR_NONE) return gr_fail(t, op, "eps must not be negative; got %g", o->eps);
    if (!(o->momentum >= 0 && o->momentum <= 1) && o->momentum != GR_NONE)
        return gr_fail(t, op, "momentum must be in [0, 1]; got %g", o->momentum);
    for (int n = 0; s->norm == GR_LSTM_BN && n < LSTM_NORMS; n++)
        s->in[LSTM_LN_IH + 2 * n] = s->bn[n].weight, s->in[LSTM_LN_IH_SHIFT + 2 * n] = s->bn[n].bias;
    s->momentum = o->momentum == GR_NONE ? 0 : o->momentum == 0 ? 0.1 : o->momentum;
    s->lengths = o->lengths ? o->lengths->data : NULL;
    s->of_time = o->batch_first ? 1 : s->B, s->of_row = o->batch_first ? s->T : 1;
    s->shards = (s->B + 7) / 8 < 8 ? (s->B + 7) / 8 : 8;
    s->groups = s->norm & GR_LSTM_LN_PER_GATE ? 4 : 1;
    s->reverse = o->reverse;
    s->eps = (gr_real)(o->eps == GR_NONE ? 0 : o->eps ? o->eps : 1e-5);
    return true;
}
