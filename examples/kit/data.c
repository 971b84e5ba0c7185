/* examples/kit/data.c - data sets and batches. */
#include "examples/kit/data.h"
#include "core/op.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { DRAWN_TRAIN = 12000, DRAWN_TEST = 2000 };

static kit_set read_set(gr_tape *t, const char *dir, const char *images, const char *labels)
{
    const kit_set s = { kit_idx_read(t, dir, images, KIT_SIDE), kit_idx_read(t, dir, labels, 0) };
    if (!gr_failed(t) && s.images.n != s.labels.n)
        gr_fail_as(t, GR_BAD_FILE, "", "%s: %s holds %zu images and %s %zu labels", dir, images, s.images.n, labels, s.labels.n);
    return s;
}

static kit_set draw_set(gr_tape *t, const char *stream, size_t n)
{
    const gr_allocator *const memory = gr_tape_allocator(t);
    kit_set s = { { NULL, n, KIT_PIXELS }, { NULL, n, 1 } };
    if (gr_failed(t)) return (kit_set){ 0 };
    s.images.data = gr_memory_new(memory, n * KIT_PIXELS);
    s.labels.data = gr_memory_new(memory, n);
    if (!s.images.data || !s.labels.data) gr_fail_as(t, GR_NO_MEMORY, "", "no memory for %zu drawn digits", n);
    for (size_t i = 0; i < n && !gr_failed(t); i++)
        s.labels.data[i] = (uint8_t)kit_digit(gr_tape_seed(t), stream, i, s.images.data + i * KIT_PIXELS);
    return s;
}

kit_data kit_data_open(gr_tape *t, const char *dir)
{
    static const char usual[] = "data/mnist";
    struct stat st;
    kit_data d = { .dir = dir ? strcmp(dir, "none") ? dir : NULL : stat(usual, &st) == 0 ? usual : NULL };
    if (d.dir) {
        d.train = read_set(t, d.dir, "train-images-idx3-ubyte", "train-labels-idx1-ubyte");
        d.test = read_set(t, d.dir, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte");
    } else {
        d.train = draw_set(t, "digits/train", DRAWN_TRAIN);
        d.test = draw_set(t, "digits/test", DRAWN_TEST);
    }
    return d;
}

void kit_data_free(gr_tape *t, kit_data *d)
{
    kit_idx_free(t, &d->train.images), kit_idx_free(t, &d->train.labels);
    kit_idx_free(t, &d->test.images), kit_idx_free(t, &d->test.labels);
}

const char *kit_data_name(const kit_data *d, char *text, size_t bytes)
{
    snprintf(text, bytes, "%zu training and %zu test images: %s", d->train.images.n, d->test.images.n,
             d->dir ? d->dir : "drawn digits (examples/fetch_mnist.sh fetches the real MNIST)");
    return text;
}

kit_batches kit_batches_new(gr_tape *t, const kit_set *set, size_t batch, bool shuffled)
{
    const gr_allocator *const memory = gr_tape_allocator(t);
    kit_batches b = { .set = set, .std = 1 };
    b.order = gr_batches_new(t, set->images.n, batch, &(gr_batches_config){ .shuffle = shuffled ? "train/shuffle" : NULL });
    if (!b.order) return b;
    b.batch = b.order->size, b.per_epoch = b.order->per_epoch;
    b.pixels = gr_memory_new(memory, b.batch * KIT_PIXELS * sizeof *b.pixels);
    b.labels = gr_memory_new(memory, b.batch * sizeof *b.labels);
    if (!b.pixels || !b.labels) gr_fail_as(t, GR_NO_MEMORY, "", "no memory for batches of %zu images", b.batch);
    return b;
}

void kit_batches_free(gr_tape *t, kit_batches *b)
{
    const gr_allocator *const memory = gr_tape_allocator(t);
    if (!b->set) return;
    gr_batches_free(b->order);
    gr_memory_free(memory, b->pixels, b->batch * KIT_PIXELS * sizeof *b->pixels);
    gr_memory_free(memory, b->labels, b->batch * sizeof *b->labels);
    *b = (kit_batches){ 0 };
}

size_t kit_next_size(const kit_batches *b)
{
    const size_t left = b->set->images.n - b->taken % b->per_epoch * b->batch;
    return left < b->batch ? left : b->batch;
}

kit_batch kit_next_part(kit_batches *b, size_t first, size_t n)
{
    gr_real value[256];
    b->order->taken = (int64_t)b->taken;
    const int *const ids = gr_batches_next(b->order)->data + first;
    for (int p = 0; p < 256; p++) value[p] = (gr_real)((p / 255.0 - b->mean) / b->std);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *const image = b->set->images.data + (size_t)ids[i] * KIT_PIXELS;
        for (size_t k = 0; k < KIT_PIXELS; k++) b->pixels[i * KIT_PIXELS + k] = value[image[k]];
        b->labels[i] = b->set->labels.data[ids[i]];
    }
    return (kit_batch){ n, b->pixels, b->labels };
}

kit_batch kit_next(kit_batches *b)
{
    const kit_batch whole = kit_next_part(b, 0, kit_next_size(b));
    b->taken++;
    return whole;
}

/* ---- Scores ---- */

void kit_score_add(kit_score *s, const gr_tensor *loss, const gr_tensor *logits, const int *labels)
{
    const size_t n = gr_size(logits, 0), classes = gr_size(logits, 1);
    for (size_t i = 0; i < n; i++) {
        const gr_real *const z = logits->data + i * classes;
        size_t best = 0;
        for (size_t k = 1; k < classes; k++)
            if (z[k] > z[best]) best = k;
        s->hits += best == (size_t)labels[i];
    }
    s->images += n;
    s->loss += gr_item(loss) * (double)n;
}

void kit_score_sum(kit_score *s, const kit_score *more)
{
    s->loss += more->loss, s->hits += more->hits, s->images += more->images;
}

double kit_loss(const kit_score *s) { return s->images ? s->loss / (double)s->images : 0; }
double kit_accuracy(const kit_score *s) { return s->images ? 100.0 * (double)s->hits / (double)s->images : 0; }
