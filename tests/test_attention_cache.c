/* tests/test_attention_cache.c - the cache of keys and values: the same bits as a forward of the whole sequences, for any steps; a step that
 * is taken back; cropping; messages; failing allocations. */
#include "tests/failing.h"

enum { B = 3, ALL = 20, SIZE = 12, HEADS = 3, MOST = 24 };

typedef struct {
    gr_tape *t;
    gr_module *net;
    gr_positions *position; /* NULL: waves */
    gr_transformer *body;
    gr_attention_cache *cache;
    gr_real x[B * ALL * SIZE], memory[B * 5 * SIZE], want[B * ALL * SIZE];
    size_t at[B];           /* how many positions of each sequence were given so far */
} writer;

static const gr_transformer_config configs[] = {
    { .causal = true },
    { .causal = true, .norm_first = true, .final_norm = true, .activation = gr_gelu, .dropout = 0.2 },
    { .causal = true, .norm_first = true, .norm = GR_NORM_RMS },
    { .causal = true, .norm = GR_NORM_BATCH },
    { .causal = true, .norm = GR_NORM_GROUP, .norm_first = true },
    { .causal = true, .decoder = true },
    { .causal = true, .decoder = true, .norm_first = true, .final_norm = true },
};

static gr_tensor *through(const writer *w, gr_tensor *x, const gr_ints *starts, gr_attention_input in)
{
    x = w->position ? gr_positions_forward_from(w->t, w->position, x, starts) : gr_add_positions_from(w->t, x, starts);
    if (w->body->layers && w->body->layer[0]->multihead_attn) {
        in.memory = gr_input(w->t, w->memory, GR_SHAPE(B, 5, SIZE));
        in.memory_lengths = gr_ints_new(w->t, (int[]){ 5, 2, 4 }, GR_SHAPE(B));
    }
    return gr_transformer_forward(w->t, w->body, x, &in);
}

/* A network in evaluation mode, with x and what a forward of all positions gives. */
static void writer_start(writer *w, const gr_transformer_config *c, bool learned)
{
    gr_tape *const t = w->t = gr_tape_new(3, NULL);
    w->net = gr_module_new(t);
    w->position = learned ? gr_positions_new(t, w->net, "position", MOST, SIZE) : NULL;
    w->body = gr_transformer_new(t, w->net, "body", SIZE, HEADS, 2, c);
    w->cache = gr_attention_cache_new(t, w->net, B, MOST);
    memset(w->at, 0, sizeof w->at);
    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
    gr_tensor *x = gr_randn(t, GR_SHAPE(B, ALL, SIZE), 0, 1, "x"), *memory = gr_randn(t, GR_SHAPE(B, 5, SIZE), 0, 1, "memory");
    assert_ok(t);
    memcpy(w->x, x->data, sizeof w->x), memcpy(w->memory, memory->data, sizeof w->memory);
    const gr_tensor *y = through(w, x, NULL, (gr_attention_input){ 0 });
    assert_ok(t);
    memcpy(w->want, y->data, sizeof w->want);
    gr_tape_reset(t);
}
static void writer_end(writer *w)
{
    gr_tape_reset(w->t);
    gr_attention_cache_free(w->cache), gr_module_free(w->net), gr_tape_free(w->t);
}

/* The next lengths[b] positions of each sequence, up to T, with NaN behind them. lengths NULL: T of each. */
static gr_tensor *step(const writer *w, size_t T, const int *lengths)
{
    gr_tensor *x = gr_full(w->t, GR_SHAPE(B, T, SIZE), (double)NAN);
    for (size_t b = 0; b < B && x; b++)
        memcpy(x->data + b * T * SIZE, w->x + (b * ALL + w->at[b]) * SIZE, (lengths ? (size_t)lengths[b] : T) * SIZE * sizeof(gr_real));
    return through(w, x, &w->cache->count, (gr_attention_input){ .lengths = lengths ? gr_ints_new(w->t, lengths, GR_SHAPE(B)) : NULL, .cache = w->cache });
}
static void assert_step(writer *w, size_t T, const int *lengths)
{
    const gr_tensor *y = step(w, T, lengths);
    assert_ok(w->t);
    for (size_t b = 0; b < B; b++) {
        const size_t n = lengths ? (size_t)lengths[b] : T;
#ifdef GR_OPENBLAS          /* it promises no bits */
        assert_close(y->data + b * T * SIZE, w->want + (b * ALL + w->at[b]) * SIZE, n * SIZE, 1e-4);
#else
        assert_same_bits(y->data + b * T * SIZE, w->want + (b * ALL + w->at[b]) * SIZE, n * SIZE);
#endif
        w->at[b] += n;
        assert_int_equal(w->cache->count.data[b], w->at[b]);
    }
    gr_tape_reset(w->t);
}

