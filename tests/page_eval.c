/* tests/page_eval.c - the evaluator of tests/page.h: dual numbers, a value and its derivative. */
#include "tests/page_parts.h"

static int length(const page *p, int list)
{
    int n = 0;
    for (int i = p->node[list].a; i; i = p->node[i].next) n++;
    return n;
}

int page_sizes(page *p, int at, int *size)
{
    const page_node *const e = &p->node[at];
    int n = 0;
    if (e->kind == LIST) {
        size[n++] = length(p, at);
        return n < RANK ? n + page_sizes(p, e->a, size + n) : n;
    }
    if (e->kind == NUMBER || e->kind == SUM || e->kind == MAX || e->kind == EQUAL || e->kind == AT_MOST) return 0;
    if (e->kind == SLOPE) return n = page_sizes(p, e->a, size), n + page_sizes(p, e->b, size + n);
    if (e->kind != NAMED) {
        n = page_sizes(p, e->a, size);
        return n || !e->b ? n : page_sizes(p, e->b, size);
    }
    const page_definition *const k = &p->known[e->name];
    int all[3 * RANK] = { 0 };
    if (!k->cases) return 0;
    for (const char *c = k->of->index; *c; c++, n++) {
        if (isdigit((unsigned char)*c) && n >= e->rank) page_wrong(p, "%s is defined in parts: it needs its subscripts", k->name);
        all[n] = isdigit((unsigned char)*c) ? 1 : p->high[*c - 'a'] - p->low[*c - 'a'] + 1;
    }
    if (++p->nested > DEPTH) page_wrong(p, "%s is defined by itself", k->name);
    n += *p->error ? 0 : page_sizes(p, k->of->tree, all + n);
    p->nested--;
    for (int i = e->rank; i < n; i++) size[i - e->rank] = all[i];
    return n > e->rank ? n - e->rank : 0;
}

static page_dual eval_list(page *p, int at, const int *axes, int rank)
{
    if (!rank) return page_wrong(p, "a vector stands where a number is needed"), (page_dual){ NAN, NAN };
    int i = p->node[at].a;
    for (int k = axes[0]; k > 0 && i; k--) i = p->node[i].next;
    if (!i || axes[0] < 0) return page_wrong(p, "a vector has no element %d", axes[0]), (page_dual){ NAN, NAN };
    return page_eval(p, i, axes + 1, rank - 1);
}

static int subscript(page *p, const page_node *e, int i)
{
    const char c = e->sub[i];
    if (c != '{') return isdigit((unsigned char)c) ? c - '0' : p->now[c - 'a'];
    const double v = page_eval(p, e->at[i], NULL, 0).v;
    if (!*p->error && v != round(v)) page_wrong(p, "a subscript of %s is %g", p->known[e->name].name, v);
    return *p->error ? 0 : (int)v;
}

/* The part of the definition that has the element `at`. */
static const page_case *part(page *p, const page_definition *k, const int *at, int n)
{
    for (int c = 0; c < k->cases; c++) {
        const char *const index = k->of[c].index;
        bool has = true;
        for (int i = 0; i < n && index[i]; i++)
            has &= isdigit((unsigned char)index[i]) ? at[i] == index[i] - '0' : at[i] >= p->low[index[i] - 'a'] && at[i] <= p->high[index[i] - 'a'];
        if (has) return &k->of[c];
    }
    if (!k->cases) page_wrong(p, "%s is not defined", k->name);
    else page_wrong(p, "%s has no element %d, %d, %d", k->name, at[0], at[1], at[2]);
    return NULL;
}

static page_memo *memo(page *p, int name, const int *at, int n, bool seeded)
{
    unsigned key = (unsigned)name;
    for (int i = 0; i < n; i++) key = key * 31 + (unsigned)at[i];
    return &p->memo[seeded][key % MEMOS];
}

