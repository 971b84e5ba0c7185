/* examples/kit/log.c - JSON lines. */
#include "examples/kit/log.h"
#include "core/op.h"
#include "examples/kit/json.h"
#include "examples/kit/program.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void fails(gr_tape *t, const kit_log *log, const char *doing)
{
    gr_fail_as(t, GR_IO_FAILED, "", "%s: cannot %s the log: %s", log->path, doing, strerror(errno));
}

/* Whether Ctrl-C ended a write that waited for the reader of a pipe. */
static bool cut_short(void) { return errno == EINTR && kit_interrupted(); }

/* With stdout > FILE and --log /dev/stdout, two separate file positions would overwrite each other. */
static bool is_the_same_file(int fd, int stream)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && fstat(stream, &b) == 0 && S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_ino; /* 0: unknown */
}

kit_log kit_log_open(gr_tape *t, const char *path, bool go_on)
{
    kit_log log = { NULL, path, go_on };
    if (!path || gr_failed(t)) return log;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | (go_on ? O_APPEND : 0), 0666);
    for (int stream = 1; stream <= 2 && fd >= 0; stream++)
        if (is_the_same_file(fd, stream)) close(fd), fd = fcntl(stream, F_DUPFD_CLOEXEC, 3), log.go_on = true;
    if (fd < 0 && errno == ENXIO) gr_fail_as(t, GR_IO_FAILED, "", "%s: cannot open the log: nobody reads this pipe", path);
    else if (fd >= 0 && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) >= 0) log.file = fdopen(fd, "w"); /* O_NONBLOCK was only for open */
    if (!log.file && !gr_failed(t)) fails(t, &log, "open");
    if (!log.file && fd >= 0) close(fd);
    kit_watch_fd(log.file ? fd : -1);
    return log;
}

void kit_log_close(gr_tape *t, kit_log *log)
{
    if (log->file && fclose(log->file) != 0 && !cut_short()) fails(t, log, "write");
    log->file = NULL;
    kit_watch_fd(-1);
}

static void end_line(gr_tape *t, const kit_log *log)
{
    fputs("}\n", log->file);
    if (fflush(log->file) != 0 && !cut_short()) fails(t, log, "write");
}

void kit_log_fields(gr_tape *t, const kit_log *log, const char *kind, const kit_field *field, size_t n)
{
    if (!log->file || gr_failed(t)) return;
    fprintf(log->file, "{\"kind\": \"%s\"", kind);
    for (size_t i = 0; i < n; i++) {
        fprintf(log->file, ", \"%s\": ", field[i].key);
        if (field[i].text) kit_json_text(log->file, field[i].text);
        else kit_json_number(log->file, field[i].number, 9);
    }
    end_line(t, log);
}

static void print_flag(FILE *out, const kit_flag *f)
{
    char word[64];
    fprintf(out, "\"%s\": ", f->name);
    switch (f->kind) {
    case KIT_SWITCH: fputs(*(bool *)f->value ? "true" : "false", out); break;
    case KIT_TEXT: kit_json_text(out, *(const char **)f->value); break;
    case KIT_COUNT: fprintf(out, "%llu", (unsigned long long)*(uint64_t *)f->value); break;
    case KIT_NUMBER: kit_json_number(out, *(double *)f->value, 9); break;
    case KIT_CHOICE: kit_json_text(out, kit_flags_choice(f, word, sizeof word)); break;
    case KIT_SHORT: break;
    }
}

void kit_log_header(gr_tape *t, const kit_log *log, const kit_flags *flags, const char *data)
{
    char cpu[128];
    if (!log->file || gr_failed(t)) return;
    FILE *const out = log->file;
    if (!log->go_on && ftruncate(fileno(out), 0) != 0 && errno != EINVAL) fails(t, log, "write"); /* EINVAL: a pipe or a device */
    fprintf(out, "{\"kind\": \"run\", \"program\": \"%s\", \"version\": \"%s\", \"flags\": {", flags->name, GR_VERSION_TEXT);
    const char *between = "";
    for (size_t i = 0; i < flags->n; i++) {
        if (flags->flag[i].kind == KIT_SHORT) continue; /* the flags that it stands for are printed */
        fputs(between, out), between = ", ";
        print_flag(out, &flags->flag[i]);
    }
    fprintf(out, "}, \"data\": ");
    kit_json_text(out, data);
    fprintf(out, ", \"cpu\": ");
    kit_json_text(out, kit_cpu(cpu, sizeof cpu));
    fprintf(out, ", \"isa\": \"%s\", \"threads\": %d, \"blas\": \"%s\"", gr_tape_isa(t), gr_tape_threads(t), KIT_BLAS);
    end_line(t, log);
}
