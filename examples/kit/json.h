/* examples/kit/json.h - write texts and numbers as JSON, and texts as HTML and SVG. */
#ifndef KIT_JSON_H
#define KIT_JSON_H
#include <stddef.h>
#include <stdio.h>

/* Write "text" in ASCII. Other characters become \u escapes, and so does <, because the JSON may stand in a page. A byte that is not UTF-8
 * is written as the character with the byte's number. NULL is written as null. */
void kit_json_text(FILE *out, const char *text);

/* Write v with `digits` significant digits; an integer below 2^53 keeps all its digits. NaN and infinity are written as null. */
void kit_json_number(FILE *out, double v, int digits);

/* Write v, rounded to the largest power of ten that is at most `step` (step > 0). For drawings, which cannot show more digits. */
void kit_json_rounded(FILE *out, double v, double step);

/* Write text with & < > " escaped. A byte or character that XML does not allow becomes U+FFFD. */
void kit_markup(FILE *out, const char *text);

/* Decode the UTF-8 character at s and write the number of its bytes to *n. Returns -1, and sets *n to 1, when the bytes at s are not UTF-8. */
long kit_utf8(const char *s, size_t *n);

#endif
