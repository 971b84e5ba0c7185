/* examples/dive/gradient_flow_claims.c - the claims of gradient_flow, and the records that they and the figure read. */
#include "core/op.h"
#include "examples/dive/gradient_flow.h"
#include "examples/dive/numbers.h"
#include "examples/dive/seeds.h"
#include <math.h>
#include <string.h>

/* ==== Reading the records ==== */

flow_row flow_of_seed(const dive *d, gr_tape *t, size_t net, const char *arm, const char *what, size_t seed)
{
    const char *const name = net == FLOW_POST && !strcmp(arm, "none") ? flow_nets[FLOW_PRE].name : flow_nets[net].name;
    const plot_record *const r = plot_runs_get(&d->runs, "gradient_flow", "%s/%s/%zu/%s", name, arm, seed, what);
    flow_row f = { .g = NULL };
    if (r && r->shape.rank == 2) f = (flow_row){ r->shape.dim[0], r->shape.dim[1], gr_save(t, r->n * sizeof *f.g) };
    for (size_t i = 0; f.g && i < r->n; i++) {
        const double last = r->values[(i / f.places + 1) * f.places - 1];
        f.g[i] = r->values[i] == 0 ? last * FLOW_VANISHED : r->values[i];
    }
    return f;
}

flow_row flow_of(const dive *d, gr_tape *t, size_t net, const char *arm, const char *what)
{
    flow_row f = flow_of_seed(d, t, net, arm, what, 0);
    size_t seeds = 1;
    for (flow_row g = f; f.g && g.g; seeds += g.g != NULL) {
        for (size_t i = 0; i < f.frames * f.places; i++) f.g[i] = g.g == f.g ? log(f.g[i]) : f.g[i] + log(g.g[i]);
        g = flow_of_seed(d, t, net, arm, what, seeds);
        if (g.frames != f.frames || g.places != f.places) break;
    }
    for (size_t i = 0; f.g && i < f.frames * f.places; i++) f.g[i] = exp(f.g[i] / (double)seeds);
    return f;
}

double flow_row_decades(const flow_row *f, size_t frame)
{
    if (!f->g) return (double)NAN;
    const size_t k = frame < f->frames ? frame : f->frames - 1;
    return flow_decades(f->g + k * f->places, f->places);
}

double flow_tenths(double x) { return floor(10 * x + 0.5) / 10; }

double flow_unevenness(const flow_row *f)
{
    double sum = 0;
    for (size_t k = 0; f->g && k < f->frames; k++) sum += fabs(flow_row_decades(f, k)) / (double)f->frames;
    return f->g ? sum : (double)NAN;
}

double flow_start_value(const dive *d, size_t i, const char *name)
{
    const plot_record *const r = plot_runs_get(&d->runs, "gradient_flow", "start/%s", name);
    return r && i < r->n ? r->values[i] : (double)NAN;
}

double flow_start_growth(const dive *d, size_t batch, size_t arm)
{
    const plot_record *const r = plot_runs_get(&d->runs, "gradient_flow", "start/layers");
    return r ? flow_growth(r->values + (batch * DIVE_ARMS + arm) * FLOW_LAYERS, FLOW_LAYERS, 5) : (double)NAN;
}

/* ==== Claims ==== */

static const char *const OFTEN_SAID = "often said: smoother gradients over layers and time";

enum { SEEDS = 100, DIVERGED = 10 /* decades for which a network that diverged counts */ };

/* |decades| of a net and an arm in each seed: before training, and the mean over the frames. A record's values are at v. */
static plot_record unevenness(const dive *d, gr_tape *t, size_t net, const char *arm, const char *what, bool through, double v[SEEDS])
{
    plot_record r = { .n = 0, .values = v };
    for (; r.n < SEEDS; r.n++) {
        const flow_row one = flow_of_seed(d, t, net, arm, what, r.n);
        if (!one.g) break;
        v[r.n] = through ? flow_unevenness(&one) : fabs(flow_row_decades(&one, 0));
    }
    return r;
}

