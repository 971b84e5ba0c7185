/* tests/bench/main.c - the program of `make bench`: gradus alone. See --help.
 *
 * Times are the fastest and the median of the runs within --seconds. */
#include "examples/kit/kit.h"
#include "tests/bench/bench.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 100000, WARM = 3 };

enum { ALL, FIRST_OF_PEERS = 6 }; /* of the choices of --section: memory, which bench-peers alone measures, and those after it */
#define SECTIONS "all|" BENCH_SECTIONS

typedef struct {
    const char *cells, *json;
    char section[16];
    int section_number;
    uint64_t threads;
    double seconds;
    bool quick, list, once;
} options;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool within(const char *words, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

/* The times of the runs, ascending; returns how many, or 0 after an error. */
static size_t measure(bench_work *w, const options *o, double *time)
{
    size_t n = 0;
    if (!bench_run(w, o->quick ? 1 : WARM, time)) return 0;
    for (const double end = bench_now() + (o->quick ? 0 : o->seconds); n < MOST_RUNS && (n < 3 || bench_now() < end); n++)
        if (!bench_run(w, 1, time + n)) return 0;
    qsort(time, n, sizeof *time, ascending);
    return n;
}

static void show_limits(int threads, const char *isa)
{
    printf("%d thread(s), %s: FMA %.1f GFLOP/s; reading x and writing y = c x, in total", threads, isa, bench_peak(threads) / 1e9);
    for (size_t kb = 32; kb <= 256 * 1024; kb *= 16) printf("%s %zu KB: %.1f", kb > 32 ? "," : "", kb, bench_bandwidth(threads, 1024 * (double)kb) / 1e9);
    printf(" GB/s\n%-36s %12s %12s  %s\n", "", "fastest us", "median us", "part of the machine's limit");
}

static bool show(int i, const options *o, FILE *json)
{
    static double time[MOST_RUNS];
    const int threads = (int)o->threads;
    bench_work *w = bench_open(i, threads);
    const size_t n = w && !gr_failed(w->t) ? measure(w, o, time) : 0;
    if (!n) {
        fprintf(stderr, "%s: %s\n", bench_name(i), w ? gr_message(w->t) : "out of memory");
        bench_close(w);
        return false;
    }
    const double fma = bench_of_peak(w, time[0]), memory = bench_of_bandwidth(w, time[0]);
    printf("%-36s %12.2f %12.2f  %3.0f %% of %.1f %s\n", bench_name(i), time[0] * 1e6, time[n / 2] * 1e6, 100 * (fma > memory ? fma : memory),
           (fma > memory ? bench_peak(threads) : bench_bandwidth(threads, w->held)) / 1e9, fma > memory ? "GFLOP/s" : "GB/s");
    if (json)
        fprintf(json, "{\"name\": \"%s\", \"threads\": %d, \"isa\": \"%s\", \"us_min\": %.3f, \"us_median\": %.3f, \"runs\": %zu, \"fma\": %.4f, "
                "\"bandwidth\": %.4f, \"arena_MB\": %.2f}\n", bench_name(i), threads, gr_tape_isa(w->t), time[0] * 1e6, time[n / 2] * 1e6, n, fma,
                memory, (double)gr_tape_bytes(w->t) / 1e6);
    bench_close(w);
    return true;
}

/* The peak of the resident memory in KB, or 0 where there is no /proc. getrusage would count the program that started this one, too. */
static long peak_resident(void)
{
    long kb = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && !kb && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kb) != 1) kb = 0;
    if (f) fclose(f);
    return kb;
}

/* For peers/memory.py and peers/startup.py: a few runs of one cell. */
static bool once(int i, const options *o)
{
    double time[5];
    bench_work *w = bench_open(i, (int)o->threads);
    const bool good = w && bench_run(w, o->quick ? 1 : 5, time);
    if (!good) fprintf(stderr, "%s: %s\n", bench_name(i), w ? gr_message(w->t) : "out of memory");
    bench_close(w);
    if (good) printf("%ld\n", peak_resident());
    return good;
}

static int wrong(const char *what, const char *got, const char *needed) { return fprintf(stderr, "bench: %s%s%s\n", what, got, needed), 2; }

