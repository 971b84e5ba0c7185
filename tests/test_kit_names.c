/* tests/test_kit_names.c - names that are made up by rules or read from files, in padded batches. */
#include "tests/test.h"
#include "examples/kit/kit.h"
#include <unistd.h>

static char path[64];

static void write_file(size_t lines, const char *last)
{
    strcpy(path, "/tmp/gradus-names-XXXXXX");
    FILE *const f = fdopen(mkstemp(path), "w");
    assert_non_null(f);
    for (size_t i = 0; i < lines; i++) fprintf(f, "%.*s\r\n", (int)(i % 7 + 1), "gradus\xe9");
    fputs(last, f);
    assert_int_equal(fclose(f), 0);
}

/* The id of a byte. */
static int id_of(const kit_names *c, char byte)
{
    for (size_t k = 1; k < c->letters; k++)
        if (c->letter[k] == byte) return (int)k;
    return -1;
}

TEST(made_up_names_depend_on_the_seed_alone)
{
    gr_tape *t = gr_tape_new(1, NULL), *other = gr_tape_new(2, NULL);
    kit_names a = kit_names_open(t, NULL, 64), b = kit_names_open(t, NULL, 1), c = kit_names_open(other, NULL, 64);
    assert_ok(t);
    assert_ok(other);
    assert_int_equal(a.n, 8000), assert_int_equal(a.train, 7200);
    size_t shortest = 99, longest = 0;
    for (size_t i = 0; i < a.n; i++) {
        const size_t n = a.name[i].length;
        assert_true(n >= 1 && n <= KIT_NAMES_LONGEST);
        shortest = n < shortest ? n : shortest, longest = n > longest ? n : longest;
        for (size_t k = 0; k < n; k++) assert_true(a.name[i].id[k] > 0 && a.name[i].id[k] < a.letters);
    }
    assert_true(shortest <= 3 && longest >= 16);
    assert_memory_equal(a.name, b.name, a.n * sizeof *a.name);
    assert_memory_not_equal(a.name, c.name, a.n * sizeof *a.name);
    kit_names_free(&a), kit_names_free(&b), kit_names_free(&c), gr_tape_free(t), gr_tape_free(other);
}

TEST(a_batch_is_padded_to_its_longest_name_or_to_a_given_length)
{
    write_file(100, "");
    gr_tape *t = gr_tape_new(1, NULL);
    kit_names c = kit_names_open(t, path, 16);
    assert_ok(t);
    assert_int_equal(c.letters, 8); /* g r a d u s, a byte beyond ASCII, and the end */
    int which[2] = { 0, 0 };
    for (size_t i = 0; i < c.n; i++)
        if (c.name[i].length == 3) which[0] = (int)i;
        else if (c.name[i].length == 7) which[1] = (int)i;
    kit_names_put(&c, which, 2, 2);
    const int g = id_of(&c, 'g'), r = id_of(&c, 'r'), a = id_of(&c, 'a'), pad = 8;
    assert_int_equal(c.B, 2), assert_int_equal(c.T, 10);
    assert_int_equal(c.length[0], 4), assert_int_equal(c.length[1], 8);
    const int in[] = { 0, g, r, a, pad, pad, pad, pad, pad, pad }, target[] = { g, r, a, 0, -100, -100, -100, -100, -100, -100 };
    assert_memory_equal(c.in, in, sizeof in);
    assert_memory_equal(c.target, target, sizeof target);
    assert_int_equal(c.in[17], id_of(&c, '\xe9')), assert_int_equal(c.in[18], pad);
    assert_int_equal(c.target[17], 0), assert_int_equal(c.target[18], -100);
    kit_names_free(&c), gr_tape_free(t), unlink(path);
}

TEST(an_epoch_shows_every_training_name_once)
{
    write_file(100, "");
    gr_tape *t = gr_tape_new(1, NULL);
    kit_names c = kit_names_open(t, path, 16);
    const kit_source s = kit_names_source(&c);
    assert_int_equal(s.train, 6), assert_int_equal(s.test, 1);
    size_t seen = 0, samples, lengths = 0, want = 0;
    for (size_t i = 0; i < s.train; i++) {
        assert_ptr_equal(s.batch(&c, true, i, &samples), &c);
        assert_int_equal(samples, c.B);
        for (size_t b = 0; b < c.B; b++) lengths += (size_t)c.length[b] - 1;
        seen += samples;
    }
    for (size_t i = 0; i < c.train; i++) want += c.name[i].length;
    assert_int_equal(seen, 90), assert_int_equal(lengths, want);
    int first[16], again = 0;
    s.batch(&c, true, 0, &samples), memcpy(first, c.order->ids.data, sizeof first);
    s.batch(&c, false, 0, &samples);
    assert_int_equal(samples, 10), assert_int_equal(c.length[0], c.name[90].length + 1);
    s.batch(&c, true, 6, &samples);
    for (size_t i = 0; i < 16; i++) again += first[i] == c.order->ids.data[i];
    assert_true(again < 16);
    s.batch(&c, true, 0, &samples);
    assert_memory_equal(c.order->ids.data, first, sizeof first); /* each epoch has its own order */
    kit_names_free(&c), gr_tape_free(t), unlink(path);
}

TEST(a_bad_file_is_refused_with_its_line)
{
    static const struct {
        size_t lines;
        const char *last, *message;
    } bad[] = {
        { 99, "", "%s: 100 names are needed; there are 99" },
        { 100, "\n", "%s, line 101: a name has 1 to 30 bytes; this has 0" },
        { 100, "abcdefghijklmnopqrstuvwxyzabcde", "%s, line 101: a name has 1 to 30 bytes; this has 31" },
    };
    char want[160];
    for (size_t i = 0; i < COUNT(bad); i++) {
        write_file(bad[i].lines, bad[i].last);
        gr_tape *t = gr_tape_new(1, NULL);
        kit_names c = kit_names_open(t, path, 16);
        snprintf(want, sizeof want, bad[i].message, path);
        assert_message(t, want);
        assert_int_equal(gr_error_code(t), GR_BAD_FILE);
        kit_names_free(&c), gr_tape_free(t), unlink(path);
    }
    gr_tape *t = gr_tape_new(1, NULL);
    kit_names c = kit_names_open(t, path, 16); /* gone */
    snprintf(want, sizeof want, "%s: cannot be read: No such file or directory", path);
    assert_message(t, want);
    kit_names_free(&c), gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_up_names_depend_on_the_seed_alone),
        cmocka_unit_test(a_batch_is_padded_to_its_longest_name_or_to_a_given_length),
        cmocka_unit_test(an_epoch_shows_every_training_name_once),
        cmocka_unit_test(a_bad_file_is_refused_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
