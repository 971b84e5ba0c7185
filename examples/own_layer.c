/* examples/own_layer.c - an operator and a module of your own: a layer for readings of devices that have different units.
 *
 * Three devices measure the same four quantities, each in units of its own. The layer keeps a running mean square of each quantity for each
 * device, and divides by its root, so that the rest of the network sees no units. In training it also multiplies by random factors.
 * Shows: a backward that gr_gradcheck confirms, optional inputs, random numbers that do not depend on threads, a running statistic that
 *        gr_tape_recover puts back, and a module with a parameter, a buffer and a counter.
 * Run:   examples/own_layer              (at once)
 *        examples/own_layer --noise 0    without the random factors
 * See:   the network learns with the layer, and not without it. A step that is done again after gr_tape_recover has the same loss.
 * Exit:  0, or 1 --check missed its target; 2 a bad flag or path; 3 out of memory or disk full.
 */
#include "examples/kit/kit.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

enum { K = 3, C = 4, N = 64, H = 32 }; /* devices, quantities, samples in a batch, hidden units */

static kit_options o = { .steps = 600, .seed = 42 };
static double noise = 0.05;
static const kit_flag flag[] = {
    { "steps", KIT_COUNT, &o.steps, "N", "training steps", 1, 1e6 },
    { "noise", KIT_NUMBER, &noise, "X", "standard deviation of the random factors", 0, 1 },
    KIT_FLAGS_RUN(o, "exit 1 unless the gradient is right, a repeated step has the same bits, and the layer helps"),
};
static const kit_flags flags = { "own_layer", "an operator and a module of your own", flag, sizeof flag / sizeof *flag };

/* ==== The operator: y = gain * f * x,   f = (1 + noise z) / sqrt(square) ====
 *
 *   x        [N, ..], with C features on `axis`; z is from N(0, 1) for each value in training, else 0
 *   square   [K, C]   the mean square of each feature for each device; a constant, which gets no gradient
 *   batches  NULL, or how many batches square is an average of; training then moves both
 *   gain     [C]      or NULL for 1
 *   device   [N]      the device of each sample, 0 .. K-1, or NULL if there is one device
 *
 * Backward: dx = gain * f * dy, and dgain is the sum of f * x * dy over all values of a feature.
 * Saved: f, because a random number costs more time than a value costs memory. */
typedef struct {
    const gr_real *x, *square, *gain;
    const int *device;
    gr_real *f, *y;
    size_t len, sample, inner, C; /* values in all, in a sample, after the feature's axis; features */
    gr_stream draws;
    double noise;
} rescale_saved;

static size_t feature(const rescale_saved *s, size_t i) { return i / s->inner % s->C; }
static size_t place(const rescale_saved *s, size_t i) /* in square */
{
    return (s->device ? (size_t)s->device[i / s->sample] * s->C : 0) + feature(s, i);
}

enum { CHUNK = 64, DRAWS = 4 }; /* values in a chunk; draws of a stream for one normal number */

/* Draw number n of a stream is a function of n, so a chunk computes the same values in whichever thread it runs. */
static void rescale_chunk(void *argument, size_t chunk, int thread)
{
    const rescale_saved *const s = argument;
    const gr_range range = gr_chunk(chunk, CHUNK, s->len);
    gr_stream draws = { s->draws.key, s->draws.counter + DRAWS * range.first };
    (void)thread;
    for (size_t i = range.first; i < range.first + range.count; i++) {
        const double factor = s->noise > 0 ? gr_stream_normal(&draws, 1, s->noise) : 1, square = (double)s->square[place(s, i)];
        const gr_real f = square > 0 ? (gr_real)(factor / sqrt(square)) : 0;
        if (s->f) s->f[i] = f;
        s->y[i] = (s->gain ? s->gain[feature(s, i)] : 1) * f * s->x[i];
    }
}

