/* windows/posix.h - the functions of POSIX that MinGW-w64 lacks, as far as the library, the programs and the tests need them. For Windows, every file is
 * compiled with -include windows/posix.h and with empty headers of the missing names (see the Makefile), so that no other file asks for the system. The
 * functions of Windows are declared here, because <windows.h> would bring thousands of names into the one-file build. What has no counterpart fails
 * with an error that the callers know: there is no symbolic link, no gzip, no width of the terminal. fork is missing. */
#ifndef GR_POSIX_H
#define GR_POSIX_H
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Memory ---- */

#define aligned_alloc(align, bytes) _aligned_malloc(bytes, align)
#define aligned_free _aligned_free

/* ---- Files. One that is open for writing cannot be opened for writing again, and this is its lock; it can be renamed and removed all the same. ---- */

__declspec(dllimport) void *__stdcall CreateFileA(const char *, unsigned long, unsigned long, void *, unsigned long, unsigned long, void *);
__declspec(dllimport) int __stdcall MoveFileExA(const char *, const char *, unsigned long);
__declspec(dllimport) unsigned long __stdcall GetLastError(void);

enum { O_CLOEXEC = 0, O_NONBLOCK = 0, O_NOFOLLOW = 0, O_DIRECTORY = 1 << 30, LOCK_EX = 0, LOCK_NB = 0 };
#define flock(fd, how) 0
#define fchmod(fd, mode) 0
#define mkdir(path, mode) _mkdir(path)
#define readlink(path, to, room) (errno = EINVAL, -1) /* not a link */
#define rename(from, to) posix_result(MoveFileExA(from, to, 1 | 8)) /* replace, and wait for the disk */
#define open posix_open
#define fsync posix_fsync

static inline int posix_result(int good)
{
    const unsigned long error = good ? 0 : GetLastError();
    if (!good) errno = error == 2 || error == 3 ? ENOENT : error == 80 || error == 183 ? EEXIST : error == 112 ? ENOSPC : EACCES;
    return good ? 0 : -1;
}

/* Like open without a mode. A folder is opened as NUL, for posix_fsync. */
static inline int posix_open(const char *path, int flags, ...)
{
    const int writes = flags & (O_WRONLY | O_RDWR), share_read = 1, share_write = 2, share_delete = 4;
    const int how = !(flags & O_CREAT) ? flags & O_TRUNC ? 5 : 3 : flags & O_EXCL ? 1 : flags & O_TRUNC ? 2 : 4;
    void *const handle = CreateFileA(flags & O_DIRECTORY || !strcmp(path, "/dev/null") ? "NUL" : path, writes ? 0x40000000 : 0x80000000,
                                     (unsigned)(share_read | share_delete | (writes ? 0 : share_write)), NULL, (unsigned)how, 0x80, NULL);
    return posix_result(handle != (void *)-1) ? -1 : _open_osfhandle((intptr_t)handle, flags & O_APPEND);
}

/* The C library has no identity of a file. It is the index that the file system gives it, and fits into st_dev and the 16 bits of st_ino. */
typedef struct { unsigned long attributes, times[6], volume, size_high, size_low, links, index_high, index_low; } posix_identity;
__declspec(dllimport) int __stdcall GetFileInformationByHandle(void *, posix_identity *);
static inline int posix_fstat(int fd, struct stat *s)
{
    posix_identity id;
    if (fstat(fd, s)) return -1;
    s->st_dev = 0, s->st_ino = 0;
    if (GetFileInformationByHandle((void *)_get_osfhandle(fd), &id)) s->st_dev = id.index_low, s->st_ino = (unsigned short)(id.index_high ? id.index_high : 1);
    return 0;
}
static inline int posix_lstat(const char *path, struct stat *s)
{
    const int fd = posix_open(path, O_RDONLY), wrong = fd < 0 ? stat(path, s) : posix_fstat(fd, s);
    if (fd >= 0) close(fd);
    return wrong;
}
#undef fstat
#define fstat posix_fstat
#define lstat posix_lstat

static inline int posix_fsync(int fd) /* EINVAL for a folder, as from a file system that cannot sync folders */
{
    return _commit(fd) ? errno = EINVAL, -1 : 0;
}

/* ---- Locales: a locale_t is the name of one, and the decimal point is all of it ---- */

typedef const char *locale_t;
#define LC_ALL_MASK 0
#define newlocale(mask, name, base) (name)
#define freelocale(locale) ((void)(locale))
static inline locale_t uselocale(locale_t next)
{
    static _Thread_local char before[64];
    _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
    const char *const now = setlocale(LC_NUMERIC, NULL), *const old = strcmp(now, "C") ? before : "C";
    if (old == before && next != before) snprintf(before, sizeof before, "%s", now);
    setlocale(LC_NUMERIC, next);
    return old;
}

/* ---- For the programs ---- */

enum { F_GETFD, F_SETFD, FD_CLOEXEC, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, POLLOUT, TIOCGWINSZ, SA_RESETHAND = 0, SIGPIPE = 13, SIGXFSZ = 25, _SC_NPROCESSORS_ONLN = 0, _SC_PAGESIZE };
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
static inline long sysconf(int what)
{
    const char *const cores = getenv("NUMBER_OF_PROCESSORS");
    return what == _SC_PAGESIZE ? 4096 : cores ? atol(cores) : 1;
}
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