TEST(any_steps_give_the_bits_of_all_positions_at_once)
{
    for (size_t k = 0; k < 2 * COUNT(configs); k++) {
        writer w;
        writer_start(&w, &configs[k / 2], k % 2);
        assert_step(&w, 7, (int[]){ 7, 2, 5 });
        for (int i = 0; i < 3; i++) assert_step(&w, 1, NULL);
        assert_step(&w, 4, (int[]){ 3, 4, 0 });
        assert_step(&w, 6, NULL);
        assert_step(&w, 1, (int[]){ 1, 0, 1 });
        assert_true(w.at[0] == ALL);
        writer_end(&w);
    }
}

TEST(one_step_of_all_positions_has_their_bits)
{
    writer w;
    writer_start(&w, &configs[1], true);
    assert_step(&w, ALL, NULL);
    writer_end(&w);
}

TEST(a_crop_begins_another_continuation)
{
    writer w;
    writer_start(&w, &configs[0], true);
    assert_step(&w, 9, (int[]){ 9, 3, 6 });
    assert_true(gr_attention_cache_crop(w.t, w.cache, 5));
    for (size_t b = 0; b < B; b++) w.at[b] = w.at[b] > 5 ? 5 : w.at[b];
    assert_step(&w, 2, NULL);
    assert_true(gr_attention_cache_crop(w.t, w.cache, 0));
    memset(w.at, 0, sizeof w.at);
    assert_step(&w, 3, NULL);
    writer_end(&w);
}

/* gr_tape_recover takes back a step in which some layers have run and others not. */
TEST(a_step_that_failed_is_taken_back)
{
    writer w;
    writer_start(&w, &configs[0], true);
    assert_step(&w, 4, NULL);
    assert_non_null(gr_transformer_layer_forward(w.t, w.body->layer[0], gr_ones(w.t, GR_SHAPE(B, 2, SIZE)), &(gr_attention_input){ .cache = w.cache }));
    assert_int_equal(w.cache->count.data[2], 4); /* layer 1 lacks the new positions */
    gr_tape_recover(w.t);
    assert_step(&w, 3, NULL);
    writer_end(&w);
}

/* A step after a crop overwrites what was cropped, so that taking the step back must not bring the old count back. */
TEST(a_step_after_a_crop_is_taken_back_to_the_crop)
{
    writer w;
    writer_start(&w, &configs[0], true);
    assert_step(&w, 6, NULL);
    assert_true(gr_attention_cache_crop(w.t, w.cache, 2));
    assert_non_null(through(&w, gr_ones(w.t, GR_SHAPE(B, 3, SIZE)), &w.cache->count, (gr_attention_input){ .cache = w.cache }));
    gr_tape_recover(w.t);
    for (size_t b = 0; b < B; b++) w.at[b] = 2;
    assert_step(&w, 5, NULL);
    assert_fails(w.t, gr_attention_cache_crop(w.t, NULL, 0), "attention_cache_crop: the cache is NULL");
    gr_fail(w.t, NULL, "an error");
    assert_false(gr_attention_cache_crop(w.t, w.cache, 1)); /* an error of the step stays, and so do the counts */
    gr_tape_recover(w.t);
    assert_int_equal(w.cache->count.data[0], 7);
    writer_end(&w);
}

/* ---- Attentions out of step ---- */

