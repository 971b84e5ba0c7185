/* examples/dive/correlation.c - Pearson's correlations of the pre-activations of hidden units over test samples.
 *
 * LayerNorm subtracts each sample's mean over the units, so that its units are negatively correlated on average, whatever they learn. To see
 * the effect of the formula alone, the values of the network without a norm are normalized by LayerNorm: this is the control. */
#include "core/op.h"
#include "examples/dive/numbers.h"
#include "examples/dive/probe.h"
#include "examples/dive/seeds.h"
#include <math.h>

enum { MLP, LSTM1, LSTM14, LSTM28, SITES };       /* where it is measured */
enum { CONTROL = DIVE_ARMS, VARIANTS };           /* the three arms and the control */
enum { ABS_R, RANK, MEAN_R, CONSTANT, MEASURES }; /* what is measured */
enum { SHOWN = 32, FRAMES = 9 };
static const char *const site_name[SITES] = { "mlp", "lstm1", "lstm14", "lstm28" };
static const char *const site_title[SITES] = { "MLP", "LSTM step 1", "LSTM step 14", "LSTM step 28" };
static const size_t site_step[SITES] = { 0, 0, 13, 27 };
static const char *const variant_name[VARIANTS] = { "none", "BN", "LN", "control" };
static const char *const measure_name[MEASURES] = { "abs_r", "rank", "mean_r", "constant" };

typedef struct {
    size_t seeds, lstms, seed, frames, shown; /* lstms: the seeds of the LSTM */
    double *maps;                             /* [SITES, arms, frames, shown, shown] for the first seed */
    double *numbers;                          /* [SITES, VARIANTS, MEASURES, seeds, frames] */
    double moved[DIVE_ARMS];                  /* largest change of |r| by the norm */
    double forced;                            /* largest relative error of the mean covariance that LayerNorm forces */
} correlations;

static double *number_at(const correlations *c, size_t site, size_t variant, size_t measure)
{
    return c->numbers + ((site * VARIANTS + variant) * MEASURES + measure) * c->seeds * c->frames;
}

static double *map_at(const correlations *c, size_t site, size_t arm)
{
    return c->maps + (site * DIVE_ARMS + arm) * c->frames * c->shown * c->shown;
}

static void note(gr_tape *t, const correlations *c, size_t site, size_t variant, size_t frame, const double *x, size_t n, size_t H)
{
    double *const r = x ? gr_save(t, H * H * sizeof *r) : NULL;
    const size_t at = c->seed * c->frames + frame;
    if (!r) return;
    number_at(c, site, variant, CONSTANT)[at] = (double)dive_correlate(t, x, n, H, r);
    number_at(c, site, variant, ABS_R)[at] = dive_mean_abs_r(r, H);
    number_at(c, site, variant, MEAN_R)[at] = dive_mean_r(r, H);
    number_at(c, site, variant, RANK)[at] = dive_effective_rank(t, r, H);
    for (size_t i = 0; !c->seed && variant < DIVE_ARMS && i < c->shown; i++)
        for (size_t j = 0; j < c->shown; j++) map_at(c, site, variant)[(frame * c->shown + i) * c->shown + j] = r[i * H + j];
}

/* LayerNorm of the rows of x with gamma 1 and beta 0. */
static gr_tensor *normalized(gr_tape *t, gr_tensor *x) { return gr_layer_norm(t, x, 1, NULL, NULL, 1e-5); }

/* The pre-activations of the LSTM without a norm, recalculated with the paper's norms: LN(W x) + LN(W h) + b. */
static gr_tensor *normalized_gates(gr_tape *t, const dive_model *m, size_t step)
{
    const gr_recurrent_weights *const w = m->lstm->recurrent.weights;
    gr_tensor *a = normalized(t, gr_linear(t, gr_select(t, m->x, 1, (ptrdiff_t)step), w->w_ih, NULL));
    if (step) a = gr_add(t, a, normalized(t, gr_linear(t, gr_select(t, m->state.y, 1, (ptrdiff_t)step - 1), w->w_hh, NULL)));
    return gr_add(t, gr_add(t, a, w->b_ih), w->b_hh);
}

