/* tests/test_kit_text.c - text from files. A file is read in one pass, because other programs may write to it, and it must be a regular
 * file. */
#include "examples/kit/kit.h"
#include "tests/failing.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* While `path` is watched, the file grows before a second open and before each of the first `reads` reads. */
static struct { const char *path; int opened, reads; } watched;

static void append(const char *path, size_t bytes)
{
    char text[10000];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)('a' + i % 7);
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_true(fd >= 0 && bytes <= sizeof text);
    assert_int_equal(syscall(SYS_write, fd, text, bytes), bytes);
    close(fd);
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (watched.path && !strcmp(path, watched.path) && watched.opened++)
        for (int i = 0; i < 50; i++) append(path, 9999);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
FILE *fopen(const char *path, const char *mode)
{
    const int fd = open(path, mode[0] == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return fd < 0 ? NULL : fdopen(fd, mode[0] == 'r' ? "r" : "w");
}
ssize_t read(int fd, void *p, size_t n)
{
    if (watched.path && watched.reads-- > 0) append(watched.path, 9999);
    return syscall(SYS_read, fd, p, n);
}

TEST(a_growing_file_is_read_in_one_pass)
{
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("text"));
    for (int reads = 0; reads < 4; reads++) {
        gr_tape *t = gr_tape_new(1, NULL);
        unlink(path), append(path, 1000);
        watched.path = path, watched.opened = 0, watched.reads = reads;
        kit_text c = kit_text_open(t, path, 2, 8);
        watched.path = NULL;
        assert_ok(t);
        assert_int_equal(watched.opened, 1);
        assert_int_equal(c.n, 1000 + 9999 * reads), assert_int_equal(c.letters, 7), assert_int_equal(c.train, c.n - c.n / 10);
        kit_text_free(&c), gr_tape_free(t);
    }
    assert_int_equal(unlink(path), 0);
}

TEST(only_a_regular_file_is_read_and_a_pipe_does_not_block)
{
    char path[512], want[600];
    snprintf(path, sizeof path, "%s", in_folder("fifo"));
    assert_int_equal(mkfifo(path, 0600), 0);
    const char *const bad[] = { path, "/dev/zero", "/dev/null", "/dev/stdin" };
    for (size_t i = 0; i < COUNT(bad); i++) {
        gr_tape *t = gr_tape_new(1, NULL);
        if (i == 3 && freopen(path, "r+", stdin) == NULL) fail_msg("there is no stdin");
        kit_text c = kit_text_open(t, bad[i], 2, 8);
        snprintf(want, sizeof want, "%s: is not a regular file", bad[i]);
        assert_message(t, want);
        assert_int_equal(gr_error_code(t), GR_IO_FAILED);
        kit_text_free(&c), gr_tape_recover(t);
        kit_names names = kit_names_open(t, bad[i], 4);
        assert_message(t, want);
        kit_names_free(&names), gr_tape_free(t);
    }
    assert_int_equal(unlink(path), 0);
}

TEST(a_file_that_is_too_large_is_refused)
{
    char path[512], want[600];
    snprintf(path, sizeof path, "%s", in_folder("text"));
    append(path, 1000);
    for (size_t most = 998; most < 1003; most++) {
        gr_tape *t = gr_tape_new(1, NULL);
        kit_bytes b = kit_file_read(t, path, most);
        snprintf(want, sizeof want, "%s: holds more than %zu bytes", path, most);
        if (most < 1000) {
            assert_message(t, want);
            assert_null(b.data), assert_int_equal(gr_error_code(t), GR_BAD_FILE);
        } else {
            assert_ok(t);
            assert_int_equal(b.n, 1000), assert_int_equal(strlen(b.data), 1000);
        }
        kit_bytes_free(t, &b), gr_tape_free(t);
    }
    assert_int_equal(unlink(path), 0);
}

TEST(an_empty_file_is_too_short)
{
    char path[512], want[600];
    snprintf(path, sizeof path, "%s", in_folder("text"));
    append(path, 0);
    gr_tape *t = gr_tape_new(1, NULL);
    kit_text c = kit_text_open(t, path, 2, 8);
    snprintf(want, sizeof want, "%s: a tenth of the text must hold more than a window of 8 characters; it has 0", path);
    assert_message(t, want);
    kit_text_free(&c), gr_tape_free(t);
    assert_int_equal(unlink(path), 0);
}

static bool a_text(gr_tape *t, void *path)
{
    kit_text c = kit_text_open(t, path, 2, 8);
    kit_text_free(&c);
    return !gr_failed(t);
}
TEST(every_allocation_may_fail)
{
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("text"));
    append(path, 1000);
    fail_every_allocation(a_text, path);
    assert_int_equal(unlink(path), 0);
}

