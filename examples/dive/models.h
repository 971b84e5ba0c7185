/* examples/dive/models.h - the four architectures of the comparisons, with any norm, and what is seen inside them. */
#ifndef DIVE_MODELS_H
#define DIVE_MODELS_H
#include "examples/dive/dive.h"
#include "nn/conv.h"
#include "nn/recurrent.h"
#include "nn/transformer.h"

typedef enum { DIVE_MLP, DIVE_LSTM, DIVE_CNN, DIVE_TRANSFORMER, DIVE_ARCHS } dive_arch;
extern const char *const dive_arch_name[DIVE_ARCHS];

/* What all arms of a comparison have in common; 0 is the default. The arm's kind is the norm, a gr_norm_kind. */
typedef struct {
    dive_arch arch;
    size_t hidden;             /* units of a layer, or of the state; channels of the first convolution; size of a position */
    size_t depth;              /* hidden layers of the MLP, blocks of the Transformer */
    size_t pooled;             /* of the LSTM: 0: 28 rows of 28 pixels; 2: pixels pooled 2 by 2, 196 steps of one */
    double lr;                 /* of Adam */
    double gain, shift;        /* initial gamma and beta: gain 0: what the layer has (1; in the BN-LSTM 0.1); shift is added */
    bool post;                 /* of the Transformer: the norm after the residual sum */
    bool sgd;                  /* plain SGD instead of Adam */
} dive_spec;

enum { DIVE_DEPTH = 32 };
typedef struct {
    dive_spec spec;
    gr_linear *in[DIVE_DEPTH], *out;
    gr_module *norm[DIVE_DEPTH];
    gr_lstm *lstm;
    gr_conv_module *conv[2];
    gr_embedding_module *token;
    gr_positions *position;
    gr_transformer *body;
    /* What the last forward made, on the arm's tape until its reset: */
    gr_tensor *raw[DIVE_DEPTH];  /* of the MLP: W x + b of each hidden layer, before the norm */
    gr_tensor *pre[DIVE_DEPTH];  /* and after it, before the nonlinearity */
    gr_recurrent_out state;      /* of the LSTM, with dh_norm and dc_norm */
    gr_tensor *block[DIVE_DEPTH]; /* of the Transformer: what each block gives */
} dive_model;

/* For kit_arms: .build and .loss, with .user the dive_spec; images or text as source. The arm's model is a dive_model on the arm's tape's
 * allocator, freed by dive_arms_free, which calls kit_arms_free. */
void dive_build(kit_arm *arm);
gr_tensor *dive_loss(kit_arm *arm, const void *batch, kit_score *score);
gr_tensor *dive_logits(kit_arm *arm, const void *batch); /* the forward alone */
void dive_arms_free(kit_arms *a);

/* The three arms. */
void dive_arms_add(kit_arms *a);

/* What goes into the LSTM's gates at one time step: [B, 4H] in the order i, f, g, o, after the norms and with the bias; on the arm's tape,
 * not recorded. state: of the forward just made on x [B, T, I]. */
gr_tensor *dive_lstm_gates(kit_arm *arm, gr_tensor *x, size_t step);

/* "Adam 1e-3, batch 128, He's weights, biases 0": for captions. */
const char *dive_spec_text(kit_figure *f, const dive_spec *s, size_t batch);

#endif
