/* examples/plot/svg.h - the parts of a drawing in SVG. For the kit's own files. */
#ifndef PLOT_SVG_H
#define PLOT_SVG_H
#include "examples/plot/draw.h"

/* What a panel's svg element holds, without the element. */
void plot_svg_body(FILE *out, const plot_panel *p);
void plot_svg_chart(FILE *out, const plot_panel *p);
void plot_svg_cloud(FILE *out, const plot_panel *p);

#endif
