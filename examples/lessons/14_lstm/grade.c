/* grade.c - the grader of lesson 14. */
#include "../grader.h"
#include <math.h>
#include <string.h>

void my_step(int H, bool norm, const double *a, const double *c_prev, double *c, double *h);
void my_step_backward(int H, bool norm, const double *a, const double *c_prev, const double *c, const double *dh, const double *dc_later,
                      double *da, double *dc_prev);

/* ---- The known mistakes ---- */

#define FORWARD(M) \
    M(a_interleaved, "You read a as four numbers for each unit. It is four blocks of H: a_f of unit j is a[H + j].") \
    M(input_raw, "Your i is a_i itself. It is a gate, between 0 and 1: i = sigmoid(a_i).") \
    M(forget_raw, "Your f is a_f itself. It is a gate, between 0 and 1: f = sigmoid(a_f).") \
    M(output_raw, "Your o is a_o itself. It is a gate, between 0 and 1: o = sigmoid(a_o).") \
    M(candidate_raw, "Your g is a_g itself. g = tanh(a_g).") \
    M(candidate_missing, "Your step adds i to the cell. It adds i g, the part of g that the gate lets in.") \
    M(input_gate_missing, "Your step adds the whole g to the cell. It adds i g, the part of g that the gate lets in.") \
    M(gates_order, "You read the blocks as i, f, o, g. The order is i, f, g, o: block 2 of a is g's, and block 3 is o's.") \
    M(input_forget_exchanged, "You exchange i and f. Block 0 of a is i's, block 1 is f's; f multiplies the last cell, i multiplies g.") \
    M(candidate_sigmoid, \
      "Your g is a sigmoid. It is a tanh, between -1 and 1: a cell that only adds sigmoids could never become smaller by its input.") \
    M(cell_not_kept, "Your c is i g alone. The cell keeps what it had: c = f c_prev + i g.") \
    M(output_gate_missing, "Your h is tanh(c). The output gate multiplies it: h = o tanh(c).") \
    M(tanh_missing, "Your h is o c. It is o tanh(c).") \
    M(tanh_missing_with_norm, "With norm your h is o LN(c). The tanh stays: h = o tanh(LN(c)).") \
    M(norm_in_loop, "You call layer_norm while the cell is not complete. First compute c of all units, then LN(c), then h.") \
    M(norm_on_carried_cell, \
      "You write LN(c) into c, so that the next step gets the normalized cell. Then every step divides what the cell held before.\n" \
      "Only h sees LN(c); c stays f c_prev + i g.") \
    M(norm_on_h, \
      "You normalize h. That is another placement: a row of h then has deviation 1, whatever o says. Normalize c on its way into\n" \
      "the tanh: h = o tanh(LN(c)).") \
    M(norm_after_tanh, "You normalize tanh(c). LN comes before the tanh: h = o tanh(LN(c)).") \
    M(norm_ignored, "norm changes nothing in your forward. With norm, h = o tanh(LN(c)); c stays as it is.")