static page_dual eval_named(page *p, const page_node *e, const int *axes, int rank)
{
    const page_definition *const k = &p->known[e->name];
    int at[2 * RANK] = { 0 }, n = 0;
    if (!k->name[1] && islower((unsigned char)*k->name) && p->declared[*k->name - 'a'] && !e->rank) return (page_dual){ p->now[*k->name - 'a'], 0 };
    for (int i = 0; i < e->rank; i++) at[n++] = subscript(p, e, i);
    for (int i = 0; i < rank && n < RANK; i++) at[n++] = axes[i];
    const page_case *const c = *p->error ? NULL : part(p, k, at, n);
    if (!c) return (page_dual){ NAN, NAN };
    const bool is_seed = p->seed == e->name && !memcmp(at, p->seed_at, (size_t)n * sizeof *at), seeded = p->seed >= 0 && !is_seed && p->depth <= 1;
    page_memo *const m = memo(p, e->name, at, n, seeded);
    page_dual y = m->y;
    if (m->stamp == p->stamp[seeded] && m->name == e->name && !memcmp(m->at, at, sizeof at) && !(seeded && p->depth)) {
        if (is_seed) y.d = 1;
        return y;
    }
    int before[26];
    memcpy(before, p->now, sizeof before);
    const int seed = p->seed, depth = p->depth;
    if (!seeded) p->seed = -1; /* the value alone */
    if (p->depth) p->depth++;
    const int indices = (int)strlen(c->index);
    if (indices > n) page_wrong(p, "%s needs %d indices", k->name, indices);
    for (int i = 0; i < indices; i++)
        if (islower((unsigned char)c->index[i])) p->now[c->index[i] - 'a'] = at[i];
    if (++p->nested > DEPTH) page_wrong(p, "%s is defined by itself", k->name);
    y = *p->error ? (page_dual){ NAN, NAN } : page_eval(p, c->tree, at + indices, n - indices);
    memcpy(p->now, before, sizeof before);
    p->seed = seed, p->depth = depth, p->nested--;
    if (!seeded) y.d = 0;
    if (!*p->error && !(seeded && depth)) {
        *m = (page_memo){ .name = e->name, .stamp = p->stamp[seeded], .y = y };
        memcpy(m->at, at, sizeof at);
    }
    if (is_seed) y.d = 1;
    return y;
}

/* The numerator may be a vector or a matrix, and so may the denominator: the first axes are the numerator's. */
static page_dual eval_slope(page *p, const page_node *e, const int *axes, int rank)
{
    const page_node *const x = &p->node[e->b];
    int size[2 * RANK], n = x->rank;
    const int above = page_sizes(p, e->a, size);
    if (p->seed >= 0) return page_wrong(p, "a derivative of a derivative"), (page_dual){ NAN, NAN };
    for (int i = 0; i < n; i++) p->seed_at[i] = subscript(p, x, i);
    for (int i = above; i < rank && n < RANK; i++) p->seed_at[n++] = axes[i];
    eval_named(p, x, axes + above, rank - above); /* it must have a definition, and all its indices */
    p->seed = x->name, p->depth = e->own, p->stamp[1]++;
    const page_dual y = page_eval(p, e->a, axes, above);
    p->seed = -1, p->depth = 0, p->stamp[1]++;
    return (page_dual){ y.d, 0 };
}

static page_dual eval_over(page *p, const page_node *e)
{
    const int c = e->sub[0] - 'a', before = p->now[c];
    page_dual y = { e->kind == MAX ? -HUGE_VAL : 0, 0 };
    if (!p->declared[c]) page_wrong(p, "the index %c has no range", e->sub[0]);
    for (int i = p->low[c]; i <= p->high[c] && !*p->error; i++) {
        p->now[c] = i;
        const page_dual x = page_eval(p, e->a, NULL, 0);
        if (e->kind == SUM) y.v += x.v, y.d += x.d;
        else if (x.v > y.v) y = x;
    }
    p->now[c] = before;
    return y;
}

/* An operand of elementwise arithmetic: a vector's element, or a number, which serves all elements. */
static page_dual operand(page *p, int at, const int *axes, int rank)
{
    int size[2 * RANK];
    return page_eval(p, at, axes, rank && page_sizes(p, at, size) ? rank : 0);
}

page_dual page_eval(page *p, int at, const int *axes, int rank)
{
    const page_node *const e = &p->node[at];
    if (*p->error) return (page_dual){ NAN, NAN };
    if (e->kind == LIST) return eval_list(p, at, axes, rank);
    if (e->kind == NAMED) return eval_named(p, e, axes, rank);
    if (e->kind == SLOPE) return eval_slope(p, e, axes, rank);
    if (e->kind == NUMBER) return (page_dual){ e->value, 0 };
    if (e->kind == SUM || e->kind == MAX) return eval_over(p, e);
    const page_dual a = operand(p, e->a, axes, rank);
    if (e->kind == NEG) return (page_dual){ -a.v, -a.d };
    if (e->kind == CALL) return (page_dual){ e->f(a.v), e->slope(a.v) * a.d };
    const page_dual b = operand(p, e->b, axes, rank);
    switch ((int)e->kind) {
    case ADD: return (page_dual){ a.v + b.v, a.d + b.d };
    case SUB: return (page_dual){ a.v - b.v, a.d - b.d };
    case MUL: return (page_dual){ a.v * b.v, a.d * b.v + a.v * b.d };
    case DIV: return (page_dual){ a.v / b.v, (a.d - a.v / b.v * b.d) / b.v };
    case POW: return (page_dual){ pow(a.v, b.v), b.v * pow(a.v, b.v - 1) * a.d };
    case AT_MOST: return (page_dual){ a.v <= b.v, 0 };
    default: return (page_dual){ a.v == b.v, 0 };
    }
}