/* The largest |difference| of |r| before and after a norm. */
static double change_of_r(gr_tape *t, const double *before, const double *after, size_t n, size_t H)
{
    double *const a = gr_save(t, H * H * sizeof *a), *const b = gr_save(t, H * H * sizeof *b), worst = 0;
    if (!a || !b || !before || !after) return (double)NAN;
    dive_correlate(t, before, n, H, a), dive_correlate(t, after, n, H, b);
    for (size_t i = 0; i < H * H; i++)
        if (!isnan(a[i]) && !isnan(b[i])) worst = fmax(worst, fabs(fabs(a[i]) - fabs(b[i])));
    return worst;
}

/* After LayerNorm each row sums to 0, so the mean covariance of different units must be -1/(H-1) times the mean variance. Returns its relative
 * error. */
static double off_what_is_forced(gr_tape *t, const gr_tensor *raw, size_t n, size_t H)
{
    double *const x = dive_doubles(t, raw), *const mean = gr_save_zeros(t, H * sizeof *mean), trace = 0, off = 0;
    if (!x || !mean) return (double)NAN;
    dive_normalize_rows(x, n, H, 1e-5, x);
    for (size_t k = 0; k < n * H; k++) mean[k % H] += x[k] / (double)n;
    for (size_t i = 0; i < H; i++)
        for (size_t j = 0; j < H; j++)
            for (size_t k = 0; k < n; k++) *(i == j ? &trace : &off) += (x[k * H + i] - mean[i]) * (x[k * H + j] - mean[j]);
    return fabs(off / -trace - 1);
}

static void see_mlp(dive_probe *p, kit_arm *arm, size_t number, size_t frame)
{
    gr_tape *const t = arm->tape;
    correlations *const c = p->user;
    const dive_model *const m = arm->model;
    gr_tensor *const raw = m->raw[m->spec.depth - 1], *const pre = m->pre[m->spec.depth - 1];
    const size_t H = m->spec.hidden, n = pre->len / H;
    note(t, c, MLP, number, frame, dive_doubles(t, pre), n, H);
    if (dive_arm_norm[number] == GR_NORM_NONE) note(t, c, MLP, CONTROL, frame, dive_doubles(t, normalized(t, raw)), n, H);
    c->moved[number] = fmax(c->moved[number], change_of_r(t, dive_doubles(t, raw), dive_doubles(t, pre), n, H));
    if (dive_arm_norm[number] == GR_NORM_LAYER) c->forced = fmax(c->forced, off_what_is_forced(t, raw, n, H));
}

/* The pre-activations a_g of the candidate tanh(a_g): the third of the four blocks. */
static void see_lstm(dive_probe *p, kit_arm *arm, size_t number, size_t frame)
{
    gr_tape *const t = arm->tape;
    const correlations *const c = p->user;
    const dive_model *const m = arm->model;
    const size_t H = m->spec.hidden;
    for (size_t site = LSTM1; site < SITES; site++) {
        gr_tensor *const gates[] = { dive_lstm_gates(arm, site_step[site]), number ? NULL : normalized_gates(t, m, site_step[site]) };
        for (size_t k = 0; k < 2; k++)
            if (gates[k]) note(t, c, site, k ? CONTROL : number, frame, dive_columns(t, gates[k], 2 * H, H), gr_size(gates[k], 0), H);
    }
}

/* The order of the units in all maps of an architecture: along the first principal axis of the network without a norm after training. */
static void order_units(gr_tape *t, const correlations *c, size_t site, size_t *order)
{
    const size_t S = c->shown;
    double *const a = gr_save(t, S * S * sizeof *a), *const value = gr_save(t, S * sizeof *value), *const v = gr_save(t, S * S * sizeof *v);
    for (size_t i = 0; i < S; i++) order[i] = i;
    if (!a || !value || !v) return;
    const double *const last = map_at(c, site, 0) + (c->frames - 1) * S * S;
    for (size_t i = 0; i < S * S; i++) a[i] = isnan(last[i]) ? 0 : last[i];
    dive_eigen(t, a, S, value, v);
    for (size_t i = 1; i < S; i++)
        for (size_t k = i; k && v[order[k]] > v[order[k - 1]]; k--) {
            const size_t other = order[k];
            order[k] = order[k - 1], order[k - 1] = other;
        }
}

