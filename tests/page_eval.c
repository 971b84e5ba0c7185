/* tests/page_eval.c - the evaluator of tests/page.h: dual numbers, a value and its derivative. */
#include "tests/page_parts.h"

static int length(const page *p, int list)
{
    int n = 0;
    for (int i = p->node[list].a; i; i = p->node[i].next) n++;
    return n;
}

int page_sizes(const page *p, int at, int *size)
{
    const page_node *const e = &p->node[at];
    int n = 0;
    if (e->kind == LIST) {
        size[n++] = length(p, at);
        return n < RANK ? n + page_sizes(p, e->a, size + n) : n;
    }
    if (e->kind == NUMBER || e->kind == SUM || e->kind == MAX || e->kind == EQUAL) return 0;
    if (e->kind == SLOPE) return n = page_sizes(p, e->a, size), n + page_sizes(p, e->b, size + n);
    if (e->kind != NAMED) {
        n = page_sizes(p, e->a, size);
        return n || !e->b ? n : page_sizes(p, e->b, size);
    }
    const page_definition *const k = &p->known[e->name];
    int all[3 * RANK] = { 0 };
    if (!k->definition) return 0;
    for (const char *c = k->index; *c; c++) all[n++] = p->high[*c - 'a'] - p->low[*c - 'a'] + 1;
    n += page_sizes(p, k->definition, all + n);
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

static page_dual eval_named(page *p, const page_node *e, const int *axes, int rank)
{
    const page_definition *const k = &p->known[e->name];
    int at[2 * RANK] = { 0 }, n = 0;
    if (!k->name[1] && islower((unsigned char)*k->name) && p->declared[*k->name - 'a'] && !e->rank) return (page_dual){ p->now[*k->name - 'a'], 0 };
    if (!k->definition) return page_wrong(p, "%s is not defined", k->name), (page_dual){ NAN, NAN };
    for (int i = 0; i < e->rank; i++) at[n++] = isdigit((unsigned char)e->sub[i]) ? e->sub[i] - '0' : p->now[e->sub[i] - 'a'];
    for (int i = 0; i < rank && n < RANK; i++) at[n++] = axes[i];
    int before[26];
    memcpy(before, p->now, sizeof before);
    const int seed = p->seed, depth = p->depth;
    if (seed == e->name || depth > 1) p->seed = -1; /* the value alone */
    if (p->depth) p->depth++;
    const int indices = (int)strlen(k->index);
    if (indices > n) page_wrong(p, "%s needs %d indices", k->name, indices);
    for (int i = 0; i < indices; i++) p->now[k->index[i] - 'a'] = at[i];
    page_dual y = *p->error ? (page_dual){ NAN, NAN } : page_eval(p, k->definition, at + indices, n - indices);
    memcpy(p->now, before, sizeof before);
    p->seed = seed, p->depth = depth;
    if (seed == -1 || depth > 1) y.d = 0;
    if (seed == e->name) y.d = !memcmp(at, p->seed_at, (size_t)n * sizeof *at);
    return y;
}

/* The numerator may be a vector or a matrix, and so may the denominator: the first axes are the numerator's. */
static page_dual eval_slope(page *p, const page_node *e, const int *axes, int rank)
{
    const page_node *const x = &p->node[e->b];
    int size[2 * RANK], n = x->rank;
    const int above = page_sizes(p, e->a, size);
    if (p->seed >= 0) return page_wrong(p, "a derivative of a derivative"), (page_dual){ NAN, NAN };
    for (int i = 0; i < n; i++) p->seed_at[i] = isdigit((unsigned char)x->sub[i]) ? x->sub[i] - '0' : p->now[x->sub[i] - 'a'];
    for (int i = above; i < rank && n < RANK; i++) p->seed_at[n++] = axes[i];
    eval_named(p, x, axes + above, rank - above); /* it must have a definition, and all its indices */
    p->seed = x->name, p->depth = e->own;
    const page_dual y = page_eval(p, e->a, axes, above);
    p->seed = -1, p->depth = 0;
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
    default: return (page_dual){ a.v == b.v, 0 };
    }
}
