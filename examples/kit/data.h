/* examples/kit/data.h - MNIST, or digits of our own; shuffled batches of it. */
#ifndef KIT_DATA_H
#define KIT_DATA_H
#include "core/tensor.h"
#include "examples/kit/digits.h"
#include "examples/kit/idx.h"

typedef struct { kit_idx images, labels; } kit_set;   /* held as bytes */
typedef struct { kit_set train, test; const char *dir; } kit_data; /* dir NULL: digits that the program drew */

/* The four files of dir. dir NULL: data/mnist if it is there, else what "none" gives: 12,000 and 2,000 drawn digits, from the
 * tape's seed and the streams digits/train and digits/test. Errors are on t. Free with kit_data_free before the tape. */
kit_data kit_data_open(gr_tape *t, const char *dir);
void kit_data_free(gr_tape *t, kit_data *d);
/* One line that says which data these are, put into text. */
const char *kit_data_name(const kit_data *d, char *text, size_t bytes);

/* The walk over a set in batches, in its own order or shuffled anew for every epoch by the stream train/shuffle. Where it stands is a
 * function of the number of batches taken: to go on where another run stopped, set taken. */
typedef struct {
    const kit_set *set;
    size_t batch, taken; /* images a batch (the last of an epoch may be smaller); batches taken so far */
    size_t per_epoch;    /* batches in an epoch */
    bool shuffled;
    double mean, std;    /* a pixel p of 0 to 255 becomes (p / 255 - mean) / std; at first 0 and 1 */
    size_t *order, epoch; /* the permutation of that epoch */
    gr_real *pixels;
    int *labels;
} kit_batches;
typedef struct { size_t n; const gr_real *pixels; const int *labels; } kit_batch; /* pixels [n, 28, 28], labels [n]: valid until the next */

kit_batches kit_batches_new(gr_tape *t, const kit_set *set, size_t batch, bool shuffled);
void kit_batches_free(gr_tape *t, kit_batches *b);
kit_batch kit_next(const gr_tape *t, kit_batches *b);

/* How well a run of batches went. */
typedef struct { double loss; size_t hits, images; } kit_score; /* loss: summed over images */
void kit_score_add(kit_score *s, const gr_tensor *loss, const gr_tensor *logits, const int *labels);
void kit_score_sum(kit_score *s, const kit_score *more);
double kit_loss(const kit_score *s);     /* the mean */
double kit_accuracy(const kit_score *s); /* in percent */

#endif
