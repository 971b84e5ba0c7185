/* examples/transformer_norms.c - a small causal Transformer learns text character by character: without a norm, with BatchNorm, LayerNorm and
 * RMSNorm; with the norm before each sublayer (pre) or after each residual sum (post); with and without a warm-up of the learning rate.
 *
 * Shows: attention, Transformer layers, positions, arms in lockstep, text generation with mark and rewind, and recomputation of layers.
 * Run:   examples/transformer_norms                  sentences of a small grammar
 *        examples/transformer_norms --large --arms LN --data data --epochs 3 --sample 500
 *                                                    tiny Shakespeare, 2 layers of 128, windows of 64: minutes
 *        examples/transformer_norms --recompute      the same results in a fifth of the memory, which the program prints
 * See:   the learning rate is high on purpose. Without warm-up the post-norm networks learn only the frequencies of the letters, while the
 *        pre-norm networks are hardly affected (Xiong et al. 2020). With warm-up all arms learn. The network without a norm is not the worst:
 *        with small initial weights, residuals, Adam and clipping, six layers do not need a norm. In training, BatchNorm averages over all
 *        positions, so later characters leak into a prediction; its test loss uses running statistics.
 * Exit:  0, or 1 --check missed its target; 2 wrong flag, path or file; 3 out of memory or disk full; 130 interrupted.
 */
#include "examples/kit/kit.h"
#include "gradus.h"
#include <math.h>
#include <string.h>

static kit_options o = { .batch = 16, .epochs = 0.8, .lr = 2e-2, .seed = 42 };
static struct {
    uint64_t size, heads, layers, context, sample, warmup;
    double dropout, temperature;
    int arms;
    bool waves, recompute;
} own = { .size = 32, .heads = 4, .layers = 6, .context = 32, .sample = 300, .temperature = 0.8 };

static const char *large[] = { "--size", "128", "--layers", "2", "--context", "64", "--batch", "32", "--lr", "1e-3", NULL };
static const kit_flag flag[] = {
    { "data", KIT_TEXT, &o.data, "PATH", "a text file, or a folder with tinyshakespeare.txt; default: made-up sentences", 0, 0 },
    { "large", KIT_SHORT, large, NULL, "short for", 0, 0 },
    { "arms", KIT_CHOICE, &own.arms, "all|LN", "all arms, and some again without warm-up; or only LN pre", 0, 0 },
    { "size", KIT_COUNT, &own.size, "N", "size of the vector at each position", 1, 1 << 14 },
    { "heads", KIT_COUNT, &own.heads, "N", "heads of attention; must divide the size", 1, 1 << 10 },
    { "layers", KIT_COUNT, &own.layers, "N", "layers, each with attention and two linear maps", 0, 256 },
    { "context", KIT_COUNT, &own.context, "N", "characters in a window", 1, 1 << 14 },
    { "dropout", KIT_NUMBER, &own.dropout, "P", "probability of dropout", 0, 1 },
    { "warmup", KIT_COUNT, &own.warmup, "N", "steps in which the learning rate rises, before a cosine; 0 means a tenth of all", 0, 1e12 },
    { "sample", KIT_COUNT, &own.sample, "N", "characters that LN pre generates at the end", 0, 1e9 },
    { "temperature", KIT_NUMBER, &own.temperature, "X", "temperature of sampling; lower values give likelier text", 1e-6, 1e6 },
    { "waves", KIT_SWITCH, &own.waves, NULL, "add sines and cosines of the position instead of a learned table", 0, 0 },
    { "recompute", KIT_SWITCH, &own.recompute, NULL, "keep only the input of each layer, and run the layer again in backward", 0, 0 },
    KIT_FLAGS_TRAINING(o),
    KIT_FLAGS_RUN(o, "exit 1 unless LN pre learns, and LN post does not learn without warm-up"),
};
static const kit_flags flags = { "transformer_norms", "norms in a small Transformer that learns text", flag, sizeof flag / sizeof *flag };

enum { NONE, BN_PRE, LN_PRE, RMS_PRE, BN_POST, LN_POST, RMS_POST, ARMS };
static const struct {
    const char *name;
    gr_norm_kind norm;
    bool first;
} arm_of[ARMS] = {
    { "none", GR_NORM_NONE, true },     { "BN pre", GR_NORM_BATCH, true },   { "LN pre", GR_NORM_LAYER, true },  { "RMS pre", GR_NORM_RMS, true },
    { "BN post", GR_NORM_BATCH, false }, { "LN post", GR_NORM_LAYER, false }, { "RMS post", GR_NORM_RMS, false },
};