static gr_tensor *run_layer(const writer *w, size_t layer, size_t T, const int *lengths)
{
    gr_tape *const t = w->t;
    return gr_transformer_layer_forward(t, w->body->layer[layer], gr_ones(t, GR_SHAPE(B, T, SIZE)),
                                        &(gr_attention_input){ .lengths = lengths ? gr_ints_new(t, lengths, GR_SHAPE(B)) : NULL, .cache = w->cache });
}

#define STEP ": in each step every attention of the cache must run once, with the same lengths"
#define WOULD(b, n) "multihead_attention in body.layers.1.self_attn: sequence " #b " would have " n " in body.layers.0.self_attn" STEP
TEST(each_attention_must_run_once_in_a_step)
{
    writer w;
    writer_start(&w, &configs[0], true);
    assert_step(&w, 2, NULL);
    for (int again = 0; again < 2; again++) { /* gr_tape_recover takes each fault back */
        assert_non_null(run_layer(&w, 0, 3, NULL));
        assert_fails(w.t, run_layer(&w, 0, 1, NULL), "multihead_attention in body.layers.0.self_attn: sequence 0 has 5 positions here, and 2 in body.layers.1.self_attn" STEP);
        assert_fails(w.t, run_layer(&w, 1, 3, NULL), WOULD(0, "5 positions here, and 2")); /* layer 0 was left out, or layer 1 ran twice */
        assert_non_null(run_layer(&w, 0, 3, NULL));
        assert_fails(w.t, run_layer(&w, 1, 4, NULL), WOULD(0, "6 positions here, and 5"));
        assert_non_null(run_layer(&w, 0, 3, (int[]){ 3, 0, 2 }));
        assert_fails(w.t, run_layer(&w, 1, 3, (int[]){ 3, 0, 3 }), WOULD(2, "5 positions here, and 4"));
    }
    assert_step(&w, 4, (int[]){ 1, 4, 0 });
    assert_non_null(run_layer(&w, 0, 1, NULL)); /* layer 1 is left out */
    gr_tape_reset(w.t);
    assert_fails(w.t, through(&w, gr_ones(w.t, GR_SHAPE(B, 1, SIZE)), &w.cache->count, (gr_attention_input){ .cache = w.cache }),
                 "multihead_attention in body.layers.0.self_attn: sequence 0 has 4 positions here, and 3 in body.layers.1.self_attn" STEP);
    assert_true(gr_attention_cache_crop(w.t, w.cache, 2)); /* what all attentions hold */
    for (size_t b = 0; b < B; b++) w.at[b] = 2;
    assert_step(&w, 3, NULL);
    writer_end(&w);
}

TEST(a_crop_in_the_middle_of_a_step_is_found)
{
    for (size_t n = 0; n < 4; n++) {
        writer w;
        char message[300];
        writer_start(&w, &configs[0], true);
        assert_step(&w, 3, NULL);
        assert_non_null(run_layer(&w, 0, 2, NULL));
        assert_true(gr_attention_cache_crop(w.t, w.cache, n));
        snprintf(message, sizeof message, WOULD(0, "%zu positions here, and %zu"), n + 2, n);
        assert_fails(w.t, run_layer(&w, 1, 2, NULL), message);
        for (size_t b = 0; b < B; b++) w.at[b] = n;
        assert_step(&w, 3, NULL);
        writer_end(&w);
    }
}

/* The first step tells which attention is the first. gr_tape_recover takes that back, too. */
TEST(the_order_of_the_attentions_is_free)
{
    writer w;
    writer_start(&w, &configs[0], true);
    assert_non_null(run_layer(&w, 0, 1, NULL));
    gr_tape_recover(w.t);
    for (int i = 0; i < 2; i++) assert_non_null(run_layer(&w, 1, 2, NULL)), assert_non_null(run_layer(&w, 0, 2, NULL));
    assert_ok(w.t);
    assert_int_equal(w.cache->count.data[0], 4);
    assert_fails(w.t, run_layer(&w, 0, 2, NULL), "multihead_attention in body.layers.0.self_attn: sequence 0 would have 6 positions here, and 4 in body.layers.1.self_attn" STEP);
    writer_end(&w);
}

