/* nn/module.h - the module tree: parameters and buffers with names, under modules with names. Here is a module of your own,
 * y = scale * (x V^T + v) * sigmoid(x G^T + g):
 *
 *     typedef struct {
 *         gr_module module;                // comes first: &g->module is its place in the tree
 *         gr_linear_module *value, *gate;  // its parts: the tree owns them
 *         gr_tensor *scale;                // a parameter of its own: the tree owns it too
 *     } gated;
 *
 *     static gr_tensor *gated_forward(gr_tape *t, const gr_module *m, gr_tensor *x)
 *     {
 *         const gated *g = (const gated *)m;
 *         gr_tensor *value = gr_linear_forward(t, g->value, x), *gate = gr_sigmoid(t, gr_linear_forward(t, g->gate, x));
 *         return gr_mul(t, g->scale, gr_mul(t, value, gate));
 *     }
 *
 *     gated *gated_new(gr_tape *t, gr_module *parent, const char *name, size_t in, size_t out)
 *     {
 *         gated *g = gr_module_make(t, parent, name, "Gated", sizeof *g);
 *         if (!g) return NULL;
 *         g->value = gr_linear_new(t, &g->module, "value", in, out, NULL);
 *         g->gate = gr_linear_new(t, &g->module, "gate", in, out, NULL);
 *         g->scale = gr_param(t, &g->module, "scale", GR_SHAPE(out), gr_init_constant(1));
 *         g->module.forward = gated_forward;                   // gr_forward and a Sequential call it
 *         return gr_module_ready(t, &g->module) ? g : NULL;    // after an error this frees the half-made module
 *     }
 *
 * gr_forward(t, &g->module, x) runs it. The optimizer, gr_state_save, gr_print_summary and gr_module_free find its parts by themselves. */
#ifndef GR_MODULE_H
#define GR_MODULE_H
#include "core/tensor.h"
#include "nn/init.h"
#include <stdio.h>

typedef struct gr_module gr_module;
typedef struct gr_slot gr_slot;

/* One parameter, buffer, counter or kept state of a module. Read the fields; the library writes them. */
typedef enum { GR_PARAMETER, GR_BUFFER, GR_COUNTER, GR_KEPT } gr_slot_kind;
struct gr_slot {
    const char *name;      /* "weight" */
    const char *path;      /* "fc1.weight": the key in a state_dict */
    gr_slot_kind kind;
    gr_tensor *tensor;     /* NULL in a counter */
    int64_t count;         /* a counter's value; in a kept state 1 if it keeps something, else 0 */
    gr_slot *tied;         /* the slot whose tensor this one shares; else NULL */
    bool frozen;           /* by gr_requires_grad; tied slots are frozen together */
    unsigned optimizers;   /* how many optimizers hold the parameter; tied slots are counted in the slot that they are tied to */
    bool no_decay;         /* exempt from weight decay by default: rank 0 or 1, a name "bias...", or a parameter of a module with is_norm */
    gr_init init;          /* the rule for its first values */
    struct gr__hold *holds;       /* the library's: the optimizers' pointers to this slot, */
    struct gr__version *versions; /* and all memory of a kept state */
    gr_module *owner;
    gr_slot *next;         /* in order of registration */
};

/* The head of every module: gr_linear_module and the others begin with one. Read the fields. In a module of your own, write is_norm (before
 * gr_param), multiply_adds and forward; the library writes the others. */
struct gr_module {
    const char *name, *kind, *path; /* "fc1", "Linear", "encoder.fc1" ("" for the root) */
    gr_module *parent, *child, *next;
    gr_slot *slots, **end;          /* end: where the next slot will be linked */
    gr_allocator memory;            /* a copy of the tape's */
    uint64_t seed;                  /* the tape's */
    size_t bytes;                   /* the size of the struct that begins with this one */
    bool is_norm;                   /* parameters that gr_param makes from now on are exempt from weight decay; the library's norms set it */
    size_t multiply_adds;           /* its own work for one row of input (a sample, a time step), which gr_print_summary shows */
    gr_tensor *(*forward)(gr_tape *t, const gr_module *m, gr_tensor *x); /* NULL unless the module makes one tensor from one tensor */
};

