/* nn/module.h - the module tree: parameters and buffers with names, under modules with names. */
#ifndef GR_MODULE_H
#define GR_MODULE_H
#include "core/tensor.h"
#include "nn/init.h"
#include <stdio.h>
GR_BEGIN

typedef struct gr_module gr_module;
typedef struct gr_slot gr_slot;

/* One parameter, buffer, counter or kept state of a module, in the order of registration. */
typedef enum { GR_PARAMETER, GR_BUFFER, GR_COUNTER, GR_KEPT } gr_slot_kind;
struct gr_slot {
    const char *name;      /* "weight" */
    const char *path;      /* "fc1.weight": the key in a state_dict */
    gr_slot_kind kind;
    gr_tensor *tensor;     /* NULL in a counter */
    int64_t count;         /* of a counter: its value; of a kept state: whether there is one */
    gr_slot *tied;         /* the slot whose tensor this one shares; else NULL */
    bool frozen;           /* by gr_requires_grad */
    size_t number;         /* of a parameter: no other in the life of its tree has it */
    unsigned optimizers;   /* how many hold it; counted in the slot that the others are tied to */
    bool is_norm_or_bias;  /* exempt from weight decay by default: rank 0 or 1, a name "bias...", or a parameter of a module with is_norm */
    gr_init init;          /* how its values were drawn */
    struct gr__version *versions; /* the library's: of a kept state, all its memory */
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
    bool is_norm;                   /* weight decay leaves out the parameters that gr_param makes from now on; set by the library's norms */
    size_t multiply_adds;           /* of its own work on one row of input (a sample, a time step): for gr_print_summary */
    gr_tensor *(*forward)(gr_tape *t, const gr_module *m, gr_tensor *x); /* of modules from one tensor to one tensor; else NULL */
    size_t changes;                 /* of a root: how many parameters were made and parts freed so far */
    struct gr__watch *watches;      /* of a root: the optimizers that must learn of its end */
};

GR_API gr_module *gr_module_new(gr_tape *t);    /* a root; owns what is made under it */
/* With everything under it; NULL is fine. A module under a parent leaves it; nothing outside may be tied to its tensors then.
 * An optimizer that holds a parameter of m becomes unusable, and says so. A tape cannot know: call gr_tape_reset (or gr_tape_recover) first if m ran in this
 * step, because gr_backward, gr_tape_recover and gr_print_graph would read freed memory. So would every later use of m or of what was under
 * it, also a second gr_module_free. A part of a layer that the library made (linear1 of a Transformer layer) is freed with the layer only. */
GR_API void gr_module_free(gr_module *m);

/* Call a module that makes one tensor from one tensor: a Linear, a Sequential, an activation. */
GR_API gr_tensor *gr_forward(gr_tape *t, const gr_module *m, gr_tensor *x);

/* For modules of your own: gr_module_make first, then gr_param and others, then `return gr_module_ready(t, &l->module) ? l : NULL;`,
 * which on an error removes and frees the half-made module. gr_module_make returns bytes zeroed bytes that begin with the
 * gr_module; kind outlives it (a literal). A name holds no '.' or '/', is not empty and is new under its parent; NULL stands
 * for the number of modules there already ("0", "1", ...), as in a Sequential. */
GR_API void *gr_module_make(gr_tape *t, gr_module *parent, const char *name, const char *kind, size_t bytes);
GR_API bool gr_module_ready(gr_tape *t, gr_module *m);

/* From here to the end of the block, operators run in m: so say the tape's anomalies and gr_audit. It stands in every forward, after
 * the check that m is not NULL: GR_WITHIN(t, &l->module); */
#define GR_WITHIN(t, m) __attribute__((cleanup(gr__leave), unused)) const gr__within gr__here = gr__enter(t, (m)->path)
typedef struct { gr_tape *t; const char *before; } gr__within;
static inline gr__within gr__enter(gr_tape *t, const char *path)
{
    const gr__within here = { t, gr_tape_set_place(t, path) };
    return here;
}
static inline void gr__leave(const gr__within *here) { gr_tape_set_place(here->t, here->before); }

