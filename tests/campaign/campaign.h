/* tests/campaign/campaign.h - what the campaigns share: arguments, failures that say how to repeat them, folders, hashes.
 *
 * Each round of a campaign has its own seed: the first seed, then the next number for each round. So ARGS="1 SEED" repeats a round. */
#ifndef GR_CAMPAIGN_H
#define GR_CAMPAIGN_H
#include "gradus.h"
#include "optim/internal.h"
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* With AddressSanitizer, too, malloc returns NULL for a size that cannot be had. */
__attribute__((visibility("default"), weak)) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static struct { const char *name; uint64_t rounds, seed, round; } campaign; /* round: the seed of the running round */

/* Print the round when a crash or a sanitizer's report ends the program. */
static void campaign_say_round(void)
{
    char text[256];
    const int n = snprintf(text, sizeof text, "%s: the round of seed %llu crashed; to repeat it: make %s ARGS=\"1 %llu\"\n", campaign.name,
                           (unsigned long long)campaign.round, campaign.name, (unsigned long long)campaign.round);
    (void)!write(2, text, (size_t)n);
}
static void campaign_crash(int signal_number)
{
    campaign_say_round();
    signal(signal_number, SIG_DFL), raise(signal_number);
}
extern void __sanitizer_set_death_callback(void (*f)(void)) __attribute__((weak));

static inline void campaign_start(int argc, char **argv, const char *name, uint64_t rounds)
{
    char *end = "";
    campaign.name = name, campaign.rounds = rounds, campaign.seed = 1;
    if (argc > 1) campaign.rounds = strtoull(argv[1], &end, 10);
    if (argc > 2 && !*end) campaign.seed = strtoull(argv[2], &end, 10);
    if (*end || argc > 3 || !campaign.rounds) fprintf(stderr, "usage: %s [ROUNDS [FIRST_SEED]]\n", name), exit(2);
    campaign.round = campaign.seed;
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(campaign_say_round);
    else signal(SIGSEGV, campaign_crash), signal(SIGBUS, campaign_crash), signal(SIGFPE, campaign_crash), signal(SIGABRT, campaign_crash);
    setvbuf(stdout, NULL, _IOLBF, 0);
}

/* demand(what, format, ..): end the campaign with exit status 1 unless it holds. */
#define demand(what, ...) ((what) ? (void)0 : campaign_fail(__FILE__, __LINE__, __VA_ARGS__))
__attribute__((format(GR_PRINTF, 3, 4), noreturn)) static inline void campaign_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: seed %llu: ", campaign.name, (unsigned long long)campaign.round);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n    (%s:%d; again: make %s ARGS=\"1 %llu\")\n", file, line, campaign.name, (unsigned long long)campaign.round);
    va_end(arguments);
    exit(1);
}

static char campaign_folder[256];

/* The number of entries of the folder that have this in their name. With `away` they are removed. */
static inline size_t campaign_entries(const char *holding, bool away)
{
    size_t n = 0;
    DIR *const d = opendir(campaign_folder);
    for (const struct dirent *e; d && (e = readdir(d));) {
        char path[sizeof campaign_folder + sizeof e->d_name + 1];
        if (e->d_name[0] == '.' || !strstr(e->d_name, holding)) continue;
        n++;
        snprintf(path, sizeof path, "%s/%s", campaign_folder, e->d_name);
        if (away) unlink(path);
    }
    if (d) closedir(d);
    return n;
}
static inline void campaign_remove_folder(void)
{
    campaign_entries("", true);
    rmdir(campaign_folder);
}

/* Make a new folder, which is removed when the program ends. `memory` prefers a file system in memory. */
static inline void campaign_make_folder(bool memory)
{
    const char *const places[] = { memory ? "/dev/shm" : NULL, getenv("TMPDIR"), "/tmp" };
    for (size_t i = 0; i < COUNT(places); i++) {
        if (!places[i]) continue;
        snprintf(campaign_folder, sizeof campaign_folder, "%s/gradus-campaign-XXXXXX", places[i]);
        if (!mkdtemp(campaign_folder)) continue;
        atexit(campaign_remove_folder);
        return;
    }
    fprintf(stderr, "%s: there is no place for a folder\n", campaign.name);
    exit(2);
}

/* The whole file in malloc'ed memory; NULL when it cannot be read. */
static inline unsigned char *campaign_file(const char *path, size_t *n)
{
    FILE *const f = fopen(path, "rb");
    unsigned char *bytes = NULL;
    *n = 0;
    for (size_t room = 1 << 16, got = 1; f && got; room *= 2) {
        bytes = realloc(bytes, room);
        got = fread(bytes + *n, 1, room - *n, f);
        *n += got;
    }
    if (f) fclose(f);
    return bytes;
}

/* FNV-1a over the values' bits, with one NaN for all. */
enum { CAMPAIGN_NAN = 0x7fc00000 };
#define CAMPAIGN_HASH 0xcbf29ce484222325u
static inline uint64_t campaign_hash(uint64_t hash, uint64_t word) { return (hash ^ word ^ word >> 32) * 0x100000001b3u; }
static inline uint64_t campaign_hash_reals(uint64_t hash, const gr_real *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t u = 0;
        memcpy(&u, x + i, sizeof *x);
        hash = campaign_hash(hash, isnan(x[i]) ? CAMPAIGN_NAN : u);
    }
    return hash;
}
/* Everything that m holds: parameters, buffers, counters and kept states. */
static inline uint64_t campaign_hash_module(uint64_t hash, const gr_module *m)
{
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) {
        if (s->kind == GR_KEPT && !s->count) continue;
        hash = campaign_hash(hash, (uint64_t)s->count);
        if (s->tensor) hash = campaign_hash_reals(hash, s->tensor->data, s->tensor->len);
    }
    return hash;
}
/* The moments and counts of o; NULL is fine. */
static inline uint64_t campaign_hash_doubles(uint64_t hash, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t u;
        memcpy(&u, x + i, sizeof u);
        hash = campaign_hash(hash, isnan(x[i]) ? CAMPAIGN_NAN : u);
    }
    return hash;
}
static inline uint64_t campaign_hash_optim(uint64_t hash, const gr_optim *o)
{
    if (!o) return hash;
    for (int k = 0; k < GR_OPTIM_STATES; k++) hash = campaign_hash_reals(hash, o->state[k], o->state[k] ? o->state_len : 0);
    hash = campaign_hash_doubles(hash, o->power, 2 * o->entries);
    for (size_t i = 0; i < o->entries; i++) hash = campaign_hash(hash, (uint64_t)o->step[i]);
    hash = campaign_hash_doubles(hash, &o->rate.lr, 3);
    return campaign_hash(campaign_hash(hash, (uint64_t)o->count.steps), (uint64_t)o->count.bad);
}
/* The streams that have been drawn from, without the one of that name. */
static inline uint64_t campaign_hash_streams(uint64_t hash, const gr_tape *t, const char *without)
{
    const char *name = NULL;
    const gr_stream *s;
    for (size_t i = 0; (s = gr__tape_stream_at(t, i, &name)); i++) {
        if (!s->counter || (without && !strcmp(name, without))) continue;
        for (const char *c = name; *c; c++) hash = campaign_hash(hash, (unsigned char)*c);
        hash = campaign_hash(hash, s->counter);
    }
    return hash;
}
#endif
