/* tests/page_parse.c - the parser of tests/page.h: recursive descent. A product binds more than a sum, and "sum over i of" takes the product after it. */
#include "tests/page_parts.h"
#include <stdarg.h>
#include <stdio.h>

void page_wrong(page *p, const char *format, ...)
{
    if (*p->error) return;
    const int n = snprintf(p->error, sizeof p->error, "line %d: ", p->line);
    va_list list;
    va_start(list, format);
    vsnprintf(p->error + n, sizeof p->error - (size_t)n, format, list);
    va_end(list);
}

int page_make(page *p, page_node e)
{
    if (p->nodes == NODES) return page_wrong(p, "the page is too long"), 0;
    p->node[p->nodes] = e;
    return p->nodes++;
}
void page_spaces(page *p) { while (*p->at == ' ') p->at++; }
bool page_takes(page *p, const char *token)
{
    page_spaces(p);
    const size_t n = strlen(token);
    if (strncmp(p->at, token, n) || (isalpha((unsigned char)*token) && isalnum((unsigned char)p->at[n]))) return false;
    p->at += n;
    return true;
}
void page_needs(page *p, const char *token)
{
    if (!page_takes(p, token)) page_wrong(p, "'%s' is missing before '%.20s'", token, p->at), p->at += strlen(p->at);
}

int page_name(page *p, const char *text, size_t n)
{
    for (int i = 0; i < p->names; i++)
        if (strlen(p->known[i].name) == n && !strncmp(p->known[i].name, text, n)) return i;
    if (n >= NAME || p->names == NAMES) return page_wrong(p, "too many names, or too long a name: %.*s", (int)n, text), 0;
    memcpy(p->known[p->names].name, text, n);
    return p->names++;
}

static int product(page *p);

static double slope_log(double x) { return 1 / x; }
static double slope_sqrt(double x) { return 1 / (2 * sqrt(x)); }
static double slope_tanh(double x) { return 1 - tanh(x) * tanh(x); }
static const struct { const char *name; double (*f)(double), (*slope)(double); } functions[] = {
    { "exp", exp, exp }, { "log", log, slope_log }, { "sqrt", sqrt, slope_sqrt }, { "tanh", tanh, slope_tanh }
};

static int number(page *p)
{
    char *end;
    const char *const start = p->at;
    page_node e = { .kind = NUMBER, .digits = -1 };
    size_t n = strspn(start, "0123456789");
    if (start[n] == '.' && isdigit((unsigned char)start[n + 1])) n += 1 + strspn(start + n + 1, "0123456789");
    char text[64];
    if (n >= sizeof text) return page_wrong(p, "too long a number"), 0;
    memcpy(text, start, n), text[n] = 0;
    e.value = strtod(text, &end);
    p->at += n;
    if (p->at[0] == '.' && p->at[1] == '.') {
        const char *const point = strchr(text, '.');
        e.digits = point ? (int)strlen(point + 1) : 0, p->at += 2;
    }
    return page_make(p, e);
}

static int named(page *p)
{
    const char *const start = p->at;
    while (isalnum((unsigned char)*p->at)) p->at++;
    if (p->at == start) return page_wrong(p, "'%.20s' is no expression", start), p->at += strlen(p->at), 0;
    page_node e = { .kind = NAMED, .name = page_name(p, start, (size_t)(p->at - start)) };
    if (*p->at == '_')
        for (p->at++; isalnum((unsigned char)*p->at); p->at++) {
            if (e.rank == RANK) return page_wrong(p, "more than %d subscripts", RANK), 0;
            if (isupper((unsigned char)*p->at)) return page_wrong(p, "%c is no index", *p->at), 0;
            e.sub[e.rank++] = *p->at;
        }
    if (p->at[-1] == '_' && *p->at == '{') {
        do {
            p->at++;
            if (e.rank == RANK) return page_wrong(p, "more than %d subscripts", RANK), 0;
            e.sub[e.rank] = '{', e.at[e.rank++] = page_parse(p), page_spaces(p);
        } while (*p->at == ',');
        page_needs(p, "}");
    }
    return page_make(p, e);
}

static int over(page *p, page_kind kind) /* sum over i of .. */
{
    page_needs(p, "over"), page_spaces(p);
    page_node e = { .kind = kind, .sub = { *p->at } };
    if (!islower((unsigned char)*p->at)) return page_wrong(p, "an index is one letter: '%.20s'", p->at), p->at += strlen(p->at), 0;
    p->at++;
    page_needs(p, "of");
    e.a = product(p);
    return page_make(p, e);
}

static int primary(page *p)
{
    page_spaces(p);
    if (isdigit((unsigned char)*p->at)) return number(p);
    if (page_takes(p, "[")) {
        page_node e = { .kind = EQUAL, .a = page_parse(p) };
        if (page_takes(p, "<=")) e.kind = AT_MOST;
        else page_needs(p, "=");
        e.b = page_parse(p), page_needs(p, "]");
        return page_make(p, e);
    }
    if (page_takes(p, "(")) {
        int first = page_parse(p);
        if (page_takes(p, ",")) {
            const int list = page_make(p, (page_node){ .kind = LIST, .a = first });
            for (int next, last = first; !*p->error; last = next) {
                next = page_parse(p), p->node[last].next = next;
                if (!page_takes(p, ",")) break;
            }
            first = list;
        }
        page_needs(p, ")");
        return first;
    }
    if (page_takes(p, "sum")) return over(p, SUM);
    if (page_takes(p, "max")) return over(p, MAX);
    const bool own = page_takes(p, "D");
    if (own || page_takes(p, "d")) {
        page_node e = { .kind = SLOPE, .own = own, .a = primary(p) };
        page_needs(p, "/"), page_needs(p, own ? "D" : "d"), page_spaces(p), e.b = named(p);
        if (own && p->node[e.a].kind != NAMED) page_wrong(p, "D is the derivative of a name");
        return page_make(p, e);
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (page_takes(p, functions[i].name)) {
            page_node e = { .kind = CALL, .f = functions[i].f, .slope = functions[i].slope };
            page_needs(p, "("), e.a = page_parse(p), page_needs(p, ")");
            return page_make(p, e);
        }
    return named(p);
}

static int power(page *p)
{
    if (page_takes(p, "-")) return page_make(p, (page_node){ .kind = NEG, .a = power(p) });
    int a = primary(p);
    if (page_takes(p, "^")) a = page_make(p, (page_node){ .kind = POW, .a = a, .b = primary(p) });
    return a;
}
static int product(page *p)
{
    int a = power(p);
    for (;;) {
        if (page_takes(p, "*")) a = page_make(p, (page_node){ .kind = MUL, .a = a, .b = power(p) });
        else if (page_takes(p, "/")) a = page_make(p, (page_node){ .kind = DIV, .a = a, .b = power(p) });
        else if (page_spaces(p), isalpha((unsigned char)*p->at) || *p->at == '(' || *p->at == '[')
            a = page_make(p, (page_node){ .kind = MUL, .a = a, .b = power(p) });
        else return a;
    }
}
int page_parse(page *p)
{
    int a = product(p);
    for (;;) {
        if (page_spaces(p), p->at[0] == '+' && p->at[1] == '=') return a;
        if (page_takes(p, "+")) a = page_make(p, (page_node){ .kind = ADD, .a = a, .b = product(p) });
        else if (page_takes(p, "-")) a = page_make(p, (page_node){ .kind = SUB, .a = a, .b = product(p) });
        else return a;
    }
}
