/* tests/test_kit_data.c - data sets, batches and scores. */
#include "tests/test.h"
#include "examples/kit/data.h"
#include <stdio.h>
#include <unistd.h>

/* Ten images; every pixel of image i has the value i, and its label is i. */
static kit_set ten(gr_tape *t)
{
    kit_set s = { { NULL, 10, KIT_PIXELS }, { NULL, 10, 1 } };
    s.images.data = gr_memory_new(gr_tape_allocator(t), 10 * KIT_PIXELS), s.labels.data = gr_memory_new(gr_tape_allocator(t), 10);
    for (size_t i = 0; i < 10 * KIT_PIXELS; i++) s.images.data[i] = (uint8_t)(i / KIT_PIXELS);
    for (size_t i = 0; i < 10; i++) s.labels.data[i] = (uint8_t)i;
    return s;
}

static void free_set(gr_tape *t, kit_set *s) { kit_idx_free(t, &s->images), kit_idx_free(t, &s->labels); }

TEST(without_shuffling_batches_walk_through_in_order)
{
    gr_tape *t = gr_tape_new(1, NULL);
    kit_set s = ten(t);
    kit_batches b = kit_batches_new(t, &s, 4, false);
    assert_ok(t);
    assert_int_equal(b.per_epoch, 3);
    for (int epoch = 0; epoch < 2; epoch++)
        for (int first = 0; first < 10; first += 4) {
            const kit_batch x = kit_next(&b);
            assert_int_equal(x.n, first == 8 ? 2 : 4);
            for (size_t i = 0; i < x.n; i++) {
                assert_int_equal(x.labels[i], first + (int)i);
                assert_true(x.pixels[i * KIT_PIXELS] == (gr_real)((first + (int)i) / 255.0));
                assert_true(x.pixels[i * KIT_PIXELS + KIT_PIXELS - 1] == (gr_real)((first + (int)i) / 255.0));
            }
        }
    kit_batches_free(t, &b), free_set(t, &s), gr_tape_free(t);
}

TEST(pixels_can_be_standardized)
{
    gr_tape *t = gr_tape_new(1, NULL);
    kit_set s = ten(t);
    kit_batches b = kit_batches_new(t, &s, 100, false);
    s.images.data[0] = 255;
    b.mean = 0.5, b.std = 0.25;
    const kit_batch x = kit_next(&b);
    assert_int_equal(x.n, 10);
    assert_true(x.pixels[0] == 2 && x.pixels[1] == -2);
    kit_batches_free(t, &b), free_set(t, &s), gr_tape_free(t);
}

TEST(an_epoch_shows_every_image_once_in_an_order_of_its_own)
{
    gr_tape *t = gr_tape_new(5, NULL);
    kit_set s = ten(t);
    kit_batches b = kit_batches_new(t, &s, 3, true);
    int order[2][10];
    for (int epoch = 0; epoch < 2; epoch++) {
        unsigned seen = 0;
        for (int at = 0; at < 10;) {
            const kit_batch x = kit_next(&b);
            for (size_t i = 0; i < x.n; i++) seen |= 1u << x.labels[i], order[epoch][at++] = x.labels[i];
        }
        assert_int_equal(seen, 1023);
    }
    assert_memory_not_equal(order[0], order[1], sizeof order[0]);
    kit_batches_free(t, &b), free_set(t, &s), gr_tape_free(t);
}

TEST(setting_taken_continues_where_another_run_stopped)
{
    gr_tape *t = gr_tape_new(5, NULL), *u = gr_tape_new(5, NULL);
    kit_set s = ten(t);
    kit_batches whole = kit_batches_new(t, &s, 3, true);
    for (size_t stop = 0; stop < 9; stop++) {
        kit_batches rest = kit_batches_new(u, &s, 3, true);
        whole.taken = 0, rest.taken = stop;
        for (size_t i = 0; i < stop; i++) kit_next(&whole);
        for (int i = 0; i < 6; i++) {
            const kit_batch x = kit_next(&whole), y = kit_next(&rest);
            assert_int_equal(x.n, y.n);
            assert_memory_equal(x.labels, y.labels, x.n * sizeof *x.labels);
            assert_memory_equal(x.pixels, y.pixels, x.n * KIT_PIXELS * sizeof *x.pixels);
        }
        kit_batches_free(u, &rest);
    }
    kit_batches_free(t, &whole), free_set(t, &s), gr_tape_free(t), gr_tape_free(u);
}

TEST(parts_of_a_batch_are_the_batch)
{
    gr_tape *t = gr_tape_new(5, NULL);
    kit_data d = kit_data_open(t, "none");
    kit_batches whole = kit_batches_new(t, &d.test, 300, true), parts = kit_batches_new(t, &d.test, 300, true);
    for (size_t step = 0; step < 2 * whole.per_epoch; step++, parts.taken++) {
        const kit_batch x = kit_next(&whole);
        assert_int_equal(kit_next_size(&parts), step % whole.per_epoch == 6 ? 200 : 300); /* 2,000 images */
        assert_int_equal(x.n, kit_next_size(&parts));
        for (size_t first = 0; first < x.n; first += 70) {
            const kit_batch y = kit_next_part(&parts, first, x.n - first < 70 ? x.n - first : 70);
            assert_memory_equal(y.pixels, x.pixels + first * KIT_PIXELS, y.n * KIT_PIXELS * sizeof *y.pixels);
            assert_memory_equal(y.labels, x.labels + first, y.n * sizeof *y.labels);
        }
    }
    kit_batches_free(t, &whole), kit_batches_free(t, &parts), kit_data_free(t, &d);
    gr_tape_free(t);
}