/* Whether the gradient is more even with LN than without a norm, before training and on average during it. */
static void claim_even(const dive *d, dive_claims *c, const size_t *nets, size_t n, const char *what, const char *statement)
{
    plot_figure *const f = c->f;
    dive_verdict each[2 * FLOW_NETS];
    size_t seeds = SEEDS;
    const char *measured = "", *interval = "", *why = "";
    size_t of_bn = SEEDS;
    for (size_t k = 0; k < n; k++) {
        double v[DIVE_ARMS][2][SEEDS];
        plot_record r[DIVE_ARMS][2];
        dive_pair p[2];
        for (size_t i = 0; i < DIVE_ARMS; i++)
            for (int through = 0; through < 2; through++)
                r[i][through] = unevenness(d, f->t, nets[k], dive_arm_name[i], what, through, v[i][through]);
        for (int through = 0; through < 2; through++) {
            p[through] = dive_compare(&r[2][through], &r[0][through], (dive_scale){ .grid = 0.1, .worst = DIVERGED });
            each[2 * k + (size_t)through] = dive_is_below(&p[through]);
        }
        const char *const title = flow_nets[nets[k]].title, *const before = k ? "; " : "";
        const double through[DIVE_ARMS] = { p[1].b, dive_mean(&r[1][1]), p[1].a };
        const char *size[DIVE_ARMS];
        for (size_t i = 0; i < DIVE_ARMS; i++) size[i] = isnan(through[i]) ? "diverged" : plot_figure_text(f, "%.1f", through[i]);
        measured = plot_figure_text(f, "%s%s %s %.1f, %.1f, %.1f (%s, %s, %s)", measured, k ? ";" : "", title, dive_mean(&r[0][0]),
                                    dive_mean(&r[1][0]), p[0].a, size[0], size[1], size[2]);
        interval = plot_figure_text(f, "%s%s%s, %s", interval, before, dive_interval(f, &p[0], 1), dive_interval(f, &p[1], 1));
        why = plot_figure_text(f, "%s%s%s: %s, %s", why, before, title, dive_verdict_name[each[2 * k]], dive_verdict_name[each[2 * k + 1]]);
        seeds = p[0].seeds < seeds ? p[0].seeds : seeds, of_bn = r[1][0].n < of_bn ? r[1][0].n : of_bn;
    }
    measured = plot_figure_text(f, "decades for none, BN%s and LN before training, and in brackets during it:%s",
                                of_bn < seeds ? plot_figure_text(f, " (%s)", dive_count(f->t, of_bn, "seed", "seeds")) : "", measured);
    dive_claim_add(c, &(dive_claim){ .statement = statement,
                                     .source = OFTEN_SAID,
                                     .measured = measured,
                                     .control = "no norm, with the same batches; a difference of 0.1 decades is a tie",
                                     .interval = interval,
                                     .seeds = seeds,
                                     .too_short = dive_too_short(f, (dive_budget){ .seeds = seeds }),
                                     .why = plot_figure_text(f, "before and during training: %s", why),
                                     .verdict = dive_together(each, 2 * n) });
}

static void claim_start(const dive *d, dive_claims *c)
{
    const double bn = flow_start_growth(d, 1, 1), wide = flow_start_growth(d, 2, 1), ln = flow_start_growth(d, 1, 2),
                 none = flow_start_growth(d, 1, 0);
    const bool explodes = bn > 1.3 && bn < 1.55 && wide > 1.3 && wide<1.55, even = ln> 0.9 && ln < 1.05;
    dive_claim_add(
        c,
        &(dive_claim){ .statement = "BatchNorm makes gradients explode with depth before training: the squared norm grows by "
                                    "pi / (pi - 1) = 1.47 per layer; LayerNorm does not",
                       .source = "Yang et al. 2019 (CC3)",
                       .measured = plot_figure_text(c->f, "BN %.2f at batch %zu, %.2f at %zu, %.2f at %zu; LN %.2f, none %.2f at %zu",
                                                    flow_start_growth(d, 0, 1), flow_batches[0], bn, flow_batches[1], wide, flow_batches[2],
                                                    ln, none, flow_batches[1]),
                       .control = plot_figure_text(c->f,
                                                   "BN 1.3 to 1.55 at batch %zu and %zu, LN 0.9 to 1.05 at %zu; the theorem is for large "
                                                   "batches. The middle 20 of 30 layers, He's weights",
                                                   flow_batches[1], flow_batches[2], flow_batches[1]),
                       .seeds = 1,
                       .interval = "before training",
                       .verdict = dive_both(explodes, even),
                       .why = "a factor is outside 1.3 to 1.55 (BN) or 0.9 to 1.05 (LN)" });
}

