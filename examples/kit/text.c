/* examples/kit/text.c - text. */
#include "examples/kit/text.h"
#include "core/op.h"
#include "examples/kit/file.h"
#include <string.h>
#include <sys/stat.h>

enum { SENTENCES = 1600, LONGEST = 160, WORDS = 8, LARGEST = 1 << 28 };

/* ---- Sentences: a verb agrees with its noun, even when a clause stands between them ---- */

static const char *const noun[2][WORDS] = { { "king", "bird", "ship", "child", "wolf", "fox", "mouse", "thief" },
                                            { "kings", "birds", "ships", "children", "wolves", "foxes", "mice", "thieves" } };
static const char *const verb[2][WORDS] = { { "sees", "follows", "likes", "fears", "finds", "hears", "has lost", "is" },
                                            { "see", "follow", "like", "fear", "find", "hear", "have lost", "are" } };
static const char *const quality[WORDS] = { "old", "small", "red", "quiet", "happy", "brave", "tall", "hungry" };
static const char *const place[WORDS] = { "near the sea", "in the wood", "under the moon", "on the hill", "by night", "at home", "at dawn", "" };

static void say(char *text, const char *word)
{
    if (word[0] && text[0]) strcat(text, " ");
    strcat(text, word);
}

/* Append a noun with its article and perhaps an adjective. Returns 1 for a plural. */
static size_t say_noun(char *text, gr_stream *s)
{
    const size_t many = gr_stream_below(s, 2);
    say(text, many ? gr_stream_below(s, 2) ? "the" : "two" : gr_stream_below(s, 2) ? "the" : "a");
    if (gr_stream_below(s, 2)) say(text, quality[gr_stream_below(s, WORDS)]);
    say(text, noun[many][gr_stream_below(s, WORDS)]);
    return many;
}

static void say_verb(char *text, gr_stream *s, size_t many)
{
    const size_t which = gr_stream_below(s, WORDS);
    say(text, verb[many][which]);
    if (which + 1 < WORDS) say_noun(text, s);
    else say(text, quality[gr_stream_below(s, WORDS)]);
}

static void say_sentence(char text[LONGEST], gr_stream *s)
{
    text[0] = 0;
    const size_t many = say_noun(text, s);
    if (!gr_stream_below(s, 3)) say(text, "that"), say_verb(text, s, many);
    say_verb(text, s, many);
    say(text, place[gr_stream_below(s, WORDS)]);
    strcat(text, ".\n");
}

/* ---- The text ---- */

static void *room_for(gr_tape *t, size_t n)
{
    void *const p = gr_failed(t) ? NULL : gr_memory_new(gr_tape_allocator(t), n * sizeof(int));
    if (!p && !gr_failed(t)) gr_fail_as(t, GR_NO_MEMORY, "", "no memory for %zu characters", n);
    return p;
}

kit_bytes kit_text_read(gr_tape *t, const char *path)
{
    char in_folder[4096];
    struct stat st;
    const bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    const int n = snprintf(in_folder, sizeof in_folder, "%s/tinyshakespeare.txt", path);
    return kit_file_read(t, folder && (size_t)n < sizeof in_folder ? in_folder : path, LARGEST);
}

/* Write the sentences to id, or nothing if id is NULL. Returns the number of characters. */
static size_t make_text(gr_tape *t, int *id)
{
    char text[LONGEST];
    size_t n = 0;
    gr_stream s = gr_stream_new(gr_tape_seed(t), "text");
    for (int i = 0; i < SENTENCES; i++) {
        say_sentence(text, &s);
        for (const char *c = text; *c; c++, n++)
            if (id) id[n] = *c;
    }
    return n;
}

static void number_letters(kit_text *c)
{
    bool found[256] = { false };
    for (size_t i = 0; i < c->n; i++) found[c->id[i]] = true;
    for (int b = 0; b < 256; b++) {
        c->of[b] = found[b] ? (int)c->letters : -1;
        if (found[b]) c->letter[c->letters++] = (unsigned char)b;
    }
    for (size_t i = 0; i < c->n; i++) c->id[i] = c->of[c->id[i]];
}

