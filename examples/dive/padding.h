/* examples/dive/padding.h - figure "padding": how padding changes BatchNorm's statistics, with and without lengths, and LayerNorm. padding.c
 * measures, padding_draw.c draws and judges.
 *
 * Records, where WAYS are none, BN, BN with lengths and LN: "share" [shares]; "mean", "deviation", "out", "alone" [WAYS, shares] of feature one;
 * "lesson" [WAYS, words], "lesson/statistics" [2, 2]; "look/share" [looks], "look" [WAYS, looks], a mean over the seeds, "look/rise" [seeds]: BN's
 * last loss minus its first; "train/share" [paddings], "train" [WAYS, paddings]. */
#ifndef DIVE_PADDING_H
#define DIVE_PADDING_H
#include "examples/dive/seeds.h"

enum { NONE, PLAIN, MASKED, LAYER, WAYS };
typedef struct {
    const char *name;
    gr_norm_kind norm;
    plot_ink ink;
} padding_way;
extern const padding_way padding_ways[WAYS];

enum { SHARES = 10, SENTENCES = 32, WORDS = 10, FEATURES = 16, BATCHES = 60, LESSON = 8 }; /* the statistics, and the words of the lesson */
enum { BATCH = 64, PADDINGS = 3, LOOKS = 7 };                                               /* training on names */

#endif
