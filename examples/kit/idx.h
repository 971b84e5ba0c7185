/* examples/kit/idx.h - the IDX files that MNIST comes in (LeCun, Cortes, Burges), plain or gzipped. */
#ifndef KIT_IDX_H
#define KIT_IDX_H
#include "core/tape.h"

/* A file's items as bytes: memory of the tape's allocator, freed with kit_idx_free. */
typedef struct { uint8_t *data; size_t n, item; } kit_idx; /* n items of item bytes each */

/* Read DIR/NAME, else DIR/NAME.gz through `gzip -dc`. side is 28 for images, n of 28 by 28 bytes, and 0 for labels, n bytes of 0
 * to 9. Nothing of the file is believed: the magic number, the sizes and the length must all agree before memory is asked for, and
 * any other file is an error on t that says what is wrong, and where. */
kit_idx kit_idx_read(gr_tape *t, const char *dir, const char *name, size_t side);
void kit_idx_free(gr_tape *t, kit_idx *x);

#endif
