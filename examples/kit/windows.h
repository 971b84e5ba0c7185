/* examples/kit/windows.h - the functions of POSIX that MinGW-w64 lacks, as far as the programs and the tests need them beyond core/windows.h. What has
 * no counterpart fails with an error that the callers know: there is no gzip and no width of the terminal. */
#if defined _WIN32 && !defined KIT_WINDOWS_H
#define KIT_WINDOWS_H
#include "core/windows.h"

enum { F_GETFD, F_SETFD, FD_CLOEXEC, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, POLLOUT, TIOCGWINSZ, SA_RESETHAND = 0, SIGPIPE = 13, SIGXFSZ = 25 };
static inline int fcntl(int fd, int what, ...)
{
    return what == F_DUPFD_CLOEXEC ? _dup(fd) : what == F_GETFD && _get_osfhandle(fd) == -1 ? -1 : 0;
}
struct pollfd { int fd; short events, revents; };
#define poll(fds, n, ms) ((void)(fds), 1) /* as if a write never waited */
struct sigaction { void (*sa_handler)(int); int sa_flags; };
#define sigaction(number, action, old) (signal(number, (action)->sa_handler) == SIG_ERR ? -1 : 0)
struct winsize { int ws_col; };
#define ioctl(fd, what, to) ((void)(to), -1)
typedef int posix_spawn_file_actions_t;
#define posix_spawn_file_actions_init(plan) (*(plan) = 0)
#define posix_spawn_file_actions_adddup2(plan, from, to) 0
#define posix_spawn_file_actions_addopen(plan, fd, path, flags, mode) 0
#define posix_spawn_file_actions_destroy(plan) ((void)0)
#define posix_spawnp(pid, name, ...) ENOENT
#define pipe(ends) _pipe(ends, 4096, _O_BINARY | _O_NOINHERIT)
#define waitpid(pid, status, flags) ((void)(status), -1)
#define WIFEXITED(status) 0
#define WEXITSTATUS(status) 0

static inline void *memmem(const void *text, size_t n, const void *part, size_t m)
{
    for (const char *p = text; n >= m; p++, n--)
        if (!memcmp(p, part, m)) return (void *)(uintptr_t)p;
    return NULL;
}
static inline char *strcasestr(const char *text, const char *part)
{
    for (; *text; text++)
        if (!_strnicmp(text, part, strlen(part))) return (char *)(uintptr_t)text;
    return NULL;
}

/* ---- For the tests ---- */

#define sinl(x) ((long double)sin((double)(x))) /* those of MinGW-w64 are wrong for large arguments */
#define cosl(x) ((long double)cos((double)(x)))
#define tanl(x) ((long double)tan((double)(x)))

static inline int setenv(const char *name, const char *value, int again) { return !again && getenv(name) ? 0 : _putenv_s(name, value); }
static inline int unsetenv(const char *name) { return _putenv_s(name, ""); }
static inline char *mkdtemp(char *name) { return _mktemp(name) && !_mkdir(name) ? name : NULL; }

/* One at a time, for writing; the text is complete after fclose. */
typedef struct { FILE *file; char **text, *buffer; size_t *bytes, room; } posix_memory;
static inline posix_memory *posix_memory_stream(void)
{
    static posix_memory m;
    return &m;
}
static inline FILE *open_memstream(char **text, size_t *bytes)
{
    posix_memory *const m = posix_memory_stream();
    *m = (posix_memory){ .file = tmpfile(), .text = text, .bytes = bytes };
    return m->file;
}
static inline FILE *fmemopen(void *buffer, size_t room, const char *mode)
{
    posix_memory *const m = posix_memory_stream();
    *m = (posix_memory){ .file = *mode == 'w' ? tmpfile() : NULL, .buffer = buffer, .room = room };
    return m->file;
}
static inline int posix_fclose(FILE *f)
{
    posix_memory *const m = posix_memory_stream();
    if (f != m->file) return fclose(f);
    const size_t n = (size_t)ftell(f), kept = m->buffer && n >= m->room ? m->room - 1 : n;
    char *const text = m->buffer ? m->buffer : calloc(n + 1, 1);
    rewind(f), text[fread(text, 1, kept, f)] = 0;
    if (m->text) *m->text = text, *m->bytes = n;
    m->file = NULL;
    return fclose(f);
}
#define fclose posix_fclose
#endif
