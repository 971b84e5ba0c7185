/* examples/char_gpt.c - a small GPT learns to write text, character by character, and writes some with a cache of keys and values.
 *
 * Shows: a causal pre-norm Transformer, a head tied to the embedding, gr_attention_cache, sampling with temperature and top-k.
 * Run:   examples/char_gpt                                                         sentences of a small grammar, in seconds
 *        examples/char_gpt --text tinyshakespeare.txt --size 128 --context 128     minutes
 * See:   the text is the same with the cache, which computes one position in a step, and without it, when each step computes all of them.
 * Exit:  0, or 1 --check missed its target; 2 wrong flag, path or file; 3 out of memory or disk full; 130 interrupted. */
#include "examples/kit/kit.h"
#include "gradus.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static kit_options o = { .batch = 16, .epochs = 8, .lr = 3e-3, .seed = 42 };
static struct { uint64_t size, heads, layers, context, sample, top; double temperature; bool waves; } own = { 64, 4, 2, 64, 400, 10, 0.8, false };
static const kit_flag flag[] = {
    { "text", KIT_TEXT, &o.data, "FILE", "a text file, or a folder with tinyshakespeare.txt; default: made-up sentences", 0, 0 },
    { "size", KIT_COUNT, &own.size, "N", "size of the embeddings; a multiple of --heads", 1, 1 << 14 },
    { "heads", KIT_COUNT, &own.heads, "N", "attention heads", 1, 1 << 10 },
    { "layers", KIT_COUNT, &own.layers, "N", "Transformer layers", 1, 64 },
    { "waves", KIT_SWITCH, &own.waves, NULL, "mark positions with sines and cosines instead of a learned table", 0, 0 },
    { "context", KIT_COUNT, &own.context, "N", "characters that the network sees", 2, 1 << 14 },
    { "sample", KIT_COUNT, &own.sample, "N", "characters that the network writes at the end", 1, 1 << 24 },
    { "temperature", KIT_NUMBER, &own.temperature, "X", "temperature of sampling; lower values give likelier text", 1e-6, 1e6 },
    { "top-k", KIT_COUNT, &own.top, "N", "draw from the N likeliest characters", 1, 256 },
    KIT_FLAGS_TRAINING(o),
    KIT_FLAGS_RUN(o, "exit 1 unless the network learns, and writes the same text with and without the cache"),
};
static const kit_flags flags = { "char_gpt", "a small GPT writes text, with a cache and without", flag, sizeof flag / sizeof *flag };

typedef struct { gr_module *net; gr_embedding_module *token; gr_positions *position; gr_transformer *body; } gpt;

/* From ids [B, T] to logits [B T, letters] of the next characters. With a cache, the ids follow those of the calls before. The weights of a head
 * must be small, so the embedding that it shares is multiplied by sqrt(size).                                 Vaswani et al. 2017, 3.4 */
static gr_tensor *logits(gr_tape *t, const gpt *m, const int *ids, size_t B, size_t T, gr_attention_cache *cache)
{
    const gr_ints *starts = cache ? &cache->count : NULL;
    gr_tensor *x = gr_scale(t, gr_embedding_forward(t, m->token, gr_ints_new(t, ids, GR_SHAPE(B, T))), sqrt((double)own.size));
    x = own.waves ? gr_add_positions_from(t, x, starts) : gr_positions_forward_from(t, m->position, x, starts);
    x = gr_transformer_forward(t, m->body, x, &(gr_attention_input){ .cache = cache });
    return gr_reshape(t, gr_linear(t, x, m->token->weight, NULL), GR_SHAPE(B * T, GR_INFER)); /* the head is the embedding */
}

/* Draw one of the likeliest letters from softmax(z / temperature). z [1, letters] */
static int draw(gr_tape *t, gr_tensor *z)
{
    const size_t k = z && z->len < own.top ? z->len : own.top;
    z = gr_scale(t, z, 1 / own.temperature);
    gr_tensor *least = gr_narrow(t, gr_topk(t, z, -1, k, true).values, -1, -1, 1); /* the k-th largest */
    const gr_ints *id = gr_categorical(t, gr_masked_fill(t, z, gr_lt(t, z, least), -(double)INFINITY), "sample");
    return id ? id->data[0] : 0;
}

