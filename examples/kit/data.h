/* examples/kit/data.h - MNIST, or digits that the program draws, and batches of them. */
#ifndef KIT_DATA_H
#define KIT_DATA_H
#include "core/batches.h"
#include "examples/kit/digits.h"
#include "examples/kit/idx.h"

typedef struct { kit_idx images, labels; } kit_set;   /* held as bytes */
typedef struct { kit_set train, test; const char *dir; } kit_data; /* dir NULL means digits that the program drew */

/* Read the four files of dir. dir NULL means data/mnist if that folder exists, and "none" otherwise. "none" draws 12,000 training and 2,000
 * test digits from the tape's seed and the streams digits/train and digits/test. Errors are set on t. Free with kit_data_free before the tape. */
kit_data kit_data_open(gr_tape *t, const char *dir);
void kit_data_free(gr_tape *t, kit_data *d);
/* Write one line that says which data these are into text, and return text. */
const char *kit_data_name(const kit_data *d, char *text, size_t bytes);

/* A walk over a set in batches, in the set's order, or in an order that the stream train/shuffle draws for each epoch. Its position depends
 * only on `taken`: to continue where another run stopped, set taken. */
typedef struct {
    const kit_set *set;
    size_t batch, taken; /* images per batch (the last batch of an epoch may be smaller); batches taken so far */
    size_t per_epoch;    /* batches per epoch */
    double mean, std;    /* a pixel p of 0 to 255 becomes (p / 255 - mean) / std; defaults 0 and 1 */
    gr_batches *order;   /* the numbers of the images */
    gr_real *pixels;
    int *labels;
} kit_batches;
typedef struct { size_t n; const gr_real *pixels; const int *labels; } kit_batch; /* pixels [n, 28, 28], labels [n]; valid until the next batch */

/* A walk over set, which must outlive it. Errors are set on t. Free with kit_batches_free before the tape. */
kit_batches kit_batches_new(gr_tape *t, const kit_set *set, size_t batch, bool shuffled);
void kit_batches_free(gr_tape *t, kit_batches *b);
kit_batch kit_next(kit_batches *b);
/* How many images the next batch has, and n of them, beginning with number `first`. This takes no batch: a caller that needs only a part of each
 * batch adds 1 to b->taken itself. */
size_t kit_next_size(const kit_batches *b);
kit_batch kit_next_part(kit_batches *b, size_t first, size_t n);

/* Loss and right answers, summed over batches. */
typedef struct { double loss; size_t hits, images; } kit_score; /* loss is the sum over images */
void kit_score_add(kit_score *s, const gr_tensor *loss, const gr_tensor *logits, const int *labels);
void kit_score_sum(kit_score *s, const kit_score *more);
double kit_loss(const kit_score *s);     /* mean per image */
double kit_accuracy(const kit_score *s); /* in percent */

#endif
