/* examples/kit/kit_file.c - files that appear whole or not at all: written beside their place, brought to the disk, then renamed. */
#include "core/op.h"
#include "examples/kit/kit_page.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fails(gr_tape *t, const char *path, int error)
{
    return gr_fail_as(t, GR_IO_FAILED, "", "%s: cannot be written: %s", path, strerror(error ? error : EIO));
}

kit_file kit_file_begin(gr_tape *t, const char *path)
{
    kit_file f = { .path = path };
    struct stat old;
    if (gr_failed(t)) return f;
    const bool replaces = stat(path, &old) == 0;
    if (replaces && S_ISDIR(old.st_mode)) return fails(t, path, EISDIR), f;
    if (replaces && !S_ISREG(old.st_mode)) return gr_fail_as(t, GR_IO_FAILED, "", "%s: is not a regular file", path), f;
    int fd = -1;
    errno = EEXIST;
    for (int trial = 0; fd < 0 && errno == EEXIST && trial < 100; trial++) {
        if (snprintf(f.made, sizeof f.made, "%s.%ld-%d.tmp", path, (long)getpid(), trial) >= (int)sizeof f.made)
            return fails(t, path, ENAMETOOLONG), f;
        fd = open(f.made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? old.st_mode & 0777 : 0666);
    }
    if (fd >= 0) f.out = fdopen(fd, "w");
    if (f.out) return f;
    fails(t, path, errno);
    if (fd >= 0) close(fd), unlink(f.made);
    return f;
}

bool kit_file_end(gr_tape *t, kit_file *f)
{
    if (!f->out) return false;
    const int fd = fileno(f->out);
    if (!gr_failed(t)) {
        errno = 0;
        bool well = fflush(f->out) == 0 && !ferror(f->out);
        if (!well && !errno) (void)!write(fd, "", 1); /* says why earlier ones failed */
        if (well) well = fsync(fd) == 0;
        if (!well) fails(t, f->path, errno);
    }
    if (fclose(f->out) != 0 && !gr_failed(t)) fails(t, f->path, errno);
    f->out = NULL;
    if (!gr_failed(t) && rename(f->made, f->path) != 0) fails(t, f->path, errno);
    if (gr_failed(t)) unlink(f->made);
    return !gr_failed(t);
}
