/* examples/kit/kit_log.c - JSON lines. */
#include "examples/kit/kit_log.h"
#include "core/op.h"
#include "examples/kit/kit_program.h"
#include <errno.h>
#include <math.h>
#include <string.h>

static void fails(gr_tape *t, const kit_log *log, const char *doing)
{
    gr_fail_as(t, GR_IO_FAILED, "", "%s: cannot %s the log: %s", log->path, doing, strerror(errno));
}

kit_log kit_log_open(gr_tape *t, const char *path, bool go_on)
{
    kit_log log = { NULL, path };
    if (!path || gr_failed(t)) return log;
    log.file = fopen(path, go_on ? "ae" : "we");
    if (!log.file) fails(t, &log, "open");
    return log;
}

void kit_log_close(gr_tape *t, kit_log *log)
{
    if (log->file && fclose(log->file) != 0) fails(t, log, "write");
    log->file = NULL;
}

/* ---- JSON ---- */

/* Bytes of the UTF-8 character at s, 0 when it is none: a file name may hold anything. */
static size_t utf8(const unsigned char *s)
{
    static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    unsigned code = n > 1 ? s[0] & (0x7fu >> n) : s[0];
    for (size_t i = 1; i < n; i++) {
        if (s[i] >> 6 != 2) return 0;
        code = code << 6 | (s[i] & 63);
    }
    return n > 1 && (code < least[n] || code > 0x10ffff || code >> 11 == 27) ? 0 : n;
}

void kit_log_text(FILE *out, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    fputc('"', out);
    while (*s) {
        const size_t n = utf8(s);
        if (*s == '"' || *s == '\\') fprintf(out, "\\%c", *s);
        else if (*s < 0x20 || n == 0) fprintf(out, "\\u%04x", *s);
        else fwrite(s, 1, n, out);
        s += n ? n : 1;
    }
    fputc('"', out);
}

void kit_log_number(FILE *out, double v)
{
    if (!isfinite(v)) fputs("null", out);
    else fprintf(out, v == floor(v) && fabs(v) < 0x1p53 ? "%.0f" : "%.9g", v);
}

static void end_line(gr_tape *t, const kit_log *log)
{
    fputs("}\n", log->file);
    if (fflush(log->file) != 0) fails(t, log, "write");
}

void kit_log_fields(gr_tape *t, const kit_log *log, const char *kind, const kit_field *field, size_t n)
{
    if (!log->file || gr_failed(t)) return;
    fprintf(log->file, "{\"kind\": \"%s\"", kind);
    for (size_t i = 0; i < n; i++) {
        fprintf(log->file, ", \"%s\": ", field[i].key);
        if (field[i].text) kit_log_text(log->file, field[i].text);
        else kit_log_number(log->file, field[i].number);
    }
    end_line(t, log);
}

static void print_flag(FILE *out, const kit_flag *f)
{
    char word[64];
    const char *const text = f->kind == KIT_TEXT ? *(const char **)f->value : NULL;
    fprintf(out, "\"%s\": ", f->name);
    switch (f->kind) {
    case KIT_SWITCH: fputs(*(bool *)f->value ? "true" : "false", out); break;
    case KIT_TEXT:
        if (text) kit_log_text(out, text);
        else fputs("null", out);
        break;
    case KIT_COUNT: fprintf(out, "%llu", (unsigned long long)*(uint64_t *)f->value); break;
    case KIT_NUMBER: kit_log_number(out, *(double *)f->value); break;
    case KIT_CHOICE: kit_log_text(out, kit_flags_choice(f, word, sizeof word)); break;
    }
}

void kit_log_header(gr_tape *t, const kit_log *log, const kit_flags *flags, const char *data)
{
    char cpu[128];
    if (!log->file || gr_failed(t)) return;
    FILE *const out = log->file;
    fprintf(out, "{\"kind\": \"run\", \"program\": \"%s\", \"version\": \"%s\", \"flags\": {", flags->name, GR_VERSION_TEXT);
    for (size_t i = 0; i < flags->n; i++) {
        if (i) fputs(", ", out);
        print_flag(out, &flags->flag[i]);
    }
    fprintf(out, "}, \"data\": ");
    kit_log_text(out, data);
    fprintf(out, ", \"cpu\": ");
    kit_log_text(out, kit_cpu(cpu, sizeof cpu));
    fprintf(out, ", \"isa\": \"%s\", \"threads\": %d, \"blas\": \"%s\"", gr_tape_isa(t), gr_tape_threads(t), KIT_BLAS);
    end_line(t, log);
}
