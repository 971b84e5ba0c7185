/* ops/sequence_check.c - checks the arguments of gr_lstm_sequence, gr_gru_sequence and gr_rnn_sequence, in their order. */
#include "ops/index.h"
#include "ops/norm_groups.h"
#include "ops/sequence.h"

static const char *const sequence_input_name[] = {
    "x",          "w_ih",          "w_hh",        "b_ih",        "b_hh",      "ln_ih.weight", "ln_ih.bias", "ln_hh.weight",
    "ln_hh.bias", "ln_sum.weight", "ln_sum.bias", "ln_c.weight", "ln_c.bias", "h0",           "c0" };

bool gr__sequence_check_norm(gr_tape *t, const gr_op *op, const gr__kind *kind, unsigned norm)
{
    const char *lstm = kind->has_c ? " nor GR_LSTM_BN" : "";
    if (norm & ~kind->norms || (norm & GR_LSTM_BN && norm != GR_LSTM_BN))
        return gr_fail(t, op, "norm is %u, which is %s sum of %s_LN_...%s", norm, kind->has_c ? "neither a" : "no", kind->prefix, lstm);
    if (norm & GR_LSTM_LN_PER_GATE && !(norm & (GR_LSTM_LN_X | GR_LSTM_LN_H | GR_LSTM_LN_SUM)))
        return gr_fail(t, op, "GR_LSTM_LN_PER_GATE needs GR_LSTM_LN_X, GR_LSTM_LN_H or GR_LSTM_LN_SUM");
    return true;
}

static bool sequence_check_norms(gr_tape *t, const gr__sequence *s)
{
    static const char *const bit[] = { "X", "H", "SUM", "C" };
    const gr_op *op = s->kind->op;
    const char *prefix = s->kind->prefix;
    if (!gr__sequence_check_norm(t, op, s->kind, s->norm)) return false;
    for (int i = SEQ_LN_IH; i <= SEQ_LN_C_SHIFT; i++) {
        const int norm = (i - SEQ_LN_IH) / 2;
        const gr_shape shape = GR_SHAPE(norm == SEQ_NORM_C ? s->H : s->G);
        if (!gr__sequence_has(s, norm) && s->in[i]) return gr_fail(t, op, "%s is given, but norm lacks %s_LN_%s", sequence_input_name[i], prefix, bit[norm]);
        if (gr__sequence_has(s, norm) && !gr__shapes_are_equal(gr_shape_of(s->in[i]), shape))
            return gr_fail(t, op, "norm has %s_LN_%s, so %s must be %s; got %s", prefix, bit[norm], sequence_input_name[i],
                           gr_shape_name(t, shape), gr_shape_text(t, s->in[i]));
    }
    return true;
}

static bool sequence_check_bn(gr_tape *t, const gr_op *op, const gr__sequence *s)
{
    static const char *const norm[] = { "bn_ih", "bn_hh", NULL, "bn_c" };
    static const char *const part[] = { "weight", "bias", "running_mean", "running_var" };
    const gr_tensor *first = s->bn[SEQ_NORM_X].running_mean;
    const size_t steps = first && first->rank == 2 && first->dim[0] ? first->dim[0] : 1;
    for (int n = 0; n < SEQ_NORMS; n++) {
        const gr_tensor *const has[] = { s->bn[n].weight, s->bn[n].bias, s->bn[n].running_mean, s->bn[n].running_var };
        const size_t N = n == SEQ_NORM_C ? s->H : s->G;
        for (int i = 0; i < 4 && norm[n]; i++) {
            if (has[i] && !gr_alive(t, op, norm[n], has[i])) return false;
            const bool wanted = s->norm == GR_LSTM_BN && (i != 1 || n == SEQ_NORM_C);
            const gr_shape shape = i < 2 ? GR_SHAPE(N) : GR_SHAPE(steps, N);
            if (!wanted && has[i])
                return gr_fail(t, op, s->norm == GR_LSTM_BN ? "%s.%s is given, but only bn_c has one" : "%s.%s is given, but norm lacks GR_LSTM_BN",
                               norm[n], part[i]);
            if (wanted && !gr__shapes_are_equal(gr_shape_of(has[i]), shape))
                return gr_fail(t, op, "norm is GR_LSTM_BN, so %s.%s must be %s; got %s", norm[n], part[i], gr_shape_name(t, shape), gr_shape_text(t, has[i]));
        }
    }
    return true;
}

/* h0 and c0 must be [B, H], if they are given. */
static bool sequence_check_states(gr_tape *t, const gr__sequence *s)
{
    const gr_op *op = s->kind->op;
    if (!s->kind->has_c && s->in[SEQ_C0]) return gr_fail(t, op, "c0 is given, but only an LSTM has a cell");
    for (int i = SEQ_H0; i <= SEQ_C0; i++)
        if (s->in[i] && !gr__shapes_are_equal(gr_shape_of(s->in[i]), GR_SHAPE(s->B, s->H)))
            return gr_fail(t, op, "x holds %zu sequences and w_ih is %s, so %s must be [%zu, %zu]; got %s", s->B,
                           gr_shape_text(t, s->in[SEQ_W_IH]), sequence_input_name[i], s->B, s->H, gr_shape_text(t, s->in[i]));
    return true;
}

