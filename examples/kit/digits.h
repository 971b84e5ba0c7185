/* examples/kit/digits.h - handwritten-looking digits that the program draws itself, for when there is no MNIST. */
#ifndef KIT_DIGITS_H
#define KIT_DIGITS_H
#include "core/random.h"

enum { KIT_SIDE = 28, KIT_PIXELS = KIT_SIDE * KIT_SIDE }; /* of an image: rows and columns, bytes */

/* Draw digit number index of the endless set called name ("digits/train") into pixels [28, 28], 0 paper to 255 ink. Returns
 * its label, 0 to 9. A pure function of its arguments, the same on every machine. */
int kit_digit(uint64_t seed, const char *name, size_t index, uint8_t *pixels);

#endif