/* backward */
#define MISTAKES(M) \
    M(through_h_missing, \
      "Your dc is dc_later alone. c has two uses: the next step, and h = o tanh(c) of this step. Add dh * o * (1 - tanh(c)^2).") \
    M(later_missing, "Your dc lacks dc_later. c has two uses, h of this step and the cell of the next: add both parts.") \
    M(tanh_slope_missing, "The gradient passes from h to c through a tanh. Multiply dh * o by its slope, 1 - tanh(c)^2.") \
    M(tanh_slope_not_squared, "Your slope of the tanh is 1 - tanh(c). It is 1 - tanh(c)^2.") \
    M(tanh_slope_of_h, "Your slope is 1 - h^2. h is o tanh(c), not the tanh itself: its slope is 1 - tanh(c)^2.") \
    M(tanh_slope_of_cell, "Your slope is 1 - c^2. The slope of a tanh is 1 - y^2 with its value y: 1 - tanh(c)^2.") \
    M(o_missing, "Your dc lacks o. h is o tanh(c), so h moves by o times what tanh(c) moves: dh * o * (1 - tanh(c)^2).") \
    M(later_through_tanh, "You add dc_later to dh. It is a gradient of c, not of h, and passes neither o nor the tanh: dc = dc_later + " \
                          "dh * o * (1 - tanh(c)^2).") \
    M(dc_without_dh, "Your dc lacks dh, which is 1 in the page's example only: dc = dc_later + dh * o * (1 - tanh(c)^2).") \
    M(da_o_without_dh, "Your da_o lacks dh, which is 1 in the page's example only: da_o = dh * tanh(c) * o (1 - o).") \
    M(da_o_with_dc, "Your da_o starts from dc. o multiplies tanh(c) in h, and is not in c: start from dh.") \
    M(da_exchanged, "You exchange da_i and da_f. Block 0 of da is a_i's, block 1 is a_f's.") \
    M(candidate_slope_not_squared, "Your slope of g is 1 - g. g is a tanh: its slope is 1 - g^2.") \
    M(da_o_with_c, "Your da_o contains c. o multiplies tanh(c), so the gradient of o is dh * tanh(c).") \
    M(gate_slopes_missing, \
      "You stop at a gate. The gradient of o goes through a sigmoid to a_o: multiply it by o (1 - o), and in the same way those of i\n" \
      "and f.") \
    M(slope_at_a, \
      "Your slope of a gate is a (1 - a). It is i (1 - i) with the value of the gate, i = sigmoid(a), and the same for f and o.") \
    M(backward_candidate_sigmoid, "Your backward computes g with sigmoid. In forward it is a tanh: g = tanh(a_g).") \
    M(candidate_slope_missing, "You stop at g. Its gradient goes through a tanh to a_g: multiply by 1 - g^2.") \
    M(df_without_cell, "Your da_f lacks the cell. f multiplies the last cell: the gradient of f is dc * c_prev.") \
    M(candidate_slope, "Your da_g has the slope g (1 - g) of a sigmoid. g is a tanh: its slope is 1 - g^2.") \
    M(df_with_new_cell, "Your da_f contains c. f multiplies the last cell: the gradient of f is dc * c_prev.") \
    M(i_and_g_alone, "The derivative of i g by i is g, and by g it is i. You have them exchanged.") \
    M(dc_prev_without_f, "You hand dc back unchanged. c_prev stands in c with the factor f: dc_prev = dc * f.") \
    M(dc_prev_later_only, "Your dc_prev is dc_later * f. It misses what came to c through h of this step: use the whole dc.") \
    M(added, "You add to da or dc_prev, which are not 0 before. Here a and c_prev have no other use: write with =.") \
    M(norm_skipped_backward, "Your backward passes the norm as if it were not there. With norm, h comes from n = LN(c): send dn through\n" \
                             "layer_norm_backward.") \
    M(rstd_forgotten, "You call layer_norm_backward with rstd = 1. Keep what layer_norm returns.") \
    M(c_for_n, "You call layer_norm_backward with c. It needs n = LN(c).") \
    M(past_the_norm, "With norm, you add to dc what passes layer_norm_backward, and dn itself as well. h sees c through the norm alone.") \
    M(later_through_norm, \
      "You send dc_later through the norm. The next step gets c itself, not LN(c): only what comes through h passes the norm.") \
    M(tanh_of_raw_cell, "Your backward uses tanh(c) where forward used tanh(LN(c)). Compute n = LN(c) again, and use tanh(n).")

GRADER_MISTAKES_OF(forward_list, FORWARD);
GRADER_MISTAKES(MISTAKES);
enum {
    OF_NORM = tanh_missing_with_norm | norm_in_loop | norm_on_carried_cell | norm_on_h | norm_after_tanh | norm_ignored,
    OF_C = a_interleaved | input_raw | forget_raw | candidate_raw | candidate_missing | input_gate_missing | gates_order |
           input_forget_exchanged | candidate_sigmoid | cell_not_kept | norm_on_carried_cell,
    OF_FORWARD = (1 << forward_list_count) - 1,
    DA_O_ALONE = da_o_with_c | da_o_without_dh | da_o_with_dc,
    OF_DA_O = DA_O_ALONE | gate_slopes_missing | slope_at_a | added | tanh_of_raw_cell,
    OF_NORM_BACKWARD = norm_skipped_backward | rstd_forgotten | c_for_n | past_the_norm | later_through_norm | tanh_of_raw_cell
};
static const unsigned of_backward = (1u << list_count) - 1;