static void rescale_backward(gr_tape *t, const gr_node *n)
{
    const rescale_saved *const s = n->saved;
    const gr_real *const dy = gr_grad(t, n->out[0]);
    gr_real *const dx = gr_grad(t, n->in[0]), *const dgain = gr_grad(t, n->in[1]); /* NULL when nobody asked */
    for (size_t i = 0; i < s->len; i++) {
        if (dx) dx[i] += (s->gain ? s->gain[feature(s, i)] : 1) * s->f[i] * dy[i];
        if (dgain) dgain[feature(s, i)] += s->f[i] * s->x[i] * dy[i];
    }
}

static const gr_op rescale_op = { .name = "rescale", .backward = rescale_backward };

/* Move square towards the mean square of this batch, and note what was there for gr_tape_recover. */
static bool rescale_move(gr_tape *t, const rescale_saved *s, gr_tensor *square, int64_t *batches)
{
    double *const sum = gr_save_zeros(t, square->len * sizeof *sum), *const count = gr_save_zeros(t, square->len * sizeof *count);
    if (!sum || !count || !gr_undo_note(t, square->data, square->len * sizeof *square->data) || !gr_undo_note(t, batches, sizeof *batches))
        return false;
    for (size_t i = 0; i < s->len; i++) sum[place(s, i)] += (double)s->x[i] * (double)s->x[i], count[place(s, i)]++;
    const double weight = kit_larger(0.1, 1 / (double)++*batches); /* an average of the first ten batches, then a running one */
    for (size_t p = 0; p < square->len; p++)
        if (count[p] > 0) square->data[p] = (gr_real)((1 - weight) * (double)square->data[p] + weight * sum[p] / count[p]);
    return true;
}

static gr_tensor *rescale(gr_tape *t, gr_tensor *x, int axis, gr_tensor *square, int64_t *batches, gr_tensor *gain, const gr_ints *device,
                          const char *stream)
{
    const gr_op *const op = &rescale_op;
    if (!gr_ready(t, op, x, square) || !gr_alive(t, op, "gain", gain) || !gr_ints_alive(t, op, "device", device)) return NULL; /* check, */
    if ((axis = gr_axis(t, op, x, axis)) < 0) return NULL;
    rescale_saved s = { .x = x->data, .square = square->data, .len = x->len, .inner = 1, .C = x->dim[axis] };
    if (square->rank != 2 || !square->dim[0] || square->dim[1] != s.C || (gain && gain->len != s.C))
        return gr_fail(t, op, "x is %s, so square must be [K, %zu] and gain [%zu]; got %s and %s", gr_shape_text(t, x), s.C, s.C,
                       gr_shape_text(t, square), gr_shape_text(t, gain));
    if (device && device->len != x->dim[0])
        return gr_fail(t, op, "x is %s, so device must have %zu values; got %zu", gr_shape_text(t, x), x->dim[0], device->len);
    for (size_t n = 0; device && n < device->len; n++)
        if (device->data[n] < 0 || (size_t)device->data[n] >= square->dim[0])
            return gr_fail(t, op, "device[%zu] is %d, but square is %s", n, device->data[n], gr_shape_text(t, square));

    gr_stream *const draws = gr_tape_stream(t, stream); /* allocate, */
    gr_tensor *const y = gr_empty_like(t, x);
    if (!draws || !y) return NULL;
    for (int a = axis + 1; a < x->rank; a++) s.inner *= x->dim[a];
    if (s.len) s.sample = s.len / x->dim[0];
    s.gain = gain ? gain->data : NULL, s.device = device ? device->data : NULL, s.y = y->data;
    if (gr_will_record(t, GR_IN(x, gain)) && !(s.f = gr_save_reals(t, s.len))) return NULL;

    s.noise = gr_tape_training(t) ? noise : 0; /* compute, */
    if (s.noise > 0) s.draws = (gr_stream){ draws->key, gr_stream_take(t, draws, DRAWS * s.len) };
    if (batches && gr_tape_training(t) && !rescale_move(t, &s, square, batches)) return NULL;
    gr_parallel(t, gr_chunks(s.len, CHUNK), 50.0 * (double)s.len, rescale_chunk, &s);
    return gr_record(t, op, &s, sizeof s, GR_OUT(y), GR_IN(x, gain)); /* record */
}

