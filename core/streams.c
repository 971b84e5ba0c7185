/* core/streams.c - the random streams of a tape, each in memory of its own, so that its address stays. An array holds them sorted by name, for a
 * binary search. A hash table would be slow for names that somebody chose to collide: the names may come from a file. A file's names come
 * sorted, so that each insertion moves only names that were there before. */
#include "core/internal.h"

/* The place of name in the array: that of the first name which is not before it. */
static size_t stream_place(const gr__streams *s, const char *name)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strcmp(s->at[middle]->name, name) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

gr_stream *gr_tape_stream(gr_tape *t, const char *name)
{
    if (gr_failed(t)) return NULL;
    if (!name) return gr_fail_as(t, GR_MISUSE, "tape_stream", "the stream's name is NULL");
    gr__streams *const s = &t->streams;
    const size_t place = stream_place(s, name), length = strlen(name) + 1;
    if (place < s->count && !strcmp(s->at[place]->name, name)) return &s->at[place]->stream;
    const bool fits = gr__grow(&t->memory, &s->at, s->count, &s->room, sizeof *s->at);
    gr__named_stream *const made = fits ? gr_memory_new(&t->memory, sizeof *made + length) : NULL;
    if (!made) return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: random stream '%s'", name);
    made->stream = gr_stream_new(t->seed, name), made->stream.counter = s->start, made->number = s->count;
    memcpy(made->name, name, length);
    memmove(s->at + place + 1, s->at + place, (s->count - place) * sizeof *s->at);
    s->at[place] = made, s->count++;
    return &made->stream;
}

void gr_tape_seek_streams(gr_tape *t, uint64_t n)
{
    if (!t) return;
    t->streams.start = n;
    for (size_t i = 0; i < t->streams.count; i++) t->streams.at[i]->stream.counter = n;
}

gr_stream *gr__tape_stream_at(const gr_tape *t, size_t i, const char **name)
{
    if (!t || i >= t->streams.count) return NULL;
    if (name) *name = t->streams.at[i]->name;
    return &t->streams.at[i]->stream;
}

size_t gr__tape_streams(const gr_tape *t) { return t->streams.count; }

void gr__tape_streams_cut(gr_tape *t, size_t count)
{
    gr__streams *const s = &t->streams;
    size_t left = 0;
    for (size_t i = 0; i < s->count; i++) {
        gr__named_stream *const one = s->at[i];
        if (one->number < count) s->at[left++] = one;
        else gr_memory_free(&t->memory, one, sizeof *one + strlen(one->name) + 1);
    }
    s->count = left;
}

void gr__tape_streams_free(gr_tape *t)
{
    gr__tape_streams_cut(t, 0);
    gr_memory_free(&t->memory, t->streams.at, t->streams.room * sizeof *t->streams.at);
}

uint64_t gr_stream_take(gr_tape *t, gr_stream *s, uint64_t count)
{
    if (!s || !gr_undo_note(t, &s->counter, sizeof s->counter)) return 0;
    const uint64_t first = s->counter;
    s->counter += count;
    return first;
}
