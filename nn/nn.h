/* nn/nn.h - the modules. Made under a parent with a name (gr_linear_new(t, net, "fc1", ...)), freed with the root. Parameter
 * names, shapes and initial distributions are PyTorch's. A config of NULL is all defaults, and so is a field of 0. */
#ifndef GR_NN_H
#define GR_NN_H
#include "nn/module.h"
#include "ops/ops.h"
GR_BEGIN

GR_END
#endif
