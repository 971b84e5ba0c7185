/* examples/dive/models.h - the four architectures of the comparisons, with any norm, and what is seen inside them. */
#ifndef DIVE_MODELS_H
#define DIVE_MODELS_H
#include "examples/dive/dive.h"
#include "examples/kit/text.h"
#include "nn/conv.h"
#include "nn/recurrent.h"
#include "nn/transformer.h"

typedef enum { DIVE_MLP, DIVE_LSTM, DIVE_CNN, DIVE_TRANSFORMER, DIVE_ARCHS } dive_arch;
extern const char *const dive_arch_name[DIVE_ARCHS];

/* What all arms of a comparison have in common; 0 is the default. The arm's kind is the norm, a gr_norm_kind. */
typedef struct {
    dive_arch arch;
    size_t hidden;             /* units of a layer, or of the state; channels of the first convolution; size of a position: 128, 64, 16, 32 */
    size_t depth;              /* hidden layers of the MLP, blocks of the Transformer: 2 */
    size_t pooled;             /* of the LSTM: 0: 28 rows of 28 pixels; 2: pixels pooled 2 by 2, 196 steps of one */
    double lr;                 /* constant: 1e-3 */
    size_t warmup;             /* steps in which it rises to that: 0 */
    double scale;              /* all initial weights times that: 1 */
    double gain, shift;        /* initial gamma and beta: gain 0: what the layer has (1; in the BN-LSTM 0.1); shift is added: in the LSTM
                                  to the bias that its gates share (the paper's b) and to that of the cell's norm */
    bool post;                 /* of the Transformer: the norm after the residual sum */
    bool sgd;                  /* plain SGD instead of Adam */
    bool logits;               /* of the MLP: a norm on the logits, too */
    bool convs;                /* of the CNN: norms after the convolutions only, none in the hidden layer */
    const kit_text *text;      /* of the Transformer: the source of its batches */
} dive_spec;

enum { DIVE_DEPTH = 32 };
typedef struct {
    dive_spec spec;              /* with the defaults filled in */
    gr_linear_module *in[DIVE_DEPTH], *out;
    gr_module *norm[DIVE_DEPTH]; /* of the MLP and the CNN; norm[depth] of the logits or NULL */
    gr_lstm *lstm;
    gr_conv_module *conv[2];
    gr_embedding_module *token;
    gr_positions *position;
    gr_transformer *body;
    /* What the last forward made, on the arm's tape until its reset: */
    gr_tensor *raw[DIVE_DEPTH];  /* of the MLP: W x + b of each hidden layer, before the norm */
    gr_tensor *pre[DIVE_DEPTH];  /* and after it, before the nonlinearity */
    gr_tensor *x, *h0;           /* of the LSTM: what it read, [B, T, I]; its first state [1, B, H] (NULL: zeros), noise in training with BN */
    gr_recurrent_out state;      /* of the LSTM, with dh_norm and dc_norm */
    gr_tensor *block[DIVE_DEPTH]; /* of the Transformer: what each block gives */
} dive_model;

/* For kit_arms: .build and .loss, with .user the dive_spec; images or text as source. The arm's model is a dive_model on the arm's tape's
 * allocator, freed by dive_arms_free, which calls kit_arms_free. An arm may get a .user of its own after kit_arms_add. */
void dive_build(kit_arm *arm);
gr_tensor *dive_loss(kit_arm *arm, const void *batch, kit_score *score);
gr_tensor *dive_logits(kit_arm *arm, const void *batch); /* the forward alone */
void dive_arms_free(kit_arms *a);

/* The three arms. */
void dive_arms_add(kit_arms *a);

/* The batches of a comparison's k-th seed, images or text as spec says. Free after the arms: the source is in use by kit_arms_run alone. */
typedef struct {
    gr_tape *tape;             /* of the seed */
    dive_spec spec;            /* for .user: with the text */
    kit_images images;
    kit_text text;
} dive_batches;
/* Sets source, build, loss, user, seed and clip (1 for the LSTM and the Transformer, else none) of a. Errors are on d->r->tape. */
bool dive_batches_open(dive *d, dive_batches *b, kit_arms *a, const dive_spec *spec, size_t batch, size_t k);
void dive_batches_free(dive *d, dive_batches *b);

/* What goes into the LSTM's gates at one time step of the forward just made: [B, 4H] in the order i, f, g, o, after the norms and with the
 * bias; on the arm's tape, not recorded. */
gr_tensor *dive_lstm_gates(kit_arm *arm, size_t step);

/* "784-128-128-10, ReLU, .., He's weights, biases 0, Adam, learning rate 0.001 constant, batch 128": for captions. lr NAN and batch 0: without. */
const char *dive_spec_text(plot_figure *f, const dive_spec *s, size_t batch);

#endif