/* Each character of the text is larger than the one before it, so an id is a position. */
TEST(windows_stay_within_their_part_of_the_text)
{
    enum { T = 2, MOST = 50, B = 4 };
    char ascending[MOST + 1] = "";
    for (int i = 0; i < MOST; i++) ascending[i] = (char)('!' + i);
    gr_tape *t = gr_tape_new(1, NULL);
    for (size_t n = 30; n <= MOST; n += 10) {
        const kit_bytes bytes = { ascending, n };
        kit_text c = kit_text_of(t, "ascending", &bytes, B, T);
        assert_ok(t);
        const kit_source source = kit_text_source(&c);
        const size_t windows = (n / 10 - 1) / T; /* a window needs one more character for its last answer */
        bool begins[MOST] = { false };
        size_t samples;
        assert_true(source.train == (c.train + B * T - 1) / (B * T) && source.test == 1);
        for (size_t batch = 0; batch < 400; batch++) {
            assert_ptr_equal(source.batch(source.data, true, batch, &samples), &c);
            assert_true(c.B == B && samples == B * T);
            for (size_t b = 0; b < B; b++) begins[c.in[b * T]] = true;
            for (size_t i = 0; i < B * T; i++) assert_true(c.in[i] == c.in[i / T * T] + (int)(i % T) && c.next[i] == c.in[i] + 1);
        }
        for (size_t i = 0; i < MOST; i++) assert_int_equal(begins[i], i < c.train - T); /* all of them, and no more */
        source.batch(source.data, false, 0, &samples);
        assert_true(c.B == windows && samples == windows * T);
        for (size_t i = 0; i < samples; i++) assert_true((size_t)c.in[i] == c.train + i && c.next[i] == c.in[i] + 1);
        kit_text_free(&c);
        c = kit_text_of(t, "ascending", &bytes, B, n / 10);
        char want[120];
        snprintf(want, sizeof want, "ascending: a tenth of the text must hold more than a window of %zu characters; it has %zu", n / 10, n / 10);
        assert_message(t, want);
        kit_text_free(&c), gr_tape_recover(t);
    }
    gr_tape_free(t);
}

TEST(chunks_of_a_stream_follow_one_another)
{
    enum { B = 3, T = 16 };
    gr_tape *t = gr_tape_new(1, NULL);
    kit_text c = kit_text_open(t, NULL, B, T);
    for (int training = 0; training < 2; training++) {
        const size_t from = training ? 0 : c.train, n = training ? c.train : c.n - c.train;
        const kit_streams s = kit_text_streams(&c, training);
        assert_true(s.chunks * T < n / B && (s.chunks + 1) * T >= n / B);
        for (size_t k = 0; k < s.chunks; k += s.chunks - 1) {
            const gr_ints *const in = kit_text_chunk(t, &s, k, 0), *const next = kit_text_chunk(t, &s, k, 1);
            assert_true(in->rank == 2 && in->dim[0] == T && in->dim[1] == B);
            for (size_t i = 0; i < T * B; i++) {
                const size_t at = from + i % B * (n / B) + k * T + i / B;
                assert_true(at + 1 < from + n && in->data[i] == c.id[at] && next->data[i] == c.id[at + 1]);
            }
        }
    }
    kit_text_free(&c);
    c = kit_text_open(t, NULL, 1000, T);
    kit_text_streams(&c, false);
    char want[160];
    snprintf(want, sizeof want, "1000 streams of 16 characters and one more do not fit into %zu characters: --batch or --window is too large", c.n - c.train);
    assert_message(t, want);
    kit_text_free(&c), gr_tape_free(t);
}

TEST(ids_are_drawn_as_often_as_their_probabilities_say)
{
    const gr_real p[4] = { 0, (gr_real)0.25, (gr_real)0.75, 0 }, none[2] = { 0, 0 };
    gr_stream s = gr_stream_new(1, "draw");
    size_t count[4] = { 0 };
    for (int i = 0; i < 4000; i++) count[kit_draw(&s, p, 4)]++;
    assert_true(count[0] == 0 && count[3] == 0 && count[1] > 900 && count[1] < 1100);
    assert_int_equal(kit_draw(&s, none, 2), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_growing_file_is_read_in_one_pass),
        cmocka_unit_test(only_a_regular_file_is_read_and_a_pipe_does_not_block),
        cmocka_unit_test(a_file_that_is_too_large_is_refused),
        cmocka_unit_test(an_empty_file_is_too_short),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(windows_stay_within_their_part_of_the_text),
        cmocka_unit_test(chunks_of_a_stream_follow_one_another),
        cmocka_unit_test(ids_are_drawn_as_often_as_their_probabilities_say),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