/* Whether the exponents of pre-norm and post-norm are those of the theorem. */
static bool as_proved(double pre, double post) { return fabs(pre + 0.5) <= 0.1 && fabs(post) <= 0.12; }

/* "ReLU -0.43 and +0.13; no positions -0.47 and +0.07, which are within the bounds" for the parts of the Transformer that are as in the theorem. */
static const char *parts_text(const dive *d, plot_figure *f)
{
    const char *text = "";
    for (size_t k = 0; k < FLOW_PARTS; k++) {
        const double pre = flow_start_value(d, 2 * k, "part"), post = flow_start_value(d, 2 * k + 1, "part");
        text = plot_figure_text(f, "%s%s%s %.2f and %+.2f%s", text, k ? "; " : "", flow_part[k], pre, post,
                                as_proved(pre, post) ? ", within the bounds" : "");
    }
    return text;
}

static void claim_depth(const dive *d, dive_claims *c)
{
    const plot_record *const depths = plot_runs_get(&d->runs, "gradient_flow", "start/depths"),
                             *const pre = plot_runs_get(&d->runs, "gradient_flow", "start/last/pre"),
                             *const post = plot_runs_get(&d->runs, "gradient_flow", "start/last/post");
    if (!depths || !pre || !post) return;
    const double a = dive_exponent(depths->values, pre->values, depths->n), b = dive_exponent(depths->values, post->values, depths->n);
    const bool falls = fabs(a + 0.5) <= 0.1, stays = fabs(b) <= 0.12;
    dive_claim_add(
        c,
        &(dive_claim){
            .statement =
                "Also in a Transformer on characters, before training, the last block's gradient falls as 1 / sqrt(blocks) with pre-norm "
                "and is constant with post-norm",
            .source = "Xiong et al. 2020, theorem 1 (PL5)",
            .measured = plot_figure_text(c->f, "exponents %.2f and %+.2f over %g to %g blocks of size %zu", a, b, depths->values[0],
                                         depths->values[depths->n - 1], flow_start_size(d)),
            .control = "-0.5 within 0.1, 0 within 0.12",
            .seeds = dive_pick(d, 1, 3, 5),
            .interval = "the gradient is a mean over the seeds",
            .verdict = dive_both(falls, stays),
            .why = plot_figure_text(
                c->f, "it holds in the theorem's own setting (see below); with one part as in the theorem the exponents are: %s",
                parts_text(d, c->f)) });
}

static void claim_blocks(const dive *d, dive_claims *c)
{
    const size_t n = dive_pick(d, 8, 16, 16);
    const plot_record *const r = plot_runs_get(&d->runs, "gradient_flow", "start/blocks/%zu", n);
    if (!r) return;
    const double pre = r->values[2 * n - 1] / r->values[n], post = r->values[3 * n - 1] / r->values[2 * n];
    const bool grows = post >= 2, flat = pre <= 1.5 && pre >= 1 / 1.5;
    dive_claim_add(
        c, &(dive_claim){
               .statement = "Before training gradients grow from the first block to the last in post-norm, and are level in pre-norm",
               .source = "Xiong et al. 2020, figure 3 (PL6)",
               .measured =
                   plot_figure_text(c->f, "gradient of the last over the first of %zu blocks of size %zu: %.2f post-norm, %.2f pre-norm", n,
                                    flow_start_size(d), post, pre),
               .control = "2 or more; 1 within a factor of 1.5",
               .seeds = dive_pick(d, 1, 3, 5),
               .interval = "the gradient is a mean over the seeds",
               .verdict = dive_both(grows, flat),
               .why = plot_figure_text(c->f,
                                       "it does not hold in the theorems' setting either: %.2f and %.2f over %d blocks; the paper saw it "
                                       "in an encoder and decoder for translation",
                                       flow_start_value(d, 3, "theorem") / flow_start_value(d, 2, "theorem"),
                                       flow_start_value(d, 1, "theorem") / flow_start_value(d, 0, "theorem"), FLOW_THEOREM) });
}

