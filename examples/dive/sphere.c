/* examples/dive/sphere.c - the geometry of LayerNorm: it removes each sample's part along (1, .., 1), and gives the rest a fixed length. Four
 * units then lie on a sphere in three dimensions, which can be drawn exactly; 64 units are drawn on three principal axes.
 *
 * Records: "steps"; "digit" [POINTS]; PLACE/before|after/x|y|z [frames, POINTS]; PLACE/before|after/radius [frames, BINS]: percent of the samples
 * whose |x - mean| / sqrt(H) is in a bin of "PLACE/before|after/bins". The largest values over all samples and frames: PLACE/mean, |mean| of a
 * row; PLACE/var, the distance of its variance from var / (var + eps); PLACE/law, the relative distance of |y| from
 * sqrt(H var / (var + eps)); PLACE/projection, the distance from the projection of Brody et al. */
#include "examples/dive/numbers.h"
#include "examples/dive/probe.h"
#include "examples/dive/seeds.h"
#include "core/op.h"
#include <math.h>

enum { FOUR, MANY, PLACES, BEFORE = 0, AFTER, SIDES, POINTS = 240, BINS = 41, AXES = 3, BATCH = 64 };
static const size_t units[PLACES] = { 4, 64 };
static const char *const place_name[PLACES] = { "four", "many" }, *const side_name[SIDES] = { "before", "after" },
                         *const axis_name[AXES] = { "x", "y", "z" };
static const double EPS = 1e-5;

typedef struct {
    dive *d;
    size_t frames, samples, points;
    double *values[PLACES][SIDES]; /* [frames, samples, H] */
    double *digits;
} sphere;

/* ---- The network: 784-64-LN-ReLU-4-LN-10, both norms without gamma and beta ---- */

static void build(kit_arm *arm)
{
    static const char *const name[] = { "fc1", "fc2", "out" };
    static const size_t size[] = { KIT_PIXELS, 64, 4, 10 };
    gr_tape *const t = arm->tape;
    dive_model *const m = gr_failed(t) ? NULL : gr_memory_new(gr_tape_allocator(t), sizeof *m);
    arm->model = m;
    if (!m && !gr_failed(t)) gr_fail_as(t, GR_NO_MEMORY, "", "no memory for a model");
    for (size_t k = 0; k < 3 && !gr_failed(t); k++) {
        gr_linear_module *const l = *(k < 2 ? &m->in[k] : &m->out) = gr_linear_new(t, arm->net, name[k], size[k], size[k + 1], NULL);
        if (!l) return;
        gr_param_init(t, &l->module, "weight", gr_init_kaiming_normal(GR_GAIN_RELU, GR_FAN_IN));
        gr_param_init(t, &l->module, "bias", gr_init_constant(0));
    }
    if (!gr_failed(t)) arm->optim = gr_adam_new(t, arm->net, &(gr_adam_config){ .lr = ((const dive_spec *)arm->user)->lr });
}

static gr_tensor *logits(kit_arm *arm, const void *batch)
{
    gr_tape *const t = arm->tape;
    dive_model *const m = arm->model;
    const kit_batch *const b = batch;
    if (gr_failed(t)) return NULL;
    m->raw[0] = gr_linear_forward(t, m->in[0], gr_input(t, b->pixels, GR_SHAPE(b->n, KIT_PIXELS)));
    m->pre[0] = gr_layer_norm(t, m->raw[0], 1, NULL, NULL, EPS);
    m->raw[1] = gr_linear_forward(t, m->in[1], gr_relu(t, m->pre[0]));
    m->pre[1] = gr_layer_norm(t, m->raw[1], 1, NULL, NULL, EPS);
    return gr_linear_forward(t, m->out, m->pre[1]);
}

static gr_tensor *loss(kit_arm *arm, const void *batch, kit_score *score)
{
    return kit_classify(arm->tape, logits(arm, batch), ((const kit_batch *)batch)->labels, score);
}

static void add(kit_arms *a) { kit_arms_add(a, "LN", GR_NORM_LAYER); }

static void see(dive_probe *p, kit_arm *arm, size_t number, size_t frame)
{
    const sphere *const s = p->user;
    const dive_model *const m = arm->model;
    (void)number;
    for (size_t place = 0; place < PLACES; place++)
        for (size_t side = 0; side < SIDES; side++) {
            const gr_tensor *const x = (side ? m->pre : m->raw)[place == FOUR];
            for (size_t k = 0; k < x->len; k++) s->values[place][side][frame * s->samples * units[place] + k] = (double)x->data[k];
        }
    for (size_t k = 0; k < s->points; k++) s->digits[k] = p->images.labels[k];
}

