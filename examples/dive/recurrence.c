/* examples/dive/recurrence.c - a recurrence without input. */
#include "examples/dive/recurrence.h"
#include "core/op.h"
#include "examples/dive/numbers.h"
#include "examples/dive/seeds.h"
#include "gradus.h"
#include <math.h>

enum { LINEAR, RELU, TANH, FS, RADII = 5 };
enum { H = 64, STATES = 16, POINTS = 64, PLAIN = 0, NORMED, RAW, KINDS };
static const double LOST = 1e38; /* stands for values outside the range of float */
static const char *const f_name[FS] = { "linear", "relu", "tanh" };
static const double radius_at[RADII] = { 0.5, 0.9, 1, 1.1, 2 };
static const char *const kind_name[KINDS] = { "none", "LN", "LN_raw" };

/* The spectral radius of W, from the growth of its powers; this also works when the largest eigenvalues are a complex pair. */
static double radius_of(const double *W)
{
    enum { SETTLE = 500, STEPS = 4000 };
    double x[H], y[H], growth = 0;
    for (size_t i = 0; i < H; i++) x[i] = 1;
    for (int step = 0; step < SETTLE + STEPS; step++) {
        double squares = 0;
        for (size_t i = 0; i < H; i++) {
            y[i] = 0;
            for (size_t j = 0; j < H; j++) y[i] += W[i * H + j] * x[j];
            squares += y[i] * y[i];
        }
        for (size_t i = 0; i < H; i++) x[i] = y[i] / sqrt(squares);
        if (step >= SETTLE) growth += log(squares) / 2;
    }
    return exp(growth / STEPS);
}

static double size_of(const gr_tensor *x)
{
    double sum = 0;
    for (size_t i = 0; x && i < x->len; i++) sum += (double)x->data[i] * (double)x->data[i];
    return x ? sqrt(sum / (double)x->len) : (double)NAN;
}

typedef struct {
    size_t T, n, at[POINTS];
    double *course[KINDS], most[KINDS][RADII], least[KINDS][RADII];
} recurrence;

static void note(recurrence *r, size_t kind, size_t radius, size_t step, double size, double first)
{
    const double over = isfinite(size / first) ? size / first : LOST;
    r->most[kind][radius] = fmax(r->most[kind][radius], over), r->least[kind][radius] = fmin(r->least[kind][radius], over);
    for (size_t k = 0; k < r->n; k++)
        if (r->at[k] == step) r->course[kind][radius * r->n + k] = over > 0 && over < LOST ? over : (double)NAN;
}

/* Run the recurrence from random states on a tape that does not record. */
static void walk(gr_tape *t, recurrence *r, const gr_real *W, int f, bool norm, size_t radius)
{
    gr_real state[STATES * H];
    gr_stream start = gr_stream_new(gr_tape_seed(t), "recurrence/h0");
    double first[2] = { 0, 0 };
    for (size_t i = 0; i < STATES * H; i++) {
        const double x = gr_stream_normal(&start, 0, 1);
        state[i] = (gr_real)(f == RELU ? fmax(x, 0) : f == TANH ? tanh(x) : x);
    }
    for (size_t step = 1; step <= r->T && !gr_failed(t); step++) {
        gr_tape_reset(t);
        gr_tensor *const z = gr_linear(t, gr_input(t, state, GR_SHAPE(STATES, H)), gr_input(t, W, GR_SHAPE(H, H)), NULL);
        gr_tensor *const a = norm ? gr_layer_norm(t, z, 1, NULL, NULL, 1e-5) : z;
        gr_tensor *const h = f == RELU ? gr_relu(t, a) : f == TANH ? gr_tanh(t, a) : a;
        if (!h) return;
        if (step == 1) first[0] = size_of(a), first[1] = size_of(z);
        note(r, norm ? NORMED : PLAIN, radius, step, size_of(a), first[0]);
        if (norm) note(r, RAW, radius, step, size_of(z), first[1]);
        for (size_t i = 0; i < h->len; i++) state[i] = h->data[i];
    }
}

