/* optim/optim.h - optimizers over the parameters of a module, learning rate schedules, clipping, checkpoints.
 *
 *     gr_optim *adam = gr_adam_new(t, net, &(gr_adam_config){ .lr = 0.01 });
 *     gr_optim_schedule(t, adam, gr_schedule_cosine(1000, 0));
 *     for (...) {
 *         ...
 *         gr_optim_zero_grad(adam);
 *         gr_backward(t, loss);
 *         gr_clip_grad_norm(t, adam, 1);
 *         gr_optim_step(t, adam);
 *     }
 *     gr_optim_free(adam);
 *
 * An optimizer borrows the module's parameters, those that are there when it is made, tied ones once. So make it last: gr_optim_step refuses
 * to go on when a gradient reached a parameter under the module that was made later and that no other optimizer holds. Formulas and defaults are
 * PyTorch's, with two differences: norm gains and biases are exempt from weight decay unless decay_all asks for it, and momentum
 * and moments below 2^-100 are set to 0 (as subnormal numbers they would stay for ever, and make a step ten times as slow). */
#ifndef GR_OPTIM_H
#define GR_OPTIM_H
#include "core/io/safetensors.h"
#include "nn/nn.h"
GR_BEGIN

typedef struct gr_optim gr_optim;

/* ---- Making. A config of NULL, and every field of 0, is the default; NULL is returned on an error. ---- */

/*     g = dx + weight_decay x
 *     b = momentum b + (1 - dampening) g,  at a parameter's first step  b = g
 *     x = x - lr (nesterov ? g + momentum b : b)                                                                            */
typedef struct {
    double lr;           /* 0: 1e-3 */
    double momentum, dampening, weight_decay;
    bool nesterov;
    bool decay_all;      /* biases and norm gains decay too */
    bool refuse_nonfinite; /* a NaN or an infinity in a gradient is an error, which names the parameter, and the step changes nothing */
} gr_sgd_config;
GR_API gr_optim *gr_sgd_new(gr_tape *t, gr_module *m, const gr_sgd_config *config);

/*     g = dx + weight_decay x                                    (AdamW: x = x - lr weight_decay x instead)
 *     m = m + (1 - beta1) (g - m),  v = beta2 v + (1 - beta2) g^2
 *     x = x - lr (m / (1 - beta1^k)) / (sqrt(v / (1 - beta2^k)) + eps)    at a parameter's step k = 1, 2, ...
 * Kingma, Ba 2015; Loshchilov, Hutter 2019 */
typedef struct {
    double lr;           /* 0: 1e-3 */
    double beta1, beta2; /* 0: 0.9 and 0.999; GR_NONE: 0 */
    double eps;          /* 0: 1e-8; GR_NONE: 0 */
    double weight_decay; /* 0: none in Adam, 0.01 in AdamW; GR_NONE: none */
    bool decay_all, refuse_nonfinite; /* as above */
} gr_adam_config;
GR_API gr_optim *gr_adam_new(gr_tape *t, gr_module *m, const gr_adam_config *config);
GR_API gr_optim *gr_adamw_new(gr_tape *t, gr_module *m, const gr_adam_config *config);

GR_API void gr_optim_free(gr_optim *o); /* NULL is fine; the module may be gone */

/* ---- A step ---- */

/* Forget the gradients of all parameters: the next gr_backward starts from 0. */
GR_API void gr_optim_zero_grad(gr_optim *o);

/* Move every parameter that a gradient reached since gr_optim_zero_grad; frozen ones, and those that no gradient reached, stay as
 * they are. Errors: no gradient reached any; a gradient reached a parameter that was made after o; a module of o was freed. Returns false, and changes nothing, on an error or on a tape already in error.
 * What was done cannot be rolled back: gr_tape_recover goes back no further than the last step. */
GR_API bool gr_optim_step(gr_tape *t, gr_optim *o);

/* Scale all gradients by one factor so that their common norm, sqrt(sum of squares), is at most max; returns the norm before. The
 * sum is made in double, in a fixed order. A norm that is infinite or NaN is an error that names the parameter. NaN on errors. */
GR_API double gr_clip_grad_norm(gr_tape *t, gr_optim *o, double max);
/* Bring every single gradient into [-max, max]. */
GR_API bool gr_clip_grad_value(gr_tape *t, gr_optim *o, double max);

/* ---- Parameter groups ---- */

