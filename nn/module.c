/* nn/module.c - the module tree: making, registering, walking, freeing; kept states are in nn/kept.c. Modules and slots are linked lists in
 * order of creation. A path is made once, together with its owner, and every name is the end of a path. */
#include "nn/internal.h"

static void *module_no_memory(gr_tape *t, const gr_module *parent, const char *name)
{
    if (!parent) name = "a root module";
    return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: making %s%s%s", parent ? parent->path : "", parent && parent->parent ? "." : "", name);
}

/* ---- Names and paths ---- */

bool gr__name_is_taken(const gr_module *parent, const char *name)
{
    for (const gr_module *m = parent->child; m; m = m->next)
        if (!strcmp(m->name, name)) return true;
    for (const gr_slot *s = parent->slots; s; s = s->next)
        if (!strcmp(s->name, name)) return true;
    return false;
}

/* True if a module or slot of that name may be made under parent; otherwise the error. */
static bool name_is_good(gr_tape *t, const gr_module *parent, const char *name)
{
    const char *const place = parent->parent ? parent->path : "the root";
    if (!name) return gr_fail(t, NULL, "a name under %s is NULL", place);
    if (!gr__is_name(name, "./")) return gr_fail(t, NULL, "'%s' under %s: a name is UTF-8 text, not empty, without '.' and '/'", name, place);
    if (gr__name_is_taken(parent, name)) return gr_fail(t, NULL, "'%s' under %s: there is one already", name, place);
    return true;
}

static size_t path_bytes(const gr_module *parent, const char *name) { return (parent->parent ? strlen(parent->path) + 1 : 0) + strlen(name) + 1; }

/* Write parent's path, a dot and name to path. Returns where the name begins. */
static const char *path_write(char *path, const gr_module *parent, const char *name)
{
    const size_t bytes = path_bytes(parent, name), at = bytes - strlen(name) - 1;
    snprintf(path, bytes, "%s%s%s", parent->path, at ? "." : "", name);
    return path + at;
}

enum { NUMBER = 24 }; /* room for the number that is the name when NULL is given */

size_t gr__stream_room(const gr_module *parent, const char *name, const char *end)
{
    return (parent ? strlen(parent->path) : 0) + (name ? strlen(name) : NUMBER) + strlen(end) + sizeof "./";
}

char *gr__stream_name(char *room, const gr_module *m, const char *end)
{
    snprintf(room, strlen(m->path) + strlen(end) + 2, "%s/%s", m->path, end);
    return room;
}

/* ---- Making and freeing modules ---- */

static gr_module *module_alloc(gr_tape *t, gr_module *parent, const char *name, const char *kind, size_t bytes)
{
    const gr_allocator *const memory = gr_tape_allocator(t);
    size_t whole; /* the path lies behind the struct */
    const bool fits = gr_size_add(bytes, parent ? path_bytes(parent, name) : 1, &whole);
    gr_module *const m = fits ? gr_memory_new(memory, whole) : NULL;
    if (!m) return module_no_memory(t, parent, name);
    char *const path = (char *)m + bytes;
    m->path = path, m->name = parent ? path_write(path, parent, name) : path, m->end = &m->slots;
    m->kind = kind, m->parent = parent, m->bytes = bytes, m->memory = *memory, m->seed = gr_tape_seed(t);
    return m;
}

gr_module *gr_module_new(gr_tape *t) { return gr_failed(t) ? NULL : module_alloc(t, NULL, "", "Module", sizeof(gr_module)); }

void *gr_module_make(gr_tape *t, gr_module *parent, const char *name, const char *kind, size_t bytes)
{
    if (gr_failed(t)) return NULL;
    const char *const called = name ? name : "NULL";
    if (!kind) return gr_fail(t, NULL, "'%s': the kind is NULL", called);
    if (!parent) return gr_fail(t, NULL, "'%s' (%s): the parent is NULL", called, kind);
    if (bytes < sizeof(gr_module))
        return gr_fail(t, NULL, "'%s' (%s): a module begins with a gr_module of %zu bytes; got %zu", called, kind, sizeof(gr_module), bytes);
    char number[NUMBER];
    size_t children = 0;
    gr_module **end = &parent->child;
    for (; *end; end = &(*end)->next) children++;
    if (!name) snprintf(number, sizeof number, "%zu", children), name = number;
    if (!name_is_good(t, parent, name)) return NULL;
    return *end = module_alloc(t, parent, name, kind, bytes);
}

bool gr__size_is_positive(gr_tape *t, const gr_module *m, const char *what, size_t n)
{
    return n || gr_fail(t, NULL, "%s: %s must be 1 or more; got 0", m->path, what);
}

static gr_module *root_of(gr_module *m)
{
    while (m->parent) m = m->parent;
    return m;
}