/* ---- Making and freeing ---- */

/* Make a root module. It owns everything that is made under it; the caller frees it with gr_module_free. NULL when out of memory. */
GR_API gr_module *gr_module_new(gr_tape *t);

/* Free m and everything under it; NULL is allowed. A module with a parent is removed from it. No tensor outside m may still be tied to one of m's:
 * its slot would point to freed memory. An optimizer that held one of its parameters cannot step any more, and says so.
 * If m ran in this step, call gr_tape_reset or gr_tape_recover first: otherwise gr_backward, gr_tape_recover and the printers of a graph would
 * read freed memory. Do not free a part of a layer that the library made (linear1 of a Transformer layer): free the layer. */
GR_API void gr_module_free(gr_module *m);

/* Make a module of your own: a zeroed struct of `bytes` bytes whose first member is a gr_module. The tree owns it. kind must outlive the module (a
 * literal). A name is UTF-8, not empty, without '.' and '/', and new under parent. A name of NULL means the number of modules under parent so far ("0",
 * "1", ...). Fails, and returns NULL, if the parent or kind is NULL, bytes is less than sizeof(gr_module), the name is not allowed, or memory runs
 * out. */
GR_API void *gr_module_make(gr_tape *t, gr_module *parent, const char *name, const char *kind, size_t bytes);
/* The last line of a constructor. Returns true if the tape has no error; otherwise frees the half-made module and returns false. */
GR_API bool gr_module_ready(gr_tape *t, gr_module *m);

/* Run a module that makes one tensor from one tensor: a Linear, a Sequential, an activation. Fails if m is NULL or has no such forward. */
GR_API gr_tensor *gr_forward(gr_tape *t, const gr_module *m, gr_tensor *x);

/* Put GR_WITHIN(t, &l->module); into a forward that programs call directly (l is the module), after the check that l is not NULL; gr_forward does so
 * itself. Until the end of the block, errors, anomalies and gr_audit then name the module: "linear in encoder.fc1: ...". */
#define GR_WITHIN(t, m) __attribute__((cleanup(gr__leave), unused)) const gr__within gr__here = gr__enter(t, (m)->path)
typedef struct { gr_tape *t; const char *before; } gr__within;
static inline gr__within gr__enter(gr_tape *t, const char *path)
{
    const gr__within here = { t, gr_tape_set_place(t, path) };
    return here;
}
static inline void gr__leave(const gr__within *here) { gr_tape_set_place(here->t, here->before); }

/* ---- Parameters, buffers, counters ---- */

/* Register a tensor under m; m owns it. A parameter is trained and saved; the rule init draws its first values from the random stream
 * "<path>/init". A buffer is saved but not trained; all its values start at value. A counter is an integer that is saved, from 0.
 * Fails, and returns NULL, if m is NULL, the name is not allowed (see gr_module_make), the shape does not suit the rule, or memory runs out. */
GR_API gr_tensor *gr_param(gr_tape *t, gr_module *m, const char *name, gr_shape shape, gr_init init);
GR_API gr_tensor *gr_buffer(gr_tape *t, gr_module *m, const char *name, gr_shape shape, double value);
GR_API int64_t *gr_counter(gr_tape *t, gr_module *m, const char *name);
/* Register tensor, a parameter of this tree, under m as well. It is counted, clipped, stepped and saved once. Returns tensor.
 * Fails if tensor is no parameter of this tree, or the name is not allowed. */
GR_API gr_tensor *gr_tie(gr_tape *t, gr_module *m, const char *name, gr_tensor *tensor);
/* Draw the first values of m's parameter again, by another rule, from the beginning of the same stream. Fails if there is no such
 * parameter or the rule does not suit its shape. */
GR_API bool gr_param_init(gr_tape *t, gr_module *m, const char *name, gr_init init);

/* Freeze (false) or thaw (true) all parameters under m, and those tied to them. A frozen parameter gets no gradient, and the optimizer does not
 * move it. A parameter that is frozen between a forward and its gr_backward gets no gradient from it. One that is thawed there makes gr_backward fail
 * if an operator has used it with recording on, because its gradient would lack that part. m may be NULL. */
