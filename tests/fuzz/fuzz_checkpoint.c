/* tests/fuzz/fuzz_checkpoint.c - checkpoints with a correct checksum are loaded, or refused with GR_BAD_FILE and without a trace. */
#include "core/library.h"
#include "tests/fuzz/fuzz.h"
#if __has_include("core/io/checksum.h")
#include "core/io/checksum.h"
#define HAS_CHECKSUM
#endif
#include <unistd.h>

const char fuzz_name[] = "checkpoint", fuzz_likely[] = "{}[]\",:/.\\0123456789FI326480";

typedef struct {
    gr_tape *t;
    gr_module *net;
    gr_optim *optim;
    int64_t step;
} run;

static run build(void)
{
    run r = { .t = gr_tape_new(1, NULL) };
    r.net = gr_module_new(r.t);
    gr_linear_new(r.t, r.net, "fc", 2, 2, NULL);
    gr_norm_new(r.t, r.net, "bn", GR_NORM_BATCH, 2, NULL);
    r.optim = gr_sgd_new(r.t, r.net, &(gr_sgd_config){ .momentum = 0.9 });
    gr_tape_reset(r.t);
    return r;
}
static void finish(run *r) { gr_optim_free(r->optim), gr_module_free(r->net), gr_tape_free(r->t); }

static gr_checkpoint_value value_of(run *r) { return (gr_checkpoint_value){ "step", GR_I64, 1, &r->step }; }
static bool load(run *r, const char *path)
{
    const gr_checkpoint_value value = value_of(r);
    return gr_checkpoint_load(r->t, r->net, r->optim, path, &value, 1);
}
static bool save(run *r, const char *path)
{
    const gr_checkpoint_value value = value_of(r);
    return gr_checkpoint_save(r->t, r->net, r->optim, path, &value, 1);
}

/* Parameters, buffers and streams as bytes. */
static size_t state_of(const run *r, uint8_t *to, size_t room)
{
    size_t n = 0;
    const char *name;
    for (const gr_slot *s = gr_slot_first(r->net); s; s = gr_slot_next(r->net, s)) {
        const size_t bytes = s->tensor && s->kind != GR_KEPT ? s->tensor->len * sizeof(gr_real) : 0;
        demand(n + bytes + sizeof s->count <= room, "room for the state");
        memcpy(to + n, &s->count, sizeof s->count), n += sizeof s->count;
        if (bytes) memcpy(to + n, s->tensor->data, bytes), n += bytes;
    }
    for (size_t i = 0; gr__tape_stream_at(r->t, i, &name); i++) {
        demand(n + 64 <= room, "room for the streams");
        n += (size_t)snprintf((char *)to + n, 64, "%.40s", name);
    }
    return n;
}

/* Correct the checksum of the file, if it has the note of one. */
static void right_checksum(uint8_t *bytes, size_t n)
{
#ifndef HAS_CHECKSUM
    (void)bytes, (void)n;
#else
    static const char note[] = "\"" GR__CHECKSUM_KEY "\":\"" GR__CHECKSUM_NAME;
    gr__checksum sum;
    char text[GR__CHECKSUM_LENGTH + 1];
    for (size_t at = 0; at + sizeof note - 1 + GR__CHECKSUM_DIGITS <= n; at++) {
        if (memcmp(bytes + at, note, sizeof note - 1) != 0) continue;
        uint8_t *const digits = bytes + at + sizeof note - 1;
        memset(digits, '0', GR__CHECKSUM_DIGITS);
        gr__checksum_start(&sum), gr__checksum_add(&sum, bytes, n);
        gr__checksum_text(gr__checksum_value(&sum), text);
        memcpy(digits, text + sizeof GR__CHECKSUM_NAME - 1, GR__CHECKSUM_DIGITS);
        return;
    }
#endif
}

size_t fuzz_mend(uint8_t *bytes, size_t n, gr_stream *s) { return (void)bytes, (void)s, n; }

/* A file that is saved now, so that mutations start from a file that loads. */
size_t fuzz_seed(uint8_t *bytes, size_t room)
{
    char path[] = "/tmp/gradus-fuzz-XXXXXX";
    run r = build(), again = build();
    gr_detach_keep(r.t, r.net, "h", gr_ones(r.t, GR_SHAPE(3)));
    gr_randn(r.t, GR_SHAPE(1), 0, 1, "data");
    const int fd = mkstemp(path);
    demand(fd >= 0 && save(&r, path) && load(&again, path), "saving and loading a checkpoint");
    FILE *const f = fopen(path, "rb");
    const size_t n = f ? fread(bytes, 1, room, f) : 0;
    if (f) fclose(f);
    close(fd), unlink(path);
    finish(&r), finish(&again);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static uint8_t file[FUZZ_ROOM], before[1 << 14], after[sizeof before];
    run r = build();
    n = n < sizeof file ? n : sizeof file;
    memcpy(file, bytes, n);
    right_checksum(file, n);
    const size_t was = state_of(&r, before, sizeof before);
    if (!load(&r, fuzz_path(file, n))) {
        demand(gr_error_code(r.t) == GR_BAD_FILE, "the error of a bad file");
        demand(state_of(&r, after, sizeof after) == was && !memcmp(before, after, was), "a refused file that leaves no trace");
    }
    finish(&r);
    return 0;
}
