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
 * An optimizer borrows the parameters that are under the module when it is made; tied parameters count once. So make it last: gr_optim_step fails
 * when a gradient reached a parameter under the module that was made later and that no other optimizer holds. The tree still owns the parameters,
 * and the caller frees the optimizer with gr_optim_free.
 * Formulas and defaults are PyTorch's, with two differences: parameters of rank 0 or 1, those whose names begin with "bias" and those of norms are
 * exempt from weight decay unless decay_all is set; and momentum and moments below 2^-100 become 0, because as subnormal numbers they would make
 * each step ten times as slow. */
#ifndef GR_OPTIM_H
#define GR_OPTIM_H
#include "core/io/safetensors.h"
#include "nn/nn.h"

typedef struct gr_optim gr_optim;

/* ---- Making ----
 *
 * A config of NULL means the defaults, and so does each field that is 0. The constructors fail, and return NULL, if m is NULL, a number is out of its
 * range, m has no parameters, or memory runs out. */

/* SGD:
 *     g = dx + weight_decay x
 *     b = momentum b + (1 - dampening) g,  but  b = g  at a parameter's first step
 *     x = x - lr (nesterov ? g + momentum b : b)                                                                            */
typedef struct {
    double lr;             /* learning rate, above 0 and finite; default 1e-3 */
    double momentum;       /* 0 or more; default 0 */
    double dampening;      /* in [0, 1]; default 0 */
    double weight_decay;   /* 0 or more; default 0; GR_NONE means none, as in gr_adam_config */
    bool nesterov;         /* needs a momentum, and no dampening */
    bool decay_all;        /* every parameter decays, without the exemptions above */
    bool refuse_nonfinite; /* a NaN or an infinity in a gradient is an error that names the parameter, and the step changes nothing */
} gr_sgd_config;
GR_API gr_optim *gr_sgd_new(gr_tape *t, gr_module *m, const gr_sgd_config *config);

/* Adam and AdamW:
 *     g = dx + weight_decay x                                    (AdamW: x = x - lr weight_decay x instead)
 *     m = m + (1 - beta1) (g - m),  v = beta2 v + (1 - beta2) g^2
 *     x = x - lr (m / (1 - beta1^k)) / (sqrt(v / (1 - beta2^k)) + eps)    at a parameter's step k = 1, 2, ...
 * Kingma, Ba 2015; Loshchilov, Hutter 2019 */
typedef struct {
    double lr;             /* learning rate, above 0; default 1e-3 */
    double beta1, beta2;   /* in [0, 1); default 0.9 and 0.999; GR_NONE means 0 */
    double eps;            /* 0 or more; default 1e-8; GR_NONE means no epsilon */
    double weight_decay;   /* 0 or more; default 0 in Adam and 0.01 in AdamW; GR_NONE means none */
    bool decay_all, refuse_nonfinite; /* as in gr_sgd_config */
} gr_adam_config;
GR_API gr_optim *gr_adam_new(gr_tape *t, gr_module *m, const gr_adam_config *config);
GR_API gr_optim *gr_adamw_new(gr_tape *t, gr_module *m, const gr_adam_config *config);

/* RMSprop:
 *     g = dx + weight_decay x
 *     v = alpha v + (1 - alpha) g^2
 *     d = g / (sqrt(v) + eps);  centered: v - a^2 in place of v, with a = alpha a + (1 - alpha) g
 *     x = x - lr b,  b = momentum b + d;  without momentum: x = x - lr d
 * Where rounding makes v - a^2 negative it is 0; in PyTorch x becomes NaN.                             Tieleman, Hinton 2012; Graves 2013 */
typedef struct {
    double lr;             /* learning rate, above 0; default 0.01 */
    double alpha;          /* in [0, 1); default 0.99; GR_NONE means 0 */
    double eps;            /* 0 or more; default 1e-8; GR_NONE means no epsilon */
    double momentum;       /* 0 or more; default 0 */
    double weight_decay;   /* 0 or more; default 0; GR_NONE means none */
    bool centered;
    bool decay_all, refuse_nonfinite; /* as in gr_sgd_config */
} gr_rmsprop_config;
GR_API gr_optim *gr_rmsprop_new(gr_tape *t, gr_module *m, const gr_rmsprop_config *config);

/* Adagrad:
 *     g = dx + weight_decay x
 *     s = s + g^2
 *     x = x - lr / (1 + (k - 1) lr_decay) g / (sqrt(s) + eps)    at a parameter's step k = 1, 2, ...            Duchi, Hazan, Singer 2011 */
