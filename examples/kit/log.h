/* examples/kit/log.h - the log of a run: one JSON object per line. */
#ifndef KIT_LOG_H
#define KIT_LOG_H
#include "core/tape.h"
#include "examples/kit/flags.h"

typedef struct { FILE *file; const char *path; bool go_on; } kit_log;

/* Open a log at path. With go_on the log is appended to the file; otherwise kit_log_header empties the file. path may be a pipe that has a
 * reader; when the reader stops reading, the run waits for it until Ctrl-C or SIGTERM. If path is the file that stdout or stderr goes to, the
 * records stand between the printed lines. path NULL means no log. A path that cannot be written is an error on t. Only one log can be open. */
kit_log kit_log_open(gr_tape *t, const char *path, bool go_on);
void kit_log_close(gr_tape *t, kit_log *log);

/* Empty the file unless the log goes on, and write the first record: version, all flags, CPU, instruction set, threads, BLAS, name of the data. */
void kit_log_header(gr_tape *t, const kit_log *log, const kit_flags *flags, const char *data);

/* Write a record: kit_log_write(t, &log, "step", { "arm", .text = "LN" }, { "step", 7 }, { "loss", 0.25 }). Each record is flushed, so that
 * a full disk is an error on t at once. NaN and infinity are written as null. */
typedef struct { const char *key; double number; const char *text; } kit_field; /* text NULL means that the value is number */
void kit_log_fields(gr_tape *t, const kit_log *log, const char *kind, const kit_field *field, size_t n);
#define kit_log_write(t, log, kind, ...) \
    kit_log_fields(t, log, kind, (const kit_field[]){ __VA_ARGS__ }, sizeof((const kit_field[]){ __VA_ARGS__ }) / sizeof(kit_field))

#endif
