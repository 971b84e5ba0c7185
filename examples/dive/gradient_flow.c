/* examples/dive/gradient_flow.c - the norm of the gradient in each layer and at each time step, during training. */
#include "examples/dive/gradient_flow.h"
#include "core/op.h"
#include "examples/dive/seeds.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

/* 0.40825 is 1 / sqrt(6): the deviation of PyTorch's default, uniform within 1 / sqrt(in), divided by He's. */
const flow_net flow_nets[FLOW_NETS] = {
    { { .arch = DIVE_MLP, .hidden = 64, .depth = 20 }, "mlp", "MLP, He's weights", 64, 0.1 },
    { { .arch = DIVE_MLP, .hidden = 64, .depth = 20, .scale = 0.40825 }, "small", "MLP, weights too small", 64, 0.1 },
    { { .arch = DIVE_TRANSFORMER, .hidden = 32, .depth = 12 }, "pre", "Transformer, pre-norm", 8, 0.25 },
    { { .arch = DIVE_TRANSFORMER, .hidden = 32, .depth = 12, .post = true }, "post", "Transformer, post-norm", 8, 0.2 },
    { { .arch = DIVE_LSTM, .hidden = 48 }, "rows", "LSTM, 28 rows", 64, 0.15 },
    { { .arch = DIVE_LSTM, .hidden = 32, .pooled = 2 }, "pixels", "LSTM, 196 pixels", 32, 0.2 },
};

/* ==== Numbers of a row of gradients ==== */

double flow_decades(const double *gradient, size_t n) { return n ? log10(gradient[0]) - log10(gradient[n - 1]) : (double)NAN; }

double flow_growth(const double *gradient, size_t n, size_t edge)
{
    if (n < 2 * edge + 2) return (double)NAN;
    return pow(gradient[edge] / gradient[n - 1 - edge], 2 / (double)(n - 1 - 2 * edge));
}

/* ==== Training ==== */

double flow_norm(gr_tape *t, const gr_tensor *x)
{
    const gr_real *const g = x ? gr_grad(t, x) : NULL;
    double sum = 0;
    if (!g) return (double)NAN;
    for (size_t i = 0; i < x->len; i++) sum += (double)g[i] * (double)g[i];
    return sqrt(sum);
}

/* A Transformer starts as in Xiong et al. 2020: matrices from N(0, 2 / (in + out)), where query, key and value count as three square matrices,
 * and token plus position with variance 1. */
void flow_build(kit_arm *arm)
{
    dive_build(arm);
    const dive_model *const m = arm->model;
    if (gr_failed(arm->tape) || !m->body) return;
    for (gr_slot *p = gr_slot_first(&m->body->module); p; p = gr_slot_next(&m->body->module, p)) {
        if (p->kind != GR_PARAMETER || p->no_decay) continue;
        const double in = (double)gr_size(p->tensor, 1), out = strcmp(p->name, "in_proj_weight") ? (double)gr_size(p->tensor, 0) : in;
        gr_param_init(arm->tape, p->owner, p->name, gr_init_normal(0, sqrt(2 / (in + out))));
    }
    gr_param_init(arm->tape, &m->token->module, "weight", gr_init_normal(0, m->position ? sqrt(0.5) : 1));
    if (m->position) gr_param_init(arm->tape, &m->position->module, "weight", gr_init_normal(0, sqrt(0.5)));
    for (size_t k = 0; m->spec.equal && k < m->body->layers; k++) {
        gr_tensor *const all = m->body->layer[k]->self_attn->in_proj_weight; /* queries, keys, values */
        memset(all->data, 0, all->len / 3 * sizeof *all->data);
    }
}

