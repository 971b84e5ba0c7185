/* examples/dive/hidden_dynamics.c - the 15th, 50th and 85th percentile of pre-activations, over training and over time.
 *
 * Records: "share" [frames]: percent of the training; "mlp/ARM/low|median|high" [frames]: percentiles of one unit of the last hidden layer,
 * first seed; "mlp/ARM/off" [seeds]: |median|, as the mean over units and training; "mlp/ARM/drift" [seeds]: how far the median moves from the
 * first frame to the last, as the mean over units; TASK/ARM/low|median|high [frames, T]: percentiles of all pre-activations of the LSTM's
 * candidates at each time step, first seed; "TASK/ARM/wander", "/swell" [seeds]: after training and from time step 2 on, the range of the median,
 * and the widest band divided by the narrowest; "/accuracy" [seeds]: in percent, after training. */
#include "examples/dive/numbers.h"
#include "examples/dive/probe.h"
#include "examples/dive/recurrence.h"
#include "examples/dive/seeds.h"
#include "core/op.h"
#include <math.h>

enum { LOW, MEDIAN, HIGH, PERCENTILES };
enum { ROWS, PIXELS, TASKS };
enum { FRAMES = 20, STEPS = 196, HIDDEN = 3, UNITS = 100, MLP_BATCH = 60, LSTM_BATCH = 64 };
static const double percentile[PERCENTILES] = { 15, 50, 85 };
static const char *const percentile_name[PERCENTILES] = { "low", "median", "high" }, *const task_name[TASKS] = { "rows", "pixels" };

typedef struct {
    size_t frames, seed, T;
    double *band[DIVE_ARMS][PERCENTILES]; /* [frames], or [frames, T], for the first seed */
    double *median[DIVE_ARMS];            /* [frames, UNITS] for the MLP */
    double *wander[DIVE_ARMS], *swell[DIVE_ARMS], *accuracy[DIVE_ARMS];
} dynamics;

/* ---- The network of Ioffe, Szegedy 2015, figure 1: three hidden layers of 100 sigmoids ---- */

static const dive_spec sigmoid_spec = { .arch = DIVE_MLP, .hidden = UNITS, .depth = HIDDEN, .lr = 0.5, .sgd = true };

static void build(kit_arm *arm)
{
    gr_tape *const t = arm->tape;
    dive_model *const m = gr_failed(t) ? NULL : gr_memory_new(gr_tape_allocator(t), sizeof *m);
    arm->model = m;
    if (!m && !gr_failed(t)) gr_fail_as(t, GR_NO_MEMORY, "", "no memory for a model");
    for (size_t k = 0; k <= HIDDEN && !gr_failed(t); k++) {
        char name[2][16];
        snprintf(name[0], sizeof name[0], "fc%zu", k + 1), snprintf(name[1], sizeof name[1], "norm%zu", k + 1);
        gr_linear_module *const l = *(k < HIDDEN ? &m->in[k] : &m->out) =
            gr_linear_new(t, arm->net, name[0], k ? UNITS : KIT_PIXELS, k < HIDDEN ? UNITS : 10, NULL);
        if (!l) return;
        gr_param_init(t, &l->module, "weight", gr_init_normal(0, 0.1));
        gr_param_init(t, &l->module, "bias", gr_init_constant(0));
        if (k < HIDDEN) m->norm[k] = gr_norm_new(t, arm->net, name[1], (gr_norm_kind)arm->kind, UNITS, NULL);
    }
    if (!gr_failed(t)) arm->optim = gr_sgd_new(t, arm->net, &(gr_sgd_config){ .lr = sigmoid_spec.lr });
}

static gr_tensor *logits(kit_arm *arm, const void *batch)
{
    gr_tape *const t = arm->tape;
    dive_model *const m = arm->model;
    const kit_batch *const b = batch;
    if (gr_failed(t)) return NULL;
    gr_tensor *x = gr_input(t, b->pixels, GR_SHAPE(b->n, KIT_PIXELS));
    for (size_t k = 0; k < HIDDEN; k++) {
        m->raw[k] = gr_linear_forward(t, m->in[k], x);
        m->pre[k] = gr_forward(t, m->norm[k], m->raw[k]);
        x = gr_sigmoid(t, m->pre[k]);
    }
    return gr_linear_forward(t, m->out, x);
}

