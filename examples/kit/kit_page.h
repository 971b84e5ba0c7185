/* examples/kit/kit_page.h - the page: figures in one HTML file that opens from disk, and files that appear whole or not at all. */
#ifndef KIT_PAGE_H
#define KIT_PAGE_H
#include "examples/kit/kit_figure.h"

/* A file in the making: what is written to out comes to path only by kit_file_end, and replaces what was there at once. */
typedef struct { FILE *out; const char *path; char made[4096]; } kit_file;
/* Errors, on t, name path and why; out is NULL then. */
kit_file kit_file_begin(gr_tape *t, const char *path);
/* False, with an error on t and path as it was, when not all of it could be written. On a tape in error, gives up. */
bool kit_file_end(gr_tape *t, kit_file *file);

typedef struct {
    const char *title, *lead;      /* heading; a paragraph under it */
    const char *plotly;            /* path of a plotly.min.js to put into the page; NULL: the page loads it from Plotly's CDN */
    const char *const (*fact)[2];  /* [facts]: name and value, for the list at the end: command, data, machine, seeds */
    size_t facts;
    const char *skipped;           /* which figures are not there and why, or NULL */
    bool has_no_flag;              /* the program takes no --plotly, and the page does not speak of it */
} kit_page;

/* For fact: the command line, beginning with the program's name. */
const char *kit_command(gr_tape *t, const char *name, int argc, char **argv);

/* Write the page to path. False with an error on t. */
bool kit_page_write(gr_tape *t, const char *path, const kit_page *page, kit_figure *const *figure, size_t n);

#endif
