/* examples/plot/page.h - the page: figures in one HTML file that opens from disk. */
#ifndef PLOT_PAGE_H
#define PLOT_PAGE_H
#include "examples/plot/figure.h"

/* The text of the plotly.min.js at path, in memory of t that lives as long as its tensors. NULL, with an error on t, when it is none, or
 * cannot be put into a page. */
const char *plot_plotly_read(gr_tape *t, const char *path);

typedef struct {
    const char *title, *lead;      /* heading; a paragraph under it */
    const char *plotly;           /* what plot_plotly_read gave, to put into the page; NULL: the page loads it from Plotly's CDN */
    const char *const (*fact)[2];  /* [facts]: name and value, for the list at the end: command, data, machine, seeds */
    size_t facts;
    const char *skipped;           /* which figures are not there and why, or NULL */
    bool has_no_flag;              /* the program takes no --plotly, and the page does not speak of it */
} plot_page;

/* For fact: the command line, beginning with the program's name. */
const char *plot_command(gr_tape *t, const char *name, int argc, char **argv);

/* Write the page to path. False with an error on t. */
bool plot_page_write(gr_tape *t, const char *path, const plot_page *page, plot_figure *const *figure, size_t n);

#endif