static gr_tensor *loss(kit_arm *arm, const void *batch, kit_score *score)
{
    return kit_classify(arm->tape, logits(arm, batch), ((const kit_batch *)batch)->labels, score);
}

/* ---- Measuring ---- */

static void see_mlp(dive_probe *p, kit_arm *arm, size_t number, size_t frame)
{
    const dynamics *const s = p->user;
    const gr_tensor *const pre = ((const dive_model *)arm->model)->pre[HIDDEN - 1];
    for (size_t unit = 0; unit < UNITS; unit++) {
        double *const x = dive_columns(arm->tape, pre, unit, 1);
        if (!x) return;
        s->median[number][frame * UNITS + unit] = dive_percentile(x, gr_size(pre, 0), 50);
        for (size_t k = 0; !unit && !s->seed && k < PERCENTILES; k++)
            s->band[number][k][frame] = dive_percentile(x, gr_size(pre, 0), percentile[k]);
    }
}

static void see_lstm(dive_probe *p, kit_arm *arm, size_t number, size_t frame)
{
    dynamics *const s = p->user;
    double lowest = HUGE_VAL, highest = -HUGE_VAL, widest = 0, narrowest = HUGE_VAL;
    for (size_t step = 0; step < s->T; step++) {
        const gr_mark mark = gr_tape_mark(arm->tape);
        const gr_tensor *const gates = dive_lstm_gates(arm, step);
        const size_t H = gr_size(gates, -1) / 4;
        double *const x = dive_columns(arm->tape, gates, 2 * H, H), at[PERCENTILES];
        if (!x) return;
        for (size_t k = 0; k < PERCENTILES; k++) {
            at[k] = dive_percentile(x, gates->len / 4, percentile[k]);
            if (!s->seed) s->band[number][k][frame * s->T + step] = at[k];
        }
        gr_tape_rewind(arm->tape, mark);
        if (!step) continue; /* the first time step has no state */
        lowest = fmin(lowest, at[MEDIAN]), highest = fmax(highest, at[MEDIAN]);
        widest = fmax(widest, at[HIGH] - at[LOW]), narrowest = fmin(narrowest, at[HIGH] - at[LOW]);
    }
    s->wander[number][s->seed] = highest - lowest, s->swell[number][s->seed] = widest / narrowest;
}

/* Measure at equal distances, but not before training, because BatchNorm has no running statistics yet. */
static void looks(dive_probe *p, const dynamics *s)
{
    for (p->frames = 0; p->frames < s->frames; p->frames++) p->at[p->frames] = (p->frames + 1) * p->steps / s->frames;
}

static void put_mlp(dive *d, const dynamics *s, size_t seeds, double *const off[], double *const drift[])
{
    for (size_t arm = 0; arm < DIVE_ARMS; arm++) {
        for (size_t k = 0; k < PERCENTILES; k++)
            dive_put(d, GR_SHAPE(s->frames), s->band[arm][k], "mlp/%s/%s", dive_arm_name[arm], percentile_name[k]);
        dive_put(d, GR_SHAPE(seeds), off[arm], "mlp/%s/off", dive_arm_name[arm]);
        dive_put(d, GR_SHAPE(seeds), drift[arm], "mlp/%s/drift", dive_arm_name[arm]);
    }
}

