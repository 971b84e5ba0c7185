/* tests/campaign/api_sequences.c - random programs over the public interface, on two tapes: operators with fitting and unfitting arguments,
 * networks made, trained and freed, marks, rewinds, segments of gr_recompute, backward, resets; and misuse in the middle of them: tensors
 * of the other tape, tensors that are dead (by reset, recover, rewind, or the end of a segment), NULL, stale marks, a second backward.
 *
 * Each program runs twice: undisturbed on one thread, and on two threads with misuse. Every misuse must be the error GR_MISUSE, after
 * which operators return NULL and nothing has changed. gr_tape_recover must restore what the step has changed, and the repeated step must
 * give the bits of the undisturbed run.
 *
 *     make api_sequences [ARGS="PROGRAMS [SEED]"] [SAN=address,undefined | thread] */
#include "core/internal.h"
#include "tests/campaign/api_nets.h"

enum { STEPS = 12, MOST_LIVE = 64, MOST_DEAD = 64, MOST_MARKS = 4, TAPES = 2, NETS = 2 };

typedef enum { FOREIGN, DEAD_BY_RESET, DEAD_BY_RECOVER, DEAD_BY_REWIND, DEAD_BY_SEGMENT, NO_TENSOR, STALE_MARK, BACKWARD_OF_MANY, BACKWARD_TWICE,
               RESET_IN_SEGMENT, BAD_MODULE, KINDS } misuse;
static const char *const misuse_name[KINDS] = { "of the other tape", "dead by reset", "dead by recover", "dead by rewind", "dead by segment", "NULL", "stale mark",
                                                "backward of many values", "backward twice", "reset in a segment", "module that cannot be" };
static struct { size_t programs, steps, abandoned, calls, again, provoked[KINDS]; } sum;

typedef struct { gr_mark mark; int tape; size_t born; } marked;
typedef struct {
    gr_tape *t[TAPES];
    net net[NETS];
    handle live[MOST_LIVE], dead[KINDS][MOST_DEAD];
    marked mark[MOST_MARKS];
    size_t lives, deads[KINDS], marks, born;
    gr_mark stale[TAPES];
    bool has_stale[TAPES], walked[TAPES];
    gr_stream s, chance;      /* one for the program, one for the misuse */
    uint64_t hash, anchor;    /* one for all results, one for the state that a recover must restore */
} world;

/* ---- State and the lives of tensors ---- */

static uint64_t state_of(const world *w, const char *without)
{
    uint64_t hash = CAMPAIGN_HASH;
    for (int i = 0; i < NETS; i++) hash = campaign_hash_optim(campaign_hash_module(hash, w->net[i].root), w->net[i].optim);
    for (int i = 0; i < TAPES; i++) hash = campaign_hash_streams(hash, w->t[i], without);
    return hash;
}
static bool any_failed(const world *w) { return gr_failed(w->t[0]) || gr_failed(w->t[1]); }

static void bury(world *w, misuse why, handle h) { w->dead[why][w->deads[why]++ % MOST_DEAD] = h; }
static void bury_those(world *w, misuse why, int tape, uint64_t after) /* the tensors of that tape (-1 means all) made after that stamp */
{
    size_t n = 0;
    for (size_t i = 0; i < w->lives; i++)
        if ((tape < 0 || w->live[i].tape == tape) && w->live[i].stamp > after) bury(w, why, w->live[i]);
        else w->live[n++] = w->live[i];
    w->lives = n;
}

static void keep(world *w, int tape, gr_tensor *x)
{
    if (!x) return;
    w->hash = campaign_hash_reals(campaign_hash(w->hash, x->len), x->data, x->len);
    const handle h = { x, gr_shape_of(x), tape, x->stamp };
    if (x->len > 4 * MOST_VALUES) return;
    if (w->lives < MOST_LIVE) w->live[w->lives++] = h;
    else w->live[gr_stream_below(&w->s, MOST_LIVE)] = h;
}

static const handle *pick(world *w, gr_stream *s, int tape, int rank)
{
    for (int trial = 0; w->lives && trial < 12; trial++) {
        const handle *const h = &w->live[gr_stream_below(s, w->lives)];
        if (h->tape == tape && (!rank || h->shape.rank == rank)) return h;
    }
    gr_shape shape = draw_shape(s);
    if (rank) shape = (gr_shape){ rank, { 1 + gr_stream_below(s, 9), 1 + gr_stream_below(s, 9), 5, 6 } };
    static handle made;
    made = (handle){ learned(w->t[tape], shape), shape, tape, 0 };
    return &made;
}

