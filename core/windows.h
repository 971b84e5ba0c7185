/* core/windows.h - the functions of POSIX that MinGW-w64 lacks, as far as the library needs them; examples/kit/windows.h has the rest. For Windows, every
 * file is compiled with -include of one of the two and with empty headers of the missing names (see the Makefile), so that no other file asks for the
 * system. The functions of Windows are declared here, because <windows.h> would bring thousands of names into the one-file build. What has no counterpart
 * fails with an error that the callers know: there is no symbolic link. fork is missing. */
#if defined _WIN32 && !defined GR_WINDOWS_H
#define GR_WINDOWS_H
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <locale.h>
#include <malloc.h>
#include <math.h>
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

/* Like open without a mode. A folder is opened as NUL for posix_fsync, and as itself for reading, so that posix_fstat says what it is. */
static inline int posix_open(const char *path, int flags, ...)
{
    const int writes = flags & (O_WRONLY | O_RDWR), share_read = 1, share_write = 2, share_delete = 4;
    const int how = !(flags & O_CREAT) ? flags & O_TRUNC ? 5 : 3 : flags & O_EXCL ? 1 : flags & O_TRUNC ? 2 : 4;
    void *const handle = CreateFileA(flags & O_DIRECTORY || !strcmp(path, "/dev/null") ? "NUL" : path, writes ? 0x40000000 : 0x80000000,
                                     (unsigned)(share_read | share_delete | (writes ? 0 : share_write)), NULL, (unsigned)how, writes ? 0x80 : 0x2000080, NULL);
    return posix_result(handle != (void *)-1) ? -1 : _open_osfhandle((intptr_t)handle, flags & O_APPEND);
}

/* The C library has no identity of a file. It is the index that the file system gives it, and fits into st_dev and the 16 bits of st_ino. */
typedef struct { unsigned long attributes, times[6], volume, size_high, size_low, links, index_high, index_low; } posix_identity;
__declspec(dllimport) int __stdcall GetFileInformationByHandle(void *, posix_identity *);
static inline int posix_fstat(int fd, struct stat *s)
{
    posix_identity id = { 0 };
    if (fstat(fd, s)) return -1;
    s->st_dev = 0, s->st_ino = 0;
    if (GetFileInformationByHandle((void *)_get_osfhandle(fd), &id)) s->st_dev = id.index_low, s->st_ino = (unsigned short)(id.index_high ? id.index_high : 1);
    if (id.attributes & 16) s->st_mode = S_IFDIR;
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

/* ---- Mathematics. sin and cos of MinGW-w64 are wrong for large arguments, so these are the ones of the C library of Windows. They are called by pointers,
 * because the compiler would make one call of the sincos of MinGW-w64 of two calls. ---- */

extern double (*const posix_sin)(double) __asm__("__imp_sin"), (*const posix_cos)(double) __asm__("__imp_cos");
#define sin(x) posix_sin(x)
#define cos(x) posix_cos(x)

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

/* ---- The machine ---- */

enum { _SC_NPROCESSORS_ONLN = 0, _SC_PAGESIZE };
static inline long sysconf(int what)
{
    const char *const cores = getenv("NUMBER_OF_PROCESSORS");
    return what == _SC_PAGESIZE ? 4096 : cores ? atol(cores) : 1;
}
#endif