/* ---- Numbers ---- */

static double radius(const double *x, size_t H) { return sqrt(dive_moments_of(x, H).var); } /* |x - mean| / sqrt(H) */

static void put_radii(dive *d, const sphere *s, size_t place, size_t side)
{
    const size_t H = units[place], rows = s->frames * s->samples;
    const double *const x = s->values[place][side];
    double *const share = gr_save_zeros(d->r->tape, s->frames * BINS * sizeof *share), bins[BINS], most = 0, least = HUGE_VAL;
    for (size_t i = 0; i < rows; i++) most = fmax(most, radius(x + i * H, H)), least = fmin(least, radius(x + i * H, H));
    const double width = side == AFTER ? 2.0 / (BINS - 1) : most / (BINS - 1);
    for (size_t k = 0; k < BINS; k++) bins[k] = width * (double)k;
    for (size_t i = 0; share && width > 0 && i < rows; i++) {
        const size_t bin = (size_t)(radius(x + i * H, H) / width + 0.5);
        share[i / s->samples * BINS + (bin < BINS ? bin : BINS - 1)] += 100 / (double)s->samples;
    }
    const char *const name = place_name[place];
    if (share) dive_put(d, GR_SHAPE(s->frames, BINS), share, "%s/%s/radius", name, side_name[side]);
    dive_put(d, GR_SHAPE(BINS), bins, "%s/%s/bins", name, side_name[side]);
    dive_put(d, GR_SHAPE(2), ((double[]){ least, most }), "%s/%s/range", name, side_name[side]);
}

/* Measure how far the rows of y are from the exact LayerNorm of x. */
static void put_law(dive *d, const sphere *s, size_t place)
{
    const size_t H = units[place], rows = s->frames * s->samples;
    double mean = 0, var = 0, law = 0, projection = 0, helmert[64];
    for (size_t i = 0; i < rows; i++) {
        const double *const x = s->values[place][BEFORE] + i * H, *const y = s->values[place][AFTER] + i * H;
        const dive_moments before = dive_moments_of(x, H), after = dive_moments_of(y, H);
        const double squeezed = before.var / (before.var + EPS), length = sqrt((double)H * (after.var + after.mean * after.mean));
        double turned = 0;
        mean = fmax(mean, fabs(after.mean)), var = fmax(var, fabs(after.var - squeezed));
        law = fmax(law, fabs(length - sqrt((double)H * squeezed)) / sqrt((double)H));
        dive_helmert(y, H, helmert);
        for (size_t k = 0; k + 1 < H; k++) turned += helmert[k] * helmert[k];
        law = fmax(law, fabs(sqrt(turned) - sqrt((double)H * squeezed)) / sqrt((double)H));
        for (size_t k = 0; k < H;
             k++) /* remove the part along (1, .., 1), then scale to length sqrt(H), apart from eps: Brody et al. 2023 */
            projection = fmax(projection, fabs(y[k] - sqrt((double)H) * (x[k] - before.mean) / sqrt((double)H * (before.var + EPS))));
    }
    dive_put(d, GR_SHAPE(1), &mean, "%s/mean", place_name[place]), dive_put(d, GR_SHAPE(1), &var, "%s/var", place_name[place]);
    dive_put(d, GR_SHAPE(1), &law, "%s/law", place_name[place]);
    dive_put(d, GR_SHAPE(1), &projection, "%s/projection", place_name[place]);
}

/* The control: BatchNorm of the same values in the last frame, which does not fix mean and variance of the rows. */
static void put_control(dive *d, const sphere *s, size_t place)
{
    const size_t H = units[place], n = s->samples;
    const double *const x = s->values[place][BEFORE] + (s->frames - 1) * n * H;
    double *const column = dive_blank(d, n), *const y = dive_blank(d, n * H), low = HUGE_VAL, high = 0, mean = 0;
    if (!column || !y) return;
    for (size_t j = 0; j < H; j++) {
        for (size_t i = 0; i < n; i++) column[i] = x[i * H + j];
        dive_normalize_rows(column, 1, n, EPS, column);
        for (size_t i = 0; i < n; i++) y[i * H + j] = column[i];
    }
    for (size_t i = 0; i < n; i++) {
        const dive_moments m = dive_moments_of(y + i * H, H);
        low = fmin(low, m.var), high = fmax(high, m.var), mean = fmax(mean, fabs(m.mean));
    }
    dive_put(d, GR_SHAPE(3), ((double[]){ mean, low, high }), "%s/batch_norm", place_name[place]);
}