typedef struct { const kit_text *text; size_t steps, warmup; } plan;
typedef struct {
    gr_embedding_module *token;
    gr_positions *position;
    gr_transformer *body;
    gr_linear_module *head;
    bool recompute;
} model;

static void build(kit_arm *arm)
{
    gr_tape *const t = arm->tape;
    const plan *const p = arm->user;
    const gr_norm_kind norm = arm_of[arm->kind].norm;
    const bool first = arm_of[arm->kind].first;
    const gr_transformer_config c = { .norm = norm, .no_norm = norm == GR_NORM_NONE, .norm_first = first, .final_norm = first, .causal = true,
                                      .activation = gr_gelu, .dropout = own.dropout };
    model *const m = arm->model;
    m->recompute = own.recompute;
    m->token = gr_embedding_new(t, arm->net, "token", p->text->letters, own.size, NULL);
    if (!own.waves) m->position = gr_positions_new(t, arm->net, "position", own.context, own.size);
    m->body = gr_transformer_new(t, arm->net, "body", own.size, own.heads, own.layers, &c);
    m->head = gr_linear_new(t, arm->net, "head", own.size, p->text->letters, NULL);
    arm->optim = gr_adam_new(t, arm->net, &(gr_adam_config){ .lr = o.lr });
    const gr_schedule cosine = gr_schedule_cosine(p->steps - p->warmup, 0);
    gr_optim_schedule(t, arm->optim, p->warmup ? gr_schedule_warmup(p->warmup, cosine) : cosine);
}

/* One layer as the function that gr_recompute runs again. */
static void layer(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    out[0] = gr_transformer_layer_forward(t, argument, in[0], NULL);
}

static gr_tensor *layers(gr_tape *t, const model *m, gr_tensor *x)
{
    if (!m->recompute) return gr_transformer_forward(t, m->body, x, NULL);
    for (size_t i = 0; i < m->body->layers; i++) gr_recompute(t, layer, m->body->layer[i], 0, GR_IN(x), &x, 1);
    return m->body->norm ? gr_forward(t, m->body->norm, x) : x;
}

/* From ids [B, T] to logits [B T, letters] of the next character. */
static gr_tensor *logits(gr_tape *t, const model *m, const int *ids, size_t B, size_t T)
{
    gr_tensor *x = gr_embedding_forward(t, m->token, gr_ints_new(t, ids, GR_SHAPE(B, T)));
    x = layers(t, m, own.waves ? gr_add_positions(t, x) : gr_positions_forward(t, m->position, x));
    return gr_reshape(t, gr_linear_forward(t, m->head, x), GR_SHAPE(B * T, GR_INFER));
}

static gr_tensor *loss(kit_arm *arm, const void *batch, kit_score *score)
{
    const kit_text *const b = batch;
    return kit_classify(arm->tape, logits(arm->tape, arm->model, b->in, b->B, b->T), b->next, score);
}

/* Draw the letter after n ids from softmax(logits / temperature). */
static int draw(gr_tape *t, const model *m, const int *ids, size_t n, size_t letters)
{
    gr_tensor *z = gr_slice(t, logits(t, m, ids, 1, n), n - 1, 1), *p = gr_softmax(t, gr_scale(t, z, 1 / own.temperature), -1);
    gr_stream *s = gr_tape_stream(t, "sample");
    return p && s ? (int)kit_draw(s, p->data, letters) : 0;
}

/* Generate characters from a sliding window of the last ones. Each step frees its tensors with gr_tape_rewind. */
static void write_sample(kit_arm *arm, const kit_text *text)
{
    gr_tape *const t = arm->tape;
    int *const ids = gr_save(t, own.context * sizeof *ids);
    size_t n = 1;
    if (!ids || arm->diverged) return;
    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
    ids[0] = text->of['\n'] >= 0 ? text->of['\n'] : 0;
    printf("\nwritten by %s:\n", arm->name);
    for (uint64_t i = 0; i < own.sample && !kit_interrupted(); i++) {
        const gr_mark mark = gr_tape_mark(t);
        const int next = draw(t, arm->model, ids, n, text->letters);
        gr_tape_rewind(t, mark);
        if (gr_failed(t)) break;
        putchar(text->letter[next]);
        if (n == own.context) memmove(ids, ids + 1, --n * sizeof *ids);
        ids[n++] = next;
    }
    putchar('\n');
}

