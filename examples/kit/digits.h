/* examples/kit/digits.h - digits that the program draws itself, and that look handwritten; used when MNIST is missing. */
#ifndef KIT_DIGITS_H
#define KIT_DIGITS_H
#include "core/random.h"

enum { KIT_SIDE = 28, KIT_PIXELS = KIT_SIDE * KIT_SIDE }; /* rows (and columns) of an image; its bytes */

/* Draw digit number `index` of the endless set `name` ("digits/train") into pixels [28, 28], from 0 (paper) to 255 (ink). Returns the
 * label, 0 to 9. The result depends on the arguments alone and is the same on every machine. */
int kit_digit(uint64_t seed, const char *name, size_t index, uint8_t *pixels);

#endif
