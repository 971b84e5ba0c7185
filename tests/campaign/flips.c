/* tests/campaign/flips.c - damaged checkpoints. Every bit of a small one is flipped in turn, header and data; then random damage to a
 * larger one: one bit, two bits, a byte, a run of zeros, a part that is missing or repeated. gr_checkpoint_load refuses each with
 * GR_BAD_FILE and changes nothing, or loads a state that equals the original.
 *
 *     make flips [ARGS="FILES [SEED]"]      2^20 files in some minutes; what must not be accepted is listed, and the exit status is 1 */
#include "tests/campaign/campaign.h"
#include <fcntl.h>
#include <sys/stat.h>

enum { LISTED = 12, AROUND = 24 };

static char path[sizeof campaign_folder + 32], again_path[sizeof campaign_folder + 32];

typedef struct {
    gr_tape *t;
    gr_module *net;
    gr_lstm *lstm;
    gr_optim *adam;
    double value[5];
} run;

static gr_checkpoint_value value_of(run *r) { return (gr_checkpoint_value){ "value", GR_F64, COUNT(r->value), r->value }; }
static bool save(run *r, const char *to)
{
    const gr_checkpoint_value value = value_of(r);
    return gr_checkpoint_save(r->t, r->net, r->adam, to, &value, 1);
}

static run build(size_t hidden)
{
    run r = { .t = gr_tape_new(3, NULL), .value = { 1, 0.5, 7, 1e300, -2 } };
    r.net = gr_module_new(r.t);
    r.lstm = gr_lstm_new(r.t, r.net, "l", 3, hidden, &(gr_lstm_config){ .norm = GR_LSTM_BN, .bn_steps = 2 });
    r.adam = gr_adam_new(r.t, r.net, NULL);
    return r;
}
static void finish(run *r) { gr_optim_free(r->adam), gr_module_free(r->net), gr_tape_free(r->t); }

static void train(run *r)
{
    for (int step = 0; step < 3; step++) {
        gr_tape_reset(r->t);
        const gr_recurrent_out s = gr_lstm_forward(r->t, r->lstm, gr_randn(r->t, GR_SHAPE(2, 4, 3), 0, 1, "data"), NULL);
        gr_detach_keep(r->t, r->net, "h", s.h);
        gr_optim_zero_grad(r->adam);
        gr_backward(r->t, gr_mean(r->t, gr_square(r->t, s.y), GR_ALL_AXES, false));
        gr_optim_step(r->t, r->adam);
    }
    gr_tape_reset(r->t);
    demand(!gr_failed(r->t), "training: %s", gr_message(r->t));
}

/* A hash of everything that a load may change. */
static uint64_t state_of(const run *r)
{
    uint64_t hash = campaign_hash_streams(campaign_hash_module(CAMPAIGN_HASH, r->net), r->t, NULL);
    const char *name;
    for (size_t i = 0; gr__tape_stream_at(r->t, i, &name); i++) hash = campaign_hash(hash, i);
    hash = campaign_hash_doubles(campaign_hash_optim(hash, r->adam), r->value, COUNT(r->value));
    return hash;
}

/* A file, its bytes, and a run of the same architecture that loads it. */
typedef struct {
    unsigned char *bytes;
    size_t n, header, hidden;
    int fd;
    run target;
    uint64_t untouched;
} victim;

/* A new target, whose state differs from the file's. */
static void renew(victim *v)
{
    v->target = build(v->hidden);
    v->untouched = state_of(&v->target);
}

static victim victim_new(size_t hidden)
{
    victim v = { .hidden = hidden };
    run r = build(hidden);
    train(&r);
    demand(save(&r, path), "save: %s", gr_message(r.t));
    finish(&r);
    v.bytes = campaign_file(path, &v.n);
    demand(v.bytes && v.n > 8, "the checkpoint cannot be read");
    for (size_t i = 8; i--;) v.header = v.header << 8 | v.bytes[i];
    v.header += 8;
    v.fd = open(path, O_RDWR);
    demand(v.fd >= 0, "the checkpoint cannot be opened");
    renew(&v);
    return v;
}
static void victim_free(victim *v)
{
    finish(&v->target);
    close(v->fd), free(v->bytes);
}

static struct { size_t files, refused, equal, accepted, changed, wrong_code; } sum;

static void list(const victim *v, const char *what, size_t at, const char *how)
{
    if (sum.accepted + sum.changed + sum.wrong_code > LISTED) return;
    fprintf(stderr, "flips: %s at byte %zu of %zu (%s): %s: \"", what, at, v->n, at < v->header ? "header" : "data", how);
    for (size_t i = at > AROUND ? at - AROUND : 0; at < v->header && i < at + AROUND && i < v->header; i++)
        fputc(v->bytes[i] >= ' ' && v->bytes[i] < 127 ? v->bytes[i] : '.', stderr);
    fprintf(stderr, "\"\n");
}

