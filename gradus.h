/* gradus.h - the whole public interface of gradus, a minimal autograd deep-learning framework. Read on in this order. */
#ifndef GRADUS_H
#define GRADUS_H
#include "core/tape.h"        /* the context: memory, recording, errors, backward */
#include "core/tensor.h"      /* tensors, shapes, views */
#include "core/recompute.h"   /* segments that are run again in backward */
#include "core/trace.h"       /* why no gradient reached a tensor */
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
