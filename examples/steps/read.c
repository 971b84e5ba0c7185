/* examples/steps/read.c - the text of a graph.
 *
 *     text      name = sum; name = sum; ..
 *     sum       products with + or - between them
 *     product   factors with * or / between them
 *     factor    a number, a name, - factor, (sum), or a function (sum)
 *
 * A sum is one number, or has a name in it: 1/3 would be a result that gets no gradient, under a name that looks like a parameter. */
#include "examples/steps/steps.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 20 }; /* the most parentheses and signs that are open at once */
#define BLANKS " \t\n"
#define DIGITS "0123456789"
#define FUNCTIONS "square sqrt exp log tanh sigmoid relu sin cos"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

/* Every function that reads a value returns its place in the graph, or -1 after an error. */

typedef struct { gr_tape *t; const char *text, *at; steps_graph *g; int depth; } reader;

static int refuse(const reader *r, const char *format, ...) __attribute__((format(GR_PRINTF, 2, 3)));
static int refuse(const reader *r, const char *format, ...)
{
    char why[320];
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    return gr_fail_as(r->t, GR_MISUSE, "", "--expression, character %zu: %s", (size_t)(r->at - r->text) + 1, why), -1;
}

static bool take(reader *r, char c)
{
    r->at += strspn(r->at, BLANKS);
    return *r->at == c && c && r->at++;
}

/* The length of the name that begins here, 0 for none. */
static size_t name_here(reader *r)
{
    r->at += strspn(r->at, BLANKS);
    return strspn(r->at, DIGITS) ? 0 : strspn(r->at, LETTERS DIGITS);
}

static int find(const reader *r, size_t length)
{
    for (int i = 0; i < r->g->n; i++)
        if (strlen(r->g->v[i].name) == length && !strncmp(r->g->v[i].name, r->at, length)) return i;
    return -1;
}

static int add(reader *r, steps_value v)
{
    steps_graph *const g = r->g;
    if (g->n == STEPS_VALUES) return refuse(r, "a graph has at most 48 numbers and results");
    if (v.op) v.node = ++g->nodes, snprintf(v.name, sizeof v.name, "#%d", v.node);
    else snprintf(v.name, sizeof v.name, "%.9g", v.value);
    g->v[g->n] = v;
    return g->n++;
}

static int apply(reader *r, const steps_op *op, int a, int b)
{
    if (a < 0 || (op->two && b < 0)) return -1;
    return add(r, (steps_value){ .op = op, .in = { a, b }, .wants = r->g->v[a].wants || (b >= 0 && r->g->v[b].wants) });
}

static int sum(reader *r);

static int number(reader *r, double sign)
{
    char *end;
    const double v = strtod(r->at, &end);
    if (end == r->at || (r->at[0] == '0' && strchr("xX", r->at[1]) && r->at[1])) return refuse(r, "a number is decimal, as in 0.25 or 1e-3");
    if (!(fabs(v) <= 1e6)) return refuse(r, "a number must be from -1e6 to 1e6");
    r->at = end;
    return add(r, (steps_value){ .in = { -1, -1 }, .value = sign * v });
}

static int in_parentheses(reader *r)
{
    const int a = sum(r);
    return a >= 0 && !take(r, ')') ? refuse(r, "')' was expected") : a;
}

static int named(reader *r, size_t length)
{
    const int i = find(r, length);
    const steps_op *const op = steps_function(r->at, length);
    if (i < 0 && !op) return refuse(r, "no number, result or function has the name %.*s; the functions are " FUNCTIONS, (int)length, r->at);
    r->at += length;
    if (i >= 0) return i;
    return take(r, '(') ? apply(r, op, in_parentheses(r), -1) : refuse(r, "'(' was expected after %s", op->name);
}

static int factor(reader *r);
static int factor_of_any_kind(reader *r)
{
    const size_t length = name_here(r);
    const bool negative = take(r, '-');
    r->at += strspn(r->at, BLANKS);
    if (*r->at && strchr(DIGITS ".", *r->at)) return number(r, negative ? -1 : 1);
    if (negative) return apply(r, steps_function("-", 1), factor(r), -1);
    if (length) return named(r, length);
    return take(r, '(') ? in_parentheses(r) : refuse(r, "a number, a name or '(' was expected");
}

static int factor(reader *r)
{
    if (r->depth > DEPTH) return refuse(r, "more than 20 parentheses and signs are open");
    r->depth++;
    const int a = factor_of_any_kind(r);
    r->depth--;
    return a;
}

static int product(reader *r)
{
    int a = factor(r);
    for (char c; a >= 0 && (c = take(r, '*') ? '*' : take(r, '/') ? '/' : 0) != 0;) a = apply(r, steps_infix(c), a, factor(r));
    return a;
}

static int sum(reader *r)
{
    int a = product(r);
    for (char c; a >= 0 && (c = take(r, '+') ? '+' : take(r, '-') ? '-' : 0) != 0;) a = apply(r, steps_infix(c), a, product(r));
    return a;
}

static bool statement(reader *r)
{
    const size_t length = name_here(r);
    const char *const name = r->at;
    if (!length) return refuse(r, "a name was expected"), false;
    if (length >= STEPS_NAME) return refuse(r, "a name has at most 15 characters; this one is %.*s", (int)length, name), false;
    if (find(r, length) >= 0) return refuse(r, "there is a number or result already with the name %.*s", (int)length, name), false;
    if (steps_function(name, length)) return refuse(r, "a function has the name %.*s", (int)length, name), false;
    r->at += length;
    if (!take(r, '=')) return refuse(r, "'=' was expected after %.*s", (int)length, name), false;
    const char *const right = r->at + strspn(r->at, BLANKS);
    const int before = r->g->n, i = sum(r);
    int letters = (int)(r->at - right);
    if (i < 0) return false;
    if (!take(r, ';') && *r->at) {
        int bytes = 1; /* of the character in UTF-8 */
        while ((r->at[bytes] & 0xC0) == 0x80) bytes++;
        return refuse(r, "+ - * / or ';' was expected, not %.*s; the functions are " FUNCTIONS, bytes, r->at), false;
    }
    if (i < before) return refuse(r, "the right side was only a name: write a number or an operator"), false;
    if (r->g->v[i].op && !r->g->v[i].wants) {
        while (strchr(BLANKS, right[letters - 1])) letters--;
        r->at = right;
        return refuse(r, "%.*s is neither one number, as in a = 0.25, nor computed from a name, as in b = a / 3; %.*s must be one of the two",
                      letters < 60 ? letters : 60, right, (int)length, name), false;
    }
    snprintf(r->g->v[i].name, STEPS_NAME, "%.*s", (int)length, name);
    r->g->v[i].wants |= !r->g->v[i].op;
    r->at += strspn(r->at, BLANKS);
    return true;
}

bool steps_read(gr_tape *t, const char *text, steps_graph *g)
{
    reader r = { t, text, text, g, 0 };
    memset(g, 0, sizeof *g);
    while (*r.at || !g->n)
        if (!statement(&r)) return false;
    const steps_value *const last = &g->v[g->n - 1];
    return last->op ||
           (refuse(&r, "the last name is the loss and must be computed from another name; %s is only a number", last->name), false);
}
