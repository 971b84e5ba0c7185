/* tests/page.c - the equations of a page, and the reader that finds them. */
#include "tests/page_parts.h"
#include <stdio.h>

/* ---- Equations ---- */

static unsigned free_indices(const page *p, int at) /* a bit for each letter */
{
    const page_node *const e = &p->node[at];
    unsigned bits = 0;
    if (e->kind == NUMBER) return 0;
    if (e->kind == NAMED) {
        const char *const name = p->known[e->name].name;
        for (int i = 0; i < e->rank; i++)
            if (e->sub[i] == '{') bits |= free_indices(p, e->at[i]);
            else bits |= islower((unsigned char)e->sub[i]) ? 1u << (e->sub[i] - 'a') : 0;
        if (!e->rank && !name[1] && islower((unsigned char)*name) && p->declared[*name - 'a']) bits |= 1u << (*name - 'a');
        return bits;
    }
    if (e->kind == LIST)
        for (int i = e->a; i; i = p->node[i].next) bits |= free_indices(p, i);
    else bits = free_indices(p, e->a) | (e->b ? free_indices(p, e->b) : 0);
    if (e->kind == SUM || e->kind == MAX) bits &= ~(1u << (e->sub[0] - 'a'));
    return bits;
}

/* The element of a list, or the list itself where it is a name. */
static int leaf(const page *p, int at, const int *axes, int rank)
{
    for (int r = 0; r < rank && p->node[at].kind == LIST; r++) {
        int i = p->node[at].a;
        for (int k = axes[r]; k > 0; k--) i = p->node[i].next;
        at = i;
    }
    return at;
}

static bool has_name(const page *p, int at)
{
    const page_node *const e = &p->node[at];
    if (e->kind == NUMBER || !at) return false;
    if (e->kind == LIST) {
        int i = e->a;
        while (i && !has_name(p, i)) i = p->node[i].next;
        return i;
    }
    return e->kind == NAMED || has_name(p, e->a) || has_name(p, e->b);
}

/* Add a random number in -1/4 .. 1/4 to each number of a list. */
static void vary(page *p, int list)
{
    for (int i = p->node[list].a; i; i = p->node[i].next)
        if (p->node[i].kind == LIST) vary(p, i);
        else {
            p->vary ^= p->vary << 13, p->vary ^= p->vary >> 17, p->vary ^= p->vary << 5;
            page_node sum = { .kind = ADD, .next = p->node[i].next };
            sum.a = page_make(p, p->node[i]);
            sum.b = page_make(p, (page_node){ .kind = NUMBER, .digits = -1, .value = (p->vary >> 8) / 33554432.0 - 0.25 });
            p->node[i] = sum;
        }
}

static void compare_at(page *p, int left, int right, const int *axes, int rank)
{
    if (p->vary && (!has_name(p, left) || !has_name(p, right))) return;
    const double a = page_eval(p, left, axes, rank).v, b = page_eval(p, right, axes, rank).v;
    if (*p->error) return;
    int end = leaf(p, right, axes, rank);
    const double sign = p->node[end].kind == NEG ? -1 : 1;
    if (sign < 0) end = p->node[end].a;
    const int digits = p->node[end].kind == NUMBER ? p->node[end].digits : -1;
    const double limit = 1e-12 * fmax(1, fmax(fabs(a), fabs(b))), beyond = sign * (a - b);
    if (isfinite(a) && isfinite(b) && (digits >= 0 ? beyond >= -limit && beyond < pow(10, -digits) : fabs(a - b) <= limit)) return;
    page_wrong(p, "%.15g is not %.15g", a, b);
    for (size_t n = strlen(p->error), i = 0; i < 26 && n + 20 < sizeof p->error; i++, n = strlen(p->error))
        if (p->declared[i]) snprintf(p->error + n, sizeof p->error - n, ", %c = %d", (int)('a' + i), p->now[i]);
}

static void compare_elements(page *p, int left, int right, const int *size, int *axes, int rank, int done)
{
    if (done == rank) compare_at(p, left, right, axes, rank);
    else
        for (axes[done] = 0; axes[done] < size[done] && !*p->error; axes[done]++) compare_elements(p, left, right, size, axes, rank, done + 1);
}

static void compare(page *p, int left, int right, unsigned indices)
{
    int c = 0, size[2 * RANK] = { 0 }, other[2 * RANK] = { 0 }, axes[2 * RANK] = { 0 };
    while (c < 26 && !(indices >> c & 1)) c++;
    if (c < 26) {
        if (!p->declared[c]) page_wrong(p, "the index %c has no range", 'a' + c);
        for (p->now[c] = p->low[c]; p->now[c] <= p->high[c] && !*p->error; p->now[c]++) compare(p, left, right, indices & ~(1u << c));
        return;
    }
    const int rank = page_sizes(p, left, size);
    if (rank != page_sizes(p, right, other) || memcmp(size, other, sizeof size)) page_wrong(p, "the sides have different shapes");
    compare_elements(p, left, right, size, axes, rank, 0);
}