size_t flow_gradients(const kit_arm *arm, double g[2][FLOW_PLACES])
{
    const dive_model *const m = arm->model;
    const dive_spec *const s = &m->spec;
    size_t n = 0;
    switch (s->arch) {
    case DIVE_LSTM:
        n = gr_size(m->x, 1);
        memcpy(g[0], m->state.dh_norm, n * sizeof **g), memcpy(g[1], m->state.dc_norm, n * sizeof **g);
        return n;
    case DIVE_TRANSFORMER:
        for (; n < s->depth; n++) g[0][n] = flow_norm(arm->tape, ((const gr_linear_module *)m->body->layer[n]->linear2)->weight);
        return n;
    default:
        for (; n < s->depth; n++) g[0][n] = flow_norm(arm->tape, m->raw[n]);
        return n;
    }
}

/* The gradients of a training: up to two rows, each summed over the batches of a frame. */
enum { WINDOW = 3, PLACES = FLOW_PLACES };
typedef struct {
    dive *d;
    const flow_net *net;
    double begun, share; /* this training's part of the figure's progress */
    size_t frames, at[FLOW_FRAMES];
    size_t places, taken[DIVE_ARMS][FLOW_FRAMES];
    double sum[2][DIVE_ARMS][FLOW_FRAMES * PLACES];
} watched;

static size_t steps_of(const dive *d) { return dive_pick(d, 3, 161, 4801); }

/* Choose the frames: close together at first, and the last frame at the last step. Returns how many there are. */
static size_t choose_frames(const dive *d, size_t at[FLOW_FRAMES])
{
    const size_t n = dive_pick(d, 3, FLOW_FRAMES, FLOW_FRAMES);
    for (size_t k = 0; k < n; k++) at[k] = (size_t)(0.5 + (double)(steps_of(d) - 1) * pow((double)k / (double)(n - 1), 1.5));
    return n;
}

static bool watch(kit_arms *a, size_t step, bool evaluated)
{
    watched *const w = a->user;
    double g[2][PLACES] = { { 0 } };
    const size_t now = step - 1; /* the number of steps before the one that is measured */
    for (size_t f = 0; !evaluated && f < w->frames; f++) {
        const bool in_window = now <= w->at[f] && now + WINDOW > w->at[f] && (!f || now > w->at[f - 1]);
        for (size_t i = 0; in_window && i < a->n; i++) {
            if (a->arm[i].diverged) continue;
            w->places = flow_gradients(&a->arm[i], g);
            for (size_t k = 0; k < w->places; k++)
                for (int r = 0; r < 2; r++) w->sum[r][i][f * w->places + k] += g[r][k];
            w->taken[i][f]++;
        }
    }
    return dive_tick(w->d, w->begun + w->share * (double)step / (double)a->steps, "%s", w->net->title);
}

typedef struct {
    double *tested, *accuracy;
} ends; /* [DIVE_ARMS, seeds] */

static void put(const watched *w, const kit_arms *a, size_t seed)
{
    const bool lstm = w->net->spec.arch == DIVE_LSTM;
    double mean[FLOW_FRAMES * PLACES];
    for (size_t i = 0; i < a->n; i++)
        for (int r = 0; r <= lstm; r++) {
            for (size_t k = 0; k < w->frames * w->places; k++) mean[k] = w->sum[r][i][k] / (double)w->taken[i][k / w->places];
            dive_put(w->d, GR_SHAPE(w->frames, w->places), mean, "%s/%s/%zu/%s", w->net->name, a->arm[i].name, seed,
                     !lstm ? "grad"
                     : r   ? "dc"
                           : "dh");
        }
}

/* Train a net with its arms and measure its gradients. Post-norm without a norm equals pre-norm without a norm, so post-norm has an arm LN with
 * warm-up instead. */