typedef struct {
    double lr;             /* learning rate, above 0; default 0.01 */
    double lr_decay;       /* 0 or more; default 0 */
    double initial_accumulator_value; /* s before the first step, 0 or more; default 0 */
    double eps;            /* 0 or more; default 1e-10; GR_NONE means no epsilon */
    double weight_decay;   /* 0 or more; default 0; GR_NONE means none */
    bool decay_all, refuse_nonfinite; /* as in gr_sgd_config */
} gr_adagrad_config;
GR_API gr_optim *gr_adagrad_new(gr_tape *t, gr_module *m, const gr_adagrad_config *config);

/* ---- An optimizer of your own ----
 *
 * A rule says how the numbers of one parameter move. gr_optim_new makes an optimizer from a rule; groups, schedules, clipping, checkpoints (with the
 * rule's states) and printing work as for the optimizers above. This is the whole of Lion (Chen et al. 2023):
 *
 *     typedef struct { gr_real beta1, beta2; } lion_settings;
 *     static void lion_move(const gr_optim_part *p)
 *     {
 *         const lion_settings *s = p->settings;
 *         const gr_real lr = (gr_real)p->lr, keep = (gr_real)(1 - p->lr * p->weight_decay);
 *         gr_real *m = p->state[0];
 *         for (size_t i = 0; i < p->n; i++) {
 *             const gr_real c = s->beta1 * m[i] + (1 - s->beta1) * p->dx[i];
 *             p->x[i] = keep * p->x[i] - lr * (gr_real)((c > 0) - (c < 0));
 *             m[i] = s->beta2 * m[i] + (1 - s->beta2) * p->dx[i];
 *         }
 *     }
 *     static const gr_optim_rule lion = { "lion", { "exp_avg" }, lion_move };
 *
 *     const lion_settings s = { 0.9, 0.99 };
 *     gr_optim *o = gr_optim_new(t, net, &lion, &(gr_optim_config){ .lr = 1e-4, .settings = &s, .settings_size = sizeof s });
 *
 * examples/own_optimizer.c trains with it. The library's own rules also set a state below 2^-100 to 0, because arithmetic with subnormal numbers is
 * slow. */
enum { GR_OPTIM_STATES = 4 };

/* A range of the numbers of one parameter, in one step. */
typedef struct {
    gr_tape *t;
    const void *settings;            /* the copy that gr_optim_new made; NULL without settings */
    double lr, weight_decay;         /* of this parameter in this step: schedule, group and exemptions are in them */
    double power[2];                 /* beta[i]^step, for bias correction */
    int64_t step;                    /* 1, 2, ..: how many steps moved this parameter, this one included */
    size_t n;
    gr_real *x;                      /* [n] what moves */
    const gr_real *dx;               /* [n] its gradient */
    gr_real *state[GR_OPTIM_STATES]; /* [n] each, 0 before the first step; NULL where the rule names no state */
} gr_optim_part;

typedef struct {
    const char *name;                      /* in messages and checkpoints: UTF-8, not empty */
    const char *state[GR_OPTIM_STATES];    /* a different name for each value that the rule keeps for a number: UTF-8, not empty, without '/'. NULL, also
                                              between two names, means no value */
    void (*move)(const gr_optim_part *p);  /* moves x and the states. It runs in several threads at once, each with other numbers, so a number may
                                              depend on nothing but its own x, dx and states */
} gr_optim_rule;

typedef struct {
    double lr;             /* above 0; default 1e-3 */
    double weight_decay;   /* 0 or more; default 0; GR_NONE means none. The rule applies it */
    bool decay_all, refuse_nonfinite; /* as in gr_sgd_config */
    double beta[2];        /* in [0, 1); default 0; see gr_optim_part.power */
    const void *settings;  /* the rule's own, settings_size bytes, which are copied; may be NULL */
    size_t settings_size;
} gr_optim_config;
/* The optimizer borrows the rule, which must outlive it. Fails also if the rule is NULL, has no name or no move, or has a state whose name cannot be in
 * a checkpoint, or if only one of settings and settings_size is given. */
GR_API gr_optim *gr_optim_new(gr_tape *t, gr_module *m, const gr_optim_rule *rule, const gr_optim_config *config);

/* Free the optimizer and its state; NULL is allowed. The module may already be freed. */
GR_API void gr_optim_free(gr_optim *o);

/* ---- A step ---- */

/* Forget the gradients of all parameters of o, so that the next gr_backward starts from 0. */
GR_API void gr_optim_zero_grad(gr_optim *o);

/* Move every parameter that a gradient reached since gr_optim_zero_grad. Frozen parameters, and those that no gradient reached, stay as they are.
 * Fails, and changes nothing, if no gradient reached any parameter, a gradient reached a parameter that was made after o, a module with
 * parameters of o was freed, the learning rate is negative or not finite, or a gradient is not finite and refuse_nonfinite is set.
 * A step cannot be undone: a later gr_tape_recover undoes nothing from before the step. */