static bool measure_mlp(dive *d, size_t seeds, double to)
{
    dynamics s = { .frames = dive_pick(d, 2, FRAMES, FRAMES) };
    double *off[DIVE_ARMS], *drift[DIVE_ARMS];
    for (size_t arm = 0; arm < DIVE_ARMS; arm++) {
        for (size_t k = 0; k < PERCENTILES; k++) s.band[arm][k] = dive_blank(d, s.frames);
        s.median[arm] = dive_blank(d, s.frames * UNITS), off[arm] = dive_blank(d, seeds), drift[arm] = dive_blank(d, seeds);
    }
    for (; s.seed < seeds && !gr_failed(d->r->tape); s.seed++) {
        dive_probe p = { .d = d,
                         .title = "sigmoids",
                         .spec = &sigmoid_spec,
                         .steps = dive_pick(d, 4, 1000, 20000),
                         .batch = MLP_BATCH,
                         .samples = 200,
                         .seed = s.seed,
                         .from = to * (double)s.seed / (double)seeds,
                         .to = to * (double)(s.seed + 1) / (double)seeds,
                         .build = build,
                         .loss = loss,
                         .logits = logits,
                         .see = see_mlp,
                         .user = &s };
        looks(&p, &s);
        if (!dive_probe_run(&p)) return false;
        for (size_t arm = 0; arm < DIVE_ARMS; arm++) {
            const double *const m = s.median[arm], *const end = m + (s.frames - 1) * UNITS;
            double sum[2] = { 0, 0 };
            for (size_t k = 0; k < s.frames * UNITS; k++) sum[0] += fabs(m[k]) / (double)(s.frames * UNITS);
            for (size_t k = 0; k < UNITS; k++) sum[1] += fabs(end[k] - m[k]) / UNITS;
            off[arm][s.seed] = sum[0], drift[arm][s.seed] = sum[1];
        }
    }
    if (!gr_failed(d->r->tape)) put_mlp(d, &s, seeds, off, drift);
    return !gr_failed(d->r->tape);
}

static dive_spec lstm_spec(const dive *d, size_t task)
{
    return (dive_spec){ .arch = DIVE_LSTM, .hidden = dive_pick(d, 16, 64, 64), .lr = 2e-3, .pooled = task == PIXELS ? 2 : 0 };
}

static size_t lstm_steps(const dive *d, size_t task) { return task == PIXELS ? dive_pick(d, 4, 100, 1400) : dive_pick(d, 4, 160, 1000); }

static bool measure_lstm(dive *d, size_t task, size_t seeds, double from, double to)
{
    dynamics s = { .frames = dive_pick(d, 2, FRAMES, FRAMES), .T = task == PIXELS ? STEPS : KIT_SIDE };
    const dive_spec spec = lstm_spec(d, task);
    for (size_t arm = 0; arm < DIVE_ARMS; arm++) {
        for (size_t k = 0; k < PERCENTILES; k++) s.band[arm][k] = dive_blank(d, s.frames * s.T);
        s.wander[arm] = dive_blank(d, seeds), s.swell[arm] = dive_blank(d, seeds), s.accuracy[arm] = dive_blank(d, seeds);
    }
    for (; s.seed < seeds && !gr_failed(d->r->tape); s.seed++) {
        dive_probe p = { .d = d,
                         .title = task == PIXELS ? "LSTM, pixels" : "LSTM, rows",
                         .spec = &spec,
                         .samples = 100,
                         .batch = LSTM_BATCH,
                         .steps = lstm_steps(d, task),
                         .seed = s.seed,
                         .from = from + (to - from) * (double)s.seed / (double)seeds,
                         .to = from + (to - from) * (double)(s.seed + 1) / (double)seeds,
                         .see = see_lstm,
                         .user = &s };
        looks(&p, &s);
        if (!dive_probe_run(&p)) return false;
        for (size_t arm = 0; arm < DIVE_ARMS; arm++) s.accuracy[arm][s.seed] = p.accuracy[arm];
    }
    if (gr_failed(d->r->tape)) return false;
    for (size_t arm = 0; arm < DIVE_ARMS; arm++) {
        for (size_t k = 0; k < PERCENTILES; k++)
            dive_put(d, GR_SHAPE(s.frames, s.T), s.band[arm][k], "%s/%s/%s", task_name[task], dive_arm_name[arm], percentile_name[k]);
        dive_put(d, GR_SHAPE(seeds), s.wander[arm], "%s/%s/wander", task_name[task], dive_arm_name[arm]);
        dive_put(d, GR_SHAPE(seeds), s.swell[arm], "%s/%s/swell", task_name[task], dive_arm_name[arm]);
        dive_put(d, GR_SHAPE(seeds), s.accuracy[arm], "%s/%s/accuracy", task_name[task], dive_arm_name[arm]);
    }
    return true;
}