TEST(none_means_drawn_digits)
{
    gr_tape *t = gr_tape_new(9, NULL);
    uint8_t pixels[KIT_PIXELS];
    kit_data d = kit_data_open(t, "none");
    assert_ok(t);
    assert_null(d.dir);
    assert_int_equal(d.train.images.n, 12000);
    assert_int_equal(d.test.labels.n, 2000);
    assert_int_equal(kit_digit(9, "digits/train", 11999, pixels), d.train.labels.data[11999]);
    assert_memory_equal(pixels, d.train.images.data + 11999 * KIT_PIXELS, KIT_PIXELS);
    assert_int_equal(kit_digit(9, "digits/test", 5, pixels), d.test.labels.data[5]);
    assert_memory_equal(pixels, d.test.images.data + 5 * KIT_PIXELS, KIT_PIXELS);
    kit_data_free(t, &d), gr_tape_free(t);
}

static void put(const char *dir, const char *name, const uint8_t *head, size_t bytes, size_t zeros)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *const f = fopen(path, "wb");
    assert_non_null(f);
    fwrite(head, 1, bytes, f);
    while (zeros-- > 0) fputc(0, f);
    assert_int_equal(fclose(f), 0);
}

TEST(there_must_be_as_many_labels_as_images)
{
    char dir[] = "/tmp/gradus-data-XXXXXX", want[256], path[128];
    assert_non_null(mkdtemp(dir));
    put(dir, "train-images-idx3-ubyte", (uint8_t[]){ 0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28 }, 16, 2 * 784);
    put(dir, "train-labels-idx1-ubyte", (uint8_t[]){ 0, 0, 8, 1, 0, 0, 0, 3 }, 8, 3);
    gr_tape *t = gr_tape_new(1, NULL);
    kit_data d = kit_data_open(t, dir);
    snprintf(want, sizeof want, "%s: train-images-idx3-ubyte holds 2 images and train-labels-idx1-ubyte 3 labels", dir);
    assert_message(t, want);
    kit_data_free(t, &d), gr_tape_free(t);
    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte", dir), unlink(path);
    snprintf(path, sizeof path, "%s/train-labels-idx1-ubyte", dir), unlink(path);
    assert_int_equal(rmdir(dir), 0);
}

TEST(the_real_mnist_is_read)
{
    char dir[4096];
    const char *const data = getenv("GRADUS_DATA");
    snprintf(dir, sizeof dir, "%s/mnist", data ? data : "data");
    if (access(dir, R_OK) != 0) printf("not run: reading MNIST, there is no %s\n", dir), skip();
    gr_tape *t = gr_tape_new(1, NULL);
    kit_data d = kit_data_open(t, dir);
    assert_ok(t);
    assert_true(d.train.images.n == 60000 && d.test.images.n == 10000);
    assert_true(d.train.labels.data[0] == 5 && d.test.labels.data[0] == 7);
    uint64_t sum = 0;
    for (size_t i = 0; i < 60000 * (size_t)KIT_PIXELS; i++) sum += d.train.images.data[i];
    assert_int_equal(sum, 1567298545); /* the well-known mean 0.1307 */
    kit_data_free(t, &d), gr_tape_free(t);
}

TEST(a_score_counts_hits_and_weights_losses_by_batch_size)
{
    gr_tape *t = gr_tape_new(1, NULL);
    kit_score s = { 0 };
    assert_true(kit_loss(&s) == 0 && kit_accuracy(&s) == 0);
    kit_score_add(&s, gr_scalar(t, 2), gr_input(t, (gr_real[]){ 1, 3, 2, 5, 4, 4, 0, 0, -1 }, GR_SHAPE(3, 3)), (int[]){ 1, 0, 2 });
    kit_score_add(&s, gr_scalar(t, 4), gr_input(t, (gr_real[]){ 1, 2, 3 }, GR_SHAPE(1, 3)), (int[]){ 2 });
    assert_int_equal(s.images, 4);
    assert_true(kit_loss(&s) == 2.5 && kit_accuracy(&s) == 75);
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_shuffling_batches_walk_through_in_order),
        cmocka_unit_test(pixels_can_be_standardized),
        cmocka_unit_test(an_epoch_shows_every_image_once_in_an_order_of_its_own),
        cmocka_unit_test(setting_taken_continues_where_another_run_stopped),
        cmocka_unit_test(parts_of_a_batch_are_the_batch),
        cmocka_unit_test(none_means_drawn_digits),
        cmocka_unit_test(there_must_be_as_many_labels_as_images),
        cmocka_unit_test(the_real_mnist_is_read),
        cmocka_unit_test(a_score_counts_hits_and_weights_losses_by_batch_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