/* ---- What a program does ---- */

static gr_tensor *call_operator(world *w, gr_stream *s, int tape, const api_op *op, const handle *bad, size_t where)
{
    handle h[3];
    h[0] = bad && where == 0 ? *bad : *pick(w, s, tape, op->rank);
    for (size_t i = 1; i < op->tensors; i++) {
        if (bad && where == i) h[i] = *bad;
        else if (op->mate == ALIKE && gr_stream_below(s, 2) && h[0].tape == tape && !(bad && where == 0)) h[i] = h[0];
        else if (gr_stream_below(s, 32) == 0) h[i] = *pick(w, s, tape, 0);
        else h[i].shape = mate_of(h, op->mate), h[i].x = learned(w->t[tape], h[i].shape), h[i].tape = tape;
    }
    if (bad) s = &w->chance;
    return op->call(w->t[tape], s, h);
}

static bool makes_segments(const gr_tape *t) { return gr_tape_recording(t) && !(t->watch & GR__TRACING); } /* else gr_recompute only calls f */
static gr_tensor *leaked;
static uint64_t leaked_stamp;
static void segment(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    gr_tensor *const inner = gr_tanh(t, in[0]);
    if (*(int *)argument == 1) gr_tape_reset(t);
    out[0] = gr_dropout(t, gr_add(t, inner, gr_sigmoid(t, in[0])), 0.2, "segment/mask");
    leaked = inner, leaked_stamp = inner ? inner->stamp : 0;
}
static gr_tensor *call_segment(world *w, gr_stream *s, int tape, const handle *bad, int resets)
{
    const handle h = bad ? *bad : *pick(w, s, tape, 0);
    gr_tensor *out = NULL;
    leaked = NULL;
    if (gr_recompute(w->t[tape], segment, &resets, sizeof resets, GR_IN(h.x), &out, 1) && makes_segments(w->t[tape]))
        bury(w, DEAD_BY_SEGMENT, (handle){ leaked, h.shape, tape, leaked_stamp });
    return out;
}

static void set_mark(world *w, int tape)
{
    if (w->marks < MOST_MARKS) w->mark[w->marks++] = (marked){ gr_tape_mark(w->t[tape]), tape, ++w->born };
}
/* Marks set after that one are no longer valid. Going back to one is an error if tensors were made between the two. */
static void drop_marks(world *w, int tape, size_t born, uint64_t newest)
{
    size_t n = 0;
    for (size_t i = 0; i < w->marks; i++)
        if (w->mark[i].tape != tape || w->mark[i].born <= born) w->mark[n++] = w->mark[i];
        else if (!born || w->mark[i].mark.newest > newest) w->stale[tape] = w->mark[i].mark, w->has_stale[tape] = true;
    w->marks = n;
}
static void rewind_to_mark(world *w)
{
    if (!w->marks) return;
    const marked m = w->mark[gr_stream_below(&w->s, w->marks)];
    for (int i = 0; i < NETS; i++)
        if (w->net[i].tape == m.tape) w->net[i].kept = NULL;
    gr_tape_rewind(w->t[m.tape], m.mark);
    bury_those(w, DEAD_BY_REWIND, m.tape, m.mark.newest);
    drop_marks(w, m.tape, m.born, m.mark.newest);
}

static void call_anything(world *w)
{
    gr_stream *const s = &w->s;
    const size_t what = gr_stream_below(s, 32);
    const int tape = gr_stream_below(s, 4) == 0;
    net *const n = &w->net[gr_stream_below(s, NETS)];
    sum.calls++;
    if (what < 6) {
        const layer *const l = &n->layer[gr_stream_below(s, n->layers)];
        gr_tensor *const y = run_layer(n->t, l, s, pick(w, s, n->tape, 0)->x);
        if (y && gr__wants(y)) n->kept = y;
        keep(w, n->tape, y);
    } else if (what == 6) keep(w, tape, call_segment(w, s, tape, NULL, 0));
    else if (what == 7) keep(w, n->tape, gr_carried(n->t, n->root, "state"));
    else if (what == 8 && n->kept) gr_detach_keep(n->t, n->root, "state", gr_full(n->t, GR_SHAPE(2, 3), gr_item(gr_mean(n->t, n->kept, GR_ALL_AXES, false))));
    else if (what == 9) set_mark(w, tape);
    else if (what == 10) rewind_to_mark(w);
    else if (what == 11) gr_tape_set_recording(w->t[tape], gr_stream_below(s, 4) > 0);
    else if (what < 15) keep(w, tape, learned(w->t[tape], draw_shape(s)));
    else keep(w, tape, call_operator(w, s, tape, &api_ops[gr_stream_below(s, COUNT(api_ops))], NULL, 0));
}