static void put_maps(dive *d, const correlations *c, size_t site, const size_t *order)
{
    const size_t S = c->shown;
    for (size_t arm = 0; arm < DIVE_ARMS; arm++) {
        double *const percent = gr_save(d->r->tape, c->frames * S * S * sizeof *percent);
        for (size_t k = 0; percent && k < c->frames * S * S; k++)
            percent[k] = floor(100 * map_at(c, site, arm)[(k / S / S * S + order[k / S % S]) * S + order[k % S]] + 0.5);
        if (percent) dive_put(d, GR_SHAPE(c->frames, S, S), percent, "%s/%s/map", site_name[site], dive_arm_name[arm]);
    }
}

static dive_spec spec_of(const dive *d, dive_arch arch)
{
    return (dive_spec){ .arch = arch, .hidden = dive_pick(d, 16, 64, 128 >> (arch == DIVE_LSTM)), .lr = arch == DIVE_LSTM ? 2e-3 : 1e-3 };
}
/* The short runs of the LSTM give no verdict, and its maps need one seed. */
static size_t lstms_of(const dive *d) { return d->mode == DIVE_QUICK && d->seeds > 1 ? 1 : d->seeds; }
enum { BATCH = 64 };
static size_t steps_of(const dive *d) { return dive_pick(d, 3, 200, 2000); }

static bool measure_arch(dive *d, correlations *c, dive_arch arch, double from, double to, double accuracy[DIVE_ARMS])
{
    const dive_spec spec = spec_of(d, arch);
    dive_probe p = { .d = d,
                     .title = dive_arch_name[arch],
                     .spec = &spec,
                     .steps = steps_of(d),
                     .batch = BATCH,
                     .samples = dive_pick(d, 100, 1000, 1000),
                     .seed = c->seed,
                     .from = from,
                     .to = to,
                     .see = arch == DIVE_MLP ? see_mlp : see_lstm,
                     .user = c };
    double at[DIVE_FRAMES];
    dive_frames(&p, c->frames, p.steps, false);
    if (!dive_probe_run(&p)) return false;
    if (!c->seed && arch == DIVE_MLP) dive_put(d, GR_SHAPE(p.frames), dive_frames_steps(&p, at), "steps");
    for (size_t i = 0; i < DIVE_ARMS; i++) accuracy[i] = p.accuracy[i];
    return true;
}

static void put_numbers(dive *d, const correlations *c)
{
    size_t order[SHOWN];
    for (size_t site = 0; site < SITES; site++) {
        order_units(d->r->tape, c, site == MLP ? MLP : LSTM28, order);
        put_maps(d, c, site, order);
        for (size_t v = 0; v < VARIANTS; v++)
            for (size_t k = 0; k < MEASURES; k++)
                dive_put(d, GR_SHAPE(site == MLP ? c->seeds : c->lstms, c->frames), number_at(c, site, v, k), "%s/%s/%s", site_name[site],
                         variant_name[v], measure_name[k]);
    }
    dive_put(d, GR_SHAPE(DIVE_ARMS), c->moved, "mlp/moved");
    dive_put(d, GR_SHAPE(1), &c->forced, "mlp/LN/forced");
}

void dive_correlation_measure(dive *d)
{
    correlations c = {
        .seeds = d->seeds, .lstms = lstms_of(d), .frames = dive_pick(d, 3, 7, FRAMES), .shown = dive_pick(d, 16, SHOWN, SHOWN)
    };
    const size_t maps = SITES * DIVE_ARMS * c.frames * c.shown * c.shown, numbers = SITES * VARIANTS * MEASURES * c.seeds * c.frames;
    double accuracy[2][DIVE_ARMS];
    c.maps = dive_blank(d, maps), c.numbers = dive_blank(d, numbers);
    if (!c.maps || !c.numbers) return;
    for (; c.seed < c.seeds; c.seed++) {
        const double from = (double)c.seed / (double)c.seeds, to = (double)(c.seed + 1) / (double)c.seeds, between = 0.7 * from + 0.3 * to;
        if (!measure_arch(d, &c, DIVE_MLP, from, between, accuracy[0])) return;
        if (c.seed < c.lstms && !measure_arch(d, &c, DIVE_LSTM, between, to, accuracy[1])) return;
        if (!c.seed) dive_put(d, GR_SHAPE(2, DIVE_ARMS), &accuracy[0][0], "accuracy");
    }
    put_numbers(d, &c);
}

