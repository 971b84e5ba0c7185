/* gradus.h - the whole public interface of gradus, a minimal autograd deep-learning framework. Read the headers in this order.
 *
 * Rules of the interface:
 *   Arguments     the tape first, then the object, then a path or a config; a FILE to print to comes last.
 *   gr_X_config   settings. NULL and a field of 0 mean the defaults; where 0 or "none" is a useful value, write GR_NONE for it.
 *   gr_X_input    what one call of a module gets beside its tensor: initial states, lengths, masks.
 *   gr_X          an operator; gr_X_module is the module where both exist. gr_X_new makes an object, such as a tape, a module or an optimizer.
 *   gr_print_X    prints; gr_init_X is a rule for initial values.
 *   Axes          a gr_axes is a set of axes, and an int axis is one axis. Negative axes count from the end, as in PyTorch.
 *   Ownership     the tape owns what operators return, a module owns its parameters, and the caller frees what has a gr_X_free.
 *   Fields        a program fills configs, inputs and lists of items. It reads every other struct, and writes only the data of a tensor
 *                 (core/tensor.h says when).
 *   Errors        stay on the tape (gr_failed, gr_message). They name the operator, the module in which it ran, what was given and what was needed.
 *                 After an error every operator and every forward returns NULL, so test the pointer, or gr_failed(t), before you read ->data or
 *                 gr_grad.
 *   Numbers       INFINITY and NAN, which some functions take or return, are in <math.h>. gradus.h does not include it. */
#ifndef GRADUS_H
#define GRADUS_H
#include "core/tape.h"        /* the context: memory, recording, errors, backward */
#include "core/tensor.h"      /* tensors, shapes, views */
#include "core/recompute.h"   /* segments that run again in backward */
#include "core/print.h"       /* printing tensors and graphs */
#include "core/batches.h"     /* which samples make up each batch */
#include "ops/ops.h"          /* the operators */
#include "nn/nn.h"            /* modules with parameters */
#include "nn/inspect.h"       /* seeing inside normalizations */
#include "optim/optim.h"      /* optimizers, schedules, clipping, checkpoints */
#include "optim/audit.h"      /* does every parameter learn? */
#include "core/files.h"       /* files of named tensors */
#include "core/op.h"          /* operators of your own */
#include "core/gradcheck.h"   /* their gradient check */
#endif