static void put(dive *d, const recurrence *r, int f)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        const char *const name = kind_name[kind];
        dive_put(d, GR_SHAPE(RADII, r->n), r->course[kind], "recurrence/%s/%s", f_name[f], name);
        dive_put(d, GR_SHAPE(RADII), r->most[kind], "recurrence/%s/%s/most", f_name[f], name);
        dive_put(d, GR_SHAPE(RADII), r->least[kind], "recurrence/%s/%s/least", f_name[f], name);
    }
}

/* Random weights with spectral radius 1. */
static void draw_weights(double W[H * H], uint64_t seed)
{
    gr_stream draws = gr_stream_new(seed, "recurrence/W");
    for (size_t i = 0; i < H * H; i++) W[i] = gr_stream_normal(&draws, 0, 1);
    const double radius = radius_of(W);
    for (size_t i = 0; i < H * H; i++) W[i] /= radius;
}

/* The courses are those of the first seed, the extremes those of all. */
static bool measure_seed(dive *d, recurrence *r, int f, size_t seed)
{
    double W[H * H];
    gr_real scaled[H * H];
    gr_tape *const t = dive_tape(d, dive_seed(d, seed));
    const size_t n = r->n;
    if (seed) r->n = 0;
    gr_tape_set_recording(t, false);
    draw_weights(W, dive_seed(d, seed));
    for (size_t k = 0; k < RADII && !gr_failed(t); k++) {
        for (size_t i = 0; i < H * H; i++) scaled[i] = (gr_real)(W[i] * radius_at[k]);
        walk(t, r, scaled, f, false, k), walk(t, r, scaled, f, true, k);
    }
    r->n = n;
    dive_tape_free(d, t);
    return !gr_failed(d->r->tape);
}

void dive_recurrence_measure(dive *d, double from, double to)
{
    recurrence r = { .T = dive_pick(d, 20, 784, 784) };
    double steps[POINTS];
    for (size_t k = 0, step = 1; k < POINTS && step <= r.T; k++, step += 1 + step / 8) r.at[r.n] = step, steps[r.n++] = (double)step;
    for (int f = 0; f < FS; f++) {
        for (size_t kind = 0; kind < KINDS; kind++) {
            r.course[kind] = dive_blank(d, RADII * r.n);
            for (size_t k = 0; k < RADII; k++) r.most[kind][k] = 0, r.least[kind][k] = HUGE_VAL;
            if (!r.course[kind]) return;
        }
        for (size_t seed = 0; seed < d->seeds; seed++)
            if (!measure_seed(d, &r, f, seed)) return;
        put(d, &r, f);
        if (!dive_tick(d, from + (to - from) * (f + 1) / FS, "recurrence without input, %s", f_name[f])) break;
    }
    dive_put(d, GR_SHAPE(r.n), steps, "recurrence/steps");
}

/* ---- The figure and the claims ---- */

static void draw_one(const dive *d, plot_figure *f, int fn)
{
    static const char *const title[FS] = { "h = W h", "h = relu(W h)", "h = tanh(W h)" };
    static const char *const kind[] = { "none", "LN", "LN_raw" }, *const name[] = { "none", "LN", "W h before LN" };
    static const plot_ink ink[] = { PLOT_INK_NONE, PLOT_INK_LN, PLOT_INK_RAMP1 }; /* the last is on top of the others */
    const plot_record *const steps = plot_runs_get(&d->runs, "hidden_dynamics", "recurrence/steps");
    plot_panel *const p =
        plot_panel_new(f, &(plot_panel){ .title = title[fn],
                                         .note = "without input",
                                         .x = { .label = "step", .log = true, .low = 1, .high = 784 },
                                         .aspect = 1.5,
                                         .y = { .label = "size relative to step 1", .log = true, .low = 1e-3, .high = 1e3 } });
    for (size_t k = 0; k < 3 && steps; k++) {
        const plot_record *const r = plot_runs_get(&d->runs, "hidden_dynamics", "recurrence/%s/%s", f_name[fn], kind[k]);
        for (size_t radius = 0; r && radius < RADII; radius++) {
            double y[POINTS];
            for (size_t i = 0; i < steps->n && i < POINTS; i++) {
                const double v = r->values[radius * steps->n + i];
                y[i] = v >= 1e-3 && v <= 1e3 ? v : (double)NAN;
            }
            plot_series_add(p, &(plot_series){ .name = radius ? NULL : name[k], .ink = ink[k], .n = steps->n, .x = steps->values, .y = y });
        }
    }
}