/* A loss, backward, clipping and a step for each network that has an output. */
static void learn(world *w, net *n)
{
    gr_tape *const t = n->t;
    gr_optim_zero_grad(n->optim);
    if (!n->kept || w->walked[n->tape] || gr_failed(t)) return;
    gr_tape_set_recording(t, true);
    gr_tensor *const first = gr_mean(t, gr_square(t, gr_linear_forward(t, n->layer[0].body, normal(t, GR_SHAPE(3, WIDTH)))), GR_ALL_AXES, false);
    gr_tensor *const loss = n->kept->len ? gr_add(t, first, gr_mean(t, gr_tanh(t, n->kept), GR_ALL_AXES, false)) : first;
    keep(w, n->tape, loss);
    if (!gr_backward(t, loss)) return;
    w->walked[n->tape] = true;
    drop_marks(w, n->tape, 0, 0);
    for (size_t i = 0; i < w->lives; i++) {
        const gr_real *const g = w->live[i].tape == n->tape ? gr_grad(t, w->live[i].x) : NULL;
        if (g) w->hash = campaign_hash_reals(w->hash, g, w->live[i].x->len);
    }
    gr_clip_grad_norm(t, n->optim, 1);
}

static void start_step(world *w, uint64_t seed)
{
    bury_those(w, DEAD_BY_RESET, -1, 0);
    for (int i = 0; i < TAPES; i++) gr_tape_reset(w->t[i]), gr_tape_set_recording(w->t[i], true), w->walked[i] = false;
    for (size_t i = 0; i < w->marks; i++) w->stale[w->mark[i].tape] = w->mark[i].mark, w->has_stale[w->mark[i].tape] = true;
    for (int i = 0; i < NETS; i++) w->net[i].kept = NULL;
    w->marks = 0;
    w->s = gr_stream_new(seed, "step");
    w->anchor = state_of(w, NULL);
}

static void recover(world *w)
{
    bury_those(w, DEAD_BY_RECOVER, -1, 0);
    for (int i = 0; i < TAPES; i++) {
        gr_tape_recover(w->t[i]);
        demand(!gr_failed(w->t[i]) && !*gr_message(w->t[i]), "after gr_tape_recover there is an error: %s", gr_message(w->t[i]));
        demand(!gr_tape_nodes(w->t[i]), "after gr_tape_recover the tape holds nodes");
    }
    demand(state_of(w, NULL) == w->anchor, "gr_tape_recover does not put back the state");
}

/* ---- Misuse: each must be an error ---- */

/* Another tensor lies at the address of a dead one, so they cannot be told apart. */
static bool address_lives_again(gr_tape *t, const handle *h)
{
    const bool again = h->x && gr__alive(t, h->x) && h->x->stamp != h->stamp;
    sum.again += again;
    return again;
}

static const char lived_again[] = "another tensor lies there";
static void use_badly(world *w, int tape, const handle *bad, const char **what)
{
    gr_tape *const t = w->t[tape];
    gr_tensor *out = NULL;
    const size_t way = gr_stream_below(&w->chance, 24);
    const net *const n = &w->net[gr_stream_below(&w->chance, NETS)];
    if (way == 0) *what = "backward", out = gr_backward(t, bad->x) ? bad->x : NULL;
    else if (way == 1) *what = "detach_keep", out = n->tape == tape ? gr_detach_keep(t, n->root, "spoilt", bad->x) : gr_neg(t, bad->x);
    else if (way == 2) *what = "recompute", out = call_segment(w, &w->chance, tape, bad, 0);
    else if (way == 4 && bad->x) *what = "grad", out = gr_grad(t, bad->x) ? bad->x : NULL;
    else if (way == 3) *what = "linear_forward", out = n->tape == tape ? gr_linear_forward(t, n->layer[0].body, bad->x) : gr_neg(t, bad->x);
    else {
        const api_op *op = &api_ops[gr_stream_below(&w->chance, COUNT(api_ops))];
        if (!bad->x && op->call == call_want_grad) op = api_ops; /* gr_grad of NULL is no error */
        *what = op->name;
        out = call_operator(w, &w->chance, tape, op, bad, gr_stream_below(&w->chance, bad->x ? op->tensors : 1));
    }
    if (!gr_failed(t) && address_lives_again(t, bad)) { /* the operand was made for this call */
        *what = lived_again;
        gr_backward(t, learned(t, GR_SHAPE(2, 3)));
        return;
    }
    demand(!out, "%s of a tensor %s gives a tensor", *what, "that it must refuse");
}