static void load(victim *v, const char *what, size_t at)
{
    run *const r = &v->target;
    const gr_checkpoint_value value = value_of(r);
    const bool loaded = gr_checkpoint_load(r->t, r->net, r->adam, path, &value, 1);
    sum.files++;
    if (loaded) {
        size_t n;
        demand(save(r, again_path), "save again: %s", gr_message(r->t));
        unsigned char *const again = campaign_file(again_path, &n);
        const bool equal = again && n == v->n && !memcmp(again, v->bytes, n);
        if (equal) sum.equal++;
        else sum.accepted++, list(v, what, at, "loaded, with another state");
        free(again);
        finish(r);
        renew(v);
        return;
    }
    sum.refused++;
    if (gr_error_code(r->t) != GR_BAD_FILE) sum.wrong_code++, list(v, what, at, gr_message(r->t));
    gr_tape_recover(r->t);
    if (state_of(r) == v->untouched) return;
    sum.changed++, list(v, what, at, "refused, and yet the state has changed");
    finish(r);
    renew(v);
}

static void write_bytes(const victim *v, const unsigned char *from, size_t at, size_t n)
{
    demand(pwrite(v->fd, from + at, n, (off_t)at) == (ssize_t)n, "the file cannot be written");
}
static void write_all(const victim *v, const unsigned char *bytes, size_t n)
{
    demand(ftruncate(v->fd, (off_t)n) == 0, "the file cannot be cut");
    write_bytes(v, bytes, 0, n);
}

static void check_undamaged(victim *v)
{
    const size_t equal = sum.equal;
    load(v, "nothing", 0);
    demand(sum.equal == equal + 1, "the undamaged checkpoint is not loaded as it was saved");
}

static void every_bit(victim *v)
{
    for (size_t bit = 0; bit < 8 * v->n; bit++) {
        const unsigned char damaged = v->bytes[bit / 8] ^ (unsigned char)(1u << bit % 8);
        demand(pwrite(v->fd, &damaged, 1, (off_t)(bit / 8)) == 1, "the file cannot be written");
        load(v, "a bit", bit / 8);
        write_bytes(v, v->bytes, bit / 8, 1);
    }
}

/* One in 32 damages a large part, and then the whole file is written. */
static void random_damage(victim *v, gr_stream *s, unsigned char *bytes)
{
    const size_t kind = gr_stream_below(s, 96), where = gr_stream_below(s, 2) ? v->header : v->n;
    const size_t at = gr_stream_below(s, where), other = gr_stream_below(s, where), length = 1 + gr_stream_below(s, v->n - at);
    const char *what;
    size_t n = v->n;
    memcpy(bytes, v->bytes, v->n);
    if (kind == 0) what = "the end is missing", n = at;
    else if (kind == 1) what = "a run of zeros", memset(bytes + at, 0, length);
    else if (kind == 2) what = "a part that is repeated", memmove(bytes + at, v->bytes + gr_stream_below(s, v->n - length + 1), length);
    else if (kind < 32) what = "a byte", bytes[at] = (unsigned char)(bytes[at] + 1 + gr_stream_below(s, 255));
    else if (kind < 64) what = "two bits", bytes[at] ^= (unsigned char)(1u << gr_stream_below(s, 8)), bytes[other] ^= (unsigned char)(1u << gr_stream_below(s, 8));
    else what = "a bit", bytes[at] ^= (unsigned char)(1u << gr_stream_below(s, 8));
    if (kind < 3) write_all(v, bytes, n);
    else write_bytes(v, bytes, at, 1), write_bytes(v, bytes, other, 1);
    load(v, what, at);
    if (kind < 3) write_all(v, v->bytes, v->n);
    else write_bytes(v, v->bytes, at, 1), write_bytes(v, v->bytes, other, 1);
}

int main(int argc, char **argv)
{
    campaign_start(argc, argv, "flips", 1 << 20);
    campaign_make_folder(true);
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", campaign_folder);
    snprintf(again_path, sizeof again_path, "%s/again.safetensors", campaign_folder);
    victim v = victim_new(4);
    check_undamaged(&v);
    every_bit(&v);
    printf("flips: every bit of %zu bytes, %zu of them header\n", v.n, v.header);
    victim_free(&v);
    v = victim_new(32);
    check_undamaged(&v);
    gr_stream s = gr_stream_new(campaign.seed, "flips");
    unsigned char *const bytes = malloc(v.n);
    while (bytes && sum.files < campaign.rounds) random_damage(&v, &s, bytes);
    free(bytes), victim_free(&v);
    printf("flips: %zu damaged files: %zu refused (%zu with another code than GR_BAD_FILE, %zu with a state that changed), %zu equal to the original, "
           "%zu accepted with another state\n", sum.files, sum.refused, sum.wrong_code, sum.changed, sum.equal, sum.accepted);
    return sum.accepted || sum.changed || sum.wrong_code;
}
