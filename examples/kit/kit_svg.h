/* examples/kit/kit_svg.h - the parts of a drawing in SVG. For the kit's own files. */
#ifndef KIT_SVG_H
#define KIT_SVG_H
#include "examples/kit/kit_draw.h"

/* What a panel's svg element holds, without the element. */
void kit_svg_body(FILE *out, const kit_panel *p);
void kit_svg_chart(FILE *out, const kit_panel *p);
void kit_svg_cloud(FILE *out, const kit_panel *p);

#endif