static gr_tensor *rescale_checked(gr_tape *t, gr_tensor *const *in, void *argument) /* x [3, 4, 2], square [2, 4], gain [4] */
{
    gr_stream *const draws = gr_tape_stream(t, "noise");
    (void)argument;
    if (draws) draws->counter = 0; /* gr_gradcheck wants the same function at each call */
    return rescale(t, in[0], 1, in[1], NULL, in[2], gr_ints_new(t, (const int[]){ 0, 1, 0 }, GR_SHAPE(3)), "noise");
}

/* ==== The module ==== */

typedef struct {
    gr_module module;
    gr_tensor *gain, *square; /* [C], [K, C] */
    int64_t *batches;
    char stream[80]; /* "norm/noise" */
} device_norm;

static device_norm *device_norm_new(gr_tape *t, gr_module *parent, const char *name, size_t devices, size_t features)
{
    device_norm *const d = gr_module_make(t, parent, name, "DeviceNorm", sizeof *d);
    if (!d) return NULL;
    d->gain = gr_param(t, &d->module, "gain", GR_SHAPE(features), gr_init_constant(1));
    d->square = gr_buffer(t, &d->module, "square", GR_SHAPE(devices, features), 1);
    d->batches = gr_counter(t, &d->module, "batches");
    snprintf(d->stream, sizeof d->stream, "%s/noise", d->module.path);
    return gr_module_ready(t, &d->module) ? d : NULL;
}

static gr_tensor *device_norm_forward(gr_tape *t, const device_norm *d, gr_tensor *x, const gr_ints *device)
{
    if (!d) return gr_fail(t, NULL, "device_norm: the module is NULL");
    GR_WITHIN(t, &d->module);
    return rescale(t, x, -1, d->square, d->batches, d->gain, device, d->stream);
}

/* ==== A network with it, and one without ==== */

typedef struct {
    gr_module *net;
    device_norm *norm; /* or NULL */
    gr_linear_module *fc1, *fc2;
    gr_optim *adam;
} model;

static model build(gr_tape *t, bool with_norm)
{
    model m = { .net = gr_module_new(t) };
    if (with_norm) m.norm = device_norm_new(t, m.net, "norm", K, C);
    m.fc1 = gr_linear_new(t, m.net, "fc1", C, H, NULL);
    m.fc2 = gr_linear_new(t, m.net, "fc2", H, 1, NULL);
    m.adam = gr_adam_new(t, m.net, &(gr_adam_config){ .lr = 0.01 });
    return m;
}

/* The loss on batch number `step`, which is a function of its number: quantities q from N(0, 1), in the units of a device chosen at random. */
static gr_tensor *loss_of(gr_tape *t, const model *m, size_t step)
{
    static const double unit[K][C] = { { 1, 1, 1, 1 }, { 1000, 0.1, 30, 5 }, { 0.01, 20, 0.3, 200 } };
    gr_stream s = gr_stream_new(o.seed, "readings");
    gr_tensor *const x = gr_empty(t, GR_SHAPE(N, C)), *const y = gr_empty(t, GR_SHAPE(N, 1));
    gr_ints *const device = gr_ints_new(t, NULL, GR_SHAPE(N));
    s.counter = (uint64_t)step << 32;
    for (size_t n = 0; n < N && device; n++) {
        double q[C];
        device->data[n] = (int)gr_stream_below(&s, K);
        for (size_t c = 0; c < C; c++) q[c] = gr_stream_normal(&s, 0, 1), x->data[n * C + c] = (gr_real)(q[c] * unit[device->data[n]][c]);
        y->data[n] = (gr_real)(tanh(q[0] + q[1]) - 0.5 * q[2] * q[3]);
    }
    gr_tensor *const z = m->norm ? device_norm_forward(t, m->norm, x, device) : x;
    return gr_mse(t, gr_linear_forward(t, m->fc2, gr_tanh(t, gr_linear_forward(t, m->fc1, z))), y, GR_REDUCE_MEAN);
}