/* False when this misuse is not possible now. */
static bool do_misuse(world *w, misuse how, int tape, const char **what)
{
    gr_tape *const t = w->t[tape];
    *what = misuse_name[how];
    switch (how) {
    case FOREIGN:
        for (size_t i = 0, from = gr_stream_below(&w->chance, w->lives + 1); i < w->lives; i++) {
            const handle h = w->live[(from + i) % w->lives];
            if (h.tape != tape) return use_badly(w, tape, &h, what), true;
        }
        return false;
    case DEAD_BY_RESET: case DEAD_BY_RECOVER: case DEAD_BY_REWIND: case DEAD_BY_SEGMENT: {
        const size_t n = w->deads[how] < MOST_DEAD ? w->deads[how] : MOST_DEAD;
        if (!n) return false;
        const handle h = w->dead[how][gr_stream_below(&w->chance, n)];
        if (h.tape != tape || address_lives_again(t, &h)) return false;
        return use_badly(w, tape, &h, what), true;
    }
    case NO_TENSOR: return use_badly(w, tape, &(handle){ .tape = tape }, what), true;
    case STALE_MARK: return w->has_stale[tape] ? gr_tape_rewind(t, w->stale[tape]), true : false;
    case BACKWARD_OF_MANY: return gr_backward(t, learned(t, GR_SHAPE(2, 3))), true;
    case BACKWARD_TWICE: return w->walked[tape] ? gr_backward(t, learned(t, GR_SCALAR)), true : false;
    case RESET_IN_SEGMENT: {
        const handle h = { makes_segments(t) ? learned(t, GR_SHAPE(2, 3)) : NULL, GR_SHAPE(2, 3), tape, 0 };
        return h.x ? call_segment(w, &w->chance, tape, &h, 1), true : false;
    }
    case BAD_MODULE: return gr_linear_new(t, w->net[tape].root, gr_stream_below(&w->chance, 2) ? "a.b" : "0", WIDTH, WIDTH, NULL), true;
    default: return false;
    }
}

static bool provoke(world *w)
{
    const misuse how = (misuse)gr_stream_below(&w->chance, KINDS);
    const int tape = (int)gr_stream_below(&w->chance, TAPES);
    const char *what = "";
    const uint64_t before = state_of(w, "operands");
    const size_t nodes = gr_tape_nodes(w->t[tape]);
    if (!do_misuse(w, how, tape, &what)) return any_failed(w);
    gr_tape *const t = w->t[tape];
    sum.provoked[how]++;
    demand(gr_failed(t), "%s, %s: it is no error", misuse_name[how], what);
    demand(gr_error_code(t) == GR_MISUSE, "%s, %s: another code than GR_MISUSE: %s", misuse_name[how], what, gr_message(t));
    demand(*gr_message(t), "%s, %s: no message", misuse_name[how], what);
    demand(state_of(w, "operands") == before || what == lived_again, "%s, %s: the failed call has changed weights, statistics or streams", misuse_name[how], what);
    demand(gr_tape_nodes(t) == nodes || what == lived_again, "%s, %s: it was recorded", misuse_name[how], what);
    char message[1024];
    snprintf(message, sizeof message, "%s", gr_message(t));
    demand(!gr_add(t, gr_scalar(t, 1), gr_scalar(t, 2)), "%s, %s: the tape goes on after it", misuse_name[how], what);
    demand(!strcmp(message, gr_message(t)), "%s, %s: the first error is replaced: %s", misuse_name[how], what, gr_message(t));
    return true;
}

/* ---- A step, a program ---- */

