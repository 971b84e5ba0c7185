/* examples/plot/runs.c - runs.jsonl: writing it, and a strict reader that accepts only what we write and restores every bit. */
#include "examples/plot/runs.h"
#include "core/op.h"
#include "examples/kit/file.h"
#include "examples/kit/json.h"
#include "examples/kit/output.h"
#include "examples/kit/program.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 256, LARGEST = 1 << 30 }; /* bytes of a record's name; bytes of the file */

static const char *copy(gr_tape *t, const char *text)
{
    char *const p = gr_save(t, strlen(text) + 1);
    return p ? strcpy(p, text) : NULL;
}

static void add_record(plot_runs *r, const plot_record *record)
{
    plot_record *const p = gr_save(r->t, sizeof *p);
    if (!p) return;
    *p = *record, p->next = NULL;
    *(r->last ? r->last : &r->first) = p;
    r->last = &p->next;
}

static void add_done(plot_runs *r, const plot_done *done)
{
    plot_done *const p = gr_save(r->t, sizeof *p);
    if (!p) return;
    *p = *done, p->next = NULL;
    *(r->last_done ? r->last_done : &r->done) = p;
    r->last_done = &p->next;
}

/* ---- Reading ---- */

typedef struct {
    gr_tape *t;
    const char *path, *p, *start; /* the next character; the start of its line */
    size_t line;
} reader;

static bool expected(reader *in, const char *what)
{
    gr_fail_as(in->t, GR_BAD_FILE, "", "%s: line %zu, column %zu: expected %s; delete the file to measure everything again", in->path,
               in->line, (size_t)(in->p - in->start) + 1, what);
    return false;
}

/* Skip these characters if they come next. */
static bool is(reader *in, const char *mark)
{
    in->p += strspn(in->p, " ");
    const size_t n = strlen(mark);
    if (strncmp(in->p, mark, n) != 0) return false;
    in->p += n;
    return true;
}
static bool need(reader *in, const char *mark) { return !gr_failed(in->t) && (is(in, mark) || expected(in, mark)); }
static bool need_key(reader *in, const char *key) { return need(in, key) && need(in, ":"); }

/* Write a character as UTF-8. Returns the number of bytes. */
static size_t utf8_of(unsigned code, char *to)
{
    const size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = n; i-- > 1; code >>= 6) to[i] = (char)(0x80 | (code & 63));
    to[0] = (char)(lead[n] | code);
    return n;
}

/* The number in \u1234, which has exactly four digits; 0 when p is not such an escape. */
static unsigned escape_at(const char *p)
{
    unsigned code = 0;
    if (p[0] != '\\' || p[1] != 'u') return 0;
    for (int i = 2; i < 6; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *const d = p[i] ? strchr(digits, tolower((unsigned char)p[i])) : NULL;
        if (!d) return 0;
        code = code * 16 + (unsigned)(d - digits);
    }
    return code;
}

/* The character of an escape \u0001 to \uffff, or of a surrogate pair; 0 when p is neither. */
static unsigned need_escape(reader *in)
{
    const unsigned code = escape_at(in->p);
    const bool two = code >> 10 == 0x36;
    const unsigned low = two ? escape_at(in->p + 6) : 0;
    if (!code || (two && low >> 10 != 0x37)) return 0;
    in->p += two ? 12 : 6;
    return !two ? code : 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
}

static const char *need_text(reader *in)
{
    unsigned code;
    if (!need(in, "\"")) return NULL;
    const size_t room = strcspn(in->p, "\n") + 1; /* an escape is longer than its character */
    char *const text = gr_save(in->t, room), *to = text;
    if (!text) return NULL;
    for (; *in->p != '"';) {
        if ((unsigned char)*in->p < 0x20) return expected(in, "the end of a text"), NULL;
        if (*in->p != '\\') *to++ = *in->p++;
        else if (in->p[1] == '"' || in->p[1] == '\\') *to++ = in->p[1], in->p += 2;
        else if ((code = need_escape(in)) != 0) to += utf8_of(code, to);
        else return expected(in, "a text"), NULL;
    }
    in->p++, *to = 0;
    return text;
}

/* A finite number, or null, which becomes NaN. */
static double need_number(reader *in)
{
    char *end = NULL;
    if (gr_failed(in->t) || is(in, "null")) return NAN;
    const size_t span = strspn(in->p, "+-.0123456789eE");
    const double v = strtod(in->p, &end);
    if (!span || in->p[0] == '+' || end != in->p + span || !isfinite(v)) return expected(in, "a number"), NAN;
    in->p = end;
    return v;
}

static void read_values(reader *in, plot_record *record)
{
    for (size_t i = 0; i < record->n && !gr_failed(in->t); i++) {
        if (i && !need(in, ",")) return;
        record->values[i] = need_number(in);
    }
}