void dive_recurrence_draw(const dive *d, plot_figure *f)
{
    for (int fn = 0; fn < FS; fn++) draw_one(d, f, fn);
}

/* The extreme size of f's input over n radii from `first` on. */
static double extreme(const dive *d, int f, const char *kind, const char *which, size_t first, size_t count)
{
    const plot_record *const r = plot_runs_get(&d->runs, "hidden_dynamics", "recurrence/%s/%s/%s", f_name[f], kind, which);
    double x = which[0] == 'm' ? 0 : HUGE_VAL;
    for (size_t k = first; r && k < first + count && k < r->n; k++) x = which[0] == 'm' ? fmax(x, r->values[k]) : fmin(x, r->values[k]);
    return r ? x : (double)NAN;
}

void dive_recurrence_claims(const dive *d, dive_claims *c)
{
    double most = 0, least = HUGE_VAL, raw_most = 0, raw_least = HUGE_VAL;
    for (int f = 0; f < FS; f++) {
        most = fmax(most, extreme(d, f, "LN", "most", 0, RADII)), least = fmin(least, extreme(d, f, "LN", "least", 0, RADII));
        raw_most = fmax(raw_most, extreme(d, f, "LN_raw", "most", 0, RADII)),
        raw_least = fmin(raw_least, extreme(d, f, "LN_raw", "least", 0, RADII));
    }
    const double down = extreme(d, LINEAR, "none", "least", 0, 1), up = extreme(d, LINEAR, "none", "most", RADII - 1, 1);
    const double tanh_up = extreme(d, TANH, "none", "most", RADII - 1, 1);
    const bool still = raw_most < 1.05 && raw_least > 0.95, near = raw_most < 2 && raw_least > 0.5, grows = down < 0.1 && up > 10;
    dive_claim_add(
        c,
        &(dive_claim){
            .statement = "The summed input W h of a recurrent unit keeps its size within 5 % with LayerNorm, and grows or shrinks without",
            .source = "Ba et al. 2016, section 3.1 (LN17; the bound of 5 % is ours)",
            .measured = plot_figure_text(c->f,
                                         "over 784 steps, linear, relu and tanh, spectral radius 0.5 to 2: W h, before the norm, is %s "
                                         "times the first; after the norm %s times, by the formula",
                                         dive_range(c->f->t, raw_least, raw_most, 2), dive_range(c->f->t, least, most, 3)),
            .control = plot_figure_text(c->f, "without LN, linear: %s at radius 0.5, %s at 2; tanh at 2: %.2f times",
                                        down > 0 ? plot_figure_text(c->f, "down to %.1g times", down) : "down to 0 in float",
                                        up < LOST ? plot_figure_text(c->f, "up to %.1g times", up) : "up to infinity in float", tanh_up),
            .interval = "the extremes of all",
            .seeds = d->seeds,
            .too_short = dive_too_short(c->f, (dive_budget){ .seeds = d->seeds }),
            .verdict = still && grows ? DIVE_PASS
                       : near         ? DIVE_DIFFERS
                                      : DIVE_FAIL,
            .why =
                !near ? "W h changes by more than a factor of 2"
                : still
                    ? "the recurrence without a norm keeps its size too"
                    : "W h neither grows nor shrinks without limit, but it changes by more than 5 percent as the direction of h changes" });
}
