/* examples/kit/words.c - lines and lists of words. */
#include "examples/kit/words.h"
#include <stdarg.h>
#include <string.h>

/* The length of the word at p, with the percent sign that follows a number. */
static size_t word(const char *p)
{
    const size_t n = strcspn(p, " ");
    return strncmp(p + n, " %", 2) ? n : n + 1 + strcspn(p + n + 1, " ");
}

int kit_line(const char **text, int columns)
{
    const char *const line = *text += strspn(*text, " ");
    size_t n = word(line);
    for (;;) {
        const size_t next = n + strspn(line + n, " "), end = next + word(line + next);
        if (!line[next] || end > (size_t)columns) return (int)n;
        n = end;
    }
}

void kit_wrap(FILE *out, int indent, const char *format, ...)
{
    char words[KIT_WORDS];
    const char *text = words;
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    for (int n; (n = kit_line(&text, KIT_COLUMNS - indent)) > 0; text += n) fprintf(out, "%*s%.*s\n", indent, "", n, text);
}

void kit_list_add(kit_list *l, const char *format, ...)
{
    static const char and[] = " and ", comma[] = ", ";
    char item[256];
    va_list list;
    va_start(list, format);
    vsnprintf(item, sizeof item, format, list);
    va_end(list);
    if (strlen(l->text) + strlen(and) + strlen(item) >= sizeof l->text) return;
    if (l->n > 1) {
        char *const joint = l->text + l->joint;
        memmove(joint + strlen(comma), joint + strlen(and), strlen(joint + strlen(and)) + 1);
        memcpy(joint, comma, strlen(comma));
    }
    l->joint = strlen(l->text);
    snprintf(l->text + l->joint, sizeof l->text - l->joint, "%s%s", l->n++ ? and : "", item);
}
