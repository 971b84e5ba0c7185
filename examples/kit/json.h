/* examples/kit/json.h - texts and numbers as JSON has them, and texts as HTML and SVG have them. */
#ifndef KIT_JSON_H
#define KIT_JSON_H
#include <stddef.h>
#include <stdio.h>

/* "text", in ASCII: other characters as \u escapes, and < too, so that it may stand in a page. NULL: null. Of a byte that is no UTF-8, its number. */
void kit_json_text(FILE *out, const char *text);

/* v with so many significant digits, a whole number below 2^53 with all of its own. What is not finite: null. */
void kit_json_number(FILE *out, double v, int digits);

/* v to a place: the power of ten at or below step, which is above 0. For drawings, where more cannot be seen. */
void kit_json_rounded(FILE *out, double v, double step);

/* text with & < > " escaped. A byte or character that XML refuses becomes U+FFFD. */
void kit_markup(FILE *out, const char *text);

/* The character at s, which takes *n bytes; -1, with 1 byte, when s begins no UTF-8. */
long kit_utf8(const char *s, size_t *n);

#endif