TEST(a_rewind_does_not_take_a_step_back)
{
    writer w;
    writer_start(&w, &configs[0], true);
    assert_step(&w, 2, NULL);
    const gr_mark mark = gr_tape_mark(w.t);
    assert_non_null(step(&w, 3, NULL));
    gr_tape_rewind(w.t, mark);
    assert_int_equal(w.cache->count.data[0], 5);
    gr_tape_recover(w.t);
    assert_int_equal(w.cache->count.data[0], 2);
    assert_step(&w, 3, NULL);
    writer_end(&w);
}

/* Text of a network with an embedding and a head: with the cache a step reads one character, without it all. */
static void write_text(gr_tape *t, gr_module *net, gr_attention_cache *cache, int *ids, size_t n)
{
    const gr_embedding_module *token = (gr_embedding_module *)net->child;
    const gr_transformer *body = (gr_transformer *)net->child->next;
    for (size_t i = 1; i < n; i++) {
        gr_tape_reset(t);
        const size_t from = cache ? i - 1 : 0;
        gr_tensor *x = gr_embedding_forward(t, token, gr_ints_new(t, ids + from, GR_SHAPE(1, i - from)));
        x = gr_transformer_forward(t, body, gr_add_positions_from(t, x, cache ? &cache->count : NULL), &(gr_attention_input){ .cache = cache });
        const gr_ints *likeliest = gr_argmax(t, gr_select(t, gr_linear(t, x, token->weight, NULL), 1, -1), -1, false);
        assert_ok(t);
        ids[i] = (likeliest->data[0] + (int)i) % 11; /* the plain one would repeat one letter */
    }
}
TEST(the_text_is_the_same_with_and_without_the_cache)
{
    enum { N = 70 };
    int with[N] = { 1 }, without[N] = { 1 }, letters = 0;
    gr_tape *t = gr_tape_new(4, NULL);
    gr_module *net = gr_module_new(t);
    gr_embedding_new(t, net, "token", 11, 16, NULL);
    gr_transformer_new(t, net, "body", 16, 2, 2, &configs[1]);
    gr_attention_cache *cache = gr_attention_cache_new(t, net, 1, N);
    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
    write_text(t, net, cache, with, N), write_text(t, net, NULL, without, N);
    assert_memory_equal(with, without, sizeof with);
    for (int i = 0; i < N; i++) letters |= 1 << with[i];
    assert_true(letters & (letters - 1)); /* more than one letter */
    gr_tape_reset(t);
    gr_attention_cache_free(cache), gr_module_free(net), gr_tape_free(t);
}

/* ---- Positions that start late ---- */

TEST(positions_start_where_starts_says)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_positions *m = gr_positions_new(t, net, "p", 5, 3);
    const gr_ints *starts = gr_ints_new(t, (int[]){ 3, 0 }, GR_SHAPE(2));
    gr_tensor *none = gr_zeros(t, GR_SHAPE(2, 2, 3)), *far = gr_add_positions(t, gr_zeros(t, GR_SHAPE(5, 3)));
    gr_tensor *waves = gr_add_positions_from(t, none, starts), *rows = gr_positions_forward_from(t, m, none, starts);
    assert_same_bits(waves->data, far->data + 9, 6), assert_same_bits(waves->data + 6, far->data, 6);
    assert_same_bits(rows->data, m->weight->data + 9, 6), assert_same_bits(rows->data + 6, m->weight->data, 6);
    assert_true(gr_backward_from(t, rows, (gr_real[]){ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }));
    assert_close(gr_grad(t, m->weight), ((gr_real[]){ 7, 8, 9, 10, 11, 12, 0, 0, 0, 1, 2, 3, 4, 5, 6 }), 15, 0);
    gr_module_free(net), gr_tape_free(t);
}

/* ---- Messages, memory ---- */