/* Write characters to ids after the first. When the context is full, keep its last half. Returns the characters per second. */
static double write_text(gr_tape *t, const gpt *m, int *ids, gr_attention_cache *cache)
{
    const double start = kit_seconds();
    gr_tape_seek_streams(t, 0); /* every text draws the same numbers */
    for (size_t n = 1, first = 0, next = 0; n <= own.sample && !gr_failed(t) && !kit_interrupted(); next = n++) {
        gr_tape_reset(t);
        if (n - first > own.context) next = first = n - own.context / 2, cache && gr_attention_cache_crop(t, cache, 0);
        if (!cache) next = first;
        ids[n] = draw(t, gr_slice(t, logits(t, m, ids + next, 1, n - next, cache), -1, 1));
    }
    return (double)own.sample / (kit_seconds() - start);
}

static double train(kit_run *r, gr_tape *t, const gpt *m, gr_optim *adam, kit_text *text, size_t steps)
{
    double loss = 0;
    for (size_t step = 1, n; step <= steps && !gr_failed(t) && !kit_interrupted(); step++) {
        gr_tape_reset(t);
        kit_text_source(text).batch(text, true, step, &n);
        gr_tensor *z = logits(t, m, text->in, text->B, text->T, NULL), *l = gr_cross_entropy(t, z, gr_ints_new(t, text->next, GR_SHAPE(n)), NULL);
        gr_optim_zero_grad(adam), gr_backward(t, l), gr_clip_grad_norm(t, adam, 1), gr_optim_step(t, adam);
        loss += (gr_item(l) - loss) / (step < 10 ? (double)step : 10);
        kit_log_write(t, &r->log, "step", { "step", (double)step }, { "loss", gr_item(l) });
        if (!o.quiet && step % (o.eval_every ? o.eval_every : (steps + 4) / 5) == 0 && !gr_failed(t)) printf("step %5zu  loss %.4f\n", step, loss), kit_check_stdout(t);
    }
    return loss;
}

static void run(kit_run *r, gr_tape *t, kit_text *text)
{
    const size_t steps = kit_steps(&o, o.epochs, kit_text_source(text).train), n = own.sample + 1;
    const gr_transformer_config c = { .norm_first = true, .final_norm = true, .causal = true, .activation = gr_gelu };
    gpt m = { .net = gr_module_new(t) };
    m.token = gr_embedding_new(t, m.net, "token", text->letters, own.size, NULL);
    if (m.token) gr_param_init(t, &m.token->module, "weight", gr_init_normal(0, 1 / sqrt((double)own.size)));
    if (!own.waves) m.position = gr_positions_new(t, m.net, "position", own.context, own.size);
    m.body = gr_transformer_new(t, m.net, "body", own.size, own.heads, own.layers, &c);
    gr_optim *adam = gr_adamw_new(t, m.net, &(gr_adam_config){ .lr = o.lr });
    gr_optim_schedule(t, adam, gr_schedule_cosine(steps, 0.1));
    const double loss = train(r, t, &m, adam, text, steps), target = text->path ? 3 : 0.9;
    gr_attention_cache *cache = gr_attention_cache_new(t, m.net, 1, own.context);
    int *ids = calloc(2 * n, sizeof *ids); /* the text with the cache, and the text without */
    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
    const double fast = ids ? write_text(t, &m, ids, cache) : 0, slow = ids ? write_text(t, &m, ids + n, NULL) : 0;
    for (size_t i = 1; ids && !gr_failed(t) && !kit_interrupted() && i < n; i++) putchar(text->letter[ids[i]]);
    if (!ids) gr_fail_as(t, GR_NO_MEMORY, "", "no memory for %zu characters", n);
    if (!gr_failed(t) && !kit_interrupted()) printf("\nloss %.4f; characters per second: %.0f with the cache, %.0f without\n", loss, fast, slow);
    kit_run_need(r, loss < target, "the loss is %.4f, not below %g", loss, target);
    kit_run_need(r, ids && !memcmp(ids, ids + n, n * sizeof *ids), "the cache changes the text");
    gr_tape_reset(t), free(ids), gr_attention_cache_free(cache), gr_optim_free(adam), gr_module_free(m.net);
}

int main(int argc, char **argv)
{
    kit_run r;
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    kit_text text = kit_text_open(r.tape, o.data, o.batch, own.context);
    if (kit_run_begin(&r, o.data ? o.data : "made-up sentences")) run(&r, r.tape, &text);
    kit_text_free(&text);
    return kit_run_end(&r);
}