/* ---- The formula, with a switch for each ---- */

enum { MOST = 4 };
typedef struct {
    int H;
    bool norm;
    const double *a, *c_prev, *dh, *dc_later;
} problem;

static const double BEFORE = 0.7; /* what is in da and dc_prev before the learner writes them */
static double sigmoid(double v) { return 1 / (1 + exp(-v)); }

static double normalize(int H, const double *c, double *n)
{
    double mean = 0, var = 1e-5;
    for (int j = 0; j < H; j++) mean += c[j] / H;
    for (int j = 0; j < H; j++) var += (c[j] - mean) * (c[j] - mean) / H;
    for (int j = 0; j < H; j++) n[j] = (c[j] - mean) / sqrt(var);
    return 1 / sqrt(var);
}
static void through_norm(int H, const double *n, double rstd, const double *dn, double *dc) /* dc = the gradient of c */
{
    double mean = 0, mean_n = 0;
    for (int j = 0; j < H; j++) mean += dn[j] / H, mean_n += dn[j] * n[j] / H;
    for (int j = 0; j < H; j++) dc[j] = rstd * (dn[j] - mean - n[j] * mean_n);
}

/* m are mistakes of `forward_list` */
static void gates(unsigned m, const problem *p, int j, double *i, double *f, double *g, double *o)
{
    const int H = p->H, at[4] = { m & input_forget_exchanged ? 1 : 0, m & input_forget_exchanged ? 0 : 1, m & gates_order ? 3 : 2,
                                  m & gates_order ? 2 : 3 };
    double a[4];
    for (int k = 0; k < 4; k++) a[k] = p->a[m & a_interleaved ? 4 * j + at[k] : at[k] * H + j];
    *i = m & input_raw ? a[0] : sigmoid(a[0]), *f = m & forget_raw ? a[1] : sigmoid(a[1]);
    *g = m & candidate_raw ? a[2] : m & candidate_sigmoid ? sigmoid(a[2]) : tanh(a[2]), *o = m & output_raw ? a[3] : sigmoid(a[3]);
}

/* answer: c, then h. */
static void formula_forward(unsigned m, const void *data, double *answer)
{
    const problem *p = data;
    const size_t bytes = (size_t)p->H * sizeof *answer;
    double *c = answer, *h = answer + p->H, n[MOST], i, f, g, o[MOST];
    for (int j = 0; j < p->H; j++) {
        gates(m, p, j, &i, &f, &g, o + j);
        n[j] = c[j] = (m & cell_not_kept ? 0 : f * p->c_prev[j]) + (m & candidate_missing ? i : m & input_gate_missing ? g : i * g);
    }
    for (int j = 0; j < p->H && p->norm && m & norm_in_loop; j++) {
        double begun[MOST] = { 0 }, all[MOST];
        memcpy(begun, c, (size_t)(j + 1) * sizeof *c), normalize(p->H, begun, all), n[j] = all[j];
    }
    if (p->norm && !(m & (norm_ignored | norm_on_h | norm_after_tanh | norm_in_loop))) normalize(p->H, c, n);
    if (p->norm && m & norm_on_carried_cell) memcpy(c, n, bytes);
    for (int j = 0; j < p->H; j++) h[j] = m & (tanh_missing | tanh_missing_with_norm) ? n[j] : tanh(n[j]);
    if (p->norm && m & norm_after_tanh) normalize(p->H, h, n), memcpy(h, n, bytes);
    for (int j = 0; j < p->H && !(m & output_gate_missing); j++) h[j] *= o[j];
    if (p->norm && m & norm_on_h) normalize(p->H, h, n), memcpy(h, n, bytes);
}

static void formula_c(unsigned m, const void *data, double *answer)
{
    double both[2 * MOST];
    formula_forward(m, data, both), memcpy(answer, both, (size_t)((const problem *)data)->H * sizeof *both);
}
static void formula_h(unsigned m, const void *data, double *answer)
{
    const size_t H = (size_t)((const problem *)data)->H;
    double both[2 * MOST];
    formula_forward(m, data, both), memcpy(answer, both + H, H * sizeof *both);
}

