/* core/io/file.c - reading in order, and replacing as a whole: a new file in the same folder, written to the end, fsync, rename,
 * fsync of the folder. A crash at any moment leaves the old file or the new one.
 *
 * The new file's name is one of a few that belong to the path, and its writer holds a lock (flock) on it until it has its final name. The
 * kernel drops the lock when the writer dies, however it dies. So a file of such a name without a lock is what a dead writer left, and
 * the next writer of the same path removes it. A process number would not do: another process may have it by then, or it is
 * one of another machine. Where locks do not work at all, nothing is removed. */
#include "core/io/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_WRITERS = 32, MOST_LINKS = 40 };

/* error: errno, right after the call that has failed */
static void *file_failed_to(gr__failure *e, const char *what, const char *path, int error)
{
    return gr__fail(e, GR_IO_FAILED, "", "cannot %s '%s': %s", what, path, strerror(error));
}

static int file_open_patiently(const char *path, int flags, mode_t mode)
{
    int fd;
    do fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* ---- Reading ---- */

bool gr__file_open(gr__failure *e, gr__file *f, const char *path)
{
    struct stat s;
    *f = (gr__file){ .fd = -1, .path = path };
    if (gr__has_failed(e)) return false;
    if (!path) return gr__fail(e, GR_MISUSE, "", "the path of a file to read is NULL");
    f->fd = file_open_patiently(path, O_RDONLY | O_NONBLOCK, 0); /* a FIFO without a writer would block for ever */
    if (f->fd < 0) return file_failed_to(e, "open", path, errno);
    if (fstat(f->fd, &s) < 0) file_failed_to(e, "examine", path, errno);
    else if (!S_ISREG(s.st_mode)) gr__fail(e, GR_IO_FAILED, "", "cannot read '%s': it is not a regular file", path);
    if (gr__has_failed(e)) {
        gr__file_close(f);
        return false;
    }
    f->bytes = (size_t)s.st_size;
    return true;
}

bool gr__file_read(gr__failure *e, gr__file *f, void *p, size_t bytes)
{
    if (gr__has_failed(e)) return false;
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = read(f->fd, (char *)p + done, bytes - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_failed_to(e, "read", f->path, errno);
        if (!n) return gr__fail(e, GR_IO_FAILED, "", "cannot read '%s': it became shorter while it was read", f->path);
        done += (size_t)n;
    }
    return true;
}

void gr__file_close(gr__file *f)
{
    if (f->fd >= 0) close(f->fd);
    f->fd = -1;
}

/* ---- Writing ---- */

/* f->target: the path, or where it leads when it is a symbolic link; there need not be a file yet. False, and errno, on an error. */
static bool file_follow_links(gr__file *f)
{
    char link[GR__PATH_BYTES];
    if (strlen(f->path) >= sizeof f->target) return errno = ENAMETOOLONG, false;
    memcpy(f->target, f->path, strlen(f->path) + 1);
    for (int links = 0; links <= MOST_LINKS; links++) {
        const ssize_t n = readlink(f->target, link, sizeof link - 1);
        if (n < 0) return errno == EINVAL || errno == ENOENT; /* no link; nothing there */
        link[n] = 0;
        char *const slash = strrchr(f->target, '/'), *const end = *link == '/' || !slash ? f->target : slash + 1;
        if ((size_t)(end - f->target) + (size_t)n >= sizeof f->target) return errno = ENAMETOOLONG, false;
        memcpy(end, link, (size_t)n + 1);
    }
    return errno = ELOOP, false;
}

/* Names beside the target that are this path's own: <name>.gradus-<number>.tmp, or when that is longer than the folder allows,
 * gradus-<hash of the name>-<number>.tmp. */
static bool file_name_temporary(gr__file *f, unsigned number)
{
    const char *const slash = strrchr(f->target, '/'), *const name = slash ? slash + 1 : f->target;
    const size_t room = sizeof f->temporary;
    struct stat s;
    int n = snprintf(f->temporary, room, "%s.gradus-%u.tmp", f->target, number);
    if (n >= 0 && (size_t)n < room && (!lstat(f->temporary, &s) || errno != ENAMETOOLONG)) return true;
    n = snprintf(f->temporary, room, "%.*sgradus-%016llx-%u.tmp", (int)(name - f->target), f->target, (unsigned long long)gr__hash_text(GR__HASH, name), number);
    return (n >= 0 && (size_t)n < room) || (errno = ENAMETOOLONG, false);
}

static bool file_is_at(int fd, const char *path)
{
    struct stat a, b;
    return !fstat(fd, &a) && !lstat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

void gr__file_abandon(gr__file *f)
{
    if (f->fd >= 0 && file_is_at(f->fd, f->temporary)) unlink(f->temporary); /* under the lock */
    gr__file_close(f);
}

/* Whether nothing has the name f->temporary; what a dead writer left under it is removed. */
static bool file_name_is_free(const gr__file *f)
{
    struct stat s;
    if (lstat(f->temporary, &s)) return errno == ENOENT;
    const int fd = S_ISREG(s.st_mode) ? file_open_patiently(f->temporary, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0) : -1;
    if (fd < 0) return false;
    const bool removed = !flock(fd, LOCK_EX | LOCK_NB) && file_is_at(fd, f->temporary) && !unlink(f->temporary);
    close(fd);
    return removed;
}

/* Make the file f->temporary, with a lock; -1 and errno on an error, EEXIST when somebody was faster. A file system without locks is one
 * on which nobody removes anything. */
static int file_make_locked(const gr__file *f, mode_t mode)
{
    const int fd = file_open_patiently(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (fd < 0) return -1;
    const bool locked = !flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK;
    if (locked && file_is_at(fd, f->temporary)) return fd;
    close(fd); /* between the two calls, another writer took it for a dead one's */
    errno = EEXIST;
    return -1;
}

/* Take the first name that is free; look at all, to remove what is left under the others. */
static bool file_open_temporary(gr__failure *e, gr__file *f, mode_t mode)
{
    unsigned taken = 0;
    for (unsigned number = 0; number < MOST_WRITERS; number++) {
        const bool named = file_name_temporary(f, number);
        if (!named && f->fd < 0) return file_failed_to(e, "write", f->path, errno);
        if (!named || !file_name_is_free(f) || f->fd >= 0) continue;
        f->fd = file_make_locked(f, mode);
        if (f->fd >= 0) taken = number;
        else if (errno != EEXIST) return file_failed_to(e, "write", f->path, errno);
    }
    if (f->fd < 0) return gr__fail(e, GR_IO_FAILED, "", "cannot write '%s': %d others are writing it", f->path, MOST_WRITERS);
    return file_name_temporary(f, taken);
}

bool gr__file_create(gr__failure *e, gr__file *f, const char *path)
{
    struct stat old;
    f->fd = -1, f->path = path;
    if (gr__has_failed(e)) return false;
    if (!path) return gr__fail(e, GR_MISUSE, "", "the path of a file to write is NULL");
    if (!*path) return file_failed_to(e, "write", path, ENOENT);
    f->replaces = !stat(path, &old);
    if (!f->replaces && errno != ENOENT) return file_failed_to(e, "write", path, errno);
    if (f->replaces && !S_ISREG(old.st_mode)) return gr__fail(e, GR_IO_FAILED, "", "cannot write '%s': it is not a regular file", path);
    f->mode = f->replaces ? old.st_mode & 07777 : 0;
    if (!file_follow_links(f)) return file_failed_to(e, "write", path, errno);
    return file_open_temporary(e, f, f->replaces ? 0600 : 0666);
}

bool gr__file_write(gr__failure *e, gr__file *f, const void *p, size_t bytes)
{
    if (gr__has_failed(e)) return false;
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = write(f->fd, (const char *)p + done, bytes - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_failed_to(e, "write", f->path, errno);
        done += (size_t)n;
    }
    return true;
}

static int file_sync_patiently(int fd)
{
    int result;
    do result = fsync(fd);
    while (result < 0 && errno == EINTR);
    return result;
}

/* The new name is on the disk when its folder is. A file system that cannot sync a folder says EINVAL. */
static bool file_sync_folder(gr__failure *e, gr__file *f)
{
    char *const slash = strrchr(f->target, '/');
    const char *folder = ".";
    if (slash) slash[slash == f->target] = 0, folder = f->target;
    const int fd = file_open_patiently(folder, O_RDONLY | O_DIRECTORY, 0);
    const bool synced = fd >= 0 && (!file_sync_patiently(fd) || errno == EINVAL);
    if (!synced) file_failed_to(e, "write to the disk the folder of", f->path, errno);
    if (fd >= 0) close(fd);
    return synced;
}

/* The lock is held until the file has its name. */
bool gr__file_commit(gr__failure *e, gr__file *f)
{
    if (!gr__has_failed(e) && file_sync_patiently(f->fd) < 0) file_failed_to(e, "write to the disk", f->path, errno);
    if (f->replaces) (void)!fchmod(f->fd, f->mode); /* not every file system can */
    if (!gr__has_failed(e) && !file_is_at(f->fd, f->temporary)) file_failed_to(e, "replace", f->path, ENOENT); /* somebody has removed it */
    if (!gr__has_failed(e) && rename(f->temporary, f->target) < 0) file_failed_to(e, "replace", f->path, errno);
    if (gr__has_failed(e)) {
        gr__file_abandon(f);
        return false;
    }
    gr__file_close(f);
    return file_sync_folder(e, f);
}
