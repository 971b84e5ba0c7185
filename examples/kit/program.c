/* examples/kit/program.c - the program and its surroundings. */
#include "examples/kit/program.h"
#include "core/op.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int kit_exit_code(const gr_tape *t, const char *program, bool started)
{
    if (!gr_failed(t)) return KIT_DONE;
    fprintf(stderr, "%s: %s\n", program, t ? gr_message(t) : "out of memory");
    switch (t ? gr_error_code(t) : GR_NO_MEMORY) {
    case GR_OK: return KIT_DONE;
    case GR_NO_MEMORY: return KIT_NO_ROOM;
    case GR_IO_FAILED: return started ? KIT_NO_ROOM : KIT_BAD_INPUT;
    case GR_NOT_FINITE: return KIT_MISSED;
    case GR_MISUSE:
    case GR_BAD_FILE: break;
    }
    return KIT_BAD_INPUT;
}

void kit_program_start(void)
{
    for (int fd = 0; fd <= 2; fd++) /* open takes the lowest number that is free */
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd) _exit(KIT_NO_ROOM);
    signal(SIGPIPE, SIG_IGN), signal(SIGXFSZ, SIG_IGN);
}

bool kit_check_stdout(gr_tape *t)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || kit_interrupted()) return true;
    if (!errno) (void)!write(STDOUT_FILENO, "\n", 1); /* sets errno to the reason why an earlier write failed */
    return gr_fail_as(t, GR_IO_FAILED, "", "cannot write to stdout: %s", strerror(errno ? errno : EIO));
}

static volatile sig_atomic_t interrupted, watched = -1, nowhere = -1;

static void note(int signal_number)
{
    const int error = errno, waits[] = { STDOUT_FILENO, STDERR_FILENO, watched };
    interrupted = signal_number;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        struct pollfd pipe = { waits[i], POLLOUT, 0 };
        if (waits[i] >= 0 && nowhere >= 0 && poll(&pipe, 1, 0) == 0) dup2(nowhere, waits[i]);
    }
    errno = error;
}

void kit_catch_interrupts(void)
{
    const struct sigaction a = { .sa_handler = note, .sa_flags = (int)SA_RESETHAND }; /* without SA_RESTART, so that a waiting write ends */
    if (nowhere < 0) nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    sigaction(SIGINT, &a, NULL), sigaction(SIGTERM, &a, NULL);
}

void kit_watch_fd(int fd) { watched = fd; }

bool kit_interrupted(void) { return interrupted; }

double kit_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int kit_cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef CPU_COUNT /* Linux */
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) n = CPU_COUNT(&set);
#endif
    return n > 0 ? (int)n : 1;
}

const char *kit_cpu(char *name, size_t bytes)
{
    char line[256];
    FILE *const f = fopen("/proc/cpuinfo", "re");
    snprintf(name, bytes, "unknown");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "model name", 10) == 0 && strstr(line, ": ")) {
            const char *const found = strstr(line, ": ") + 2;
            snprintf(name, bytes, "%.*s", (int)strcspn(found, "\n"), found);
            break;
        }
    if (f) fclose(f);
    return name;
}

uint64_t kit_hash(uint64_t hash, const void *data, size_t n)
{
    for (const unsigned char *p = data, *end = p + n; p < end; p++) hash = (hash ^ *p) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t kit_fingerprint(const gr_module *m)
{
    uint64_t hash = KIT_HASH;
    for (const gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) {
        hash = kit_hash(hash, s->path, strlen(s->path) + 1);
        if (s->tensor) hash = kit_hash(hash, s->tensor->data, s->tensor->len * sizeof *s->tensor->data);
        else hash = kit_hash(hash, &s->count, sizeof s->count);
    }
    return hash;
}
