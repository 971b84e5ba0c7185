/* core/file.c - reading in order, and replacing as a whole: a new file in the same folder, written to the end, fsync, rename,
 * fsync of the folder. A crash at any moment leaves the old file or the new one. */
#include "core/file.h"
#include "core/op.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void *file_failed_to(gr_tape *t, const char *what, const char *path)
{
    return gr_fail_as(t, GR_IO_FAILED, "", "cannot %s '%s': %s", what, path, strerror(errno));
}

static int file_open_patiently(const char *path, int flags, mode_t mode)
{
    int fd;
    do fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* ---- Reading ---- */

bool gr__file_open(gr_tape *t, gr__file *f, const char *path)
{
    struct stat s;
    *f = (gr__file){ .fd = -1, .path = path };
    if (gr_failed(t)) return false;
    if (!path) return gr_fail(t, NULL, "the path of a file to read is NULL");
    f->fd = file_open_patiently(path, O_RDONLY | O_NONBLOCK, 0); /* a FIFO without a writer would block for ever */
    if (f->fd < 0) return file_failed_to(t, "open", path);
    if (fstat(f->fd, &s) < 0) file_failed_to(t, "examine", path);
    else if (!S_ISREG(s.st_mode)) gr_fail_as(t, GR_IO_FAILED, "", "cannot read '%s': it is not a regular file", path);
    if (gr_failed(t)) {
        gr__file_close(f);
        return false;
    }
    f->bytes = (size_t)s.st_size;
    return true;
}

bool gr__file_read(gr_tape *t, gr__file *f, void *p, size_t bytes)
{
    if (gr_failed(t)) return false;
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = read(f->fd, (char *)p + done, bytes - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_failed_to(t, "read", f->path);
        if (!n) return gr_fail_as(t, GR_IO_FAILED, "", "cannot read '%s': it became shorter while it was read", f->path);
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

static void file_release_name(gr_tape *t, gr__file *f)
{
    gr_memory_free(gr_tape_allocator(t), f->temporary, f->temporary_bytes);
    f->temporary = NULL;
}

void gr__file_abandon(gr_tape *t, gr__file *f)
{
    gr__file_close(f);
    if (!f->temporary) return;
    unlink(f->temporary);
    file_release_name(t, f);
}

/* A name beside path that no other process and no other file of this one has: path.<process>.<number>.tmp */
static bool file_open_temporary(gr_tape *t, gr__file *f, mode_t mode)
{
    for (unsigned number = 0; f->fd < 0; number++) {
        snprintf(f->temporary, f->temporary_bytes, "%s.%ld.%u.tmp", f->path, (long)getpid(), number);
        f->fd = file_open_patiently(f->temporary, O_WRONLY | O_CREAT | O_EXCL, mode);
        if (f->fd < 0 && (errno != EEXIST || number == 1000)) return file_failed_to(t, "write", f->path);
    }
    return true;
}

bool gr__file_create(gr_tape *t, gr__file *f, const char *path)
{
    struct stat old;
    *f = (gr__file){ .fd = -1, .path = path };
    if (gr_failed(t)) return false;
    if (!path) return gr_fail(t, NULL, "the path of a file to write is NULL");
    const bool replaces = !stat(path, &old);
    if (replaces && !S_ISREG(old.st_mode)) return gr_fail_as(t, GR_IO_FAILED, "", "cannot write '%s': it is not a regular file", path);
    f->temporary_bytes = strlen(path) + sizeof ".-9223372036854775808.4294967295.tmp";
    f->temporary = gr_memory_new(gr_tape_allocator(t), f->temporary_bytes);
    if (!f->temporary) return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory: writing '%s'", path);
    if (!file_open_temporary(t, f, replaces ? old.st_mode & 0777 : 0666)) {
        file_release_name(t, f);
        return false;
    }
    if (replaces) (void)!fchmod(f->fd, old.st_mode & 07777); /* what the umask took away; not every file system can */
    return true;
}

bool gr__file_write(gr_tape *t, gr__file *f, const void *p, size_t bytes)
{
    if (gr_failed(t)) return false;
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = write(f->fd, (const char *)p + done, bytes - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_failed_to(t, "write", f->path);
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
static bool file_sync_folder(gr_tape *t, const gr__file *f)
{
    char *const slash = strrchr(f->temporary, '/');
    const char *folder = ".";
    if (slash) slash[slash == f->temporary] = 0, folder = f->temporary;
    const int fd = file_open_patiently(folder, O_RDONLY | O_DIRECTORY, 0);
    const bool synced = fd >= 0 && (!file_sync_patiently(fd) || errno == EINVAL);
    if (!synced) file_failed_to(t, "write to the disk the folder of", f->path);
    if (fd >= 0) close(fd);
    return synced;
}

bool gr__file_commit(gr_tape *t, gr__file *f)
{
    if (!gr_failed(t) && file_sync_patiently(f->fd) < 0) file_failed_to(t, "write to the disk", f->path);
    const int fd = f->fd;
    f->fd = -1;
    if (close(fd) < 0 && errno != EINTR) file_failed_to(t, "write", f->path);
    if (!gr_failed(t) && rename(f->temporary, f->path) < 0) file_failed_to(t, "replace", f->path);
    if (gr_failed(t)) {
        gr__file_abandon(t, f);
        return false;
    }
    const bool synced = file_sync_folder(t, f);
    file_release_name(t, f);
    return synced;
}