static void train(dive *d, const flow_net *net, const bool wanted[DIVE_ARMS + 1], size_t k, size_t seeds, ends *e, double begun,
                  double share)
{
    const gr_allocator *const memory = gr_tape_allocator(d->r->tape);
    dive_batches b;
    kit_arms a = { .title = net->title };
    if (!dive_batches_open(d, &b, &a, &net->spec, net->batch, k)) return;
    watched *const w = gr_memory_new(memory, sizeof *w);
    const size_t tests = dive_pick(d, 1, 5, 50);
    size_t row[KIT_ARMS] = { 0 }; /* of e */
    if (!w) gr_fail_as(d->r->tape, GR_NO_MEMORY, "", "no memory for gradients");
    a.build = flow_build, a.watch = watch, a.user = w;
    a.steps = a.every = steps_of(d);
    if (net->spec.arch == DIVE_TRANSFORMER) a.clip = 0;
    if (a.source.test > tests) a.source.test = tests;
    for (size_t i = net->spec.post; i < DIVE_ARMS; i++)
        if (wanted[i])
            row[a.n] = i - net->spec.post, kit_arms_add(&a, dive_arm_name[i], (int)dive_arm_norm[i]), a.arm[a.n - 1].user = &b.spec;
    dive_spec warm = b.spec;
    warm.warmup = flow_warm_steps(d);
    if (net->spec.post && wanted[FLOW_WARMED]) row[a.n] = 2, kit_arms_add(&a, FLOW_WARM, GR_NORM_LAYER), a.arm[a.n - 1].user = &warm;
    if (w && a.n) {
        w->d = d, w->net = net, w->begun = begun, w->share = share;
        w->frames = choose_frames(d, w->at);
        if (kit_arms_run(d->r, &a) && !kit_interrupted()) put(w, &a, k);
        for (size_t i = 0; i < a.n; i++) {
            if (!a.arm[i].diverged)
                e->tested[row[i] * seeds + k] = kit_loss(&a.arm[i].tested),
                                           e->accuracy[row[i] * seeds + k] = kit_accuracy(&a.arm[i].tested);
            if (k + 1 < seeds) continue;
            dive_put(d, GR_SHAPE(seeds), e->tested + row[i] * seeds, "%s/%s/tested", net->name, a.arm[i].name);
            dive_put(d, GR_SHAPE(seeds), e->accuracy + row[i] * seeds, "%s/%s/accuracy", net->name, a.arm[i].name);
        }
    }
    dive_arms_free(&a), dive_batches_free(d, &b);
    gr_memory_free(memory, w, sizeof *w);
}

static const double start_share = 0.1; /* of the figure's progress: the gradients before training */

/* The LSTMs cost most. */
static size_t seeds_of(const dive *d, size_t net)
{
    const size_t most = net < FLOW_ROWS ? d->seeds : dive_pick(d, 1, 1, DIVE_SEEDS);
    return d->seeds < most ? d->seeds : most;
}

void flow_train(dive *d, double begun, bool (*wanted)(const dive *d, size_t net, size_t arm, size_t k))
{
    size_t frame[FLOW_FRAMES];
    double at[FLOW_FRAMES];
    const size_t frames = choose_frames(d, frame);
    for (size_t k = 0; k < frames; k++) at[k] = (double)frame[k];
    dive_put(d, GR_SHAPE(frames), at, "frames");
    for (size_t i = 0; i < FLOW_NETS; i++) {
        const size_t seeds = seeds_of(d, i);
        ends e = { dive_blank(d, DIVE_ARMS * seeds), dive_blank(d, DIVE_ARMS * seeds) };
        const double share = (1 - start_share) * flow_nets[i].share / (double)seeds;
        for (size_t k = 0; k < seeds && !gr_failed(d->r->tape) && !kit_interrupted(); k++, begun += share) {
            bool arm[DIVE_ARMS + 1];
            for (size_t j = 0; j <= DIVE_ARMS; j++) arm[j] = wanted(d, i, j, k);
            train(d, &flow_nets[i], arm, k, seeds, &e, begun, share);
        }
    }
}

/* The claims compare LN with none; BN's curve needs one seed. */
static bool is_wanted(const dive *d, size_t net, size_t arm, size_t k) { return (void)net, arm != 1 || !k || d->mode == DIVE_FULL; }

void dive_gradient_flow_measure(dive *d)
{
    flow_start(d, 0, start_share);
    flow_train(d, start_share, is_wanted);
}