/* The coordinates of the points: four units in the three dimensions orthogonal to (1, .., 1); 64 units relative to the mean of their frame, along
 * the principal axes of the last frame. */
static void put_cloud(dive *d, const sphere *s, size_t place, size_t side)
{
    const size_t H = units[place], frame = s->samples * H;
    const double *const x = s->values[place][side];
    double *const at = gr_save(d->r->tape, AXES * s->frames * s->points * sizeof *at), mean[64], axes[AXES * 64], share[AXES], y[AXES];
    if (!at || !dive_principal(d->r->tape, x + (s->frames - 1) * frame, s->samples, H, AXES, mean, axes, share)) return;
    for (size_t i = 0; i < s->frames * s->points; i++) {
        const double *const all = x + i / s->points * frame, *const point = all + i % s->points * H;
        for (size_t j = 0; place == MANY && i % s->points == 0 && j < H; j++) {
            mean[j] = 0;
            for (size_t k = 0; k < s->samples; k++) mean[j] += all[k * H + j] / (double)s->samples;
        }
        if (place == FOUR) dive_helmert(point, H, y);
        else dive_project(point, 1, H, mean, axes, AXES, y);
        for (size_t k = 0; k < AXES; k++) at[k * s->frames * s->points + i] = floor(100 * y[k] + 0.5) / 100;
    }
    for (size_t k = 0; k < AXES; k++)
        dive_put(d, GR_SHAPE(s->frames, s->points), at + k * s->frames * s->points, "%s/%s/%s", place_name[place], side_name[side],
                 axis_name[k]);
    if (place == MANY) dive_put(d, GR_SHAPE(AXES), share, "%s/%s/share", place_name[place], side_name[side]);
}

static const dive_spec spec = { .arch = DIVE_MLP, .lr = 2e-3 };

void dive_sphere_measure(dive *d)
{
    sphere s = { .d = d };
    dive_probe p = { .d = d,
                     .title = "four units",
                     .spec = &spec,
                     .steps = dive_pick(d, 3, 1500, 8000),
                     .batch = BATCH,
                     .samples = dive_pick(d, 50, 1000, 1000),
                     .to = 1,
                     .add = add,
                     .build = build,
                     .loss = loss,
                     .logits = logits,
                     .see = see,
                     .user = &s };
    if (p.samples > d->data.test.images.n) p.samples = d->data.test.images.n;
    dive_frames(&p, dive_pick(d, 3, 13, 13), p.steps, false);
    s.frames = p.frames, s.samples = p.samples, s.points = p.samples < POINTS ? p.samples : POINTS;
    s.digits = dive_blank(d, s.points);
    for (size_t place = 0; place < PLACES; place++)
        for (size_t side = 0; side < SIDES; side++) s.values[place][side] = dive_blank(d, s.frames * s.samples * units[place]);
    double at[DIVE_FRAMES];
    if (gr_failed(d->r->tape) || !dive_probe_run(&p)) return;
    dive_put(d, GR_SHAPE(p.frames), dive_frames_steps(&p, at), "steps");
    dive_put(d, GR_SHAPE(s.points), s.digits, "digit"), dive_put(d, GR_SHAPE(1), p.accuracy, "accuracy");
    dive_put(d, GR_SHAPE(1), &(double){ (double)s.samples }, "samples");
    for (size_t place = 0; place < PLACES; place++) {
        for (size_t side = 0; side < SIDES; side++) put_cloud(d, &s, place, side), put_radii(d, &s, place, side);
        put_law(d, &s, place), put_control(d, &s, place);
    }
}

/* ---- The figure ---- */

static const plot_record *get(const dive *d, size_t place, size_t side, const char *what)
{
    return plot_runs_get(&d->runs, "sphere", "%s/%s/%s", place_name[place], side_name[side], what);
}

static double value(const dive *d, size_t place, const char *what)
{
    return plot_runs_value(&d->runs, "sphere", "%s/%s", place_name[place], what);
}

