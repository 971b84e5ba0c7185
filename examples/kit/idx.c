/* examples/kit/idx.c - reading IDX files. A header is four bytes (0, 0, 8 for "bytes", the rank) and the sizes, big-endian. */
#include "examples/kit/idx.h"
#include "core/op.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { LONGEST_PATH = 4096, DEFLATE_MOST = 1032 }; /* one byte of deflate unpacks to at most 1,032 bytes */

typedef struct {
    char path[LONGEST_PATH];
    int fd;
    pid_t gzip;    /* the process that unpacks the file; 0 for a plain file */
    uint64_t most; /* most bytes that can be read from it */
} source;

static void *bad(gr_tape *t, const source *s, const char *what) { return gr_fail_as(t, GR_BAD_FILE, "", "%s: %s", s->path, what); }
static void *broken(gr_tape *t, const source *s, const char *doing)
{
    return gr_fail_as(t, GR_IO_FAILED, "", "%s: cannot %s: %s", s->path, doing, strerror(errno));
}

static void no_gzip(gr_tape *t, const source *s, int wrong)
{
    const char *const why = wrong == ENOENT || wrong == EACCES ? "no gzip in PATH can be run" : strerror(wrong);
    gr_fail_as(t, GR_IO_FAILED, "", "%s: cannot run gzip: %s; install gzip, or unpack the file", s->path, why);
}

/* Make s->fd the output of `gzip -dc` on the file. There is no shell, so that no name needs quoting. */
static bool unzip(gr_tape *t, source *s)
{
    int ends[2];
    posix_spawn_file_actions_t plan;
    if (pipe(ends) != 0) return broken(t, s, "make a pipe");
    fcntl(ends[0], F_SETFD, FD_CLOEXEC), fcntl(ends[1], F_SETFD, FD_CLOEXEC); /* macOS has no pipe2 */
    int wrong = posix_spawn_file_actions_init(&plan);
    if (!wrong) {
        wrong = posix_spawn_file_actions_adddup2(&plan, s->fd, 0);
        if (!wrong) wrong = posix_spawn_file_actions_adddup2(&plan, ends[1], 1);
        if (!wrong) wrong = posix_spawn_file_actions_addopen(&plan, 2, "/dev/null", O_WRONLY, 0);
        if (!wrong) wrong = posix_spawnp(&s->gzip, "gzip", &plan, NULL, (char *[]){ "gzip", "-dc", NULL }, environ);
        posix_spawn_file_actions_destroy(&plan);
    }
    close(ends[1]), close(s->fd);
    s->fd = ends[0];
    if (!wrong) return true;
    s->gzip = 0;
    no_gzip(t, s, wrong);
    return false;
}

static bool open_source(gr_tape *t, source *s, const char *dir, const char *name)
{
    struct stat st;
    *s = (source){ .fd = -1 };
    for (int zipped = 0; zipped < 2 && s->fd < 0; zipped++) {
        if (snprintf(s->path, sizeof s->path, "%s/%s%s", dir, name, zipped ? ".gz" : "") >= (int)sizeof s->path)
            return gr_fail_as(t, GR_IO_FAILED, "", "%s: the path is too long", dir);
        s->fd =
            open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: open does not wait for a named pipe, which is refused below */
        if (s->fd < 0 && errno != ENOENT) return broken(t, s, "open");
        if (s->fd < 0) continue;
        if (fstat(s->fd, &st) != 0) return broken(t, s, "read");
        if (!S_ISREG(st.st_mode)) return bad(t, s, "is not a regular file");
        s->most = (uint64_t)st.st_size;
        if (!zipped) continue;
        s->most *= DEFLATE_MOST;
        if (!unzip(t, s)) return false;
    }
    if (s->fd >= 0) return true;
    return gr_fail_as(t, GR_IO_FAILED, "", "%s/%s: no such file, plain or .gz (examples/fetch_mnist.sh fetches MNIST)", dir, name);
}

/* Wait until gzip ends, and return its exit status. */
static int reap(source *s)
{
    int status = 0;
    pid_t ended;
    do ended = waitpid(s->gzip, &status, 0);
    while (ended < 0 && errno == EINTR);
    s->gzip = 0;
    return ended < 0 ? 0 : status; /* waitpid fails when SIGCHLD is ignored; the length is checked anyway */
}