/* ---- The figure ---- */

static dive_band course_of(const dive *d, size_t site, size_t variant, size_t measure)
{
    return dive_over_seeds(
        d->r->tape, plot_runs_get(&d->runs, "correlation", "%s/%s/%s", site_name[site], variant_name[variant], measure_name[measure]));
}

/* The value before training, and after training, as the mean over the seeds. */
static double first_of(const dive *d, size_t site, size_t variant, size_t measure)
{
    const dive_band c = course_of(d, site, variant, measure);
    return c.n ? c.mean[0] : (double)NAN;
}
static double last_of(const dive *d, size_t site, size_t variant, size_t measure)
{
    const dive_band c = course_of(d, site, variant, measure);
    return c.n ? c.mean[c.n - 1] : (double)NAN;
}

/* Whether there are correlations at a site. Where the pixels are blank in all images, all units are constant. */
static bool has_r(const dive *d, size_t site) { return !isnan(last_of(d, site, 0, ABS_R)); }

static void draw_map(const dive *d, plot_figure *f, size_t site, size_t arm)
{
    static const char *const norm[DIVE_ARMS] = { "no norm", "BatchNorm", "LayerNorm" };
    const plot_record *const map = plot_runs_get(&d->runs, "correlation", "%s/%s/map", site_name[site], dive_arm_name[arm]);
    const double constant = last_of(d, site, arm, CONSTANT);
    const char *note = plot_figure_text(f, "mean |r| %.2f to %.2f", first_of(d, site, arm, ABS_R), last_of(d, site, arm, ABS_R));
    if (constant > 0) note = plot_figure_text(f, "%g units constant", constant);
    plot_panel *const p =
        plot_panel_new(f, &(plot_panel){ .title = plot_figure_text(f, "%s, %s", site_title[site], norm[arm]), .note = note });
    if (!map || map->shape.rank != 3) return;
    plot_map_set(p, &(plot_map){ .rows = map->shape.dim[1],
                                 .columns = map->shape.dim[2],
                                 .values = map->values,
                                 .moves = true,
                                 .diverging = true,
                                 .low = -100,
                                 .high = 100,
                                 .means = "correlation in percent" });
}

static void draw_curves(const dive *d, plot_figure *f, size_t site, size_t measure, const char *title, plot_axis y, const plot_axis *x)
{
    static const plot_ink ink[VARIANTS] = { PLOT_INK_NONE, PLOT_INK_BN, PLOT_INK_LN, PLOT_INK_QUIET };
    static const char *const name[VARIANTS] = { "none", "BN", "LN", "none, then LN" };
    double at[DIVE_FRAMES];
    for (size_t k = 0; k < DIVE_FRAMES; k++) at[k] = (double)k;
    plot_panel *const p = plot_panel_new(f, &(plot_panel){ .title = title, .note = site_title[site], .x = *x, .y = y });
    for (size_t v = 0; v < VARIANTS; v++) {
        const dive_band c = course_of(d, site, v, measure);
        plot_series_add(p, &(plot_series){ .name = name[v],
                                           .ink = ink[v],
                                           .mark = v < DIVE_ARMS ? PLOT_LINE_DOTS : PLOT_LINE,
                                           .n = c.n,
                                           .x = at,
                                           .y = c.mean,
                                           .low = c.low,
                                           .high = c.high,
                                           .reveal = true });
    }
}

