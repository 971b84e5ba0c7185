/* examples/plot/plotly.h - the parts of a figure in Plotly's JSON. Internal to examples/plot. */
#ifndef PLOT_PLOTLY_H
#define PLOT_PLOTLY_H
#include "examples/plot/draw.h"

/* Writes an object or array, with commas between its members. */
typedef struct {
    FILE *out;
    const plot_figure *f;
    bool begun;
} plot_writer;

void plot_json_put(plot_writer *w, const char *format, ...) __attribute__((format(GR_PRINTF, 2, 3)));
/* Write a comma and a member of an object. */
void plot_json_text(plot_writer *w, const char *key, const char *value);
/* Panel k has this axis: "x", "x2", "x3". */
typedef struct { char word[16]; } plot_axis_name;
plot_axis_name plot_nth(const char *word, size_t k);

/* Write the member "layout", h high. names: there is a legend. */
void plot_json_layout(plot_writer *w, const plot_places *at, double h, bool names);

#endif
