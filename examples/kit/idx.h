/* examples/kit/idx.h - IDX, the file format of MNIST (LeCun, Cortes, Burges), plain or gzipped. */
#ifndef KIT_IDX_H
#define KIT_IDX_H
#include "core/tape.h"

/* The items of a file as bytes. data comes from the tape's allocator; free it with kit_idx_free. */
typedef struct { uint8_t *data; size_t n, item; } kit_idx; /* n items of `item` bytes each */

/* Read DIR/NAME, or DIR/NAME.gz through `gzip -dc` if DIR/NAME does not exist. side is 28 for images of 28 by 28 bytes, and 0 for labels,
 * which are bytes from 0 to 9. The file is not trusted: the magic number, the sizes and the length must agree before memory is allocated.
 * Any other file is an error on t that says what is wrong and where. */
kit_idx kit_idx_read(gr_tape *t, const char *dir, const char *name, size_t side);
void kit_idx_free(gr_tape *t, kit_idx *x);

#endif