static void claim_gains(const dive *d, dive_claims *c)
{
    enum { SMALL = 2, ONE = 4, PAPER = FLOW_RNNS - 1 };
    plot_figure *const f = c->f;
    const char *others = "";
    double x[FLOW_RNNS][2];
    for (size_t k = 0; k < FLOW_RNNS; k++) {
        x[k][0] = flow_start_value(d, k * FLOW_GAINS + SMALL, "rnn"), x[k][1] = flow_start_value(d, k * FLOW_GAINS + ONE, "rnn");
        if (k < PAPER) others = plot_figure_text(f, "%s%s%s %.2g and %.2g", others, k ? "; " : "", flow_rnn[k], x[k][0], x[k][1]);
    }
    const bool all = x[0][0] >= 0.1 && x[0][0] <= 10 && x[0][1] < 1e-3,
               here = x[PAPER][0] >= 0.1 && x[PAPER][0] <= 10 && x[PAPER][1] < 1e-3;
    dive_claim_add(
        c, &(dive_claim){
               .statement = "Recurrent BatchNorm in a tanh RNN: gamma 0.1 keeps the gradient over 100 steps, gamma 1 makes it vanish",
               .source = "Cooijmans et al. 2016, figure 1a (RB2)",
               .measured = plot_figure_text(f, "gradient 100 steps back over that at the last step, with gamma 0.1 and 1: %s", others),
               .control =
                   plot_figure_text(f, "within a factor of 10; below 0.001. %s: %.2g and %.2g", flow_rnn[PAPER], x[PAPER][0], x[PAPER][1]),
               .seeds = 1,
               .interval = "before training",
               .verdict = all    ? DIVE_PASS
                          : here ? DIVE_DIFFERS
                                 : DIVE_FAIL,
               .why = here ? "it holds only where W is the identity and the input is noise; with a random W the gradient grows with gamma 1"
                           : "it does not hold with W = identity and noise either" });
}

static void claim_blank(const dive *d, dive_claims *c)
{
    const double noise = flow_start_value(d, 0, "noise") / flow_start_value(d, FLOW_BLANK, "noise");
    const double zeros = flow_start_value(d, KIT_SIDE, "noise") / flow_start_value(d, KIT_SIDE + FLOW_BLANK, "noise");
    const bool bursts = zeros >= 100, calm = noise <= 2;
    dive_claim_add(
        c,
        &(dive_claim){
            .statement =
                "Recurrent BatchNorm: blank first rows have no variance and make the gradient explode; a noisy initial state prevents it",
            .source = "Cooijmans et al. 2016, section 3 (RB7)",
            .measured = plot_figure_text(
                c->f, "over %d blank rows the gradient grows %.2g times with an initial state of zeros, %.2g times with noise of 0.1",
                FLOW_BLANK, zeros, noise),
            .control = "100 or more; 2 or less",
            .seeds = 1,
            .interval = "before training",
            .verdict = dive_both(bursts, calm),
            .why = bursts ? "noise prevents most of it" : "it does not explode here" });
}

static const plot_record *trained(const dive *d, const char *name) { return plot_runs_get(&d->runs, "gradient_flow", "%s/tested", name); }

static size_t steps_of(const dive *d)
{
    const plot_record *const frames = plot_runs_get(&d->runs, "gradient_flow", "frames");
    return frames ? (size_t)frames->values[frames->n - 1] + 1 : 0;
}

