/* core/io/file.c - read a file in order, and replace a file as a whole: write a new file in the same folder, fsync, rename,
 * fsync the folder. A crash at any moment leaves the old file or the new one.
 *
 * The new file has one of a few names that belong to the path, and its writer holds a lock (flock) on it until it has its final name. The
 * kernel releases the lock when the writer dies, whatever the reason. So a dead writer left every file of such a name that has no lock, and
 * the next writer of the same path removes it. The number of a process in the name would not suffice: another process may have got the same number, or
 * the process runs on another machine. Where locks do not work at all, nothing is removed. */
#include "core/io/file.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_WRITERS = 32, MOST_LINKS = 40, MOST_AT_ONCE = 1 << 30 };

/* error is errno right after the call that failed */
static void *file_failed_to(gr__failure *e, const char *what, const char *path, int error)
{
    return gr__fail(e, GR_IO_FAILED, "", "cannot %s '%s': %s", what, path, strerror(error));
}

/* The result of a system call, which is repeated as long as a signal interrupts it. */
#define FILE_PATIENTLY(call) __extension__({ ssize_t result_; do result_ = call; while (result_ < 0 && errno == EINTR); result_; })

static int file_open(const char *path, int flags, mode_t mode) { return (int)FILE_PATIENTLY(open(path, flags | O_CLOEXEC, mode)); }

/* How many of these bytes to read or write in one call: macOS and Windows refuse 2^31 and more. */
static unsigned file_piece(size_t bytes) { return bytes < MOST_AT_ONCE ? (unsigned)bytes : MOST_AT_ONCE; }

/* ---- Reading ---- */

bool gr__file_open(gr__failure *e, gr__file *f, const char *path)
{
    struct stat s;
    *f = (gr__file){ .fd = -1, .path = path };
    if (gr__has_failed(e)) return false;
    if (!path) return gr__fail(e, GR_MISUSE, "", "the path of a file to read is NULL");
    f->fd = file_open(path, O_RDONLY | O_NONBLOCK, 0); /* a FIFO without a writer would block for ever */
    if (f->fd < 0) return file_failed_to(e, "open", path, errno);
    if (fstat(f->fd, &s) < 0) file_failed_to(e, "examine", path, errno);
    else if (!S_ISREG(s.st_mode)) gr__fail(e, GR_IO_FAILED, "", "cannot read '%s': it is not a regular file", path);
    if (gr__has_failed(e)) return gr__file_close(f), false;
    f->bytes = (size_t)s.st_size;
    return true;
}

bool gr__file_read(gr__failure *e, gr__file *f, void *p, size_t bytes)
{
    if (gr__has_failed(e)) return false;
    if (f->memory) return memcpy(p, f->memory, bytes), f->memory += bytes, true;
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = FILE_PATIENTLY(read(f->fd, (char *)p + done, file_piece(bytes - done)));
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

/* Set f->target to the path, or to the path to which it leads when it is a symbolic link; the file need not exist. False, and errno, on an error. */
static bool file_follow_links(gr__file *f)
{
    char link[GR__PATH_BYTES];
    if (strlen(f->path) >= sizeof f->target) return errno = ENAMETOOLONG, false;
    memcpy(f->target, f->path, strlen(f->path) + 1);
    for (int links = 0; links <= MOST_LINKS; links++) {
        const ssize_t n = readlink(f->target, link, sizeof link - 1);
        if (n < 0) return errno == EINVAL || errno == ENOENT; /* not a link; it does not exist */
        link[n] = 0;
        char *const slash = strrchr(f->target, '/'), *const end = *link == '/' || !slash ? f->target : slash + 1;
        if ((size_t)(end - f->target) + (size_t)n >= sizeof f->target) return errno = ENAMETOOLONG, false;
        memcpy(end, link, (size_t)n + 1);
    }
    return errno = ELOOP, false;
}

/* Set f->temporary to a name beside the target that belongs to this path: <name>.gradus-<number>.tmp, or gradus-<hash of the name>-<number>.tmp when
 * that is longer than the folder allows. */
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
    if (f->fd >= 0 && file_is_at(f->fd, f->temporary)) unlink(f->temporary); /* while the lock is held */
    gr__file_close(f);
}

/* Whether no file has the name f->temporary. A file that a dead writer left is removed. */
static bool file_name_is_free(const gr__file *f)
{
    struct stat s;
    if (lstat(f->temporary, &s)) return errno == ENOENT;
    const int fd = S_ISREG(s.st_mode) ? file_open(f->temporary, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0) : -1;
    if (fd < 0) return false;
    const bool removed = !flock(fd, LOCK_EX | LOCK_NB) && file_is_at(fd, f->temporary) && !unlink(f->temporary);
    close(fd);
    return removed;
}

/* Make the file f->temporary, and lock it. -1 and errno on an error; EEXIST when another writer was faster. On a file system without locks nobody
 * removes anything, so the file is safe there too. */
static int file_make_locked(const gr__file *f, mode_t mode)
{
    const int fd = file_open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (fd < 0) return -1;
    const bool locked = !flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK;
    if (locked && file_is_at(fd, f->temporary)) return fd;
    close(fd); /* between open and flock, another writer removed it as the file of a dead writer */
    errno = EEXIST;
    return -1;
}

/* Take the first free name. Look at all names, to remove the files of dead writers. */
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
        const ssize_t n = FILE_PATIENTLY(write(f->fd, (const char *)p + done, file_piece(bytes - done)));
        if (n < 0) return file_failed_to(e, "write", f->path, errno);
        done += (size_t)n;
    }
    return true;
}

/* A sync of the folder writes the new name to the disk. A file system that cannot sync a folder gives EINVAL. */
static bool file_sync_folder(gr__failure *e, gr__file *f)
{
    char *const slash = strrchr(f->target, '/');
    const char *folder = ".";
    if (slash) slash[slash == f->target] = 0, folder = f->target;
    const int fd = file_open(folder, O_RDONLY | O_DIRECTORY, 0);
    const bool synced = fd >= 0 && (!FILE_PATIENTLY(fsync(fd)) || errno == EINVAL);
    if (!synced) file_failed_to(e, "write to the disk the folder of", f->path, errno);
    if (fd >= 0) close(fd);
    return synced;
}

/* The lock is held until the file has its final name. */
bool gr__file_commit(gr__failure *e, gr__file *f)
{
    if (!gr__has_failed(e) && FILE_PATIENTLY(fsync(f->fd)) < 0) file_failed_to(e, "write to the disk", f->path, errno);
    if (f->replaces) (void)!fchmod(f->fd, f->mode); /* not every file system can */
    if (!gr__has_failed(e) && !file_is_at(f->fd, f->temporary)) file_failed_to(e, "replace", f->path, ENOENT); /* another program removed it */
    if (!gr__has_failed(e) && rename(f->temporary, f->target) < 0) file_failed_to(e, "replace", f->path, errno);
    if (gr__has_failed(e)) return gr__file_abandon(f), false;
    gr__file_close(f);
    return file_sync_folder(e, f);
}