void dive_hidden_dynamics_measure(dive *d)
{
    const bool full = d->mode == DIVE_FULL;
    const size_t frames = dive_pick(d, 2, FRAMES, FRAMES), rows = !full && d->seeds > 1 ? 1 : d->seeds;
    double share[FRAMES];
    for (size_t k = 0; k < frames; k++) share[k] = 100 * (double)(k + 1) / (double)frames;
    dive_put(d, GR_SHAPE(frames), share, "share");
    dive_recurrence_measure(d, 0, 0.05);
    if (gr_failed(d->r->tape) || !measure_mlp(d, d->seeds, full ? 0.3 : 0.5) ||
        !measure_lstm(d, ROWS, rows, full ? 0.3 : 0.5, full ? 0.6 : 1))
        return;
    if (full) measure_lstm(d, PIXELS, DIVE_SEEDS, 0.6, 1);
}

/* ---- The figure ---- */

static const plot_record *get(const dive *d, const char *task, size_t arm, const char *what)
{
    return plot_runs_get(&d->runs, "hidden_dynamics", "%s/%s/%s", task, dive_arm_name[arm], what);
}

static double mean_of(const dive *d, const char *task, size_t arm, const char *what)
{
    const plot_record *const r = get(d, task, arm, what);
    return r ? dive_moments_of(r->values, r->n).mean : (double)NAN;
}

typedef enum { OVER_TRAINING, OVER_TIME, AT_THE_LAST /* step, over training */ } course;

/* Draw a panel for each arm, all with the same range. */
static void draw_bands(const dive *d, plot_figure *f, const char *task, course over, const char *title, plot_axis x)
{
    static const char *const norm[DIVE_ARMS] = { "no norm", "BatchNorm", "LayerNorm" };
    const plot_record *const share = plot_runs_get(&d->runs, "hidden_dynamics", "share");
    plot_axis y = { .label = "pre-activation", .low = HUGE_VAL, .high = -HUGE_VAL };
    plot_series series[DIVE_ARMS];
    for (size_t arm = 0; arm < DIVE_ARMS; arm++) {
        double *band[PERCENTILES], *at;
        const plot_record *const any = get(d, task, arm, "median");
        if (!any || !share) return;
        const size_t T = over == OVER_TRAINING ? 1 : any->shape.dim[1], n = over == OVER_TIME ? T : share->n;
        for (size_t k = 0; k < PERCENTILES; k++) {
            const plot_record *const r = get(d, task, arm, percentile_name[k]);
            band[k] = r ? gr_save(f->t, r->n * sizeof *band[k]) : NULL;
            if (!band[k]) return;
            for (size_t i = 0; i < r->n; i++) y.low = fmin(y.low, r->values[i]), y.high = fmax(y.high, r->values[i]);
            for (size_t i = 0; i < (over == OVER_TIME ? r->n : n); i++) band[k][i] = r->values[over == AT_THE_LAST ? i * T + T - 1 : i];
        }
        at = gr_save(f->t, n * sizeof *at);
        for (size_t i = 0; at && i < n; i++) at[i] = over == OVER_TIME ? (double)(i + 1) : share->values[i];
        series[arm] = (plot_series){ .name = dive_arm_name[arm],
                                     .ink = (plot_ink)(PLOT_INK_NONE + arm),
                                     .n = at ? n : 0,
                                     .x = at,
                                     .y = band[MEDIAN],
                                     .low = band[LOW],
                                     .high = band[HIGH],
                                     .moves = over == OVER_TIME,
                                     .reveal = over != OVER_TIME };
    }
    const double margin = 0.05 * (y.high - y.low);
    y.low -= margin, y.high += margin;
    if (!(y.low < y.high)) y.low = y.high = 0;
    for (size_t arm = 0; arm < DIVE_ARMS; arm++)
        plot_series_add(plot_panel_new(f, &(plot_panel){ .title = title, .note = norm[arm], .x = x, .y = y, .aspect = 1.5 }), &series[arm]);
}

static const char *seeds_text(const dive *d, plot_figure *f, const char *record)
{
    const plot_record *const r = plot_runs_get(&d->runs, f->name, "%s", record);
    return dive_count(f->t, r ? r->n : 0, "seed", "seeds");
}