/* Returns KIT_GO_ON or the exit code. */
static int read_options(options *o, int argc, char **argv)
{
    const kit_flag flag[] = {
        { "section", KIT_CHOICE, &o->section_number, SECTIONS, "memory and start-up with --list only: make bench-peers measures them", 0, 0 },
        { "cells", KIT_TEXT, &o->cells, "TEXT", "the cells whose names hold TEXT; make needs two kinds of quotes: ARGS='--cells \"GPT 4x128\"'", 0, 0 },
        { "threads", KIT_COUNT, &o->threads, "N", "threads", 1, 256 },
        { "seconds", KIT_NUMBER, &o->seconds, "X", "how long to measure each cell", 0, 3600 },
        { "quick", KIT_SWITCH, &o->quick, NULL, "three runs of each cell: shows that it works, not how long it takes", 0, 0 },
        { "json", KIT_TEXT, &o->json, "FILE", "write a line of JSON for each cell there", 0, 0 },
        { "list", KIT_SWITCH, &o->list, NULL, "print the names and the sections of the cells", 0, 0 },
        { "once", KIT_SWITCH, &o->once, NULL, "five runs of the cell that --cells names in full, with --quick one; print the peak of memory in KB", 0, 0 },
    };
    const kit_flags flags = { "bench", "times of gradus, and how much of the machine's limits they reach\n\n"
        "A cell whose name ends with f is a forward pass, and fb forward and backward. The times are those of the fastest run and of the median.\n"
        "The last column has the limit to which a run comes nearest, and how near: the peak of FMA arithmetic in GFLOP/s, or the bandwidth in GB/s.\n"
        "Both are measured, too. The bandwidth is that of reading an array x and writing an array y = c x; both count, and together they are about\n"
        "as large as the working set of the cell; the first line shows it for four sizes. The memory of a run is what it must read and write at least.\n"
        "Its arithmetic is that of the plain formula: Winograd's convolution needs less, so that it can exceed 100 % of the peak. exp, erf and their\n"
        "like count as none. What is updated in place can exceed 100 % of the bandwidth, because what it writes is in the cache already.\n\n"
        "GRADUS_ISA=scalar|avx2|avx512 in the environment forces an instruction set.", flag, sizeof flag / sizeof *flag };
    const int exit_now = kit_flags_parse(&flags, argc, argv, stdout, stderr);
    if (exit_now != KIT_GO_ON) return exit_now;
    char cores[64];
    snprintf(cores, sizeof cores, "%d, the processors of this process; got \"%d\"", kit_cores(), (int)o->threads);
    kit_flags_choice(&flag[0], o->section, sizeof o->section);
    if (o->threads > (uint64_t)kit_cores()) return wrong("--threads needs at most ", cores, "");
    if (o->section_number >= FIRST_OF_PEERS && !o->list) return wrong("make bench-peers alone measures the section ", o->section, "; --list shows its cells");
    if (o->once && !o->cells) return wrong("--once needs --cells", "", " with the full name of a cell; --list shows all");
    if (o->json && (o->list || o->once)) return wrong("--json writes times, and --", o->list ? "list" : "once", " measures none");
    return KIT_GO_ON;
}

static bool picked(int i, const options *o)
{
    if (o->section_number != ALL && !within(bench_cells[i].sections, o->section)) return false;
    return !o->cells || (o->once ? !strcmp(bench_name(i), o->cells) : strstr(bench_name(i), o->cells) != NULL);
}

static int no_cell(const options *o)
{
    const bool some = o->section_number != ALL;
    fprintf(stderr, "bench: no cell%s%s %s \"%s\"%s; --list shows all\n", some ? " of the section " : "", some ? o->section : "",
            o->once ? "is called" : "has", o->cells, o->once ? "" : " in its name");
    return 2;
}

/* Whether all that was written to f so far is there; else a message. */
static bool written(FILE *f, const char *path)
{
    if (!f || (!fflush(f) && !ferror(f))) return true;
    fprintf(stderr, "bench: cannot write %s: %s\n", path, strerror(errno ? errno : EIO));
    return false;
}

static int times(const options *o, int first)
{
    FILE *json = o->json ? fopen(o->json, "w") : NULL;
    if (o->json && !json) return fprintf(stderr, "bench: cannot write %s: %s\n", o->json, strerror(errno)), 3;
    bool good = true, kept = true;
    gr_tape *t = gr_tape_new(1, NULL);
    if (gr_failed(t)) {
        fprintf(stderr, "bench: %s\n", gr_message(t)), gr_tape_free(t);
        if (json) fclose(json);
        return 3;
    }
    show_limits((int)o->threads, gr_tape_isa(t));
    gr_tape_free(t);
    for (int i = first; i < bench_cells_count && kept; i++)
        if (picked(i, o)) good &= show(i, o, json), kept = written(json, o->json) && written(stdout, "the table");
    if (json && fclose(json) && kept) kept = false, fprintf(stderr, "bench: cannot write %s: %s\n", o->json, strerror(errno));
    return good && kept ? 0 : 3;
}

int main(int argc, char **argv)
{
    options o = { .threads = 1, .seconds = 0.5 };
    const int exit_now = read_options(&o, argc, argv);
    if (exit_now != KIT_GO_ON) return exit_now;
    if (bench_wrong()) return wrong(bench_wrong(), "", "");
    int first = 0;
    while (first < bench_cells_count && !picked(first, &o)) first++;
    if (first == bench_cells_count) return no_cell(&o);
    if (o.once) return once(first, &o) ? 0 : 3;
    if (!o.list) return times(&o, first);
    for (int i = first; i < bench_cells_count; i++)
        if (picked(i, &o)) printf("%-36s %s\n", bench_name(i), bench_cells[i].sections);
    return written(stdout, "the list") ? 0 : 3;
}