static void says(const dive *d, plot_figure *f)
{
    const dive_spec mlp = spec_of(d, DIVE_MLP), lstm = spec_of(d, DIVE_LSTM);
    const double none = last_of(d, MLP, 0, ABS_R), ln = last_of(d, MLP, 2, ABS_R), control = last_of(d, MLP, CONTROL, ABS_R);
    const char *const mlp_text = dive_spec_text(f, &mlp, BATCH), *const lstm_text = dive_spec_text(f, &lstm, BATCH);
    const char *beyond = "the formula alone explains the difference from no norm", *blank = "";
    if (ln < 0.9 * control) beyond = "training with LayerNorm reduced it more than the formula alone does";
    if (ln > 1.1 * control) beyond = "training with LayerNorm raised it above the effect of the formula alone";
    if (!has_r(d, LSTM1))
        blank =
            " There are no maps for time step 1 of the LSTM, because the first row of pixels is blank in all of these images, so that all "
            "units are constant and have no r.";
    plot_figure_says(f, PLOT_SAY_QUESTION, "Are the units of a layer correlated, and does a norm reduce their correlation?");
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "Mean |r| of the MLP's units after training: %.3f without a norm, %.3f with BatchNorm, %.3f with LayerNorm", none,
                     last_of(d, MLP, 1, ABS_R), ln);
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "Each map shows Pearson's r of the pre-activations of two units over the same test images: in the last hidden layer of the MLP, "
        "and in the candidates of the LSTM. A strong colour means that two units agree (green) or are opposite (purple). The maps show "
        "the first %d units, in the order that sorts the network without a norm after training, so its pattern is the clearest; compare "
        "the strength of the colours. The numbers are for all units. BatchNorm shifts and scales each unit separately, which does not "
        "change |r|: before training its MLP has the same |r| as the one without a norm, and later differences are learned. LayerNorm "
        "removes each image's mean and scale, which changes r without any learning. The grey line shows this effect alone: the values of "
        "the network without a norm, normalized by LayerNorm. In the MLP mean |r| goes from %.3f to %.3f without a norm and from %.3f to "
        "%.3f with LayerNorm, and the grey line ends at %.3f: %s. Rows of mean zero also force the mean of r to about -1/(H-1). The maps show the first seed; "
        "curves are means over %s for the MLP and %s for the LSTM.%s",
        (int)SHOWN, first_of(d, MLP, 0, ABS_R), none, first_of(d, MLP, 2, ABS_R), ln, control, beyond, dive_count(f->t, d->seeds, "seed", "seeds"),
        dive_count(f->t, lstms_of(d), "seed", "seeds"), blank);
    plot_figure_says(f, PLOT_SAY_SETTINGS, "%s; %s; %s, clip 1.", d->preprocessing, mlp_text, lstm_text);
}

void dive_correlation_draw(const dive *d, plot_figure *f)
{
    const plot_record *const steps = plot_runs_get(&d->runs, "correlation", "steps");
    if (!steps || steps->n > DIVE_FRAMES) return;
    const char *tick[DIVE_FRAMES];
    f->title = "Correlation of hidden units", f->columns = 3;
    plot_figure_frames(f, "step", steps->values, steps->n);
    for (size_t k = 0; k < steps->n; k++) tick[k] = plot_figure_text(f, "%g", steps->values[k]);
    const plot_axis x = { .label = "step", .tick = tick, .ticks = steps->n }, share = { .label = "mean |r|" };
    says(d, f);
    for (size_t arm = 0; arm < DIVE_ARMS; arm++) draw_map(d, f, MLP, arm);
    draw_curves(d, f, MLP, ABS_R, "Mean |r|", share, &x);
    draw_curves(d, f, MLP, RANK, "Effective rank", (plot_axis){ .label = "effective rank" }, &x);
    draw_curves(d, f, MLP, MEAN_R, "Mean r", (plot_axis){ .label = "mean r" }, &x);
    plot_part_begin(f, "LSTM", "The same in the candidates of the LSTM, at several time steps.", true);
    for (size_t site = LSTM1; site < SITES; site++)
        for (size_t arm = 0; arm < DIVE_ARMS && has_r(d, site); arm++) draw_map(d, f, site, arm);
    draw_curves(d, f, LSTM14, ABS_R, "Mean |r|", share, &x);
    draw_curves(d, f, LSTM28, ABS_R, "Mean |r|", share, &x);
    draw_curves(d, f, LSTM28, RANK, "Effective rank", (plot_axis){ .label = "effective rank" }, &x);
}

/* ---- Claims ---- */