TEST(what_a_cache_cannot_do_is_named)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *lone = gr_module_new(t);
    gr_multihead_attention *m = gr_multihead_attention_new(t, net, "m", 6, 2, &(gr_multihead_attention_config){ .causal = true });
    gr_multihead_attention *all = gr_multihead_attention_new(t, lone, "all", 6, 2, NULL);
    gr_transformer_layer *decoder = gr_transformer_layer_new(t, net, "d", 6, 2, &(gr_transformer_config){ .decoder = true });
    gr_transformer_layer *layer = gr_transformer_layer_new(t, net, "l", 6, 2, NULL);
    gr_positions *p = gr_positions_new(t, net, "p", 5, 6);
    gr_attention_cache *cache = gr_attention_cache_new(t, net, 2, 3);
    assert_ok(t);
    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
#define BAD(message, ...) \
    do { \
        gr_tensor *x = gr_zeros(t, GR_SHAPE(2, 2, 6)); \
        (void)x; \
        assert_fails(t, (__VA_ARGS__), message); \
    } while (0)
#define WITH(...) (&(gr_attention_input){ __VA_ARGS__ })
    BAD("attention_cache: the module is NULL", gr_attention_cache_new(t, NULL, 1, 1));
    BAD("attention_cache: batch and most must be 1 or more, and most at most 2147483647; got 0 and 3", gr_attention_cache_new(t, net, 0, 3));
    BAD("attention_cache: batch and most must be 1 or more, and most at most 2147483647; got 2 and 0", gr_attention_cache_new(t, net, 2, 0));
    BAD("attention_cache: batch and most must be 1 or more, and most at most 2147483647; got 2 and 2147483648",
        gr_attention_cache_new(t, net, 2, (size_t)1 << 31));
    BAD("attention_cache: batch and most must be 1 or more, and most at most 2147483647; got 18446744073709551615 and 1",
        gr_attention_cache_new(t, net, SIZE_MAX, 1));
    BAD("out of memory: making cache.0", gr_attention_cache_new(t, net, SIZE_MAX / 16, 1));
    BAD("attention_cache: 'all' has no causal MultiheadAttention", gr_attention_cache_new(t, &all->module, 1, 1));
    BAD("attention_cache_crop: the cache is NULL", gr_attention_cache_crop(t, NULL, 1));
    BAD("multihead_attention in all: the cache was made for another module, or this attention is not causal", gr_multihead_attention_forward(t, all, x, NULL, NULL, WITH(.cache = cache)));
    BAD("multihead_attention in m: a cache is for self-attention: key and value must be NULL",
        gr_multihead_attention_forward(t, m, x, gr_zeros(t, GR_SHAPE(2, 2, 6)), NULL, WITH(.cache = cache)));
    BAD("multihead_attention in m: the cache is for 2 sequences; query is [3, 2, 6]",
        gr_multihead_attention_forward(t, m, gr_zeros(t, GR_SHAPE(3, 2, 6)), NULL, NULL, WITH(.cache = cache)));
    BAD("multihead_attention in m: a cache takes no mask; got [2, 2, 6]", gr_multihead_attention_forward(t, m, x, NULL, NULL, WITH(.cache = cache, .mask = x)));
    BAD("multihead_attention in m: query is [2, 2, 6], so lengths[1] must be in 0 .. 2; got 3",
        gr_multihead_attention_forward(t, m, x, NULL, NULL, WITH(.cache = cache, .lengths = gr_ints_new(t, (int[]){ 0, 3 }, GR_SHAPE(2)))));
    gr_multihead_attention_forward(t, m, gr_zeros(t, GR_SHAPE(2, 2, 6)), NULL, NULL, WITH(.cache = cache, .lengths = gr_ints_new(t, (int[]){ 1, 2 }, GR_SHAPE(2))));
    gr_tape_reset(t);
    BAD("multihead_attention in m: the cache has room for 3 positions; sequence 1 has 2, and 2 more were given",
        gr_multihead_attention_forward(t, m, x, NULL, NULL, WITH(.cache = cache)));
    assert_true(cache->count.data[0] == 1 && cache->count.data[1] == 2);
    for (int k = 1; k < 3; k++) {
        gr_tape_set_training(t, k & 1), gr_tape_set_recording(t, k & 2);
        BAD("multihead_attention in m: a cache needs gr_tape_set_training(t, false) and gr_tape_set_recording(t, false)",
            gr_multihead_attention_forward(t, m, x, NULL, NULL, WITH(.cache = cache)));
    }
    BAD("multihead_attention in m: a memory is for a decoder: pass it as key", gr_multihead_attention_forward(t, m, x, NULL, NULL, WITH(.memory = x)));
    BAD("transformer in d: a decoder needs a memory in its input", gr_transformer_layer_forward(t, decoder, x, NULL));
    BAD("transformer in l: memory_lengths and memory_mask need a memory", gr_transformer_layer_forward(t, layer, x, WITH(.memory_mask = x)));
    BAD("transformer in l: memory_lengths and memory_mask need a memory", gr_transformer_layer_forward(t, layer, x, WITH(.memory_lengths = &cache->count)));
    BAD("transformer in l: only a decoder takes a memory: set decoder in the config", gr_transformer_layer_forward(t, layer, x, WITH(.memory = x)));
    BAD("add_positions: with starts, x must be [B, T, size]; got [2, 3]", gr_add_positions_from(t, gr_zeros(t, GR_SHAPE(2, 3)), &cache->count));
    BAD("add_positions: x is [2, 2, 6], so starts must be [2]; got [1]", gr_add_positions_from(t, x, gr_ints_new(t, NULL, GR_SHAPE(1))));
    BAD("positions in p: with starts, x must be [B, T, size]; got [2, 6]", gr_positions_forward_from(t, p, gr_zeros(t, GR_SHAPE(2, 6)), &cache->count));
    BAD("positions in p: x is [2, 2, 6], so starts[0] must be in 0 .. 3; got 4",
        gr_positions_forward_from(t, p, x, gr_ints_new(t, (int[]){ 4, 0 }, GR_SHAPE(2))));
    gr_attention_cache_free(NULL), gr_attention_cache_free(cache);
    gr_module_free(net), gr_module_free(lone), gr_tape_free(t);
}

