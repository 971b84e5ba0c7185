/* examples/kit/output.c - writing files; core/io/file.h does the work. */
#include "examples/kit/output.h"
#include "core/library.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool fails(gr_tape *t, const char *path, int error)
{
    return gr_fail_as(t, GR_IO_FAILED, "", "cannot write '%s': %s", path, strerror(error ? error : EIO));
}

kit_file kit_file_begin(gr_tape *t, const char *path)
{
    kit_file f = { 0 };
    if (!gr__file_create(gr__tape_failure(t), &f.file, path)) return f;
    const int fd = fcntl(f.file.fd, F_DUPFD_CLOEXEC, 3);
    f.out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f.out) return f;
    fails(t, path, errno);
    if (fd >= 0) close(fd);
    gr__file_abandon(&f.file);
    return f;
}

bool kit_file_end(gr_tape *t, kit_file *f)
{
    if (!f->out) return false;
    if (!gr_failed(t)) {
        errno = 0;
        const bool well = fflush(f->out) == 0 && !ferror(f->out);
        if (!well && !errno) (void)!write(fileno(f->out), "", 1); /* sets errno to the reason why an earlier write failed */
        if (!well) fails(t, f->file.path, errno);
    }
    if (fclose(f->out) != 0 && !gr_failed(t)) fails(t, f->file.path, errno);
    f->out = NULL;
    return gr__file_commit(gr__tape_failure(t), &f->file);
}

bool kit_can_write(gr_tape *t, const char *flag, const char *path)
{
    gr__file f;
    gr__failure trial = { 0 };
    if (!path || gr_failed(t)) return !gr_failed(t);
    if (!gr__file_create(&trial, &f, path)) return gr_fail_as(t, trial.code, "", "--%s: %s", flag, trial.message);
    gr__file_abandon(&f);
    return true;
}