/* A range that holds all points of the last frame, and all but one in 200 of the other frames. */
static double reach_of(gr_tape *t, const plot_record *r)
{
    double *const x = gr_save(t, r->n * sizeof *x), last = 0;
    for (size_t i = 0; x && i < r->n; i++) {
        x[i] = fabs(r->values[i]);
        if (i + r->shape.dim[1] >= r->n) last = fmax(last, x[i]);
    }
    return x ? fmax(last, dive_percentile(x, r->n, 99.5)) : 0;
}

static void draw_cloud(const dive *d, plot_figure *f, size_t place, size_t side)
{
    const plot_record *at[AXES], *const digit = plot_runs_get(&d->runs, "sphere", "digit"), *const share = get(d, place, side, "share");
    int group[POINTS];
    double reach = 0;
    const char *note = side == AFTER ? "on a sphere of radius 2, drawn exactly" : "minus the mean over the four units";
    if (place == MANY && share)
        note = plot_figure_text(f, "three principal axes, %.0f %% of the variance",
                                100 * (share->values[0] + share->values[1] + share->values[2]));
    plot_panel *const p = plot_panel_new(
        f, &(plot_panel){ .title = plot_figure_text(f, "%zu units, %s the norm", units[place], side_name[side]), .note = note });
    for (size_t k = 0; k < AXES; k++) {
        at[k] = get(d, place, side, axis_name[k]);
        if (!at[k] || !digit || digit->n > POINTS) return;
        reach = fmax(reach, reach_of(f->t, at[k]));
    }
    for (size_t i = 0; i < digit->n; i++) group[i] = (int)digit->values[i];
    plot_cloud c = { .n = digit->n,
                     .x = at[0]->values,
                     .y = at[1]->values,
                     .z = at[2]->values,
                     .moves = true,
                     .reach = 1.05 * reach,
                     .group = group,
                     .groups = 10,
                     .axis = { "h1", "h2", "h3" },
                     .means = "digit",
                     .circles = place == FOUR && side == AFTER ? 2 : 0 };
    if (place == FOUR && side == AFTER) c.reach = 2.2;
    if (place == MANY) c.axis[0] = "PC 1", c.axis[1] = "PC 2", c.axis[2] = "PC 3";
    plot_cloud_set(p, &c);
}

/* The upper edge of the last bar of all histograms, so that they can have the same axis. */
static double widest(const dive *d)
{
    double most = 0;
    for (size_t i = 0; i < (size_t)PLACES * SIDES; i++) {
        const plot_record *const bins = get(d, i / SIDES, i % SIDES, "bins");
        if (bins && bins->n > 1) most = fmax(most, 1.5 * bins->values[bins->n - 1] - 0.5 * bins->values[bins->n - 2]);
    }
    return most;
}

static void draw_radii(const dive *d, plot_figure *f, size_t place, size_t side)
{
    const plot_record *const share = get(d, place, side, "radius"), *const bins = get(d, place, side, "bins");
    plot_panel *const p = plot_panel_new(
        f, &(plot_panel){ .title = plot_figure_text(f, "%zu units, %s: distance from the mean", units[place], side_name[side]),
                          .x = { .label = "|x - mean| / sqrt(H)", .low = 0, .high = widest(d) },
                          .y = { .label = "percent of samples" },
                          .aspect = 1 });
    if (share && bins)
        plot_series_add(p, &(plot_series){ .ink = side == AFTER ? PLOT_INK_LN : PLOT_INK_NONE,
                                           .mark = PLOT_BARS,
                                           .n = bins->n,
                                           .x = bins->values,
                                           .y = share->values,
                                           .moves = true });
}

