/* nn/names.c - all names under a module in one sorted array. gr_slot_find walks the tree for each name; who looks for many would
 * need a time that grows with their number times the size of the tree. */
#include "nn/internal.h"
#include <stdlib.h>
#include <string.h>

static int named_by_key(const void *a, const void *b) { return strcmp(((const gr__named *)a)->key, ((const gr__named *)b)->key); }

/* at NULL: only count. */
static size_t names_list(gr_module *m, gr__named *at)
{
    size_t n = 0;
    for (gr_module *each = m; each; each = gr_module_next(m, each)) {
        gr_slot **end = &each->slots;
        const size_t place = n++;
        for (; *end; end = &(*end)->next, n++)
            if (at) at[n] = (gr__named){ .key = gr__slot_key(m, *end), .slot = *end };
        const char *const key = each == m ? "" : m->parent ? each->path + strlen(m->path) + 1 : each->path;
        if (at) at[place] = (gr__named){ .key = key, .module = each, .end = end };
    }
    return n;
}

bool gr__names_make(gr_tape *t, gr__names *names, gr_module *m)
{
    names->count = names_list(m, NULL);
    names->at = gr_memory_new(gr_tape_allocator(t), names->count * sizeof *names->at);
    if (!names->at) return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: %zu names", names->count);
    names_list(m, names->at);
    gr__sort(names->at, names->count, sizeof *names->at, named_by_key);
    return true;
}

typedef struct { const char *text; size_t length; } name_key;
static int key_against_name(const void *key, const void *name)
{
    const name_key *const k = key;
    const char *const other = ((const gr__named *)name)->key;
    const int order = strncmp(k->text, other, k->length);
    return order || !other[k->length] ? order : -1;
}
gr__named *gr__names_find(const gr__names *names, const char *key, size_t length)
{
    return bsearch(&(name_key){ key, length }, names->at, names->count, sizeof *names->at, key_against_name);
}

void gr__names_free(gr_tape *t, gr__names *names)
{
    gr_memory_free(gr_tape_allocator(t), names->at, names->count * sizeof *names->at);
}
