/* tests/faults.h - failures on demand: the n-th call of a kind fails, or it and all after it. This file defines open, read, write, fsync, rename, close and
 * pthread_create in place of libc's; a test that includes it is linked with the static library, whose calls come here. */
#ifndef GR_FAULTS_H
#define GR_FAULTS_H
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FAULT_KINDS(X) X(ALLOCATION) X(OPEN) X(READ) X(WRITE) X(FSYNC) X(RENAME) X(THREAD)
#define FAULT_ENUM(name) FAULT_##name,
#define FAULT_TEXT(name) #name,
typedef enum { FAULT_KINDS(FAULT_ENUM) FAULTS } fault_kind;
static const char *const fault_name[] = { FAULT_KINDS(FAULT_TEXT) };

static struct { size_t calls[FAULTS], at[FAULTS]; bool for_ever; long bytes, files; } faults; /* bytes and files: what is held now */

/* True when this call is to fail; errno is set. */
static bool fault(fault_kind kind)
{
    const size_t call = ++faults.calls[kind], at = faults.at[kind];
    if (!at || (faults.for_ever ? call < at : call != at)) return false;
    errno = kind == FAULT_WRITE ? ENOSPC : kind == FAULT_THREAD ? EAGAIN : EIO;
    return true;
}

static void *fault_alloc(void *context, size_t bytes)
{
    (void)context;
    if (fault(FAULT_ALLOCATION)) return NULL;
    faults.bytes += (long)bytes;
    return gr_default_allocator().alloc(NULL, bytes);
}
static void fault_release(void *context, void *p, size_t bytes)
{
    faults.bytes -= (long)bytes;
    gr_default_allocator().release(context, p, bytes);
}
static const gr_allocator fault_allocator = { fault_alloc, fault_release, NULL };

/* ---- In place of libc's ---- */

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (fault(FAULT_OPEN)) return -1;
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    faults.files += fd >= 0;
    return fd;
}
int close(int fd)
{
    faults.files--;
    return (int)syscall(SYS_close, fd);
}
ssize_t read(int fd, void *p, size_t n) { return fault(FAULT_READ) ? -1 : syscall(SYS_read, fd, p, n > 100 ? n / 2 + 1 : n); } /* short reads */
ssize_t write(int fd, const void *p, size_t n) { return fault(FAULT_WRITE) ? -1 : syscall(SYS_write, fd, p, n > 100 ? n / 2 + 1 : n); }
int fsync(int fd) { return fault(FAULT_FSYNC) ? -1 : (int)syscall(SYS_fsync, fd); }
int rename(const char *from, const char *to) { return fault(FAULT_RENAME) ? -1 : (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to); }
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*f)(void *), void *argument)
{
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    create *real;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return fault(FAULT_THREAD) ? EAGAIN : real(thread, attributes, f, argument);
}
#endif