/* Train these arms and print their table. Only the scores in *scores are valid afterwards. */
static void compare(kit_run *r, kit_text *text, const int *kinds, size_t n, bool warms, double losses[ARMS], kit_arms *scores)
{
    model models[ARMS];
    plan p = { .text = text };
    kit_arms a = { .title = warms ? "with warm-up" : "no warm-up", .source = kit_text_source(text), .build = build, .loss = loss, .user = &p, .clip = 1, .mark = { 40, 50 } };
    a.unaudited = own.recompute;
    p.steps = a.steps = kit_steps(&o, o.epochs, a.source.train);
    p.warmup = warms ? own.warmup ? own.warmup : a.steps / 10 : 0;
    if (p.warmup > p.steps) p.warmup = p.steps;
    for (size_t i = 0; i < n; i++) kit_arms_add(&a, arm_of[kinds[i]].name, kinds[i]), a.arm[i].model = &models[i];
    if (warms && !o.quiet) kit_arms_legend(&a);
    if (kit_arms_run(r, &a)) putchar('\n'), kit_arms_table(stdout, &a), fflush(stdout);
    *scores = a;
    for (size_t i = 0; i < n; i++) {
        losses[kinds[i]] = a.arm[i].diverged ? 99 : kit_loss(&a.arm[i].tested);
        if (kinds[i] == LN_PRE && warms && own.sample && !gr_failed(r->tape)) write_sample(&a.arm[i], text);
        if (!a.arm[i].diverged) kit_run_fail(r, a.arm[i].name, a.arm[i].tape);
    }
    fflush(stdout);
    kit_arms_free(&a);
}

/* The arm of this kind, or NULL when it diverged or did not train. */
static const kit_arm *of_kind(const kit_arms *a, int kind)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->arm[i].kind == kind && !a->arm[i].diverged && a->arm[i].tested.images) return &a->arm[i];
    return NULL;
}

/* What warm-up changes for LN pre, LN post, RMS pre and RMS post. */
static void conclude_warmup(const kit_arms *warm, const kit_arms *cold)
{
    for (size_t i = 0; i < cold->n; i++) {
        const kit_arm *const with = of_kind(warm, cold->arm[i].kind), *const without = of_kind(cold, cold->arm[i].kind);
        if (!with || !without) continue;
        const double gains = kit_accuracy(&with->tested) - kit_accuracy(&without->tested), noise = kit_noise(&with->tested, &without->tested);
        if (fabs(gains) > noise)
            kit_conclude_say("Warm-up %s the test accuracy of %s by %.2f points: %.2f %% with it, %.2f %% without (noise %.2f).",
                             gains > 0 ? "raises" : "lowers", with->name, fabs(gains), kit_accuracy(&with->tested), kit_accuracy(&without->tested), noise);
        else
            kit_conclude_say("%s with warm-up and without cannot be told apart: %.2f %% against %.2f %% (noise %.2f points).", with->name,
                             kit_accuracy(&with->tested), kit_accuracy(&without->tested), noise);
    }
}

static void conclude(const kit_text *text, const kit_arms *warm, const kit_arms *cold)
{
    const double guess = log((double)text->letters);
    kit_conclude();
    if (warm->n < 2) {
        const kit_arm *const ln = of_kind(warm, LN_PRE);
        if (ln) kit_conclude_say("LN pre alone has nothing beside it. Its test loss is %.2f; equal probabilities have %.2f%s", kit_loss(&ln->tested), guess,
                                 kit_loss(&ln->tested) < 0.9 * guess ? "." : ", so it has not learned yet.");
        else kit_conclude_say("LN pre diverged, and nothing can be seen.");
    }
    const bool sees = warm->n > 1 && kit_conclude_arms(warm, guess);
    if (sees) kit_conclude_pair(warm, 0, 5), kit_conclude_pair(warm, 0, 3), kit_conclude_pair(warm, 0, 1);
    if (cold && kit_conclude_arms(cold, guess) && sees) kit_conclude_pair(cold, 0, 2), conclude_warmup(warm, cold);
    kit_conclude_seed(&o);
}