GR_API void gr_requires_grad(gr_module *m, bool wanted);

/* ---- Walking ---- */

/* Walk over the slots of m and of all modules under it, depth first in order of creation:
 *     for (gr_slot *s = gr_slot_first(m); s; s = gr_slot_next(m, s))                                                               */
GR_API gr_slot *gr_slot_first(const gr_module *m);
GR_API gr_slot *gr_slot_next(const gr_module *m, const gr_slot *s);
/* The same for modules: begin with root itself. NULL at the end. */
GR_API gr_module *gr_module_next(const gr_module *root, const gr_module *m);
/* The slot at a path that begins below m: "fc1.weight". NULL when there is none. */
GR_API gr_slot *gr_slot_find(const gr_module *m, const char *path);

/* How many numbers the parameters under m hold; tied parameters count once. */
GR_API size_t gr_module_parameters(const gr_module *m);

/* Forget the gradients of all parameters under m, so that the next gr_backward starts from 0. */
GR_API void gr_module_zero_grad(gr_module *m);

/* ---- Two modules of the same structure: state_dicts of the same names and shapes, in the same order ----
 *
 * gr_module_copy copies all parameters, buffers and counters of `from` to `to`. gr_module_lerp moves each parameter, to = to + weight (from - to), and
 * copies buffers and counters; with weight 0.001 after each step, `to` is an exponential moving average of the weights with decay 0.999. A value below
 * 2^-100 becomes 0. Call them after gr_backward, as gr_optim_step; they cannot be undone: a later gr_tape_recover undoes nothing from before the call.
 * They leave kept states (gr_detach_keep) as they are, such as the carried state of a recurrent layer. To copy a whole module, make a second one
 * with the same config, and call gr_module_copy.
 * They fail, and change nothing, if a module is NULL, the structures differ (the error names the first difference), or weight is not 0 to 1. */
GR_API bool gr_module_copy(gr_tape *t, gr_module *to, const gr_module *from);
GR_API bool gr_module_lerp(gr_tape *t, gr_module *to, const gr_module *from, double weight);

/* Print a line for each module: kind, number of parameters, multiply-adds for one row of input, bytes that are saved, names and shapes. */
GR_API void gr_print_summary(const gr_module *m, FILE *out);
/* Print the rule that gave each parameter its first values. */
GR_API void gr_print_init(const gr_module *m, FILE *out);

/* ---- States that outlive gr_tape_reset: truncated back-propagation, moving averages ---- */

/* Copy x into memory of m under a name. Returns the kept tensor, which m owns and through which no gradient flows. Its shape stays until gr_forget.
 * A checkpoint holds it, a state_dict does not. Fails if x has another shape than what is kept, or the name is not allowed. */
GR_API gr_tensor *gr_detach_keep(gr_tape *t, gr_module *m, const char *name, const gr_tensor *x);
/* The kept tensor; NULL when nothing is kept under that name. */
GR_API gr_tensor *gr_kept(const gr_module *m, const char *name);
/* A copy of the kept tensor on the tape, so that keeping a new one does not spoil the backward; NULL when nothing is kept. Each chunk of
 * a long sequence starts from the state at the end of the last chunk:
 *     const gr_lstm_input from = { .h0 = gr_carried(t, &lstm->module, "h"), .c0 = gr_carried(t, &lstm->module, "c") };
 *     const gr_lstm_out s = gr_lstm_forward(t, lstm, chunk, &from);
 *     gr_detach_keep(t, &lstm->module, "h", s.h), gr_detach_keep(t, &lstm->module, "c", s.c);                                     */
GR_API gr_tensor *gr_carried(gr_tape *t, const gr_module *m, const char *name);
/* The sequence has ended: forget what all modules under m keep. A new state may have another shape. gr_tape_recover brings the old
 * state back, so its memory stays at least until the step ends. False when out of memory. */
GR_API bool gr_forget(gr_tape *t, gr_module *m);

#endif