/* Register a tensor under m, with initial values from the stream "<path>/init". Parameters want gradients; buffers are saved
 * but not trained; a counter is an integer that is saved. Owned by m. NULL on error. */
GR_API gr_tensor *gr_param(gr_tape *t, gr_module *m, const char *name, gr_shape shape, gr_init init);
GR_API gr_tensor *gr_buffer(gr_tape *t, gr_module *m, const char *name, gr_shape shape, double value);
GR_API int64_t *gr_counter(gr_tape *t, gr_module *m, const char *name);
/* Register tensor, a parameter of another module of this tree, here too: counted, clipped, stepped and saved once. */
GR_API gr_tensor *gr_tie(gr_tape *t, gr_module *m, const char *name, gr_tensor *tensor);
/* Draw a parameter's first values again, by another rule, from the start of the same stream. False on error. */
GR_API bool gr_param_init(gr_tape *t, gr_module *m, const char *name, gr_init init);

/* The one walk over a tree, depth first in order of creation: for (gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s)).
 * gr_slot_find looks for a path counted from m: "fc1.weight"; NULL when there is none. */
GR_API gr_slot *gr_slot_first(const gr_module *m);
GR_API gr_slot *gr_slot_next(const gr_module *m, const gr_slot *s);
GR_API gr_module *gr_module_next(const gr_module *root, const gr_module *m); /* likewise over modules; NULL at the end */
GR_API gr_slot *gr_slot_find(const gr_module *m, const char *path);

/* Freeze or thaw all parameters under m. */
GR_API void gr_requires_grad(gr_module *m, bool wanted);

/* Copy a state out of the tape into m's memory (made at the first call; the shape stays until gr_forget), so that it outlives
 * gr_tape_reset: truncated back-propagation, moving averages. Returns the kept tensor, which no gradient enters. gr_kept finds
 * it again: NULL when nothing was kept under that name. It is no part of a state_dict, but of a checkpoint. */
GR_API gr_tensor *gr_detach_keep(gr_tape *t, gr_module *m, const char *name, const gr_tensor *x);
GR_API gr_tensor *gr_kept(const gr_module *m, const char *name);
/* Truncated back-propagation, chunk after chunk of a long sequence: start from the state that the last chunk has ended with.
 *     const gr_lstm_input from = { .h0 = gr_carried(t, &lstm->module, "h"), .c0 = gr_carried(t, &lstm->module, "c") };
 *     const gr_lstm_out s = gr_lstm_forward(t, lstm, chunk, &from);
 *     gr_detach_keep(t, &lstm->module, "h", s.h), gr_detach_keep(t, &lstm->module, "c", s.c);
 * gr_carried copies what was kept onto the tape, so that keeping anew spoils no backward; NULL at the start of a sequence. gr_forget ends the
 * sequence: whatever modules under m keep is forgotten, and may have another shape next time. gr_tape_recover brings it back, also when
 * a state of another shape was kept since: memory of the old shape stays at least until the step ends. */
GR_API gr_tensor *gr_carried(gr_tape *t, const gr_module *m, const char *name);
GR_API bool gr_forget(gr_tape *t, gr_module *m);

/* How many numbers the parameters under m hold, tied ones once; and the bytes of all that it saves. */
GR_API size_t gr_module_parameters(const gr_module *m);
GR_API size_t gr_module_bytes(const gr_module *m);

/* Print the tree, one line a module: kind, parameters with shapes, their number, multiply-adds for one row of input, bytes. */
GR_API void gr_print_summary(const gr_module *m, FILE *out);
/* Print the rule by which each parameter got its first values. */
GR_API void gr_print_init(const gr_module *m, FILE *out);

GR_END
#endif
