/* examples/kit/words.h - sentences for a terminal: lines of at most 100 columns, and lists such as "a, b and c". */
#ifndef KIT_WORDS_H
#define KIT_WORDS_H
#include "core/real.h"
#include <stddef.h>
#include <stdio.h>

enum { KIT_COLUMNS = 100, KIT_WORDS = 2048 }; /* the longest line; the bytes of the longest text, with the 0 at its end */

/* Print a text in lines of at most KIT_COLUMNS columns, each after `indent` spaces. A longer word has its own line, and a percent sign stays with
 * its number. */
void kit_wrap(FILE *out, int indent, const char *format, ...) __attribute__((format(GR_PRINTF, 3, 4)));

/* For a text that does not go to a FILE: move *text to its next word, and return how many of the characters from there are its next line of at most
 * `columns`; 0 at the end.
 *     for (int n; (n = kit_line(&text, KIT_COLUMNS - 4)) > 0; text += n) say("    %.*s\n", n, text);                                    */
int kit_line(const char **text, int columns);

/* A list of words: "a", "a and b", "a, b and c". Begin with { 0 }. What does not fit is left out. */
typedef struct {
    size_t n, joint; /* items; where the last one, with what joins it, begins in text */
    char text[1024];
} kit_list;
void kit_list_add(kit_list *l, const char *format, ...) __attribute__((format(GR_PRINTF, 2, 3)));

#endif
