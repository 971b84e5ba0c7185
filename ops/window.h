/* ops/window.h - what convolution and pooling share: a setting along H or along W. */
#ifndef GR_WINDOW_H
#define GR_WINDOW_H
#include "core/library.h"

/* The value along one axis: of_w, which is 0 for H (GR_NONE means 0); where it is 0, value; where both are 0, otherwise. */
static inline size_t window_setting(int value, int of_w, int otherwise)
{
    return (size_t)gr__setting(of_w, value ? value : otherwise);
}
#endif
