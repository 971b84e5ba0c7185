/* examples/kit/names.c - names. */
#include "examples/kit/names.h"
#include "core/op.h"
#include "examples/kit/file.h"
#include <string.h>

enum { LARGEST = 1 << 28, MADE = 8000, FEWEST = 100, TEST_BATCH = 128, STEPS = KIT_NAMES_LONGEST + 1 + KIT_NAMES_EXTRA };

/* Each language makes names from syllables (onset, vowel, coda) and an ending. */
static const struct {
    const char *onset[8], *vowel[8], *coda[8], *end[8];
    int least, most; /* syllables */
} language[4] = {
    { { "br", "kn", "t", "v", "sk", "h" }, { "a", "o", "u" }, { "rn", "ld", "k", "g", "" }, { "sen", "dottir", "ulf", "" }, 1, 2 },
    { { "m", "l", "r", "c", "b", "t", "p" }, { "a", "i", "o", "e" }, { "", "n" }, { "ella", "ino", "a", "o" }, 1, 4 },
    { { "sh", "ch", "k", "y", "n", "zh" }, { "i", "ei", "ao", "u" }, { "ng", "n", "" }, { "" }, 1, 2 },
    { { "", "k", "h", "l", "m", "n", "w" }, { "a", "e", "i", "o", "u", "ai" }, { "" }, { "ku", "lani", "moe" }, 2, 6 },
};

static void append(char *text, gr_stream *s, const char *const *choice)
{
    size_t n = 0;
    while (n < 8 && choice[n]) n++;
    strcat(text, choice[gr_stream_below(s, n)]);
}

static void make_up(char *text, uint64_t seed, size_t index)
{
    gr_stream s = gr_stream_new(seed, "names");
    s.counter = (uint64_t)index << 20;
    const size_t k = gr_stream_below(&s, 4);
    text[0] = 0;
    for (size_t n = (size_t)language[k].least + gr_stream_below(&s, (size_t)(language[k].most - language[k].least + 1)); n > 0; n--)
        append(text, &s, language[k].onset), append(text, &s, language[k].vowel), append(text, &s, language[k].coda);
    append(text, &s, language[k].end);
}

static void take(kit_names *c, const char *path, size_t line, const char *text, size_t n)
{
    if (n < 1 || n > KIT_NAMES_LONGEST)
        gr_fail_as(c->tape, GR_BAD_FILE, "", "%s, line %zu: a name has 1 to %d bytes; this has %zu", path, line + 1, KIT_NAMES_LONGEST, n);
    if (gr_failed(c->tape)) return;
    c->name[line].length = (uint8_t)n;
    memcpy(c->name[line].id, text, n);
}

/* Replace the bytes of all names by ids, in the order of the bytes. */
static void number_letters(kit_names *c)
{
    uint8_t id[256] = { 0 };
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->name[i].length; k++) id[c->name[i].id[k]] = 1;
    c->letters = 1;
    for (int b = 0; b < 256; b++)
        if (id[b]) c->letter[c->letters] = (char)b, id[b] = (uint8_t)c->letters++;
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->name[i].length; k++) c->name[i].id[k] = id[c->name[i].id[k]];
}

static void *room_for(gr_tape *t, size_t n, size_t bytes)
{
    void *const p = gr_failed(t) ? NULL : gr_memory_new(gr_tape_allocator(t), n * bytes);
    if (!p && !gr_failed(t)) gr_fail_as(t, GR_NO_MEMORY, "", "no memory for %zu names", n);
    return p;
}

/* The length of the line at text, which ends with \n, \r\n or the end of the text. */
static size_t line_of(const char *text, size_t left)
{
    const char *const end = memchr(text, '\n', left);
    const size_t n = end ? (size_t)(end - text) : left;
    return n && text[n - 1] == '\r' ? n - 1 : n;
}

static size_t lines_of(const kit_bytes *b)
{
    size_t n = b->n && b->data[b->n - 1] != '\n';
    for (size_t i = 0; i < b->n; i++) n += b->data[i] == '\n';
    return n;
}

