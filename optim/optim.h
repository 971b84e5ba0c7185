/* optim/optim.h - optimizers, schedules, clipping, checkpoints. */
#ifndef GR_OPTIM_H
#define GR_OPTIM_H
#include "nn/module.h"
GR_BEGIN

GR_END
#endif