static int frozen(page *p, int at, const int *size, int *axes, int rank, int done) /* the values of now */
{
    if (done == rank) return page_make(p, (page_node){ .kind = NUMBER, .value = page_eval(p, at, axes, rank).v, .digits = -1 });
    const int list = page_make(p, (page_node){ .kind = LIST });
    for (int i = 0, last = 0; i < size[done]; i++) {
        axes[done] = i;
        const int element = frozen(p, at, size, axes, rank, done + 1);
        if (i) p->node[last].next = element;
        else p->node[list].a = element;
        last = element;
    }
    return list;
}

/* name_ij: from now on its value is the page_node `by`. With add it is what the name was plus that. */
static void define(page *p, int left, int by, bool add)
{
    const page_node *const e = &p->node[left];
    page_definition *const k = &p->known[e->name];
    const unsigned loose = free_indices(p, by) & ~free_indices(p, left);
    if (loose) page_wrong(p, "%s is defined with an index that it lacks", k->name);
    if (add) {
        int size[2 * RANK] = { 0 }, axes[2 * RANK] = { 0 };
        page_definition *const sum = &p->known[page_name(p, "+", 1)];
        if (!k->cases) page_wrong(p, "%s has no value yet: begin with 0", k->name);
        sum->cases = 1, sum->of->tree = page_make(p, (page_node){ .kind = ADD, .a = left, .b = by });
        memcpy(sum->of->index, e->sub, sizeof sum->of->index);
        const int whole = page_make(p, (page_node){ .kind = NAMED, .name = page_name(p, "+", 1) });
        by = frozen(p, whole, size, axes, page_sizes(p, whole, size), 0);
        k->cases = 0, k->of->tree = by;
    } else if (k->cases == CASES || strchr(e->sub, '{')) page_wrong(p, "%s cannot be defined like this", k->name);
    for (int i = 0; i < k->cases && !add; i++) /* the parts of single elements come first */
        for (const char *a = k->of[i].index, *b = e->sub; *a && *b; a++, b++)
            if (islower((unsigned char)*a) && isdigit((unsigned char)*b)) page_wrong(p, "%s has no element %c", k->name, *b);
    page_case *const c = &k->of[k->cases < CASES ? k->cases++ : 0];
    memset(c->index, 0, sizeof c->index);
    if (!add) memcpy(c->index, e->sub, sizeof c->index);
    if (p->vary && !add && p->node[by].kind == LIST && !has_name(p, by)) vary(p, by);
    c->tree = by, p->stamp[0]++;
}

/* Whether a part of a definition has any of the elements of a name. */
static bool is_defined(const page *p, const page_node *e)
{
    const page_definition *const k = &p->known[e->name];
    for (int c = 0; c < k->cases; c++) {
        bool has = true;
        for (const char *a = k->of[c].index, *b = e->sub; *a && *b && *b != '{'; a++, b++) {
            const bool digit = isdigit((unsigned char)*a), other = isdigit((unsigned char)*b);
            const int low = digit ? *a - '0' : p->low[*a - 'a'], high = digit ? low : p->high[*a - 'a'];
            has &= other ? *b - '0' >= low && *b - '0' <= high : p->low[*b - 'a'] <= high && p->high[*b - 'a'] >= low;
        }
        if (has) return true;
    }
    return false;
}

static void end_paragraph(page *p)
{
    const int line = p->line;
    for (int i = 0; i < p->laters && !*p->error; i++) {
        const int left = p->later[i][1], right = p->later[i][2];
        p->line = p->later[i][0];
        compare(p, left, right, free_indices(p, left) | free_indices(p, right));
    }
    p->line = line, p->laters = 0;
}

