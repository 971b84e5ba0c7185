/* examples/dive/batch_size.h - what batch_size.c, which trains and draws, and batch_size_claims.c share. */
#ifndef DIVE_BATCH_SIZE_H
#define DIVE_BATCH_SIZE_H
#include "examples/dive/models.h"
#include "examples/dive/seeds.h"

enum { BATCHES = 6, BATCH_NETS = 3, BATCH_ARMS = 4 };
enum { B1, B2, B4, B8, B32, B128 };
extern const size_t batch_at[BATCHES]; /* 1, 2, 4, 8, 32, 128 */

typedef struct {
    const char *name;
    gr_norm_kind norm;
    plot_ink ink;
    bool logits;
} batch_arm;
typedef struct {
    const char *name, *title;
    dive_spec spec;
    bool hidden; /* there is a norm in a hidden layer, where BatchNorm has no statistics at batch 1 */
    batch_arm arm[BATCH_ARMS];
} batch_net;
enum { BATCH_CNN, BATCH_CONVS, BATCH_MLP };
batch_net batch_net_of(const dive *d, size_t k);

/* Train the networks at the batch sizes that are wanted, and put the records; the others are NaN. */
void batch_measure(dive *d, bool (*wanted)(const dive *d, size_t net, size_t batch));

double batch_lr(size_t batch);
size_t batch_steps(const dive *d, size_t batch);  /* training steps at a batch size */
size_t batch_tested(const dive *d);               /* test images */
const plot_record *batch_get(const dive *d, const batch_net *n, size_t arm, const char *what); /* a record "NET/ARM/what" */
/* a - b, [seeds, n], of two records of one shape; NULL when one is missing. */
const plot_record *batch_difference(gr_tape *t, const plot_record *a, const plot_record *b);

#endif