static void claim_exact(const dive *d, dive_claims *c)
{
    const plot_record *const moved = plot_runs_get(&d->runs, "correlation", "mlp/moved");
    const double forced = plot_runs_value(&d->runs, "correlation", "mlp/LN/forced");
    if (!moved || moved->n != DIVE_ARMS) return;
    dive_claim_exact(
        c, moved->values[1] < 1e-3, "BatchNorm does not change the correlation of units, because it shifts and scales each separately",
        "follows from the formula",
        plot_figure_text(c->f, "BatchNorm in evaluation mode changes |r| by at most %.1e during training", moved->values[1]),
        plot_figure_text(c->f, "LayerNorm in the same place changes it by up to %.2f", moved->values[2]), "larger than rounding");
    dive_claim_exact(
        c, forced < 1e-9, "LayerNorm forces units to be negatively correlated on average, because its rows have mean zero",
        "follows from the formula",
        plot_figure_text(
            c->f, "the mean covariance of different units is -1/(H-1) times the mean variance, with an error of %.1e, during training",
            forced),
        plot_figure_text(c->f, "mean r after training: %.4f without a norm, %.4f for the same values after LayerNorm",
                         last_of(d, MLP, 0, MEAN_R), last_of(d, MLP, CONTROL, MEAN_R)),
        "larger than rounding");
}

/* Mean |r| after training in each seed, from a record [seeds, frames]. */
static const plot_record *ends(const dive *d, gr_tape *t, size_t site, size_t variant)
{
    const plot_record *const r = plot_runs_get(&d->runs, "correlation", "%s/%s/abs_r", site_name[site], variant_name[variant]);
    plot_record *const out = r && r->shape.rank == 2 ? gr_save(t, sizeof *out) : NULL;
    if (!out) return NULL;
    const size_t frames = r->shape.dim[1];
    *out = *r, out->n = r->n / frames, out->shape = GR_SHAPE(out->n), out->values = gr_save(t, out->n * sizeof *out->values);
    for (size_t k = 0; out->values && k < out->n; k++) out->values[k] = r->values[k * frames + frames - 1];
    return out->values ? out : NULL;
}

/* Lower by more than a tenth than without a norm, and than what the formula alone makes of the values without a norm. */
static void claim_decorrelates(const dive *d, dive_claims *c, const char *statement, const size_t *site, size_t n, size_t least)
{
    plot_figure *const f = c->f;
    const size_t seeds = site[0] == MLP ? d->seeds : lstms_of(d);
    dive_claim claim = { .statement = statement, .source = "often said, with heat maps", .seeds = seeds };
    dive_verdict v[2 * SITES];
    claim.measured = claim.interval = claim.why = "", claim.control = "the values without a norm, normalized by LayerNorm:";
    for (size_t i = 0; i < n; i++) {
        const char *const before = i ? "; " : "", *const name = site_title[site[i]];
        dive_pair p[2];
        for (size_t k = 0; k < 2; k++) {
            p[k] = dive_compare(ends(d, f->t, site[i], 2), ends(d, f->t, site[i], k ? CONTROL : 0), (dive_scale){ .factor = 0.9 });
            v[2 * i + k] = dive_is_below(&p[k]);
        }
        claim.measured = plot_figure_text(f, "%s%s%s: mean |r| %.3f with LN, %.3f without", claim.measured, before, name, p[0].a, p[0].b);
        claim.control = plot_figure_text(f, "%s%s %.3f", claim.control, i ? "," : "", p[1].b);
        claim.interval =
            plot_figure_text(f, "%s%s%s: %s and %s", claim.interval, before, name, dive_interval(f, &p[0], 3), dive_interval(f, &p[1], 3));
        claim.why = plot_figure_text(f, "%s%s%s: below no norm %s, below the formula alone %s", claim.why, before, name,
                                     dive_verdict_name[v[2 * i]], dive_verdict_name[v[2 * i + 1]]);
    }
    claim.interval = plot_figure_text(f, "LN minus 0.9 times none, and minus 0.9 times the formula alone: %s", claim.interval);
    claim.too_short = dive_too_short(f, (dive_budget){ .seeds = seeds, .steps = steps_of(d), .least = least });
    claim.verdict = dive_together(v, 2 * n);
    dive_claim_add(c, &claim);
}

void dive_correlation_claims(const dive *d, dive_claims *c)
{
    static const size_t mlp[] = { MLP }, lstm[] = { LSTM14, LSTM28 };
    claim_exact(d, c);
    claim_decorrelates(d, c, "LayerNorm reduces the correlation of hidden units in an MLP, by more than its formula alone", mlp, 1,
                       DIVE_STEPS);
    claim_decorrelates(d, c, "LayerNorm reduces the correlation of an LSTM's candidates, by more than its formula alone", lstm, 2,
                       DIVE_LSTM_STEPS);
}