static double gate_slope(unsigned m, double s, double a)
{
    return m & gate_slopes_missing ? 1 : m & slope_at_a ? a * (1 - a) : s * (1 - s);
}

/* answer: da_i, da_f, da_g, da_o, dc_prev. */
static void formula_backward(unsigned m, const void *data, double *answer)
{
    const problem *p = data;
    const int H = p->H;
    double state[2 * MOST], n[MOST], dn[MOST], dc[MOST], rstd = 1;
    formula_forward(0, p, state);
    const double *c = state;
    memcpy(n, c, (size_t)H * sizeof *n);
    if (p->norm) rstd = normalize(H, c, n);
    for (int j = 0; j < H; j++) {
        double i, f, g, o;
        gates(0, p, j, &i, &f, &g, &o);
        const double at = m & tanh_of_raw_cell ? c[j] : n[j], later = m & later_missing ? 0 : p->dc_later[j];
        const double y = m & tanh_slope_of_cell ? at : (m & tanh_slope_of_h ? o : 1) * tanh(at);
        dn[j] = (m & dc_without_dh ? 1 : p->dh[j] + (m & later_through_tanh ? later : 0)) * (m & o_missing ? 1 : o) *
                (m & tanh_slope_missing ? 1 : 1 - y * (m & tanh_slope_not_squared ? 1 : y));
        if (p->norm && m & later_through_norm) dn[j] += later;
    }
    memcpy(dc, dn, (size_t)H * sizeof *dc);
    if (p->norm && !(m & norm_skipped_backward)) through_norm(H, m & c_for_n ? c : n, m & rstd_forgotten ? 1 : rstd, dn, dc);
    for (int j = 0; j < H; j++) {
        double i, f, g, o;
        gates(m & backward_candidate_sigmoid ? candidate_sigmoid : 0, p, j, &i, &f, &g, &o);
        if (p->norm && m & past_the_norm) dc[j] += dn[j];
        if (m & through_h_missing) dc[j] = 0;
        if (!(m & (later_missing | later_through_tanh)) && !(p->norm && m & later_through_norm)) dc[j] += p->dc_later[j];
        const double slope_i = gate_slope(m, i, p->a[j]), slope_f = gate_slope(m, f, p->a[H + j]);
        const double slope_g = m & candidate_slope_missing ? 1
                               : m & candidate_slope       ? g * (1 - g)
                                                           : 1 - g * (m & candidate_slope_not_squared ? 1 : g);
        const double from = m & da_o_without_dh ? 1 : m & da_o_with_dc ? dc[j] : p->dh[j], inside = m & tanh_of_raw_cell ? c[j] : n[j];
        answer[m & da_exchanged ? H + j : j] = dc[j] * (m & i_and_g_alone ? i : g) * slope_i;
        answer[m & da_exchanged ? j : H + j] = dc[j] * (m & df_without_cell ? 1 : m & df_with_new_cell ? c[j] : p->c_prev[j]) * slope_f;
        answer[2 * H + j] = dc[j] * (m & i_and_g_alone ? g : i) * slope_g;
        answer[3 * H + j] = from * (m & da_o_with_c ? inside : tanh(inside)) * gate_slope(m, o, p->a[3 * H + j]);
        answer[4 * H + j] = (m & dc_prev_later_only ? p->dc_later[j] : dc[j]) * (m & dc_prev_without_f ? 1 : f);
    }
    for (int k = 0; k < 5 * H; k++) answer[k] += m & added ? BEFORE : 0;
}

/* da_o alone, because a mistake in dc does not reach it; and the others. */
static void formula_da_o(unsigned m, const void *data, double *answer)
{
    const size_t H = (size_t)((const problem *)data)->H;
    double all[5 * MOST];
    formula_backward(m, data, all), memcpy(answer, all + 3 * H, H * sizeof *all);
}
static void formula_rest(unsigned m, const void *data, double *answer)
{
    const size_t H = (size_t)((const problem *)data)->H;
    formula_backward(m, data, answer), memmove(answer + 3 * H, answer + 4 * H, H * sizeof *answer);
}

/* ---- The learner's numbers ---- */