/* One attempt at a step; misuse comes before call number `at`, or after the last. False when the step must be repeated. */
static bool try_step(world *w, uint64_t seed, size_t at)
{
    start_step(w, seed);
    const uint64_t hash = w->hash;
    const size_t calls = 3 + gr_stream_below(&w->s, 24);
    for (size_t k = 0; k <= calls && !any_failed(w); k++) {
        if (k == at && provoke(w)) return recover(w), w->hash = hash, false;
        if (k < calls) call_anything(w);
    }
    for (int i = 0; i < NETS && !any_failed(w); i++) learn(w, &w->net[i]);
    if (at > calls && at != SIZE_MAX && !any_failed(w) && provoke(w)) return recover(w), w->hash = hash, false;
    if (any_failed(w)) {
        for (int i = 0; i < TAPES; i++) {
            const gr_error code = gr_error_code(w->t[i]);
            demand(code == GR_OK || code == GR_MISUSE || code == GR_NOT_FINITE, "a step ends with code %d: %s", (int)code, gr_message(w->t[i]));
            for (const char *c = gr_message(w->t[i]); *c; c++) w->hash = campaign_hash(w->hash, (unsigned char)*c);
        }
        sum.abandoned++;
        recover(w);
        return true;
    }
    for (int i = 0; i < NETS; i++) {
        if (!w->walked[w->net[i].tape]) continue;
        if (gr_optim_step(w->net[i].t, w->net[i].optim)) gr_optim_observe(w->net[i].optim, (double)(seed % 3));
        else gr_tape_recover(w->net[i].t); /* the other network has had its backward, or a gradient is refused */
    }
    return true;
}

static void change_networks(world *w, uint64_t seed)
{
    gr_stream s = gr_stream_new(seed, "between");
    for (int i = 0; i < TAPES; i++) {
        gr_tape_reset(w->t[i]);
        gr_tape_set_training(w->t[i], gr_stream_below(&s, 4) > 0);
        gr_tape_set_anomaly(w->t[i], gr_stream_below(&s, 8) == 0);
        gr_tape_set_tracing(w->t[i], gr_stream_below(&s, 8) == 0);
    }
    bury_those(w, DEAD_BY_RESET, -1, 0);
    for (int i = 0; i < NETS; i++) {
        if (w->net[i].root && gr_stream_below(&s, 5)) continue;
        net_free(&w->net[i]);
        net_make(&w->net[i], w->t[i % TAPES], i % TAPES, &s);
    }
}

static uint64_t run_program(uint64_t seed, int threads, bool quiet)
{
    static world w;
    w = (world){ .hash = CAMPAIGN_HASH, .chance = gr_stream_new(seed, "misuse") };
    for (int i = 0; i < TAPES; i++) w.t[i] = gr_tape_new(seed + (uint64_t)i, &(gr_tape_config){ .threads = threads });
    for (uint64_t step = 0; step < STEPS; step++) {
        const uint64_t own = (seed << 8) + step;
        change_networks(&w, own);
        size_t trials = quiet ? 0 : gr_stream_below(&w.chance, 4);
        while (!try_step(&w, own, trials ? gr_stream_below(&w.chance, 30) : SIZE_MAX)) trials--;
        sum.steps++;
        w.hash = campaign_hash(w.hash, state_of(&w, NULL));
    }
    for (int i = 0; i < NETS; i++) net_free(&w.net[i]);
    for (int i = 0; i < TAPES; i++) gr_tape_free(w.t[i]);
    return w.hash;
}

int main(int argc, char **argv)
{
    campaign_start(argc, argv, "api_sequences", 2000);
    for (uint64_t end = campaign.seed + campaign.rounds; campaign.round < end; campaign.round++) {
        const uint64_t seed = campaign.round, alone = run_program(seed, 1, true), disturbed = run_program(seed, 2, false);
        sum.programs++;
        if (alone == disturbed) continue;
        demand(run_program(seed, 2, true) == alone, "two threads give other bits than one");
        demand(run_program(seed, 1, false) == alone, "after misuse and gr_tape_recover, a step gives other bits");
        demand(false, "two threads, misuse and gr_tape_recover give other bits");
    }
    size_t all = 0;
    for (int k = 0; k < KINDS; k++) printf("    %-24s %zu errors\n", misuse_name[k], sum.provoked[k]), all += sum.provoked[k];
    printf("api_sequences: %zu programs, %zu steps (%zu given up: an operator refused what was drawn), %zu calls, %zu errors provoked, %zu dead "
           "tensors not tried, another lies at their address; same bits after recovery and for 1 and 2 threads\n",
           sum.programs, sum.steps, sum.abandoned, sum.calls, all, sum.again);
    return 0;
}