void gr__version_free(const gr_slot *s, gr__version *v)
{
    gr__tensor_free_home(v->tensor);
    gr_memory_free(&s->owner->memory, v, sizeof *v);
}

static void slot_free(gr_slot *s)
{
    for (gr__hold *h = s->holds; h; h = h->next) h->slot = NULL;
    if (s->kind != GR_KEPT && !s->tied) gr__tensor_free_home(s->tensor);
    for (gr__version *v = s->versions, *next; v; v = next) next = v->next, gr__version_free(s, v);
    gr_memory_free(&s->owner->memory, s, sizeof *s + strlen(s->path) + 1);
}

void gr_module_free(gr_module *m)
{
    if (!m) return;
    if (m->parent) {
        gr_module **link = &m->parent->child;
        while (*link != m) link = &(*link)->next;
        *link = m->next;
    }
    for (gr_module *at = m, *up; at; at = up) { /* leaves first, without recursion */
        while (at->child) at = at->child;
        up = at == m ? NULL : at->parent;
        if (up) up->child = at->next;
        for (gr_slot *s = at->slots, *next; s; s = next) next = s->next, slot_free(s);
        gr_memory_free(&at->memory, at, at->bytes + strlen(at->path) + 1);
    }
}

bool gr_module_ready(gr_tape *t, gr_module *m)
{
    if (!gr_failed(t)) return m;
    gr_module_free(m);
    return false;
}

/* ---- Registering ---- */

gr_slot *gr__slot_new(gr_tape *t, gr_module *m, const char *name, gr_slot_kind kind)
{
    gr_slot *s = gr_memory_new(&m->memory, sizeof *s + path_bytes(m, name));
    if (!s) return module_no_memory(t, m, name);
    s->path = (char *)(s + 1), s->name = path_write((char *)(s + 1), m, name), s->kind = kind, s->owner = m;
    *m->end = s, m->end = &s->next;
    return s;
}

gr_slot *gr__slot_append(gr_tape *t, gr_module *m, const char *name, gr_slot_kind kind)
{
    if (gr_failed(t)) return NULL;
    if (!m) return gr_fail(t, NULL, "'%s': the module is NULL", name ? name : "NULL");
    return name_is_good(t, m, name) ? gr__slot_new(t, m, name, kind) : NULL;
}

gr_slot *gr__slot_called(const gr_module *m, const char *name, gr_slot_kind kind)
{
    gr_slot *s = m && name ? m->slots : NULL;
    while (s && (s->kind != kind || strcmp(s->name, name))) s = s->next;
    return s;
}

void *gr__slot_remove(gr_slot *s)
{
    gr_slot **link = &s->owner->slots;
    while (*link != s) link = &(*link)->next;
    *link = s->next;
    if (!*link) s->owner->end = link;
    slot_free(s);
    return NULL;
}

gr_tensor *gr__slot_tensor(gr_tape *t, const gr_slot *s, gr_shape shape)
{
    size_t len;
    if (!gr__shape_len(shape, &len)) return gr_fail(t, NULL, "%s: %s is not a shape that fits this machine", s->path, gr_shape_name(t, shape));
    gr_tensor *const x = gr__tensor_new_home(&s->owner->memory, shape);
    if (!x) return module_no_memory(t, s->owner, s->name);
    x->path = s->path;
    return x;
}

/* A new slot with a tensor of first values; NULL on an error. */
static gr_slot *slot_filled(gr_tape *t, gr_module *m, const char *name, gr_slot_kind kind, gr_shape shape, gr_init init)
{
    gr_slot *const s = gr__slot_append(t, m, name, kind);
    if (!s) return NULL;
    s->init = init, s->tensor = gr__slot_tensor(t, s, shape);
    return s->tensor && gr__init_draw(t, s) ? s : gr__slot_remove(s);
}

gr_tensor *gr_param(gr_tape *t, gr_module *m, const char *name, gr_shape shape, gr_init init)
{
    gr_slot *const s = slot_filled(t, m, name, GR_PARAMETER, shape, init);
    if (!s) return NULL;
    s->no_decay = shape.rank < 2 || !strncmp(name, "bias", 4) || m->is_norm;
    gr__wants_grad(s->tensor, true);
    return s->tensor;
}

gr_tensor *gr_buffer(gr_tape *t, gr_module *m, const char *name, gr_shape shape, double value)
{
    const gr_slot *const s = slot_filled(t, m, name, GR_BUFFER, shape, gr_init_constant(value));
    return s ? s->tensor : NULL;
}

int64_t *gr_counter(gr_tape *t, gr_module *m, const char *name)
{
    gr_slot *const s = gr__slot_append(t, m, name, GR_COUNTER);
    return s ? &s->count : NULL;
}