static void read_record(reader *in, plot_runs *r, const char *figure)
{
    plot_record record = { .figure = figure, .name = need_text(in), .n = 1 };
    if (record.name && strlen(record.name) >= LONGEST) {
        expected(in, "a name of at most 255 bytes");
        return;
    }
    need(in, ","), need_key(in, "\"shape\""), need(in, "[");
    for (bool more = !gr_failed(in->t) && !is(in, "]"); more; more = need(in, ",")) {
        const double size = need_number(in);
        if (gr_failed(in->t)) return;
        if (record.shape.rank == GR_MAX_RANK || !(size >= 0 && size < 0x1p40 && size == floor(size))) {
            expected(in, "a size, the eighth at most");
            return;
        }
        record.shape.dim[record.shape.rank++] = (size_t)size;
        if (is(in, "]")) break;
    }
    for (int k = 0; k < record.shape.rank; k++) gr_size_mul(record.n, record.shape.dim[k], &record.n);
    need(in, ","), need_key(in, "\"values\""), need(in, "[");
    if (gr_failed(in->t)) return;
    if (record.n > strlen(in->p)) { /* a value takes at least two characters */
        expected(in, "as many values as the shape says");
        return;
    }
    record.values = gr_save(in->t, record.n * sizeof *record.values + 1);
    if (record.values) read_values(in, &record);
    if (need(in, "]") && need(in, "}")) add_record(r, &record);
}

static void read_done(reader *in, plot_runs *r, const char *figure)
{
    plot_done done = { .figure = figure };
    need(in, "{"), need_key(in, "\"settings\""), done.settings = need_text(in);
    need(in, ","), need_key(in, "\"seconds\""), done.seconds = need_number(in);
    need(in, ","), need_key(in, "\"program\""), done.program = need_text(in);
    need(in, ","), need_key(in, "\"cpu\""), done.cpu = need_text(in);
    need(in, ","), need_key(in, "\"threads\""), done.threads = need_number(in);
    need(in, ","), need_key(in, "\"hash\""), done.hash = need_text(in);
    if (need(in, "}") && need(in, "}")) add_done(r, &done);
}

static void read_line(reader *in, plot_runs *r)
{
    need(in, "{"), need_key(in, "\"figure\"");
    const char *const figure = need_text(in);
    if (!need(in, ",")) return;
    if (is(in, "\"name\"") && need(in, ":")) read_record(in, r, figure);
    else if (need_key(in, "\"done\"")) read_done(in, r, figure);
    if (!gr_failed(in->t) && *in->p && *in->p != '\n') expected(in, "the end of the line");
}

plot_runs plot_runs_open(gr_tape *t, const char *path)
{
    plot_runs r = { .t = t, .path = path };
    if (gr_failed(t) || (access(path, F_OK) != 0 && errno == ENOENT)) return r;
    kit_bytes text = kit_file_read(t, path, LARGEST);
    reader in = { .t = t, .path = path, .p = text.data, .start = text.data, .line = 1 };
    while (text.data && *in.p && !gr_failed(t)) {
        read_line(&in, &r);
        if (*in.p == '\n') in.start = ++in.p, in.line++;
    }
    if (text.data && !gr_failed(t) && in.p != text.data + text.n) expected(&in, "the end of the file");
    kit_bytes_free(t, &text);
    return r;
}

/* ---- Records in memory ---- */

/* The hash of a figure's arrays, as 16 digits. */
static const char *hash_of(const plot_runs *r, const char *figure, char text[17])
{
    uint64_t hash = KIT_HASH;
    for (const plot_record *p = r->first; p; p = p->next) {
        if (strcmp(p->figure, figure) != 0) continue;
        hash = kit_hash(hash, p->name, strlen(p->name) + 1), hash = kit_hash(hash, &p->shape.rank, sizeof p->shape.rank);
        hash = kit_hash(hash, p->shape.dim, (size_t)p->shape.rank * sizeof *p->shape.dim);
        hash = kit_hash(hash, p->values, p->n * sizeof *p->values);
    }
    snprintf(text, 17, "%016llx", (unsigned long long)hash);
    return text;
}

const plot_done *plot_runs_done(const plot_runs *r, const char *figure, const char *settings)
{
    char hash[17];
    for (const plot_done *d = r->done; d; d = d->next)
        if (strcmp(d->figure, figure) == 0)
            return strcmp(d->settings, settings) == 0 && strcmp(d->hash, hash_of(r, figure, hash)) == 0 ? d : NULL;
    return NULL;
}