/* Take a first step of LN pre with and without recomputation, print the memory of each, and check that the results are equal. */
static void show_memory(kit_run *r, kit_text *text)
{
    size_t bytes[2], samples;
    double losses[2], norms[2];
    const kit_source source = kit_text_source(text);
    const void *const batch = source.batch(source.data, true, 0, &samples);
    for (int again = 0; again < 2; again++) {
        model m;
        kit_score score = { 0 };
        kit_arm arm = { .kind = LN_PRE, .model = &m, .user = &(plan){ .text = text, .steps = 1 } };
        arm.tape = gr_tape_new(o.seed, (&(gr_tape_config){ .pool = r->pool })), arm.net = gr_module_new(arm.tape);
        build(&arm);
        m.recompute = again;
        gr_tensor *l = loss(&arm, batch, &score);
        gr_backward(arm.tape, l);
        losses[again] = gr_item(l), norms[again] = gr_clip_grad_norm(arm.tape, arm.optim, HUGE_VAL), bytes[again] = gr_tape_bytes(arm.tape);
        kit_run_fail(r, "LN pre", arm.tape);
        gr_optim_free(arm.optim), gr_module_free(arm.net), gr_tape_free(arm.tape);
        if (gr_failed(r->tape)) return;
        printf("%s  loss %.6f  gradient %.6f  tape %zu KiB\n", again ? "layers run again in backward" : "layers kept for backward    ",
               losses[again], norms[again], bytes[again] >> 10);
    }
    putchar('\n');
    kit_run_need(r, losses[0] == losses[1] && norms[0] == norms[1], "running layers again changes the loss or the gradient");
    kit_run_need(r, bytes[1] < bytes[0], "running layers again takes %zu bytes, not less than %zu", bytes[1], bytes[0]);
}

static void run(kit_run *r, kit_text *text)
{
    static const int warm[ARMS] = { LN_PRE, NONE, BN_PRE, RMS_PRE, BN_POST, LN_POST, RMS_POST }, cold[] = { LN_PRE, RMS_PRE, LN_POST, RMS_POST };
    double losses[ARMS];
    kit_arms warmed, colder;
    const double target = text->path ? 2.2 : 1.6;
    if (own.recompute) show_memory(r, text);
    compare(r, text, warm, own.arms ? 1 : ARMS, true, losses, &warmed);
    kit_run_need(r, losses[LN_PRE] < target, "LN pre: the test loss is %.4f, not below %g", losses[LN_PRE], target);
    if (gr_failed(r->tape) || kit_interrupted()) return;
    if (!own.arms) compare(r, text, cold, 4, false, losses, &colder);
    if (!o.quiet && !gr_failed(r->tape) && !kit_interrupted()) conclude(text, &warmed, own.arms ? NULL : &colder);
    if (own.arms || gr_failed(r->tape)) return;
    kit_run_need(r, losses[LN_POST] > 1.2 * losses[LN_PRE], "without warm-up: the test loss of LN post, %.4f, is not 1.2 times that of LN pre, %.4f",
                 losses[LN_POST], losses[LN_PRE]);
}

int main(int argc, char **argv)
{
    kit_run r;
    char about[4400];
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    if (own.size % own.heads && !gr_failed(r.tape))
        gr_fail_as(r.tape, GR_MISUSE, "", "--heads must divide --size; got %llu and %llu", (unsigned long long)own.heads,
                   (unsigned long long)own.size);
    kit_text text = kit_text_open(r.tape, o.data, o.batch, own.context);
    snprintf(about, sizeof about,
             "%s: %zu characters to train on, %zu to test, %zu letters\n%llu layers of %llu, %llu heads, GELU, windows of %llu, Adam, lr %g",
             o.data ? o.data : "made-up sentences", text.train, text.n - text.train, text.letters, (unsigned long long)own.layers,
             (unsigned long long)own.size, (unsigned long long)own.heads, (unsigned long long)own.context, o.lr);
    if (kit_run_begin(&r, about)) run(&r, &text);
    kit_text_free(&text);
    return kit_run_end(&r);
}