gr_tensor *gr_tie(gr_tape *t, gr_module *m, const char *name, gr_tensor *tensor)
{
    if (gr_failed(t)) return NULL;
    const char *const place = m && m->parent ? m->path : "the root";
    if (!tensor || !m) return gr_fail(t, NULL, "'%s' under %s is to be tied, but the %s is NULL", name ? name : "NULL", place, m ? "tensor" : "module");
    if (!gr_alive(t, NULL, "the tensor to tie", tensor)) return NULL;
    gr_slot *const first = gr_slot_find(root_of(m), tensor->path);
    if (!first || first->tensor != tensor || first->kind != GR_PARAMETER)
        return gr_fail(t, NULL, "'%s' under %s is to be tied to %s, which is no parameter of this tree", name ? name : "NULL", place, gr_shape_text(t, tensor));
    gr_slot *const s = gr__slot_append(t, m, name, GR_PARAMETER);
    if (!s) return NULL;
    s->tensor = tensor, s->tied = first, s->init = first->init, s->no_decay = first->no_decay, s->frozen = first->frozen;
    return tensor;
}

bool gr_param_init(gr_tape *t, gr_module *m, const char *name, gr_init init)
{
    if (gr_failed(t)) return false;
    gr_slot *s = gr__slot_called(m, name, GR_PARAMETER);
    if (!s) return gr_fail(t, NULL, "%s has no parameter '%s' to initialize", m && m->parent ? m->path : "the root", name ? name : "NULL");
    if (s->tied) s = s->tied;
    const gr_init before = s->init;
    s->init = init;
    if (gr__init_draw(t, s)) return true;
    s->init = before;
    return false;
}

/* ---- Walking ---- */

gr_module *gr_module_next(const gr_module *root, const gr_module *m)
{
    if (!root || !m) return NULL;
    if (m->child) return m->child;
    while (m && m != root && !m->next) m = m->parent; /* NULL: m is not under root */
    return !m || m == root ? NULL : m->next;
}

static gr_slot *first_from(const gr_module *root, const gr_module *m)
{
    while (m && !m->slots) m = gr_module_next(root, m);
    return m ? m->slots : NULL;
}

gr_slot *gr_slot_first(const gr_module *m) { return m ? first_from(m, m) : NULL; }
gr_slot *gr_slot_next(const gr_module *m, const gr_slot *s)
{
    if (!m || !s) return NULL;
    return s->next ? s->next : first_from(m, gr_module_next(m, s->owner));
}

bool gr__slot_is_under(const gr_module *m, const gr_slot *s)
{
    const gr_module *at = s->owner;
    while (at && at != m) at = at->parent;
    return at;
}

/* Tied slots share a tensor. Of those under m one stands for it: the slot that the others are tied to, or the first if that one is not under m. */
bool gr__slot_stands(const gr_module *m, const gr_slot *s)
{
    if (!s->tied) return true;
    if (gr__slot_is_under(m, s->tied)) return false;
    const gr_slot *first = gr_slot_first(m);
    while (first->tied != s->tied) first = gr_slot_next(m, first);
    return first == s;
}

const char *gr__slot_key(const gr_module *m, const gr_slot *s) { return m->parent ? s->path + strlen(m->path) + 1 : s->path; }

gr_slot *gr_slot_find(const gr_module *m, const char *path)
{
    for (gr_slot *s = path ? gr_slot_first(m) : NULL; s; s = gr_slot_next(m, s))
        if (!strcmp(gr__slot_key(m, s), path)) return s;
    return NULL;
}

/* ---- All parameters at once, and forward ---- */

void gr_requires_grad(gr_module *m, bool wanted)
{
    for (gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) {
        if (s->kind != GR_PARAMETER) continue;
        gr__wants_grad(s->tensor, wanted);
        (s->tied ? s->tied : s)->frozen = !wanted;
    }
    const gr_module *const root = m ? root_of(m) : NULL;
    for (gr_slot *s = gr_slot_first(root); s; s = gr_slot_next(root, s)) /* those outside of m, too */
        if (s->tied) s->frozen = s->tied->frozen;
}

void gr_module_zero_grad(gr_module *m)
{
    for (gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s))
        if (s->kind == GR_PARAMETER) gr__grad_clear(s->tensor);
}

size_t gr_module_parameters(const gr_module *m)
{
    size_t sum = 0;
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s))
        if (s->kind == GR_PARAMETER && gr__slot_stands(m, s)) sum += s->tensor->len;
    return sum;
}

gr_tensor *gr_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
{
    if (gr_failed(t)) return NULL;
    if (!m) return gr_fail_as(t, GR_MISUSE, "forward", "the module is NULL");
    if (!m->forward)
        return gr_fail(t, NULL, "forward: %s (%s) does not make one tensor from one tensor; call its own forward function",
                       m->parent ? m->path : "the root", m->kind);
    GR_WITHIN(t, m);
    return m->forward(t, m, x);
}