static void claim_long(const dive *d, dive_claims *c)
{
    const plot_record *const ln = trained(d, "pixels/LN"), *const bn = trained(d, "pixels/BN"), *const none = trained(d, "pixels/none");
    const dive_pair p = dive_compare(ln, bn, (dive_scale){ .worst = DIVE_GUESSING });
    dive_claim_add(c, &(dive_claim){ .statement = "LayerNorm is better than BatchNorm on long sequences",
                                     .source = "often said",
                                     .measured = plot_figure_text(c->f, "196 pixels, %zu steps: test loss LN %.3f, BN %.3f, none %.3f",
                                                                  steps_of(d), p.a, p.b, dive_mean(none)),
                                     .control = "BN has separate statistics for each time step; LN of W x + W h and of the cell",
                                     .interval = dive_interval(c->f, &p, 3),
                                     .seeds = p.seeds,
                                     .too_short = dive_too_short(c->f, (dive_budget){ p.seeds, steps_of(d), DIVE_LSTM_STEPS, fmin(p.a, p.b),
                                                                                      DIVE_GUESSING / 2, "test loss" }),
                                     .verdict = dive_is_below(&p),
                                     .why = dive_why(c->f, &p, "lower", "higher") });
}

/* The mean of a and b, in each seed. */
static const plot_record *middle(gr_tape *t, const plot_record *a, const plot_record *b)
{
    plot_record *const r = a && b && a->n == b->n ? gr_save(t, sizeof *r) : NULL;
    if (!r) return NULL;
    *r = *a, r->values = gr_save(t, r->n * sizeof *r->values);
    for (size_t i = 0; r->values && i < r->n; i++) r->values[i] = (a->values[i] + b->values[i]) / 2;
    return r->values ? r : NULL;
}

/* Without a warm-up post-norm is worse by 20 %, and the warm-up removes half of the difference. */
static void claim_warm(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    const plot_record *const cold = trained(d, "post/LN"), *const warm = trained(d, "post/" FLOW_WARM), *const pre = trained(d, "pre/LN");
    const dive_scale scale = { .worst = 4 };
    const dive_pair worse = dive_compare(cold, pre, (dive_scale){ .worst = scale.worst, .factor = 1.2 }),
                    mended = dive_compare(warm, middle(f->t, cold, pre), scale);
    const dive_verdict bad = dive_is_below(&worse), v[] = { bad == DIVE_FAIL   ? DIVE_PASS
                                                            : bad == DIVE_PASS ? DIVE_FAIL
                                                                               : bad,
                                                            dive_is_below(&mended) };
    dive_claim_add(
        c,
        &(dive_claim){
            .statement = "Without a warm-up of the learning rate post-norm is 20 % worse than pre-norm, and a warm-up removes half of the "
                         "difference",
            .source = "Xiong et al. 2020 (PL7; the bounds are ours)",
            .measured = plot_figure_text(
                f, "test loss after %zu steps without warm-up: pre-norm %.2f, post-norm %.2f; post-norm with a warm-up of %zu steps %.2f",
                steps_of(d), worse.b, worse.a, flow_warm_steps(d), mended.a),
            .control = "the same batches and weights; pre-norm with a warm-up is not measured",
            .interval = plot_figure_text(f, "post minus 1.2 pre %s; warm-up minus the middle %s", dive_interval(f, &worse, 2),
                                         dive_interval(f, &mended, 2)),
            .seeds = worse.seeds,
            .too_short = dive_too_short(f, (dive_budget){ worse.seeds, steps_of(d), DIVE_STEPS, worse.b, DIVE_READING, "test loss" }),
            .verdict = dive_together(v, 2),
            .why = plot_figure_text(f, "post-norm is worse: %s; the warm-up removes half: %s", dive_verdict_name[v[0]],
                                    dive_verdict_name[v[1]]) });
}

void dive_gradient_flow_claims(const dive *d, dive_claims *c)
{
    static const size_t layers[] = { FLOW_MLP, FLOW_SMALL, FLOW_PRE }, times[] = { FLOW_ROWS, FLOW_PIXELS };
    claim_even(d, c, layers, 3, "grad", "With LayerNorm the gradient is more even over the layers");
    claim_even(d, c, times, 2, "dh", "With LayerNorm the gradient is more even over time");
    claim_start(d, c), claim_depth(d, c), claim_blocks(d, c), claim_gains(d, c), claim_blank(d, c);
    claim_long(d, c), claim_warm(d, c);
}