static void says(const dive *d, plot_figure *f)
{
    double swell[DIVE_ARMS], off[DIVE_ARMS];
    const dive_spec rows = lstm_spec(d, ROWS);
    const char *const text = dive_spec_text(f, &rows, LSTM_BATCH), *const lstms = seeds_text(d, f, "rows/none/swell");
    for (size_t arm = 0; arm < DIVE_ARMS; arm++) swell[arm] = mean_of(d, "rows", arm, "swell"), off[arm] = mean_of(d, "mlp", arm, "off");
    plot_figure_says(f, PLOT_SAY_QUESTION,
                     "Do the pre-activations keep their distribution, over training and from one time step to the next?");
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "From time step 2 to 28 the width of the LSTM's pre-activations varies by a factor of %.1f without a norm, %.1f with "
                     "BatchNorm and %.1f with LayerNorm (%s)",
                     swell[0], swell[1], swell[2], lstms);
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "The line is the median, the band reaches from the 15th to the 85th percentile. The first row of panels shows one sigmoid unit of "
        "the last hidden layer during training, as in figure 1 of Ioffe and Szegedy. The mean distance of the median from 0, over units "
        "and training, is %.2f without a norm, %.2f with BatchNorm and %.2f with LayerNorm: BatchNorm fixes the distribution of each unit "
        "over samples; LayerNorm fixes the distribution of each sample over units, so that a single unit can be far from 0. The LSTM "
        "panels show all pre-activations of the candidates for 100 images. From time step 2 to 28 the widest band is %.1f times as wide "
        "as the narrowest without a norm, %.1f times with BatchNorm (its gammas start at 0.1, so the band is narrow), %.1f times with "
        "LayerNorm. Step 1 has no state, and the first row of pixels is mostly blank. The panels show the first seed; the numbers are means "
        "over %s for the sigmoids and over %s for the LSTM. The last part is a recurrence without "
        "input, with a random W of 64 units and spectral radius 0.5, 0.9, 1, 1.1 and 2, from the lowest curve to the highest. Without a "
        "norm the size grows or shrinks without limit, depending on the radius; tanh limits only the growth. After LayerNorm the formula "
        "keeps it at 1 for every W, and W h before the norm (purple) stays near its first size.",
        off[0], off[1], off[2], swell[0], swell[1], swell[2], seeds_text(d, f, "mlp/none/off"), lstms);
    plot_figure_says(
        f, PLOT_SAY_SETTINGS,
        "%s; 784-100-100-100-10 sigmoids, weights normal with deviation 0.1, biases 0, norm before the sigmoid, SGD, learning rate %g "
        "constant, batch %d; %s, clip 1%s.",
        d->preprocessing, sigmoid_spec.lr, (int)MLP_BATCH, text,
        get(d, "pixels", 0, "median") ? "; over 196 pixels LN of " DIVE_LN_OF_PIXELS : "");
}

void dive_hidden_dynamics_draw(const dive *d, plot_figure *f)
{
    const plot_record *const share = plot_runs_get(&d->runs, "hidden_dynamics", "share");
    const plot_axis training = { .label = "percent of the training", .low = 0, .high = 102 }; /* room for the dot at the end */
    f->title = "Dynamics of pre-activations", f->columns = 3;
    if (!share) return;
    plot_figure_frames(f, "percent of the training", share->values, share->n);
    says(d, f);
    draw_bands(d, f, "mlp", OVER_TRAINING, "One sigmoid unit", training);
    draw_bands(d, f, "rows", AT_THE_LAST, "LSTM, step 28", training);
    draw_bands(d, f, "rows", OVER_TIME, "LSTM, 28 steps", (plot_axis){ .label = "time step", .low = 1, .high = KIT_SIDE });
    if (get(d, "pixels", 0, "median"))
        draw_bands(d, f, "pixels", OVER_TIME, "LSTM, 196 steps", (plot_axis){ .label = "time step", .low = 1, .high = STEPS });
    plot_part_begin(f, "A recurrence without input", "The size of h over the steps, for W of five spectral radii.", true);
    dive_recurrence_draw(d, f);
}