static void close_source(source *s)
{
    if (s->fd >= 0) close(s->fd);
    if (s->gzip) reap(s); /* it ends because its pipe is closed */
}

/* Read n bytes, or fewer at the end of the file. There it reports a failure of gzip, so that the caller does not report missing bytes. */
static size_t read_bytes(gr_tape *t, source *s, uint8_t *to, size_t n)
{
    size_t got = 0;
    while (got < n) {
        const ssize_t r = read(s->fd, to + got, n - got);
        if (r < 0 && errno == EINTR) continue;
        if (r < 0) broken(t, s, "read");
        if (r <= 0) break;
        got += (size_t)r;
    }
    if (got < n && s->gzip && !gr_failed(t)) {
        const int status = reap(s);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
            no_gzip(t, s, ENOENT); /* POSIX allows posix_spawnp to report a missing program in this way */
        else if (status != 0) bad(t, s, "gzip cannot unpack it: cut off, or not a gzip file");
    }
    return got;
}

static size_t big_endian(const uint8_t *b) { return (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3]; }

/* Read and check the header, and put its sizes into x. */
static void read_header(gr_tape *t, source *s, size_t side, kit_idx *x)
{
    uint8_t head[16];
    const size_t rank = side ? 3 : 1, bytes = 4 + 4 * rank;
    if (read_bytes(t, s, head, bytes) < bytes) {
        bad(t, s, "ends inside its header");
        return;
    }
    x->n = big_endian(head + 4), x->item = side ? side * side : 1;
    if (big_endian(head) != 0x800 + rank)
        gr_fail_as(t, GR_BAD_FILE, "", "%s: begins with %02x %02x %02x %02x; a file of %s begins with 00 00 08 %02x", s->path, head[0],
                   head[1], head[2], head[3], side ? "images" : "labels", (unsigned)rank);
    else if (side && (big_endian(head + 8) != side || big_endian(head + 12) != side))
        gr_fail_as(t, GR_BAD_FILE, "", "%s: its images are %zu by %zu; they must be %zu by %zu", s->path, big_endian(head + 8),
                   big_endian(head + 12), side, side);
    else if (!x->n) bad(t, s, "has no items");

    size_t total;
    const bool fits = gr_size_mul(x->n, x->item, &total) && gr_size_add(total, bytes, &total);
    if (!fits || (s->gzip ? total > s->most : total != s->most))
        gr_fail_as(t, GR_BAD_FILE, "", "%s: its header claims %zu items of %zu bytes; the file %s %llu bytes", s->path, x->n, x->item,
                   s->gzip ? "cannot hold more than" : "holds", (unsigned long long)s->most);
}

static void read_items(gr_tape *t, source *s, kit_idx *x)
{
    uint8_t extra;
    const size_t got = read_bytes(t, s, x->data, x->n * x->item);
    if (got < x->n * x->item) gr_fail_as(t, GR_BAD_FILE, "", "%s: ends after %zu of %zu items", s->path, got / x->item, x->n);
    else if (read_bytes(t, s, &extra, 1) == 1)
        gr_fail_as(t, GR_BAD_FILE, "", "%s: has bytes after the %zu items that its header claims", s->path, x->n);
    for (size_t i = 0; x->item == 1 && i < got; i++)
        if (x->data[i] > 9) {
            gr_fail_as(t, GR_BAD_FILE, "", "%s: item %zu is the label %d; labels are 0 to 9", s->path, i, x->data[i]);
            return;
        }
}

kit_idx kit_idx_read(gr_tape *t, const char *dir, const char *name, size_t side)
{
    kit_idx x = { 0 };
    source s;
    if (gr_failed(t)) return x;
    if (open_source(t, &s, dir, name)) read_header(t, &s, side, &x);
    if (!gr_failed(t)) {
        x.data = gr_memory_new(gr_tape_allocator(t), x.n * x.item);
        if (x.data) read_items(t, &s, &x);
        else gr_fail_as(t, GR_NO_MEMORY, "", "%s: no memory for %zu items of %zu bytes", s.path, x.n, x.item);
    }
    close_source(&s);
    if (gr_failed(t)) kit_idx_free(t, &x);
    return x;
}

void kit_idx_free(gr_tape *t, kit_idx *x)
{
    gr_memory_free(gr_tape_allocator(t), x->data, x->n * x->item);
    *x = (kit_idx){ 0 };
}