void dive_sphere_draw(const dive *d, plot_figure *f)
{
    const plot_record *const steps = plot_runs_get(&d->runs, "sphere", "steps"), *const before = get(d, FOUR, BEFORE, "range"),
                             *const after = get(d, FOUR, AFTER, "range");
    f->title = "LayerNorm maps samples to a sphere";
    if (!steps || !before || !after) return;
    plot_figure_frames(f, "step", steps->values, steps->n);
    f->columns = 4;
    for (size_t place = 0; place < PLACES; place++) {
        for (size_t side = 0; side < SIDES; side++) draw_cloud(d, f, place, side);
        for (size_t side = 0; side < SIDES; side++) draw_radii(d, f, place, side);
    }
    plot_figure_says(f, PLOT_SAY_QUESTION, "How does LayerNorm change the geometry of a layer's activations?");
    plot_figure_says(f, PLOT_SAY_NUMBER,
                     "With four units, the distance of a sample from its mean is %s sqrt(H) after the norm, and %s sqrt(H) before",
                     dive_range(f->t, after->values[0], after->values[1], 4), dive_range(f->t, before->values[0], before->values[1], -3));
    plot_figure_says(
        f, PLOT_SAY_CAPTION,
        "The clouds show %zu test images at some steps of one training. A colour is a digit, and the clouds can be turned. LayerNorm "
        "subtracts the mean of a sample over its units, which removes its part along (1, .., 1), and divides by the standard deviation, "
        "which gives the rest the length sqrt(H var / (var + eps)): only a direction remains. For four units this is a sphere of radius 2 "
        "= sqrt(4) in three dimensions. Helmert's basis gives the coordinates h1, h2, h3, and keeps lengths and angles. eps = 1e-5 "
        "shortens samples of small variance, here by at most %.2g %%. The logits are a linear function of these points, so that the digits "
        "must separate on the sphere: %.1f %% of 1000 test images are right after %.0f steps. 64 units are drawn along the three "
        "principal axes of the last frame, minus the mean of each frame; after the norm they lie on a sphere of radius 8 in 63 "
        "dimensions, and the figure shows its projection. The histograms, over %.0f images, share one axis: they are wide before the norm "
        "and a single bar at 1 after it. gamma is 1 and beta is 0; another gamma would turn the sphere into an ellipsoid, and beta would "
        "shift it.",
        get(d, FOUR, AFTER, "x") ? get(d, FOUR, AFTER, "x")->shape.dim[1] : 0, 100 * (1 - after->values[0]),
        plot_runs_value(&d->runs, "sphere", "accuracy"), steps->values[steps->n - 1], plot_runs_value(&d->runs, "sphere", "samples"));
    plot_figure_says(f, PLOT_SAY_SETTINGS, "%s; 784-64-LN-ReLU-4-LN-10, He's weights, biases 0, Adam, learning rate %g constant, batch %d.",
                     d->preprocessing, spec.lr, (int)BATCH);
}

/* ---- Claims ---- */

void dive_sphere_claims(const dive *d, dive_claims *c)
{
    static const char *const why = "larger than rounding in float";
    plot_figure *const f = c->f;
    const plot_record *const batch = plot_runs_get(&d->runs, "sphere", "many/batch_norm"), *const before = get(d, FOUR, BEFORE, "range");
    if (!batch || batch->n != 3 || !before || before->n != 2) return;
    const double mean = fmax(value(d, FOUR, "mean"), value(d, MANY, "mean")), var = fmax(value(d, FOUR, "var"), value(d, MANY, "var"));
    dive_claim_exact(
        c, mean < 1e-5 && var < 1e-5, "LayerNorm gives each sample mean 0 and variance 1, apart from eps",
        "often said; Ba et al. 2016, eq. 3-4",
        plot_figure_text(f, "layers of 4 and 64 units during training: |mean| at most %.1e; variance within %.1e of var / (var + eps)",
                         mean, var),
        plot_figure_text(f, "BatchNorm of the same 64 units: a sample's |mean| is up to %.2g, its variance %s", batch->values[0],
                         dive_range(f->t, batch->values[1], batch->values[2], -3)),
        why);
    const double law = fmax(value(d, FOUR, "law"), value(d, MANY, "law"));
    dive_claim_exact(
        c, law < 1e-5, "LayerNorm maps every sample to a sphere of radius sqrt(H)", "follows from the formula",
        plot_figure_text(f, "the distance is within %.1e sqrt(H) of sqrt(H var / (var + eps)), also in Helmert's basis", law),
        plot_figure_text(f, "before the norm it is %s times sqrt(H)", dive_range(f->t, before->values[0], before->values[1], -3)), why);
    const double projection = fmax(value(d, FOUR, "projection"), value(d, MANY, "projection"));
    dive_claim_exact(c, projection < 2e-5, "LayerNorm is the projection orthogonal to (1, .., 1), then a scale to length sqrt(H)",
                     "Brody et al. 2023 (CC6)", plot_figure_text(f, "largest error of a unit %.1e", projection),
                     "eps in the length: H (var + eps)", why);
}