/* ---- Claims ---- */

static void claim_percentiles(const dive *d, dive_claims *c)
{
    const dive_pair p = dive_compare(get(d, "mlp", 1, "drift"), get(d, "mlp", 0, "drift"), (dive_scale){ .factor = 1 }),
                    bound = dive_compare(get(d, "mlp", 1, "drift"), get(d, "mlp", 0, "drift"), (dive_scale){ .factor = 0.6 });
    const dive_verdict below = dive_is_below(&p), far = dive_is_below(&bound);
    dive_claim_add(
        c, &(dive_claim){
               .statement = "The median of a sigmoid's input moves at most 0.6 times as far during training with BatchNorm",
               .source = "Ioffe, Szegedy 2015, figure 1b, c: the percentiles are more stable (BN2; the bound is ours)",
               .measured = plot_figure_text(
                   c->f, "from the first look to the last the median moves by %.2f with BN, %.2f without, mean over units", p.a, p.b),
               .control = plot_figure_text(c->f, "no norm, with the same weights and batches; LN: %.2f", mean_of(d, "mlp", 2, "drift")),
               .interval = plot_figure_text(c->f, "BN minus 0.6 times none %s", dive_interval(c->f, &bound, 2)),
               .seeds = p.seeds,
               .too_short = dive_too_short(c->f, (dive_budget){ .seeds = p.seeds }),
               .verdict = dive_in_part(far, below),
               .why = below == DIVE_PASS ? "it moves less, but not shown to be at most 0.6 times as far"
                                         : dive_why(c->f, &p, "less far", "farther") });
}

static void claim_lstm(const dive *d, dive_claims *c)
{
    const char *measured = "", *interval = "", *why = "", *lacks = NULL;
    dive_verdict verdict[TASKS];
    size_t n = 0, seeds = 0;
    for (size_t task = 0; task < TASKS; task++) {
        const dive_pair p =
            dive_compare(get(d, task_name[task], 2, "swell"), get(d, task_name[task], 0, "swell"), (dive_scale){ .factor = 1 });
        if (!p.seeds) continue;
        const double best = fmax(mean_of(d, task_name[task], 2, "accuracy"), mean_of(d, task_name[task], 0, "accuracy"));
        const char *const before = n ? "; " : "";
        measured = plot_figure_text(c->f, "%s%s%d steps: widest band over narrowest %.1f with LN, %.1f without", measured, before,
                                    task == PIXELS ? STEPS : KIT_SIDE, p.a, p.b);
        interval = plot_figure_text(c->f, "%s%s%s", interval, before, dive_interval(c->f, &p, 1));
        if (!lacks)
            lacks = dive_too_short(c->f, (dive_budget){ .seeds = p.seeds,
                                                        .steps = lstm_steps(d, task),
                                                        .least = DIVE_LSTM_STEPS,
                                                        .best = 100 - best,
                                                        .must = 45,
                                                        .unit = "test error in percent" });
        seeds = p.seeds, verdict[n] = dive_is_below(&p);
        why = plot_figure_text(c->f, "%s%s%s", why, before, dive_verdict_text(c->f, verdict[n], &p, "more even over the time steps"));
        n++;
    }
    if (!n) return;
    dive_claim_add(
        c, &(dive_claim){
               .statement = "LayerNorm stabilizes the hidden-to-hidden dynamics of an LSTM: the size of its candidates' pre-activations",
               .source = "often said; Ba et al. 2016, section 3.1",
               .measured = measured,
               .control = plot_figure_text(c->f, "BN %.1f; the median moves by %.2f with LN, %.2f without", mean_of(d, "rows", 1, "swell"),
                                           mean_of(d, "rows", 2, "wander"), mean_of(d, "rows", 0, "wander")),
               .interval = interval,
               .seeds = seeds,
               .too_short = lacks,
               .verdict = dive_together(verdict, n),
               .why = why });
}

void dive_hidden_dynamics_claims(const dive *d, dive_claims *c) { claim_percentiles(d, c), dive_recurrence_claims(d, c), claim_lstm(d, c); }
