/* examples/kit/names.h - names of different lengths, character by character: from a file, or of invented languages. */
#ifndef KIT_NAMES_H
#define KIT_NAMES_H
#include "examples/kit/arms.h"

enum { KIT_NAMES_LONGEST = 30, KIT_NAMES_EXTRA = 12 }; /* characters of a name; positions that a batch may be padded further than needed */

typedef struct { uint8_t length, id[KIT_NAMES_LONGEST]; } kit_name;
typedef struct {
    kit_name *name;    /* in a random order; those from `train` on are the test set, a tenth */
    size_t n, train;
    char letter[256];  /* of an id; id 0 is the start and the end of a name */
    size_t letters;    /* ids in all; id `letters` is padding */
    /* The batch: what is read, what comes next (-100: padding), and how many of the T positions are real: a name's letters and one. */
    size_t B, T;
    int *in, *target, *length; /* [B, T], [B, T], [B] */
    size_t batch, room, *order, epoch;
    gr_tape *tape;
} kit_names;

/* The names of a file, one a line, any bytes; path NULL: 8,000 of four invented languages, by the tape's seed. batch: names in a training
 * batch. Errors are on t. Free before the tape. */
kit_names kit_names_open(gr_tape *t, const char *path, size_t batch);
void kit_names_free(kit_names *c);

/* Put the names with these B numbers into the batch, padded to the longest and `extra` further. */
const kit_names *kit_names_put(kit_names *c, const size_t *which, size_t B, size_t extra);

/* As a source, whose batches are c itself. */
kit_source kit_names_source(kit_names *c);

#endif
