/* ops/window.h - what convolution, pooling and the modules share: checked settings, along H or along W. */
#ifndef GR_WINDOW_H
#define GR_WINDOW_H
#include "core/library.h"
#include "ops/conv.h"

/* The value along one axis: of_w, which is 0 for H (GR_NONE means 0); where it is 0, value; where both are 0, otherwise. */
static inline size_t window_setting(int value, int of_w, int otherwise) { return (size_t)gr__setting(of_w, value ? value : otherwise); }

/* Settings in pairs: those with an odd number are along W, which only two axes have. 0 is the default; least is the smallest value. */
typedef struct { const char *name; int value, least; } window_value;
bool gr__window_fits(gr_tape *t, const char *name, const window_value *s, int n, bool two);
/* Whether the config is good; otherwise the error. name is the operator or the module. */
bool gr__conv_fits(gr_tape *t, const char *name, const gr_conv_config *c, bool two, bool transposed);
bool gr__interpolate_fits(gr_tape *t, const char *name, const gr_interpolate_config *config);
#endif