static void read_names(kit_names *c, const char *path)
{
    char text[256];
    kit_bytes b = path ? kit_file_read(c->tape, path, LARGEST) : (kit_bytes){ 0 };
    c->n = path ? lines_of(&b) : MADE;
    if (path && c->n < FEWEST && !gr_failed(c->tape))
        gr_fail_as(c->tape, GR_BAD_FILE, "", "%s: %d names are needed; there are %zu", path, FEWEST, c->n);
    c->name = room_for(c->tape, c->n, sizeof *c->name);
    const char *line = b.data, *const end = b.data + b.n;
    for (size_t i = 0; i < c->n && !gr_failed(c->tape); i++) {
        if (!path) make_up(text, gr_tape_seed(c->tape), i), take(c, "made-up names", i, text, strlen(text));
        else {
            take(c, path, i, line, line_of(line, (size_t)(end - line)));
            line = memchr(line, '\n', (size_t)(end - line)), line = line ? line + 1 : end;
        }
    }
    kit_bytes_free(c->tape, &b);
}

kit_names kit_names_open(gr_tape *t, const char *path, size_t batch)
{
    kit_names c = { .tape = t, .batch = batch };
    read_names(&c, path);
    c.room = batch > TEST_BATCH ? batch : TEST_BATCH;
    if (c.room > c.n) c.room = c.n;
    c.in = room_for(t, c.room * STEPS, sizeof *c.in), c.target = room_for(t, c.room * STEPS, sizeof *c.target);
    c.length = room_for(t, c.room, sizeof *c.length);
    if (gr_failed(t)) return c;
    number_letters(&c);
    gr_stream s = gr_stream_new(gr_tape_seed(t), "split");
    for (size_t i = c.n - 1; i > 0; i--) {
        const size_t k = gr_stream_below(&s, i + 1);
        const kit_name swap = c.name[i];
        c.name[i] = c.name[k], c.name[k] = swap;
    }
    c.train = c.n - c.n / 10;
    c.order = gr_batches_new(t, c.train, batch, &(gr_batches_config){ .shuffle = "train/shuffle" });
    return c;
}

void kit_names_free(kit_names *c)
{
    const gr_allocator *const m = gr_tape_allocator(c->tape);
    gr_memory_free(m, c->name, c->n * sizeof *c->name), gr_batches_free(c->order);
    gr_memory_free(m, c->in, c->room * STEPS * sizeof *c->in), gr_memory_free(m, c->target, c->room * STEPS * sizeof *c->target);
    gr_memory_free(m, c->length, c->room * sizeof *c->length);
}

const kit_names *kit_names_put(kit_names *c, const int *which, size_t B, size_t extra)
{
    c->B = B, c->T = 0;
    for (size_t b = 0; b < B; b++) {
        c->length[b] = c->name[which[b]].length + 1;
        if ((size_t)c->length[b] > c->T) c->T = (size_t)c->length[b];
    }
    c->T += extra;
    for (size_t b = 0; b < B; b++) {
        const kit_name *const w = &c->name[which[b]];
        int *const in = c->in + b * c->T, *const target = c->target + b * c->T;
        for (size_t k = 0; k < c->T; k++) {
            in[k] = k == 0 ? 0 : k <= w->length ? w->id[k - 1] : (int)c->letters;
            target[k] = k < w->length ? w->id[k] : k == w->length ? 0 : -100;
        }
    }
    return c;
}

static const void *next_batch(void *data, bool training, size_t number, size_t *samples)
{
    kit_names *const c = data;
    const size_t batches = (c->n - c->train + TEST_BATCH - 1) / TEST_BATCH, first = c->train + number % batches * TEST_BATCH;
    int which[TEST_BATCH];
    if (training) {
        c->order->taken = (int64_t)number;
        const gr_ints *const ids = gr_batches_next(c->order);
        return kit_names_put(c, ids->data, *samples = ids->len, 0);
    }
    *samples = c->n - first < TEST_BATCH ? c->n - first : TEST_BATCH;
    for (size_t i = 0; i < *samples; i++) which[i] = (int)(first + i);
    return kit_names_put(c, which, *samples, 0);
}

kit_source kit_names_source(kit_names *c)
{
    return (kit_source){ (c->train + c->batch - 1) / c->batch, (c->n - c->train + TEST_BATCH - 1) / TEST_BATCH, next_batch, c, "names" };
}