static const double a_[4 * MOST] = { 0.3, -1.2, 0.8, 1.7, 1.1, 0.4, -0.6, 2.0, -0.9, 0.7, 1.5, -0.2, 0.5, -0.7, 1.9, 0.1 };
static const double c_prev_[MOST] = { 0.9, -1.4, 0.35, 2.2 }, dh_[MOST] = { 0.6, -0.8, 1.1, 0.3 }, later_[MOST] = { -0.4, 0.9, 0.25, 1.3 };
static const problem plain = { MOST, false, a_, c_prev_, dh_, later_ }, with_norm = { MOST, true, a_, c_prev_, dh_, later_ };
static const grader_input inputs[] = { { "a_i", a_, 1, MOST },
                                       { "a_f", a_ + MOST, 1, MOST },
                                       { "a_g", a_ + 2 * MOST, 1, MOST },
                                       { "a_o", a_ + 3 * MOST, 1, MOST },
                                       { "c_prev", c_prev_, 1, MOST },
                                       { "dh", dh_, 1, MOST },
                                       { "dc_later", later_, 1, MOST },
                                       { NULL } };
static const double ones[] = { 1, 1, 1, 1 }, zero[] = { 0 };
static const problem worked = { 1, false, ones, ones, ones, zero };

static void run(const problem *p, double *forward, double *back)
{
    const size_t H = (size_t)p->H;
    double a[4 * MOST], in[3][MOST], right[2 * MOST];
    memcpy(a, p->a, 4 * H * sizeof *a), memcpy(in[0], p->c_prev, H * sizeof *a), memcpy(in[1], p->dh, H * sizeof *a);
    memcpy(in[2], p->dc_later, H * sizeof *a);
    memset(forward, 0, 2 * MOST * sizeof *forward);
    if (!back) my_step(p->H, p->norm, a, in[0], forward, forward + H);
    else {
        for (int k = 0; k < 5 * MOST; k++) back[k] = BEFORE;
        formula_forward(0, p, right); /* backward starts from the right cell */
        my_step_backward(p->H, p->norm, a, in[0], right, in[1], in[2], back, back + 4 * H);
    }
    if (memcmp(a, p->a, 4 * H * sizeof *a) || memcmp(in[0], p->c_prev, H * sizeof *a) || memcmp(in[1], p->dh, H * sizeof *a) ||
        memcmp(in[2], p->dc_later, H * sizeof *a))
        grader_stop("input_changed", "Your code writes into a, c_prev, dh or dc_later. It only reads them.");
}

static const char by_hand[] = "1 unit, a = (1, 1, 1, 1), c_prev = 1, dh = 1, dc_later = 0, no norm";

static void judge_forward(const problem *p, unsigned among)
{
    double got[2 * MOST], small[2 * MOST];
    run(&worked, small, NULL), run(p, got, NULL);
    const grader_result c = { "c", "4 units", formula_c, p, among & OF_C, 1, MOST, got, NULL, inputs },
                        first = { "c", by_hand, formula_c, &worked, among & OF_C, 1, 1, small, NULL },
                        h = { "h", "4 units", formula_h, p, among, 1, MOST, got + MOST, NULL, inputs },
                        second = { "h", by_hand, formula_h, &worked, among, 1, 1, small + 1, NULL };
    grader_judge(forward_list, &c, &first), grader_judge(forward_list, &h, &second);
}
static void judge_backward(const problem *p, unsigned among)
{
    double unused[2 * MOST], got[5 * MOST], small[5 * MOST];
    run(&worked, unused, small), run(p, unused, got);
    const size_t H = MOST;
    const grader_result da_o = { "da_o", "4 units", formula_da_o, p, among & OF_DA_O, 1, H, got + 3 * H, NULL, inputs },
                        first = { "da_o", by_hand, formula_da_o, &worked, among & OF_DA_O, 1, 1, small + 3, NULL };
    grader_judge(list, &da_o, &first);
    memmove(got + 3 * H, got + 4 * H, H * sizeof *got), small[3] = small[4];
    const grader_result rest = { "backward", "4 units", formula_rest, p, among, 4, H, got, NULL, inputs },
                        second = { "backward", by_hand, formula_rest, &worked, among, 4, 1, small, NULL };
    grader_judge_each(list, &rest, &second, (const char *const[]){ "da_i", "da_f", "da_g", "dc_prev" });
}

