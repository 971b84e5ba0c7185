/* gradus.h - the whole public interface of gradus, a minimal autograd deep-learning framework. Read on in this order.
 *
 * Rules of the interface:
 *   Arguments     the tape first, then the object, then a path or a config; a FILE to print to comes last.
 *   gr_X_config   settings. NULL and a field of 0 mean the defaults; GR_NONE asks for 0, or for none, where that is a value too.
 *   gr_X_input    what one call of a module is given beside its tensor: first states, lengths, masks.
 *   gr_X          an operator; gr_X_module is the module where both exist. gr_X_new makes a module or an optimizer under a name.
 *   gr_print_X    prints; gr_init_X is a rule for first values.
 *   Errors        stay on the tape (gr_failed, gr_message); they name the operator, the module it ran in, what was given and what was needed. */
#ifndef GRADUS_H
#define GRADUS_H
#include "core/tape.h"        /* the context: memory, recording, errors, backward */
#include "core/tensor.h"      /* tensors, shapes, views */
#include "core/recompute.h"   /* segments that are run again in backward */
#include "core/print.h"       /* printing tensors and graphs */
#include "ops/ops.h"          /* the operators */
#include "nn/nn.h"            /* modules with parameters */
#include "nn/inspect.h"       /* seeing inside normalizations */
#include "optim/optim.h"      /* optimizers, schedules, clipping, checkpoints */
#include "optim/audit.h"      /* does every parameter learn? */
#include "core/files.h"       /* files of named tensors */
#include "core/op.h"          /* operators of your own */
#include "core/gradcheck.h"   /* their gradient check */
#endif
