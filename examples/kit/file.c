/* examples/kit/file.c - reading a file. */
#include "examples/kit/file.h"
#include "core/op.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Double the room, or make it `least` bytes if that is more. */
static bool grow(gr_tape *t, kit_bytes *b, const char *path, size_t least)
{
    const size_t room = b->room * 2 > least ? b->room * 2 : least;
    char *const data = gr_memory_new(gr_tape_allocator(t), room);
    if (!data) return gr_fail_as(t, GR_NO_MEMORY, "", "%s: no memory for %zu bytes", path, room);
    if (b->n) memcpy(data, b->data, b->n);
    gr_memory_free(gr_tape_allocator(t), b->data, b->room);
    b->data = data, b->room = room;
    return true;
}

static void read_all(gr_tape *t, int fd, kit_bytes *b, const char *path, size_t most)
{
    for (;;) {
        if (b->n + 1 >= b->room && !grow(t, b, path, b->n + 2)) return;
        const ssize_t n = read(fd, b->data + b->n, b->room - 1 - b->n);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) gr_fail_as(t, GR_IO_FAILED, "", "%s: cannot be read: %s", path, strerror(errno));
        if (n <= 0) break;
        b->n += (size_t)n;
        if (b->n > most) {
            gr_fail_as(t, GR_BAD_FILE, "", "%s: holds more than %zu bytes", path, most);
            return;
        }
    }
    b->data[b->n] = 0;
}

kit_bytes kit_file_read(gr_tape *t, const char *path, size_t most)
{
    kit_bytes b = { 0 };
    struct stat st;
    if (gr_failed(t)) return b;
    int fd;
    do fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: open does not wait for a named pipe, which is refused below */
    while (fd < 0 && errno == EINTR);
    if (fd < 0 || fstat(fd, &st) != 0) gr_fail_as(t, GR_IO_FAILED, "", "%s: cannot be read: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode)) gr_fail_as(t, GR_IO_FAILED, "", "%s: is not a regular file", path);
    else if (grow(t, &b, path, ((uint64_t)st.st_size < most ? (size_t)st.st_size : most) + 2)) read_all(t, fd, &b, path, most);
    if (fd >= 0) close(fd);
    if (gr_failed(t)) kit_bytes_free(t, &b);
    return b;
}

void kit_bytes_free(gr_tape *t, kit_bytes *b)
{
    gr_memory_free(gr_tape_allocator(t), b->data, b->room);
    *b = (kit_bytes){ 0 };
}
