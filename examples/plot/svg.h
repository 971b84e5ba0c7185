/* examples/plot/svg.h - the parts of a drawing in SVG. Internal to examples/plot. */
#ifndef PLOT_SVG_H
#define PLOT_SVG_H
#include "examples/plot/draw.h"

/* Write the content of a panel's svg element, without the element itself: any panel; a chart with axes; a cloud. */
void plot_svg_body(FILE *out, const plot_panel *p);
void plot_svg_chart(FILE *out, const plot_panel *p);
void plot_svg_cloud(FILE *out, const plot_panel *p);

#endif