/* An equation of any number of sides, or a range. One that begins with = goes on from the last side before it. */
static void statement(page *p, const char *text, size_t n)
{
    char copy[512], index;
    int low, high, end = 0;
    if (n >= sizeof copy) {
        page_wrong(p, "too long an equation");
        return;
    }
    memcpy(copy, text, n), copy[n] = 0;
    p->at = copy, page_spaces(p);
    if (sscanf(p->at, "%c = %d .. %d%n", &index, &low, &high, &end) == 3 && !p->at[end] && islower((unsigned char)index)) {
        const int c = index - 'a';
        if (p->declared[c] && (p->low[c] != low || p->high[c] != high)) page_wrong(p, "the index %c has another range", index);
        p->declared[c] = true, p->low[c] = low, p->high[c] = high;
        return;
    }
    int left = *p->at == '=' ? p->last : page_parse(p);
    if (page_takes(p, "+=")) {
        const int by = page_parse(p);
        end_paragraph(p);
        if (!*p->error) define(p, left, by, true);
        left = p->last = by;
    } else if (!left || *p->at != '=') page_wrong(p, "no equation: %s", copy);
    for (page_spaces(p); *p->at && !*p->error; page_spaces(p)) {
        page_needs(p, "=");
        const int right = page_parse(p);
        page_spaces(p);
        if (*p->at && *p->at != '=') page_needs(p, "=");
        if (*p->error) return;
        if (p->node[left].kind == NAMED && !is_defined(p, &p->node[left])) {
            define(p, left, right, false);
            if (p->laters == LATER) page_wrong(p, "a paragraph with too many definitions");
            else memcpy(p->later[p->laters++], (int[]){ p->line, left, right }, sizeof *p->later);
        } else {
            p->equations += !p->vary || (has_name(p, left) && has_name(p, right));
            compare(p, left, right, free_indices(p, left) | free_indices(p, right));
        }
        left = p->last = right;
    }
}

/* ---- Pages ---- */

static void equations(page *p, const char *text, size_t n)
{
    for (const char *end = text + n; text < end && !*p->error;) {
        while (text < end && *text == ' ') text++;
        const char *stop = text;
        while (stop < end && *stop != '#' && (stop + 3 > end || strncmp(stop, "   ", 3) || stop[strspn(stop, " ")] == '=')) stop++;
        if (stop > text) statement(p, text, (size_t)(stop - text));
        if (stop < end && *stop == '#') {
            for (; stop < end; stop++)
                if (isdigit((unsigned char)*stop)) page_wrong(p, "a digit in a remark");
        }
        text = stop;
    }
}

static bool starts_number(const char *text, const char *at) /* a digit that belongs to no name, such as p_1 */
{
    return isdigit((unsigned char)*at) && (at == text || (at[-1] != '_' && !isalnum((unsigned char)at[-1])));
}

static void prose(page *p, const char *text, size_t n)
{
    const size_t item = strspn(text, "0123456789"); /* the number of a list's item */
    for (const char *end = text + n, *at = text[item] == '.' ? text + item : text; at < end && !*p->error; at++) {
        if (starts_number(text, at)) page_wrong(p, "a number that no equation computes: %.*s", (int)(end - at < 20 ? end - at : 20), at);
        const char *close = NULL;
        if (*at == ']' && at + 1 < end && at[1] == '(') close = memchr(at, ')', (size_t)(end - at));
        if (*at == '`' && (close = memchr(at + 1, '`', (size_t)(end - at - 1)))) {
            bool equation = false;
            for (const char *c = at, *open = NULL; c + 3 <= close; c++) { /* an = in brackets is none */
                open = *c == '[' ? c : *c == ']' ? NULL : open;
                equation |= !open && !strncmp(c, " = ", 3);
            }
            if (equation) equations(p, at + 1, (size_t)(close - at - 1));
            else
                for (const char *c = at + 1; c < close; c++)
                    if (starts_number(at, c)) page_wrong(p, "a number that no equation computes: %.*s", (int)(close - c), c);
        }
        if (close) at = close;
    }
}

const char *page_read(page *p, const char *text)
{
    bool block = false;
    for (p->line = 1; *text && !*p->error; p->line++) {
        const size_t n = strcspn(text, "\n");
        if (n < 4 || strncmp(text, "    ", 4)) end_paragraph(p);
        if (n >= 3 && !strncmp(text, "```", 3)) block = !block;
        else if (!block && n >= 4 && !strncmp(text, "    ", 4)) equations(p, text + 4, n - 4);
        else if (!block) prose(p, text, n);
        text += n + (text[n] == '\n');
    }
    end_paragraph(p);
    return *p->error ? p->error : NULL;
}

double page_value(page *p, const char *text)
{
    p->at = text;
    const int e = page_parse(p);
    return *p->error ? (double)NAN : page_eval(p, e, NULL, 0).v;
}
void page_vary(page *p, unsigned seed) { p->vary = seed; }
size_t page_equations(const page *p) { return p->equations; }

page *page_new(void)
{
    page *p = calloc(1, sizeof *p);
    if (p) p->seed = -1, p->nodes = 1, p->stamp[0] = 1; /* node 0 is none */
    return p;
}
void page_free(page *p) { free(p); }
