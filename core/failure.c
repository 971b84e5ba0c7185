/* core/failure.c - keep the first error. */
#include "core/base.h"
#include "core/locale.h"

void *gr__fail_with(gr__failure *e, gr_error code, const char *name, const char *place, const char *format, va_list arguments)
{
    if (gr__has_failed(e)) return NULL;
    GR__C_LOCALE;
    e->code = code;
    if (!name) name = "";
    char text[sizeof e->message];
    const bool placed = *name && place && *place;
    const int head = snprintf(text, sizeof text, "%s%s%s%s", name, placed ? " in " : "", placed ? place : "", *name ? ": " : "");
    if (head >= 0 && (size_t)head < sizeof text) vsnprintf(text + head, sizeof text - (size_t)head, format, arguments);
    gr__text_for_terminal(e->message, sizeof e->message, text);
    return NULL;
}

void *gr__fail(gr__failure *e, gr_error code, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    gr__fail_with(e, code, name, NULL, format, arguments);
    va_end(arguments);
    return NULL;
}
