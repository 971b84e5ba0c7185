/* examples/plot/page.h - the page: figures in one HTML file that opens from disk. */
#ifndef PLOT_PAGE_H
#define PLOT_PAGE_H
#include "examples/plot/figure.h"

/* Read the plotly.min.js at path. t owns the text until gr_tape_reset. Returns NULL, with an error on t, when the file is not a plotly.min.js
 * or cannot stand inside a page. */
const char *plot_plotly_read(gr_tape *t, const char *path);

/* A section before the figures, with its own style and scripts. A text is a list of lines that ends with NULL. */
typedef const char *const *plot_lines;
typedef struct {
    const char *id, *title, *about; /* the id in html; the entry in the table of contents */
    plot_lines html, css;
    const plot_lines *js;           /* texts, ended by NULL */
} plot_section;

typedef struct {
    const char *title, *lead;      /* the heading, and the paragraph under it */
    const char *plotly;            /* the text from plot_plotly_read, which is written into the page; NULL: the page loads it from Plotly's CDN */
    const char *const (*fact)[2];  /* [facts] name and value, for the list at the end: command, data, machine, seeds */
    size_t facts;
    const char *skipped;           /* which figures are missing and why, or NULL */
    bool has_no_flag;              /* the program has no flag --plotly, so the page does not mention it */
    const plot_section *section;   /* or NULL */
} plot_page;

/* The command line, beginning with the program's name, for a fact. t owns it. */
const char *plot_command(gr_tape *t, const char *name, int argc, char **argv);

/* Write the page to path. Returns false after an error, which is on t. */
bool plot_page_write(gr_tape *t, const char *path, const plot_page *page, plot_figure *const *figure, size_t n);

#endif