/* ---- The exercise as an operator, for gr_gradcheck ---- */

enum { UNITS = 6 };
static void step_backward(gr_tape *t, const gr_node *n)
{
    double da[4 * UNITS], dc_prev[UNITS];
    const bool norm = *(const bool *)n->saved;
    const gr_real *dh = gr_grad(t, n->out[0]), *dc = gr_grad(t, n->out[1]);
    my_step_backward(UNITS, norm, n->in[0]->data, n->in[1]->data, n->out[1]->data, dh, dc, da, dc_prev);
    for (int j = 0; j < 4 * UNITS; j++) gr_grad(t, n->in[0])[j] += da[j];
    for (int j = 0; j < UNITS; j++) gr_grad(t, n->in[1])[j] += dc_prev[j];
}
static const gr_op step_op = { .name = "my_step", .backward = step_backward };

static gr_tensor *checked(gr_tape *t, gr_tensor *const *in, void *norm)
{
    gr_tensor *h = gr_zeros(t, GR_SHAPE(UNITS)), *c = gr_zeros(t, GR_SHAPE(UNITS));
    my_step(UNITS, *(bool *)norm, in[0]->data, in[1]->data, c->data, h->data);
    gr_record(t, &step_op, norm, sizeof(bool), GR_OUT(h, c), GR_IN(in[0], in[1]));
    return gr_add(t, h, gr_scale(t, c, 0.7));
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--ambiguous"))
        return grader_ambiguous(forward_list, formula_forward, &plain, OF_FORWARD & ~OF_NORM, 2 * MOST) +
               grader_ambiguous(forward_list, formula_forward, &with_norm, OF_FORWARD & ~tanh_missing, 2 * MOST) +
               grader_ambiguous(forward_list, formula_c, &with_norm, OF_C, MOST) +
               grader_ambiguous(forward_list, formula_h, &plain, OF_FORWARD & ~OF_NORM, MOST) +
               grader_ambiguous(forward_list, formula_h, &with_norm, OF_FORWARD & ~(norm_on_carried_cell | tanh_missing), MOST) +
               grader_ambiguous(list, formula_backward, &plain, of_backward & ~OF_NORM_BACKWARD, 5 * MOST) +
               grader_ambiguous(list, formula_backward, &with_norm, of_backward, 5 * MOST) +
               grader_ambiguous(list, formula_da_o, &plain, OF_DA_O & ~OF_NORM_BACKWARD, MOST) +
               grader_ambiguous(list, formula_da_o, &with_norm, OF_DA_O, MOST) +
               grader_ambiguous(list, formula_rest, &with_norm, of_backward & ~DA_O_ALONE, 4 * MOST);
    grader_start("Lesson 14: one step of an LSTM");
    double unused[2 * MOST], back[5 * MOST], got[2 * MOST];

    grader_step("forward, without norm");
    run(&plain, got, NULL);
    if (grader_same(got, (double[2 * MOST]){ 0 }, 2 * MOST))
        grader_stop("not_begun", "my_step writes nothing yet. Begin at TODO 1 in exercise.c: a loop of two lines, without norm.");
    judge_forward(&plain, OF_FORWARD & ~OF_NORM);
    grader_step("backward, without norm");
    run(&plain, unused, back);
    bool begun = false;
    for (int k = 0; k < 5 * MOST; k++) begun |= back[k] != BEFORE;
    if (!begun) grader_stop("half_done", "Forward is right. my_step_backward writes nothing yet: go on at TODO 2, about ten lines.");
    judge_backward(&plain, of_backward & ~OF_NORM_BACKWARD);
    grader_step("forward, with the norm");
    judge_forward(&with_norm, OF_FORWARD & ~tanh_missing);
    grader_step("backward, with the norm");
    judge_backward(&with_norm, of_backward);

    grader_step("gr_gradcheck: every gradient, by finite differences");
    const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(4 * UNITS) }, { .shape = GR_SHAPE(UNITS) } };
    for (int norm = 0; norm < 2; norm++) grader_gradcheck("my_step", checked, &(bool){ norm }, in, 2);
    return grader_end("All right. gradus does the same in ops/lstm_cell.h and ops/lstm.c: compare lstm_cell_backward with yours.");
}