typedef struct {
    double lr_scale;     /* of the learning rate; 0: 1; GR_NONE: 0, they stay as they are */
    double weight_decay; /* 0: the optimizer's; GR_NONE: none */
    bool decay_all;      /* biases and norm gains of this group too */
} gr_optim_group;

/* Give the parameters under m, a part of the optimizer's module, settings of their own; the last call counts. */
GR_API bool gr_optim_set_group(gr_tape *t, gr_optim *o, const gr_module *m, gr_optim_group group);

/* A line for each parameter: learning rate, weight decay, shape, and whether it is frozen. */
GR_API void gr_print_optim(const gr_optim *o, FILE *out);

/* ---- Learning rate: lr = base * scale(steps done) ---- */

GR_API double gr_optim_lr(const gr_optim *o);         /* of the next step; NaN for NULL */
GR_API void gr_optim_set_lr(gr_optim *o, double lr);  /* the base */
GR_API size_t gr_optim_steps(const gr_optim *o);      /* done so far */

typedef enum { GR_SCHEDULE_CONSTANT, GR_SCHEDULE_STEP, GR_SCHEDULE_COSINE, GR_SCHEDULE_LINEAR, GR_SCHEDULE_PLATEAU } gr_schedule_kind;
typedef struct {
    gr_schedule_kind kind;
    size_t steps;     /* the period of the steps, the length of cosine and linear, the patience of plateau */
    double factor;    /* the scale at the end, or what each drop multiplies by */
    size_t warmup;    /* steps before it, over which the scale rises to that of its beginning: 1 / warmup, 2 / warmup, ... 1 */
} gr_schedule;

GR_API gr_schedule gr_schedule_constant(void);
GR_API gr_schedule gr_schedule_step(size_t every, double factor);   /* times factor after every so many steps */
GR_API gr_schedule gr_schedule_cosine(size_t steps, double end);    /* half a cosine from 1 to end, then end */
GR_API gr_schedule gr_schedule_linear(size_t steps, double end);    /* straight from 1 to end, then end */
GR_API gr_schedule gr_schedule_plateau(double factor, size_t patience); /* see gr_optim_observe */
GR_API gr_schedule gr_schedule_warmup(size_t steps, gr_schedule then);

GR_API bool gr_optim_schedule(gr_tape *t, gr_optim *o, gr_schedule schedule);
/* For GR_SCHEDULE_PLATEAU: report a loss, after an evaluation say. More than patience reports in a row that are not lower than the best
 * by one part in 10,000 multiply the learning rate by factor. */
GR_API void gr_optim_observe(gr_optim *o, double loss);
/* The scale of all but plateau: a function of the number of steps done. */
GR_API double gr_schedule_scale(gr_schedule schedule, size_t steps);

/* ---- Checkpoint and resume ---- */

/* What a program adds to a checkpoint: n numbers of a type at data. */
typedef struct {
    const char *name;
    gr_dtype dtype; /* GR_I32: int, GR_I64: int64_t, GR_F32: float, GR_F64: double */
    size_t n;
    void *data;     /* read by save, written by load */
} gr_checkpoint_value;

/* Write all that a run goes on from: the module's state_dict and kept states, the optimizer's moments, counts and learning rate,
 * the tape's random streams, and n values of the program's (the place in the epoch, its own streams). One safetensors file, with a
 * checksum (see gr_safetensors_open), replaced as a whole or not at all. o may be NULL. */
GR_API bool gr_checkpoint_save(gr_tape *t, const gr_module *m, const gr_optim *o, const char *path, const gr_checkpoint_value *values, size_t n);
/* Put it all back, bit for bit, into a module and an optimizer made as those were, on a tape of the same seed. o NULL leaves the
 * optimizer's part of the file alone, and values that the program does not ask for are left alone. All is checked first: an error
 * changes nothing, and makes nothing. Errors: a name that no checkpoint holds, a tensor that is missing, of another type or shape, a
 * wrong number of tensors, a wrong checksum, or none (files "gradus checkpoint 1" of earlier versions had none).
 * The file holds every random stream and kept state that there was when it was saved. So what it does not hold did not exist then:
 * a stream of this tape that is not in the file goes back to its beginning, and a kept state is forgotten.
 * gr_state_load reads the weights of a checkpoint too. */
GR_API bool gr_checkpoint_load(gr_tape *t, gr_module *m, gr_optim *o, const char *path, const gr_checkpoint_value *values, size_t n);

GR_END
#endif