void plot_runs_drop(plot_runs *r, const char *figure)
{
    r->last = NULL, r->last_done = NULL;
    for (plot_record **p = &r->first; *p;)
        if (strcmp((*p)->figure, figure) == 0) *p = (*p)->next;
        else p = r->last = &(*p)->next;
    for (plot_done **p = &r->done; *p;)
        if (strcmp((*p)->figure, figure) == 0) *p = (*p)->next;
        else p = r->last_done = &(*p)->next;
}

/* Round a value as the file does, so that a figure drawn at once equals one drawn from the file. */
static double as_written(double v)
{
    char text[32];
    if (!isfinite(v)) return NAN;
    snprintf(text, sizeof text, "%.9g", v);
    return strtod(text, NULL);
}

void plot_runs_put(plot_runs *r, const char *figure, gr_shape shape, const double *values, const char *name, ...)
{
    char text[LONGEST];
    plot_record record = { .shape = shape, .n = 1 };
    va_list list;
    va_start(list, name);
    const int length = vsnprintf(text, sizeof text, name, list);
    va_end(list);
    if (gr_failed(r->t)) return;
    if (length < 0 || length >= LONGEST) {
        gr_fail_as(r->t, GR_MISUSE, "", "%s: a record's name is longer than %d: %s..", figure, LONGEST - 1, text);
        return;
    }
    for (int k = 0; k < shape.rank; k++) record.n *= shape.dim[k];
    record.figure = copy(r->t, figure), record.name = copy(r->t, text);
    record.values = gr_save(r->t, record.n * sizeof *values + 1);
    for (size_t i = 0; record.values && i < record.n; i++) record.values[i] = as_written(values[i]);
    if (!gr_failed(r->t)) add_record(r, &record);
}

static const plot_record *find(const plot_runs *r, const char *figure, const char *name, va_list list)
{
    char text[LONGEST];
    vsnprintf(text, sizeof text, name, list);
    for (const plot_record *p = r->first; p; p = p->next)
        if (strcmp(p->figure, figure) == 0 && strcmp(p->name, text) == 0) return p;
    return NULL;
}

const plot_record *plot_runs_get(const plot_runs *r, const char *figure, const char *name, ...)
{
    va_list list;
    va_start(list, name);
    const plot_record *const p = find(r, figure, name, list);
    va_end(list);
    return p;
}

double plot_runs_value(const plot_runs *r, const char *figure, const char *name, ...)
{
    va_list list;
    va_start(list, name);
    const plot_record *const p = find(r, figure, name, list);
    va_end(list);
    return p && p->n ? p->values[0] : (double)NAN;
}

/* ---- Writing ---- */

static void write_record(FILE *out, const plot_record *p)
{
    fputs("{\"figure\": ", out), kit_json_text(out, p->figure);
    fputs(", \"name\": ", out), kit_json_text(out, p->name);
    fputs(", \"shape\": [", out);
    for (int k = 0; k < p->shape.rank; k++) fprintf(out, "%s%zu", k ? ", " : "", p->shape.dim[k]);
    fputs("], \"values\": [", out);
    for (size_t i = 0; i < p->n; i++) fputs(i ? ", " : "", out), kit_json_number(out, p->values[i], 9);
    fputs("]}\n", out);
}

static void write_done(FILE *out, const plot_done *d)
{
    fputs("{\"figure\": ", out), kit_json_text(out, d->figure);
    fputs(", \"done\": {\"settings\": ", out), kit_json_text(out, d->settings);
    fputs(", \"seconds\": ", out), kit_json_number(out, d->seconds, 9);
    fputs(", \"program\": ", out), kit_json_text(out, d->program);
    fputs(", \"cpu\": ", out), kit_json_text(out, d->cpu);
    fputs(", \"threads\": ", out), kit_json_number(out, d->threads, 9);
    fputs(", \"hash\": ", out), kit_json_text(out, d->hash);
    fputs("}}\n", out);
}

bool plot_runs_end(plot_runs *r, const char *figure, const char *settings, double seconds)
{
    char cpu[128], hash[17];
    if (gr_failed(r->t)) return false;
    const plot_done done = { .figure = copy(r->t, figure),
                             .settings = copy(r->t, settings),
                             .seconds = as_written(seconds),
                             .program = GR_VERSION_TEXT,
                             .cpu = copy(r->t, kit_cpu(cpu, sizeof cpu)),
                             .threads = gr_tape_threads(r->t),
                             .hash = copy(r->t, hash_of(r, figure, hash)) };
    if (!gr_failed(r->t)) add_done(r, &done);
    kit_file file = kit_file_begin(r->t, r->path);
    for (const plot_done *d = r->done; file.out && d; d = d->next) {
        for (const plot_record *p = r->first; p; p = p->next)
            if (strcmp(p->figure, d->figure) == 0) write_record(file.out, p);
        write_done(file.out, d);
    }
    return kit_file_end(r->t, &file);
}
