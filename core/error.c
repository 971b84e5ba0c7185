/* core/error.c - the error of a tape. */
#include "core/internal.h"

gr__failure *gr__tape_failure(gr_tape *t) { return t ? &t->failure : NULL; }

void *gr_fail(gr_tape *t, const gr_op *op, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    gr__fail_with(gr__tape_failure(t), GR_MISUSE, op ? op->name : "", t ? t->place : NULL, format, arguments);
    va_end(arguments);
    return NULL;
}

void *gr_fail_as(gr_tape *t, gr_error code, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    gr__fail_with(gr__tape_failure(t), code, name, t ? t->place : NULL, format, arguments);
    va_end(arguments);
    return NULL;
}

bool gr_failed(const gr_tape *t) { return !t || t->failure.code; }
gr_error gr_error_code(const gr_tape *t) { return t ? t->failure.code : GR_NO_MEMORY; }
const char *gr_message(const gr_tape *t)
{
    return t ? t->failure.message : "there is no tape: gr_tape_new returned NULL, because there is not enough memory, or the header does not "
                                    "match the library (GR_REAL_DOUBLE, GR_VERSION)";
}