static bool sequence_check_weights(gr_tape *t, gr__sequence *s, const gr_sequence_config *o)
{
    const gr_op *op = s->kind->op;
    const gr_tensor *x = s->in[SEQ_X], *w = s->in[SEQ_W_IH];
    const size_t gates = s->kind->gates;
    char G[24] = "H";
    if (gates > 1) G[0] = (char)('0' + gates), G[1] = 'H', G[2] = 0;
    if (x->rank != 3) return gr_fail(t, op, "x must be %s; got %s", o->batch_first ? "[B, T, I]" : "[T, B, I]", gr_shape_text(t, x));
    s->T = x->dim[o->batch_first], s->B = x->dim[!o->batch_first], s->I = x->dim[2];
    if (!w || w->rank != 2 || !w->dim[0] || w->dim[0] % gates || w->dim[1] != s->I)
        return gr_fail(t, op, "x is %s, so w_ih must be [%s, %zu]; got %s", gr_shape_text(t, x), G, s->I, gr_shape_text(t, w));
    s->G = w->dim[0], s->H = s->G / gates;
    for (int i = SEQ_W_HH; i <= SEQ_B_HH; i++) {
        const gr_shape shape = i == SEQ_W_HH ? GR_SHAPE(s->G, s->H) : GR_SHAPE(s->G);
        if ((i != SEQ_W_HH && !s->in[i]) || gr__shapes_are_equal(gr_shape_of(s->in[i]), shape)) continue;
        return gr_fail(t, op, "w_ih is %s, so %s must be %s; got %s", gr_shape_text(t, w), sequence_input_name[i], gr_shape_name(t, shape),
                       gr_shape_text(t, s->in[i]));
    }
    return true;
}

bool gr__sequence_understand(gr_tape *t, gr__sequence *s, const gr__kind *kind, gr_tensor *x, const gr_recurrent_weights *w, const gr_sequence_config *config)
{
    const gr_op *op = kind->op;
    const gr_sequence_config *const o = config ? config : &(gr_sequence_config){ 0 };
    if (!gr_ready(t, op, x)) return false;
    if (!w) return gr_fail(t, op, "weights is NULL");
    *s = (gr__sequence){ .kind = kind,
                         .norm = w->norm, .bn = { [SEQ_NORM_X] = w->bn_ih, [SEQ_NORM_H] = w->bn_hh, [SEQ_NORM_C] = w->bn_c },
                         .in = { x, w->w_ih, w->w_hh, w->b_ih, w->b_hh, w->ln_ih.weight, w->ln_ih.bias, w->ln_hh.weight, w->ln_hh.bias,
                                 w->ln_sum.weight, w->ln_sum.bias, w->ln_c.weight, w->ln_c.bias, o->h0, o->c0 } };
    for (int i = SEQ_W_IH; i < SEQ_INPUTS; i++)
        if (!gr_alive(t, op, sequence_input_name[i], s->in[i])) return false;
    if (!sequence_check_weights(t, s, o) || !sequence_check_norms(t, s) || !sequence_check_bn(t, op, s) || !sequence_check_states(t, s) ||
        !index_counts_fit(t, op, "lengths", o->lengths, "x", x, s->B, s->T))
        return false;
    if (!gr__norm_check_eps(t, op, o->eps) || !gr__norm_check_momentum(t, op, o->momentum)) return false;
    for (int n = 0; s->norm == GR_LSTM_BN && n < SEQ_NORMS; n++)
        s->in[SEQ_LN_IH + 2 * n] = s->bn[n].weight, s->in[SEQ_LN_IH_SHIFT + 2 * n] = s->bn[n].bias;
    s->momentum = gr__setting(o->momentum, 0.1), s->lengths = o->lengths ? o->lengths->data : NULL;
    s->of_time = o->batch_first ? 1 : s->B, s->of_row = o->batch_first ? s->T : 1;
    s->shards = s->norm == GR_LSTM_BN ? 1 : gr_chunks(s->B, 8) < 8 ? gr_chunks(s->B, 8) : 8;
    s->groups = kind->apart ? 2 : s->norm & GR_LSTM_LN_PER_GATE ? 4 : 1;
    s->first = kind->apart ? 2 * s->H : s->G / s->groups, s->rest = s->H;
    s->batch_first = o->batch_first, s->reverse = o->reverse, s->relu = o->relu;
    s->dh_norm = o->dh_norm, s->dc_norm = kind->has_c ? o->dc_norm : NULL;
    s->eps = (gr_real)gr__setting(o->eps, GR_NORM_EPS);
    return true;
}
