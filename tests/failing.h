/* tests/failing.h - memory and files that fail on purpose. With FAILING_FILES defined, the functions below replace open, read, write, fsync
 * and rename in the whole program, the library included. */
#ifndef GR_FAILING_H
#define GR_FAILING_H
#include "tests/test.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* ---- Memory: count the allocations, and check that a block is released with the size that it was allocated with ---- */

typedef struct {
    size_t calls, live, fail_at; /* fail_at: the number of the call that fails, counted from 1; 0 means none */
    bool for_ever;               /* all later calls fail too */
} failing_memory;

static inline void *failing_alloc(void *context, size_t bytes)
{
    failing_memory *f = context;
    f->calls++;
    if (f->fail_at && (f->calls == f->fail_at || (f->for_ever && f->calls > f->fail_at))) return NULL;
    char *p = gr_default_allocator().alloc(NULL, bytes + 64);
    memcpy(p, &bytes, sizeof bytes);
    f->live++;
    return p + 64;
}

static inline void failing_release(void *context, void *p, size_t bytes)
{
    failing_memory *f = context;
    size_t asked;
    memcpy(&asked, (char *)p - 64, sizeof asked);
    assert_int_equal(asked, bytes);
    f->live--;
    gr_default_allocator().release(NULL, (char *)p - 64, bytes + 64);
}

/* f builds, uses and frees its objects, and returns true when everything succeeded. It runs once for each of its allocations, with that one
 * failing alone and with all later ones failing too. Then f must return false, the tape's error must be GR_NO_MEMORY, and nothing may leak.
 * t is NULL when the tape itself could not be made. */
typedef bool failing_program(gr_tape *t, void *argument);
static inline void fail_every_allocation(failing_program *f, void *argument)
{
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (size_t at = 1;; at++) {
            failing_memory memory = { .fail_at = at, .for_ever = for_ever };
            const gr_allocator allocator = { failing_alloc, failing_release, &memory };
            gr_tape *t = gr_tape_new(7, (&(gr_tape_config){ .allocator = &allocator }));
            const bool well = f(t, argument), failed = memory.calls >= at;
            if (well == failed) fail_msg("allocation %zu of %zu failed, and the program went on", at, memory.calls);
            if (failed) assert_int_equal(gr_error_code(t), GR_NO_MEMORY);
            else assert_ok(t);
            gr_tape_free(t);
            assert_int_equal(memory.live, 0);
            if (!failed) break;
        }
}

/* ---- Files ---- */

/* The setup and teardown of a group that works in a new folder. At the end the folder must be empty: no half-written file, no leftover. */
static char test_folder[256];
FIXTURE(make_folder)
{
    const char *place = getenv("TMPDIR");
    snprintf(test_folder, sizeof test_folder, "%s/gradus-test-XXXXXX", place ? place : "/tmp");
    return mkdtemp(test_folder) ? 0 : -1;
}
FIXTURE(remove_folder)
{
    if (rmdir(test_folder)) print_error("the folder %s is not empty at the end\n", test_folder), exit(1); /* cmocka would exit with 0 */
    return 0;
}
static inline const char *in_folder(const char *name) /* valid until the next call */
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    return path;
}

/* The whole file in malloc'ed memory; NULL when there is no file. */
static inline unsigned char *file_bytes(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    *n = 0;
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    unsigned char *p = malloc(*n + 1);
    assert_int_equal(fread(p, 1, *n, f), *n);
    fclose(f);
    return p;
}
/* Read a file of named tensors that holds these bytes. It is called x, in test_folder. */
static inline gr_safetensors *open_bytes(gr_tape *t, const void *bytes, size_t n)
{
    FILE *file = fopen(in_folder("x"), "wb");
    assert_true(file && fwrite(bytes, 1, n, file) == n && !fclose(file));
    gr_safetensors *const f = gr_safetensors_open(t, in_folder("x"));
    unlink(in_folder("x"));
    return f;
}
static inline void assert_file_holds(const char *path, const void *bytes, size_t n)
{
    size_t found;
    unsigned char *p = file_bytes(path, &found);
    assert_non_null(p);
    assert_int_equal(found, n);
    assert_memory_equal(p, bytes, n);
    free(p);
}

#ifdef FAILING_FILES
#include <fcntl.h>
#include <sys/syscall.h>

static struct { int calls, fail_at, error; bool for_ever, little; } failing_files; /* little: one byte per call, and interruptions */

static inline bool file_call_fails(void)
{
    failing_files.calls++;
    const bool now = failing_files.calls == failing_files.fail_at || (failing_files.for_ever && failing_files.calls > failing_files.fail_at);
    if (failing_files.fail_at && now) errno = failing_files.error;
    return failing_files.fail_at && now;
}
static inline bool file_call_is_interrupted(void)
{
    static int turn;
    if (failing_files.little && turn++ % 3 == 0) errno = EINTR;
    else return false;
    return true;
}

/* MemorySanitizer knows that the C library's read fills p, but not that this one does. */
#if defined __has_feature
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define failing_files_wrote(p, n) __msan_unpoison(p, n)
#endif
#endif
#ifndef failing_files_wrote
#define failing_files_wrote(p, n) ((void)(p), (void)(n))
#endif

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (file_call_is_interrupted() || file_call_fails()) return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
ssize_t read(int fd, void *p, size_t n)
{
    if (file_call_is_interrupted() || file_call_fails()) return -1;
    const ssize_t got = syscall(SYS_read, fd, p, failing_files.little && n > 1 ? 1 : n);
    if (got > 0) failing_files_wrote(p, (size_t)got);
    return got;
}
ssize_t write(int fd, const void *p, size_t n)
{
    if (fd > 2 && (file_call_is_interrupted() || file_call_fails())) return -1;
    return syscall(SYS_write, fd, p, failing_files.little && n > 1 ? 1 : n);
}
int fsync(int fd) { return file_call_is_interrupted() || file_call_fails() ? -1 : (int)syscall(SYS_fsync, fd); }
int rename(const char *from, const char *to)
{
    return file_call_fails() ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
#endif
#endif