static bool write_two_steps(gr_tape *t, void *argument)
{
    (void)argument;
    gr_module *net = gr_module_new(t);
    gr_transformer *body = gr_transformer_new(t, net, "body", 4, 2, 1, &(gr_transformer_config){ .causal = true, .decoder = true });
    gr_attention_cache *cache = gr_attention_cache_new(t, net, 2, 4);
    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);
    for (int i = 0; i < 2; i++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_add_positions_from(t, gr_ones(t, GR_SHAPE(2, 2, 4)), cache ? &cache->count : NULL);
        gr_transformer_forward(t, body, x, &(gr_attention_input){ .cache = cache, .memory = gr_ones(t, GR_SHAPE(2, 3, 4)) });
    }
    const bool well = cache && gr_attention_cache_crop(t, cache, 1);
    gr_tape_reset(t);
    gr_attention_cache_free(cache), gr_module_free(net);
    return well;
}
TEST(out_of_memory_is_an_error_anywhere)
{
    fail_every_allocation(write_two_steps, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_steps_give_the_bits_of_all_positions_at_once),
        cmocka_unit_test(one_step_of_all_positions_has_their_bits),
        cmocka_unit_test(a_crop_begins_another_continuation),
        cmocka_unit_test(a_step_that_failed_is_taken_back),
        cmocka_unit_test(a_step_after_a_crop_is_taken_back_to_the_crop),
        cmocka_unit_test(each_attention_must_run_once_in_a_step),
        cmocka_unit_test(a_crop_in_the_middle_of_a_step_is_found),
        cmocka_unit_test(the_order_of_the_attentions_is_free),
        cmocka_unit_test(a_rewind_does_not_take_a_step_back),
        cmocka_unit_test(the_text_is_the_same_with_and_without_the_cache),
        cmocka_unit_test(positions_start_where_starts_says),
        cmocka_unit_test(what_a_cache_cannot_do_is_named),
        cmocka_unit_test(out_of_memory_is_an_error_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
