/* tests/wellformed.h - strict checks that a text is JSON or XML. They return the place of the first error, or NULL. */
#ifndef GR_TEST_WELLFORMED_H
#define GR_TEST_WELLFORMED_H
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- JSON: each function reads one item at *s and moves past it, or returns false ---- */

static inline bool json_value(const char **s);
static inline void json_space(const char **s) { *s += strspn(*s, " \n"); }

static inline bool takes_char(const char **s, char c) { return **s == c && (++*s, true); }

static inline bool json_string(const char **s)
{
    if (!takes_char(s, '"')) return false;
    for (; **s != '"'; ++*s) {
        if (**s < 0x20 || **s == 0x7f) return false; /* plain ASCII only: other bytes are negative, control characters must be escaped */
        if (**s != '\\') continue;
        const char c = *++*s;
        if (!c || !strchr("\"\\u", c)) return false;
        for (int i = 0; c == 'u' && i < 4; i++)
            if (!isxdigit((unsigned char)*++*s)) return false;
    }
    return ++*s, true;
}

static inline bool json_number(const char **s)
{
    const char *const from = *s;
    *s += **s == '-';
    size_t n = strspn(*s, "0123456789");
    if (!n || (n > 1 && **s == '0')) return false;
    *s += n;
    if (**s == '.') {
        if (!(n = strspn(++*s, "0123456789"))) return false;
        *s += n;
    }
    if (**s == 'e') {
        *s += 1 + (strchr("+-", (*s)[1]) != NULL);
        if (!(n = strspn(*s, "0123456789"))) return false;
        *s += n;
    }
    return *s > from;
}

static inline bool json_members(const char **s, char end)
{
    ++*s, json_space(s);
    if (**s == end) return ++*s, true;
    for (;; ++*s) {
        json_space(s);
        if (end == '}') {
            if (!json_string(s)) return false;
            if (json_space(s), !takes_char(s, ':')) return false;
        }
        if (!json_value(s)) return false;
        if (json_space(s), **s == end) return ++*s, true;
        if (**s != ',') return false;
    }
}

static inline bool json_value(const char **s)
{
    json_space(s);
    if (**s == '{') return json_members(s, '}');
    if (**s == '[') return json_members(s, ']');
    if (**s == '"') return json_string(s);
    static const char *const word[] = { "null", "true", "false" };
    for (int i = 0; i < 3; i++)
        if (!strncmp(*s, word[i], strlen(word[i]))) return *s += strlen(word[i]), true;
    return json_number(s);
}

static inline const char *not_json(const char *text)
{
    const char *s = text;
    if (!json_value(&s)) return *s ? s : "the end";
    return json_space(&s), *s ? s : NULL;
}

/* ---- XML: elements closed in turn, attributes quoted and of different names, entities known; no comments ---- */

static inline const char *not_xml_text(const char *s, const char *end)
{
    static const char *const entity[] = { "&amp;", "&lt;", "&gt;", "&quot;" };
    for (; s < end; s++) {
        bool known = *s != '&';
        for (int i = 0; i < 4; i++) known |= !strncmp(s, entity[i], strlen(entity[i]));
        if (!known || ((unsigned char)*s < 0x20 && *s != '\n' && *s != '\t')) return s;
    }
    return NULL;
}

static inline const char *not_xml(const char *s)
{
    const char *open[64];
    size_t depth = 0, n;
    for (bool any = false; *s; any = true) {
        const char *const less = s + strcspn(s, "<"), *const bad = not_xml_text(s, less);
        if (bad) return bad;
        if (!*less) break;
        if (any && !depth) return less; /* a second root */
        s = less + 1;
        const bool closes = *s == '/';
        s += closes, n = strspn(s, "abcdefghijklmnopqrstuvwxyz");
        if (!n || depth == 64) return s;
        if (closes && (!depth || strncmp(open[--depth], s, n) || isalpha((unsigned char)open[depth][n]))) return s;
        if (!closes) open[depth++] = s;
        for (s += n; *s == ' ';) {
            s++, s += strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-");
            if (!takes_char(&s, '=') || !takes_char(&s, '"')) return s;
            const char *const quote = s + strcspn(s, "\"<");
            if (*quote != '"' || not_xml_text(s, quote)) return s;
            s = quote + 1;
        }
        if (*s == '/' && !closes) depth--, s++;
        if (!takes_char(&s, '>')) return s;
    }
    return depth ? "the end" : NULL;
}

/* Find nan or inf where a number should stand; NULL if there is none. */
static inline const char *no_number(const char *svg)
{
    for (const char *s = svg; *s; s++)
        if ((!strncmp(s, "nan", 3) || !strncmp(s, "inf", 3)) && s > svg && strchr(" \",MLhvHV(-", s[-1])) return s;
    return NULL;
}
#endif
