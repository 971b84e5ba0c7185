/* examples/dive/twelve.h - the section before the figures: twelve numbers that the reader changes, four norms, forward and backward.
 *
 * twelve_maths.js computes, twelve_words.js explains, and twelve.js is the page; tests/report/check_twelve.py compares them with the library. */
#ifndef DIVE_TWELVE_H
#define DIVE_TWELVE_H
#include "examples/plot/page.h"

extern const plot_section dive_twelve;

/* The lines of its files. The Makefile generates them. */
extern const char *const dive_twelve_html[], *const dive_twelve_css[], *const dive_twelve_maths_js[], *const dive_twelve_words_js[],
    *const dive_twelve_js[];

#endif
