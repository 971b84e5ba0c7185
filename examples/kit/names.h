/* examples/kit/names.h - names of different lengths as sequences of characters, from a file or from invented languages. */
#ifndef KIT_NAMES_H
#define KIT_NAMES_H
#include "examples/kit/arms.h"

enum { KIT_NAMES_LONGEST = 30, KIT_NAMES_EXTRA = 12 }; /* most characters in a name; most positions of padding beyond the longest name */

typedef struct { uint8_t length, id[KIT_NAMES_LONGEST]; } kit_name;
typedef struct {
    kit_name *name;    /* in random order; the last tenth, from `train` on, is the test set */
    size_t n, train;
    char letter[256];  /* the character of an id; id 0 marks the start and the end of a name */
    size_t letters;    /* number of ids; the id `letters` is padding */
    /* The batch: inputs, targets (the next id; -100 at padding), and sequence lengths (the letters of a name plus one). */
    size_t B, T;
    int *in, *target, *length; /* [B, T], [B, T], [B] */
    gr_batches *order; /* of the training names */
    size_t batch, room;
    gr_tape *tape;
} kit_names;

/* Read the names of a file: one per line, any bytes. path NULL means 8,000 names of four invented languages, drawn from the tape's seed.
 * A training batch has `batch` names. Errors are set on t. The caller frees the names before the tape. */
kit_names kit_names_open(gr_tape *t, const char *path, size_t batch);
void kit_names_free(kit_names *c);

/* Put the B names with the numbers which[] into the batch, padded to the longest of them plus `extra` positions. */
const kit_names *kit_names_put(kit_names *c, const int *which, size_t B, size_t extra);

/* The names as a source; each of its batches is c itself. */
kit_source kit_names_source(kit_names *c);

#endif
