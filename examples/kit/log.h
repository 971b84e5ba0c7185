/* examples/kit/log.h - the record of a run: one JSON object a line. */
#ifndef KIT_LOG_H
#define KIT_LOG_H
#include "core/tape.h"
#include "examples/kit/flags.h"

typedef struct { FILE *file; const char *path; bool go_on; } kit_log;

/* Open path, to start it anew with kit_log_header or to go on at its end. It may be anything that can be written: a pipe has a reader then,
 * and a reader that stands still stops the run until Ctrl-C or SIGTERM. The file that stdout or stderr goes to gets the records in between. path NULL: a log that keeps nothing. That it cannot be written is an
 * error on t. One log is open at a time. */
kit_log kit_log_open(gr_tape *t, const char *path, bool go_on);
void kit_log_close(gr_tape *t, kit_log *log);

/* What was in the file goes, unless the log goes on. Then the first record: version, all flags, CPU, instruction set, threads, BLAS, and the name of the data. */
void kit_log_header(gr_tape *t, const kit_log *log, const kit_flags *flags, const char *data);

/* A record of numbers and texts: kit_log_write(t, &log, "step", { "arm", .text = "LN" }, { "step", 7 }, { "loss", 0.25 }). Each is flushed,
 * so that a full disk shows at once, as an error on t. A number that is not finite becomes null. */
typedef struct { const char *key; double number; const char *text; } kit_field; /* text NULL: the number */
void kit_log_fields(gr_tape *t, const kit_log *log, const char *kind, const kit_field *field, size_t n);
#define kit_log_write(t, log, kind, ...) \
    kit_log_fields(t, log, kind, (const kit_field[]){ __VA_ARGS__ }, sizeof((const kit_field[]){ __VA_ARGS__ }) / sizeof(kit_field))

#endif