kit_text kit_text_of(gr_tape *t, const char *path, const kit_bytes *bytes, size_t batch, size_t window)
{
    kit_text c = { .tape = t, .path = path, .batch = batch, .T = window };
    if (gr_failed(t)) return c;
    c.n = path ? bytes->n : make_text(t, NULL);
    c.train = c.n - c.n / 10;
    if (c.n / 10 <= window && !gr_failed(t))
        gr_fail_as(t, GR_BAD_FILE, "", "%s: a tenth of the text must hold more than a window of %zu characters; it has %zu", path ? path : "the text",
                   window, c.n / 10);
    c.id = room_for(t, c.n), c.in = room_for(t, batch * window), c.next = room_for(t, batch * window);
    if (gr_failed(t)) return c;
    for (size_t i = 0; path && i < c.n; i++) c.id[i] = (unsigned char)bytes->data[i];
    if (!path) make_text(t, c.id);
    number_letters(&c);
    return c;
}

kit_text kit_text_open(gr_tape *t, const char *path, size_t batch, size_t window)
{
    kit_bytes bytes = path && !gr_failed(t) ? kit_text_read(t, path) : (kit_bytes){ 0 };
    const kit_text c = kit_text_of(t, path, &bytes, batch, window);
    kit_bytes_free(t, &bytes);
    return c;
}

void kit_text_free(kit_text *c)
{
    const gr_allocator *const m = gr_tape_allocator(c->tape);
    gr_memory_free(m, c->id, c->n * sizeof(int));
    gr_memory_free(m, c->in, c->batch * c->T * sizeof(int)), gr_memory_free(m, c->next, c->batch * c->T * sizeof(int));
}

size_t kit_draw(gr_stream *s, const gr_real *p, size_t n)
{
    double left = gr_stream_uniform(s, 0, 1);
    size_t id = 0;
    while (id + 1 < n && (left -= (double)p[id]) >= 0) id++;
    return id;
}

/* ---- Windows ---- */

static size_t test_windows(const kit_text *c) { return (c->n - c->train - 1) / c->T; }

static const void *next_batch(void *data, bool training, size_t number, size_t *samples)
{
    kit_text *const c = data;
    const size_t left = training ? c->batch : test_windows(c) - number * c->batch;
    gr_stream s = gr_stream_new(gr_tape_seed(c->tape), "train/windows");
    s.counter = (uint64_t)number << 20;
    c->B = left < c->batch ? left : c->batch;
    for (size_t b = 0; b < c->B; b++) {
        const size_t at = training ? gr_stream_below(&s, c->train - c->T) : c->train + (number * c->batch + b) * c->T;
        memcpy(c->in + b * c->T, c->id + at, c->T * sizeof(int)), memcpy(c->next + b * c->T, c->id + at + 1, c->T * sizeof(int));
    }
    *samples = c->B * c->T;
    return c;
}

kit_source kit_text_source(kit_text *c)
{
    const size_t per_batch = c->batch * c->T;
    return (kit_source){ (c->train + per_batch - 1) / per_batch, (test_windows(c) + c->batch - 1) / c->batch, next_batch, c, "characters" };
}

/* ---- Streams ---- */

kit_streams kit_text_streams(const kit_text *c, bool training)
{
    const size_t from = training ? 0 : c->train, n = (training ? c->train : c->n) - from, length = n / c->batch;
    const size_t chunks = length ? (length - 1) / c->T : 0;
    if (!chunks && !gr_failed(c->tape))
        gr_fail_as(c->tape, GR_BAD_FILE, "", "%zu streams of %zu characters and one more do not fit into %zu characters: --batch or --window is "
                   "too large", c->batch, c->T, n);
    return (kit_streams){ c, from, length, chunks };
}

gr_ints *kit_text_chunk(gr_tape *t, const kit_streams *s, size_t k, size_t shift)
{
    const size_t T = s->text->T, B = s->text->batch;
    gr_ints *const ids = gr_ints_new(t, NULL, GR_SHAPE(T, B));
    for (size_t i = 0; ids && i < T * B; i++) ids->data[i] = s->text->id[s->from + i % B * s->length + k * T + i / B + shift];
    return ids;
}
