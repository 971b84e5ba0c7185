/* nn/module.h - the module tree: parameters and buffers with names, under modules with names. */
#ifndef GR_MODULE_H
#define GR_MODULE_H
#include "core/tensor.h"
#include "nn/init.h"
#include <stdio.h>
GR_BEGIN

typedef struct gr_module gr_module;
typedef struct gr_slot gr_slot;

/* One parameter, buffer or counter of a module, in the order of registration. */
typedef enum { GR_PARAMETER, GR_BUFFER, GR_COUNTER } gr_slot_kind;
struct gr_slot {
    const char *name;      /* "weight" */
    const char *path;      /* "fc1.weight": the key in a state_dict */
    gr_slot_kind kind;
    gr_tensor *tensor;     /* of a counter NULL */
    int64_t count;         /* of a counter: its value */
    gr_slot *tied;         /* the slot whose tensor this one shares; else NULL */
    bool is_norm_or_bias;  /* exempt from weight decay by default: norm gains, biases */
    gr_init init;          /* how its values were drawn */
    gr_module *owner;
    gr_slot *next;
};

/* The head of every module: gr_linear and the others begin with one, so &linear->module is its place in the tree. */
struct gr_module {
    const char *name, *kind, *path; /* "fc1", "Linear", "encoder.fc1" ("" for the root) */
    gr_module *parent, *child, *next;
    gr_slot *slots;
    gr_allocator memory;            /* a copy of the tape's */
    uint64_t seed;                  /* the tape's */
    size_t bytes;                   /* of the struct that this heads */
};

GR_API gr_module *gr_module_new(gr_tape *t);    /* a root; owns what is made under it */
GR_API void gr_module_free(gr_module *m);       /* with everything under it; NULL is fine; not the tape */

/* For modules of your own: make(...) first, then gr_param and others, then `return gr_module_ready(t, &l->module) ? l : NULL;`, which on an error
 * removes and frees the half-made module. gr_module_make returns bytes zeroed bytes that begin with the gr_module. A name holds no '.' or '/',
 * is not empty and is new under its parent. */
GR_API void *gr_module_make(gr_tape *t, gr_module *parent, const char *name, const char *kind, size_t bytes);
GR_API bool gr_module_ready(gr_tape *t, gr_module *m);

/* Register a tensor under m, with initial values from the stream "<path>/init". Parameters want gradients; buffers are saved but not trained. NULL on error. */
GR_API gr_tensor *gr_param(gr_tape *t, gr_module *m, const char *name, gr_shape shape, gr_init init);
GR_API gr_tensor *gr_buffer(gr_tape *t, gr_module *m, const char *name, gr_shape shape, double value);
GR_API int64_t *gr_counter(gr_tape *t, gr_module *m, const char *name);
/* Register tensor, a parameter of another module of this tree, here too: counted, clipped, stepped and saved once. */
GR_API gr_tensor *gr_tie(gr_tape *t, gr_module *m, const char *name, gr_tensor *tensor);

/* The one walk over a tree, depth first in order of creation: for (gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)) */
GR_API gr_slot *gr_slot_first(const gr_module *m);
GR_API gr_slot *gr_slot_next(const gr_module *m, const gr_slot *s);
GR_API gr_module *gr_module_next(const gr_module *root, const gr_module *m); /* likewise over modules; NULL at the end */
GR_API gr_slot *gr_slot_find(const gr_module *m, const char *path);

/* Freeze or thaw all parameters under m. */
GR_API void gr_requires_grad(gr_module *m, bool wanted);

/* Copy a state out of the tape into m's memory (made at the first call, [the same shape] ever after), so that it outlives
 * gr_tape_reset: truncated back-propagation, moving averages. Returns the kept tensor, which no gradient enters. */
GR_API gr_tensor *gr_detach_keep(gr_tape *t, gr_module *m, const char *name, const gr_tensor *x);

/* Numbers in the tree: tied parameters once. */
GR_API size_t gr_module_parameters(const gr_module *m);
GR_API size_t gr_module_bytes(const gr_module *m);

GR_END
#endif