GR_API bool gr_optim_step(gr_tape *t, gr_optim *o);

/* Scale all gradients of o by one factor, so that their common norm, sqrt(sum of squares), is at most max. Returns the norm before clipping. The
 * sum is taken in double, in a fixed order. Fails, and returns NaN, if max is negative or the norm is infinite or NaN; the error then names the
 * parameter. */
GR_API double gr_clip_grad_norm(gr_tape *t, gr_optim *o, double max);
/* Clip every value of every gradient of o to [-max, max]. Fails if max is negative. */
GR_API bool gr_clip_grad_value(gr_tape *t, gr_optim *o, double max);

/* ---- All gradients as one array, for a batch whose shards several processes or several passes compute ----
 *
 *     for each shard of the batch:
 *         gr_tape_reset(t), gr_optim_zero_grad(o), gr_tape_seek_streams(t, ..)
 *         forward; gr_backward_from(t, loss, &weight), with weight = rows of the shard / rows of the batch
 *         gr_optim_gradient_get(t, o, v), and add v to the sum of the shards, in an order that is always the same
 *     gr_optim_gradient_set(t, o, sum), gr_clip_grad_norm(t, o, 1), gr_optim_step(t, o)
 *
 * The weights then have the same bits for any distribution of the shards over processes; examples/mpi_mnist.c does this with MPI. */

/* The length of the array: all values of the parameters of o in the order of the module tree (a tied parameter once), and behind them a flag for each of these
 * parameters. It depends on the module alone. 0 if o is NULL, or if a module with parameters of o was freed. */
GR_API size_t gr_optim_gradient_len(const gr_optim *o);
/* Copy the gradients to v. The flag of a parameter is 1. If it is frozen, or no gradient reached it since gr_optim_zero_grad, then its flag and its values are 0.
 * Returns false, and leaves v as it is, if v is NULL, if a module with parameters of o was freed, or on a tape already in error. */
GR_API bool gr_optim_gradient_get(gr_tape *t, const gr_optim *o, gr_real *v);
/* Replace the gradients by those in v, usually a sum of arrays from gr_optim_gradient_get; flags are added too. A parameter whose flag is 0 has no gradient
 * afterwards, so gr_optim_step leaves it as it is. Any other parameter has one, even if no backward on this tape reached it.
 * Fails if v is NULL, a flag is negative or NaN, a frozen parameter has a flag that is not 0, a module with parameters of o was freed, or memory runs out.
 * Returns false, and leaves all gradients as they are, on an error or on a tape already in error. */
GR_API bool gr_optim_gradient_set(gr_tape *t, gr_optim *o, const gr_real *v);

/* ---- Parameter groups ---- */

typedef struct {
    double lr_scale;     /* the learning rate is multiplied by it; 0 or more; default 1; GR_NONE means 0: these parameters stay as they are */
    double weight_decay; /* 0 or more; default the optimizer's; GR_NONE means none */
    bool decay_all;      /* every parameter of this group decays, without the exemptions above */
} gr_optim_group;

/* Give the parameters under m, a part of the optimizer's module, their own settings. A later call replaces an earlier one. Fails if o holds no
 * parameter under m, or a number is negative. */
GR_API bool gr_optim_set_group(gr_tape *t, gr_optim *o, const gr_module *m, gr_optim_group group);

/* Print a line for each parameter: learning rate, weight decay, shape, and whether it is frozen. */
GR_API void gr_print_optim(const gr_optim *o, FILE *out);

/* ---- Learning rate: lr = base * scale(steps done) ----
 *
 * gr_optim_step advances the schedule; there is no scheduler.step(). */

GR_API double gr_optim_lr(const gr_optim *o);         /* the learning rate of the next step; NaN for NULL */
GR_API void gr_optim_set_lr(gr_optim *o, double lr);  /* set the base; a schedule still multiplies it */
GR_API size_t gr_optim_steps(const gr_optim *o);      /* how many steps were done; 0 for NULL */

typedef enum { GR_SCHEDULE_CONSTANT, GR_SCHEDULE_STEP, GR_SCHEDULE_COSINE, GR_SCHEDULE_LINEAR, GR_SCHEDULE_PLATEAU, GR_SCHEDULE_MULTI_STEP,
               GR_SCHEDULE_ONE_CYCLE } gr_schedule_kind;
enum { GR_MILESTONES = 16 };
/* A schedule, passed by value. The functions below make one; a program does not write its fields. */
typedef struct {
    gr_schedule_kind kind;
    size_t steps;     /* the period of the steps, the length of cosine, linear and one-cycle, the patience of plateau, the number of milestones */
    double factor;    /* the scale at the end of cosine and linear, else the factor of each drop */
    size_t warmup;    /* the number of steps of the warmup */
    size_t milestone[GR_MILESTONES];
    double pct_start, div_factor, final_div_factor; /* of one-cycle */
} gr_schedule;

