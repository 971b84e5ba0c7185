/* tests/fuzz/main.c - mutations without libFuzzer: it reads every file of the target's corpus, and then mutated ones, the same in every
 * run. */
#include "tests/fuzz/fuzz.h"
#include <dirent.h>

enum { MOST = 64 };
static struct { uint8_t bytes[FUZZ_ROOM]; size_t n; char name[64]; } seed[MOST];

static int by_name(const void *a, const void *b) { return strcmp((const char *)a + offsetof(__typeof__(*seed), name), (const char *)b + offsetof(__typeof__(*seed), name)); }

static size_t read_corpus(void)
{
    char folder[128], path[256];
    size_t seeds = 0;
    snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s", fuzz_name);
    DIR *const d = opendir(folder);
    for (const struct dirent *e; d && seeds < MOST && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%.100s", folder, e->d_name);
        FILE *const f = fopen(path, "rb");
        demand(f, "reading the corpus");
        seed[seeds].n = fread(seed[seeds].bytes, 1, FUZZ_ROOM, f);
        snprintf(seed[seeds++].name, sizeof seed->name, "%.60s", e->d_name);
        fclose(f);
    }
    if (d) closedir(d);
    qsort(seed, seeds, sizeof *seed, by_name);
    return seeds;
}

/* The file "made" of the corpus must be what the target makes now, in the float library's format. With `write`, it is written there. */
static size_t add_made(size_t seeds, bool write)
{
    static uint8_t made[FUZZ_ROOM];
    const size_t n = fuzz_seed(made, FUZZ_ROOM);
    char path[128];
    snprintf(path, sizeof path, "tests/fuzz/corpus/%s/made", fuzz_name);
    FILE *const f = n && write ? fopen(path, "wb") : NULL;
    if (f) demand(fwrite(made, 1, n, f) == n && !fclose(f), "writing the corpus");
    for (size_t i = 0; n && !write && i < seeds && sizeof(gr_real) == sizeof(float); i++) {
        if (strcmp(seed[i].name, "made") != 0 || (seed[i].n == n && !memcmp(seed[i].bytes, made, n))) continue;
        fprintf(stderr, "fuzz_%s: %s is not what is written now: run this program with --write\n", fuzz_name, path);
        exit(2);
    }
    if (n && seeds < MOST) memcpy(seed[seeds].bytes, made, n), seed[seeds++].n = n;
    return seeds;
}

/* Make one change: to a byte, to a run of bytes (copied over others, removed or doubled), or to a number in the text. */
static size_t mutate(gr_stream *s, uint8_t *bytes, size_t n)
{
    if (!n) return n;
    const size_t at = gr_stream_below(s, n), length = gr_stream_below(s, n - at < 40 ? n - at : 40);
    switch (gr_stream_below(s, 6)) {
    case 0: bytes[at] ^= (uint8_t)(1u << gr_stream_below(s, 8)); return n;
    case 1: bytes[at] = (uint8_t)fuzz_likely[gr_stream_below(s, strlen(fuzz_likely))]; return n;
    case 2: memmove(bytes + at, bytes + at + length, n - at - length); return n - length;
    case 3: memmove(bytes + gr_stream_below(s, n - length + 1), bytes + at, length); return n;
    case 4:
        if (n + length > FUZZ_ROOM) return n;
        memmove(bytes + at + length, bytes + at, n - at);
        return n + length;
    default:
        for (size_t i = at; i < n; i++)
            if (bytes[i] >= '0' && bytes[i] <= '9') {
                bytes[i] = (uint8_t)('0' + gr_stream_below(s, 10));
                break;
            }
        return n;
    }
}

int main(int argc, char **argv)
{
    static uint8_t bytes[FUZZ_ROOM];
    const bool write = argc > 1 && !strcmp(argv[1], "--write");
    const size_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000, seeds = add_made(read_corpus(), write);
    if (write) return 0;
    if (!seeds) return fprintf(stderr, "fuzz_%s: there is no tests/fuzz/corpus/%s: run it from the root of the tree\n", fuzz_name, fuzz_name), 2;
    gr_stream s = gr_stream_new(1, "fuzz");
    for (size_t i = 0; i < seeds; i++) LLVMFuzzerTestOneInput(seed[i].bytes, seed[i].n);
    for (size_t round = 0; round < rounds; round++) {
        const size_t from = gr_stream_below(&s, seeds), changes = 1 + gr_stream_below(&s, 6);
        size_t n = gr_stream_below(&s, 4) ? seed[from].n : gr_stream_below(&s, seed[from].n + 1);
        memcpy(bytes, seed[from].bytes, n);
        for (size_t i = 0; i < changes; i++) n = mutate(&s, bytes, n);
        LLVMFuzzerTestOneInput(bytes, fuzz_mend(bytes, n, &s));
    }
    printf("fuzz_%s: %zu files of a corpus of %zu\n", fuzz_name, rounds, seeds);
    return 0;
}