static double train(gr_tape *t, const model *m)
{
    for (size_t step = 0; step < o.steps && !gr_failed(t) && !kit_interrupted(); step++) {
        gr_tape_reset(t);
        gr_optim_zero_grad(m->adam);
        gr_backward(t, loss_of(t, m, step));
        gr_optim_step(t, m->adam);
    }
    gr_tape_reset(t), gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
    double sum = 0;
    for (size_t i = 0; i < 20; i++) sum += gr_item(loss_of(t, m, 1000000 + i)); /* batches that it was not trained on */
    gr_tape_set_training(t, true), gr_tape_set_recording(t, true), gr_tape_reset(t);
    return sum / 20;
}

/* What every DeviceNorm under net has learned. */
static void print_units(const gr_module *net)
{
    for (const gr_module *m = net; m; m = gr_module_next(net, m)) {
        const gr_slot *const square = strcmp(m->kind, "DeviceNorm") ? NULL : gr_slot_find(m, "square");
        for (size_t i = 0; square && i < square->tensor->len; i++) {
            if (i % C == 0) printf("device %zu in %s:", i / C, square->path);
            printf(i % C < C - 1 ? " %9.4g" : " %9.4g\n", sqrt((double)square->tensor->data[i]));
        }
    }
}

static void work(kit_run *r, const model *with, const model *without)
{
    gr_tape *const t = r->tape;
    gr_gradcheck_result of_x = { 0 }, of_gain = { 0 };
    const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(3, 4, 2), .result = &of_x },
                                      { .shape = GR_SHAPE(2, 4), .low = 0.5, .high = 2, .no_grad = true },
                                      { .shape = GR_SHAPE(4), .result = &of_gain } };
    const bool right = gr_gradcheck("rescale", rescale_checked, NULL, in, 3, &(gr_gradcheck_config){ .alone = true }, stderr);
    if (!o.quiet) printf("gradients of rescale: x %s, gain %s\n", gr_gradcheck_text(of_x.pattern), gr_gradcheck_text(of_gain.pattern));

    const double loss = train(t, with), other = train(t, without);
    if (!o.quiet) print_units(with->net);
    const double first = gr_item(loss_of(t, with, o.steps)), on = gr_item(loss_of(t, with, o.steps));
    gr_tape_recover(t); /* the running statistic and the stream are as they were after the last step */
    const double again = gr_item(loss_of(t, with, o.steps));
    if (!o.quiet) printf("loss of the next step %.6f, once more %.6f, after gr_tape_recover %.6f\n", first, on, again);

    if (gr_failed(t) || kit_interrupted()) return;
    printf("mean square error %.4f with the layer, %.4f without\n", loss, other);
    kit_log_write(t, &r->log, "result", { "with", loss }, { "without", other });
    kit_run_need(r, right, "the gradient of rescale is wrong");
    kit_run_need(r, !(first < again || first > again), "the loss of a repeated step is %.9g, not %.9g", again, first);
    kit_run_need(r, loss < 0.1 && loss < other / 2, "the error is %g with the layer and %g without", loss, other);
}

int main(int argc, char **argv)
{
    kit_run r;
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    const model with = build(r.tape, true), without = build(r.tape, false);
    if (kit_run_begin(&r, "readings of 3 devices, 4 quantities, drawn")) work(&r, &with, &without);
    gr_optim_free(with.adam), gr_optim_free(without.adam);
    gr_module_free(with.net), gr_module_free(without.net);
    return kit_run_end(&r);
}