GR_API gr_schedule gr_schedule_constant(void);                      /* scale 1 */
GR_API gr_schedule gr_schedule_step(size_t every, double factor);   /* multiplied by factor after every `every` steps */
GR_API gr_schedule gr_schedule_exponential(double factor);          /* multiplied by factor after every step */
/* multiplied by factor once milestone[k] steps are done, for each k below n, which is at most GR_MILESTONES; the order does not matter */
GR_API gr_schedule gr_schedule_multi_step(const size_t *milestone, size_t n, double factor);
GR_API gr_schedule gr_schedule_cosine(size_t steps, double end);    /* half a cosine from 1 to end, then end */
GR_API gr_schedule gr_schedule_linear(size_t steps, double end);    /* a straight line from 1 to end, then end */
/* Half a cosine from 1 / div_factor up to 1 in the first pct_start of the steps, then half a cosine down to 1 / (div_factor final_div_factor). The
 * optimizer's lr is PyTorch's max_lr. Momentum stays as it is, as with PyTorch's cycle_momentum=False.                    Smith, Topin 2019
 *   pct_start         in 0 .. 1; 0 means the default 0.3, GR_NONE means 0
 *   div_factor        above 0; 0 means the default 25
 *   final_div_factor  above 0; 0 means the default 1e4 */
GR_API gr_schedule gr_schedule_one_cycle(size_t steps, double pct_start, double div_factor, double final_div_factor);
GR_API gr_schedule gr_schedule_plateau(double factor, size_t patience); /* factor below 1; see gr_optim_observe */
/* Before the schedule `then` begins, the scale rises over `steps` steps: 1 / steps, 2 / steps, ... 1. The steps of `then` count from its beginning.
 * If `then` has a warmup, this one takes its place. */
GR_API gr_schedule gr_schedule_warmup(size_t steps, gr_schedule then);

/* Set o's schedule. Fails if its factor is negative or NaN, or 1 or more in a plateau, if a number of steps is 0 where the schedule needs one, if there
 * are too many milestones or their array is NULL, or if a number of a one-cycle is out of its range. */
GR_API bool gr_optim_schedule(gr_tape *t, gr_optim *o, gr_schedule schedule);
/* Report a loss, for example after each evaluation, to a GR_SCHEDULE_PLATEAU; other schedules ignore it. A loss is better if it is below the best
 * one by more than one part in 10,000. After more than patience reports in a row that are not better, the learning rate is multiplied by factor. */
GR_API void gr_optim_observe(gr_optim *o, double loss);
/* The scale after `steps` steps. That of a plateau is not included, because it depends on the losses. NaN if gr_optim_schedule
 * would refuse the milestones. */
GR_API double gr_schedule_scale(gr_schedule schedule, size_t steps);

/* ---- Checkpoint and resume ---- */

/* A value of the program's own in a checkpoint: n numbers of one type at data. */
typedef struct {
    const char *name;
    gr_dtype dtype; /* GR_I32: int, GR_I64: int64_t, GR_F32: float, GR_F64: double */
    size_t n;
    void *data;     /* read by save, written by load */
} gr_checkpoint_value;

/* Write everything that a run needs to go on: m's state_dict and kept states, o's moments, step counts and base learning rate, the tape's random
 * streams, and n values of the program (its place in the epoch, its own streams). o may be NULL. It is one safetensors file with a checksum (see
 * gr_safetensors_open), replaced as a whole or not at all. Fails if m or path is NULL, o is an optimizer of a module outside m, the file cannot be written, or memory
 * runs out. */
GR_API bool gr_checkpoint_save(gr_tape *t, const gr_module *m, const gr_optim *o, const char *path, const gr_checkpoint_value *values, size_t n);
/* Read a checkpoint back, bit for bit, into a module and an optimizer that were made in the same way, with the same schedule, on a tape with
 * the same seed. With o NULL the optimizer's part of the file is ignored; values that the program does not ask for are ignored too.
 * A random stream of this tape that is not in the file goes back to its beginning, and a kept state that is not in the file is forgotten: when the
 * file was saved, they did not exist.
 * Everything is checked before anything changes. Fails if a name does not belong in a checkpoint, a tensor is missing or has another type or shape,
 * the number of tensors is wrong, the checksum is wrong or missing, or memory runs out. */
GR_API bool gr_checkpoint_load(gr_tape *t, gr_module *m, gr_optim *o, const char *path, const gr_checkpoint_value *values, size_t n);

#endif
