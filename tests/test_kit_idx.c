/* tests/test_kit_idx.c - good IDX files are read; bad ones are refused with a message that says what is wrong, and where. */
#include "tests/test.h"
#include "examples/kit/idx.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64]; /* new for each test; its name has a quote and a space */

FIXTURE(make_dir)
{
    strcpy(dir, "/tmp/gradus' \"idx XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static const char *in_dir(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

FIXTURE(remove_dir)
{
    static const char *const names[] = { "images", "images.gz", "labels", "labels.gz", "gzip" };
    for (size_t i = 0; i < COUNT(names); i++)
        if (unlink(in_dir(names[i])) != 0) rmdir(in_dir(names[i]));
    if (rmdir(dir)) exit(1); /* cmocka would exit with 0 */
    return 0;
}

static void put(const char *name, const void *bytes, size_t n)
{
    FILE *const f = fopen(in_dir(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Pack NAME into NAME.gz and remove it; skips the test on a machine without gzip. */
static void zip(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s", in_dir(name));
    const pid_t child = fork();
    if (child == 0) {
        execlp("gzip", "gzip", "-f", "--", path, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) printf("not run: gzipped files, there is no gzip\n"), skip();
    assert_int_equal(status, 0);
}

/* Cut a file, or extend it with zeros, to n bytes. */
static void cut(const char *name, long n) { assert_int_equal(truncate(in_dir(name), n), 0); }

static size_t size_of(const char *name)
{
    struct stat st;
    assert_int_equal(stat(in_dir(name), &st), 0);
    return (size_t)st.st_size;
}

enum { N = 3, IMAGES = 16 + N * 784, LABELS = 8 + N };
static uint8_t images[IMAGES] = { 0, 0, 8, 3, 0, 0, 0, N, 0, 0, 0, 28, 0, 0, 0, 28 };
static const uint8_t labels[LABELS] = { 0, 0, 8, 1, 0, 0, 0, N, 7, 0, 9 };

static void put_images(void)
{
    for (int i = 16; i < IMAGES; i++) images[i] = (uint8_t)(i * 37 % 251);
    put("images", images, IMAGES);
}

/* Reading NAME fails with "DIR/message", frees its memory and leaves no child process. */
#define assert_refused(name, side, message) \
    do { \
        char want_[512]; \
        gr_tape *t_ = gr_tape_new(1, NULL); \
        const kit_idx x_ = kit_idx_read(t_, dir, name, side); \
        snprintf(want_, sizeof want_, "%s/%s", dir, message); \
        assert_message(t_, want_); \
        assert_true(!x_.data && !x_.n); \
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); \
        gr_tape_free(t_); \
    } while (0)

static void assert_reads_both(void)
{
    gr_tape *t = gr_tape_new(1, NULL);
    kit_idx x = kit_idx_read(t, dir, "images", 28), y = kit_idx_read(t, dir, "labels", 0);
    assert_ok(t);
    assert_true(x.n == N && x.item == 784 && y.n == N && y.item == 1);
    assert_memory_equal(x.data, images + 16, N * 784);
    assert_memory_equal(y.data, labels + 8, N);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    kit_idx_free(t, &x), kit_idx_free(t, &y);
    gr_tape_free(t);
}

TEST(plain_files_are_read)
{
    put_images(), put("labels", labels, LABELS);
    assert_reads_both();
}

TEST(gzipped_files_are_read_and_leave_no_process)
{
    put_images(), zip("images");
    put("labels", labels, LABELS), zip("labels");
    assert_reads_both();
}

TEST(a_file_that_is_not_there_is_named)
{
    assert_refused("images", 28, "images: no such file, plain or .gz (examples/fetch_mnist.sh fetches MNIST)");
    assert_int_equal(mkdir(in_dir("images"), 0700), 0);
    assert_refused("images", 28, "images: is not a regular file");
    assert_int_equal(rmdir(in_dir("images")), 0);
    assert_int_equal(mkfifo(in_dir("images"), 0600), 0);
    assert_refused("images", 28, "images: is not a regular file");
}

TEST(a_length_that_differs_from_the_header_is_refused)
{
    put_images();
    cut("images", IMAGES - 1);
    assert_refused("images", 28, "images: its header claims 3 items of 784 bytes; the file holds 2367 bytes");
    cut("images", IMAGES + 1);
    assert_refused("images", 28, "images: its header claims 3 items of 784 bytes; the file holds 2369 bytes");
    cut("images", 15);
    assert_refused("images", 28, "images: ends inside its header");
    cut("images", 0);
    assert_refused("images", 28, "images: ends inside its header");
}

TEST(an_impossible_header_is_refused_before_any_allocation)
{
    uint8_t huge[IMAGES];
    put_images();
    memcpy(huge, images, sizeof huge);
    memset(huge + 4, 255, 4);
    put("images", huge, sizeof huge);
    assert_refused("images", 28, "images: its header claims 4294967295 items of 784 bytes; the file holds 2368 bytes");

    memset(huge + 16, 0, sizeof huge - 16); /* so that gzip writes the same length on every machine */
    put("images", huge, sizeof huge), zip("images");
    char message[128];
    snprintf(message, sizeof message,
             "images.gz: its header claims 4294967295 items of 784 bytes; the file cannot hold more than %zu bytes",
             size_of("images.gz") * 1032);
    assert_refused("images", 28, message);
}

TEST(a_file_of_another_kind_is_refused)
{
    uint8_t other[IMAGES];
    put("images", labels, LABELS), cut("images", 100);
    assert_refused("images", 28, "images: begins with 00 00 08 01; a file of images begins with 00 00 08 03");
    put_images(), memcpy(other, images, sizeof other), put("labels", images, IMAGES);
    assert_refused("labels", 0, "labels: begins with 00 00 08 03; a file of labels begins with 00 00 08 01");
    other[11] = 32;
    put("images", other, IMAGES);
    assert_refused("images", 28, "images: its images are 32 by 28; they must be 28 by 28");
    other[11] = 28, other[7] = 0;
    put("images", other, 16);
    assert_refused("images", 28, "images: has no items");
}

TEST(a_label_above_9_is_named_with_its_place)
{
    uint8_t wrong[LABELS];
    memcpy(wrong, labels, LABELS);
    wrong[8 + 2] = 10;
    put("labels", wrong, LABELS);
    assert_refused("labels", 0, "labels: item 2 is the label 10; labels are 0 to 9");
}

TEST(gzipped_files_that_are_damaged_are_refused)
{
    put_images(), zip("images");
    const long whole = (long)size_of("images.gz");
    static const char damaged[] = "images.gz: gzip cannot unpack it: cut off, or not a gzip file";
    cut("images.gz", whole - 1);
    assert_refused("images", 28, damaged);
    cut("images.gz", whole / 2);
    assert_refused("images", 28, damaged);
    cut("images.gz", 0);
    assert_refused("images", 28, damaged);
    put("images.gz", images, IMAGES);
    assert_refused("images", 28, damaged);
}

TEST(gzipped_files_of_a_wrong_length_are_refused)
{
    put_images(), cut("images", IMAGES - 1), zip("images");
    assert_refused("images", 28, "images.gz: ends after 2 of 3 items");
    put_images(), cut("images", IMAGES + 1), zip("images");
    assert_refused("images", 28, "images.gz: has bytes after the 3 items that its header claims");
    put_images(), cut("images", 10), zip("images");
    assert_refused("images", 28, "images.gz: ends inside its header");
    put_images(), cut("images", 1 << 20), zip("images"); /* more than a pipe holds: the reader must not wait for gzip to end */
    assert_refused("images", 28, "images.gz: has bytes after the 3 items that its header claims");
}

TEST(a_missing_gzip_is_reported)
{
    char path[4096];
    put("images.gz", images, IMAGES);
    snprintf(path, sizeof path, "%s", getenv("PATH"));
    setenv("PATH", dir, 1);
    assert_refused("images", 28, "images.gz: cannot run gzip: no gzip in PATH can be run; install gzip, or unpack the file");
    put("gzip", "", 0);
    assert_refused("images", 28, "images.gz: cannot run gzip: no gzip in PATH can be run; install gzip, or unpack the file");
    setenv("PATH", path, 1);
}

TEST(a_failed_tape_reads_nothing)
{
    gr_tape *t = gr_tape_new(1, NULL);
    put_images();
    gr_fail(t, NULL, "an earlier error");
    assert_fails(t, kit_idx_read(t, dir, "images", 28).data, "an earlier error");
    gr_tape_free(t);
}

static void *refuse(void *context, size_t bytes) { return (void)context, (void)bytes, NULL; }

TEST(running_out_of_memory_is_reported)
{
    gr_allocator none = gr_default_allocator();
    gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .allocator = &none }));
    put_images();
    assert_ok(t);
    ((gr_allocator *)(uintptr_t)gr_tape_allocator(t))->alloc = refuse;
    assert_null(kit_idx_read(t, dir, "images", 28).data);
    assert_int_equal(gr_error_code(t), GR_NO_MEMORY);
    assert_non_null(strstr(gr_message(t), "images: no memory for 3 items of 784 bytes"));
    gr_tape_free(t);
}

int main(void)
{
#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        IN_DIR(plain_files_are_read),
        IN_DIR(gzipped_files_are_read_and_leave_no_process),
        IN_DIR(a_file_that_is_not_there_is_named),
        IN_DIR(a_length_that_differs_from_the_header_is_refused),
        IN_DIR(an_impossible_header_is_refused_before_any_allocation),
        IN_DIR(a_file_of_another_kind_is_refused),
        IN_DIR(a_label_above_9_is_named_with_its_place),
        IN_DIR(gzipped_files_that_are_damaged_are_refused),
        IN_DIR(gzipped_files_of_a_wrong_length_are_refused),
        IN_DIR(a_missing_gzip_is_reported),
        IN_DIR(a_failed_tape_reads_nothing),
        IN_DIR(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
