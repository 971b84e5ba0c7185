/* examples/dive/models.h - the four architectures of the comparisons, with any norm, and access to their inner values. */
#ifndef DIVE_MODELS_H
#define DIVE_MODELS_H
#include "examples/dive/dive.h"
#include "examples/kit/text.h"
#include "nn/conv.h"
#include "nn/recurrent.h"
#include "nn/transformer.h"

typedef enum { DIVE_MLP, DIVE_LSTM, DIVE_CNN, DIVE_TRANSFORMER, DIVE_ARCHS } dive_arch;
extern const char *const dive_arch_name[DIVE_ARCHS];

/* The settings of a model. The norm is the arm's kind, a gr_norm_kind. */
typedef struct {
    dive_arch arch;
    size_t hidden;             /* MLP: units per layer, default 128; LSTM: size of the state, 64; CNN: channels of the first convolution, 16;
                                  Transformer: size of the vector at each position, 32 */
    size_t depth;              /* hidden layers of the MLP, blocks of the Transformer; default 2 */
    size_t pooled;             /* LSTM: 0 reads 28 rows of 28 pixels; 2 reads 196 pixels, pooled 2 by 2, one by one, and then LN is where
                                  DIVE_LN_OF_PIXELS says, not as in Ba et al. */
    double lr;                 /* constant learning rate, default 1e-3 */
    size_t warmup;             /* steps in which the learning rate rises to lr, default 0 */
    double scale;              /* factor for all initial weights, default 1 */
    double gain, shift;        /* initial gamma, default 1 (in the BN-LSTM 0.1), and a value that is added to the initial beta, default 0.
                                  An LSTM adds it to the bias that its gates share (b in the paper) and to beta of the cell's norm */
    bool post;                 /* Transformer: the norm comes after the residual sum */
    bool unplaced, acausal, relu, equal; /* Transformer: no positions; every position sees all; ReLU instead of GELU; the query weights are 0, so
                                  that all positions have equal weights before training */
    bool permuted;             /* LSTM with pooled: the pixels come in one random order */
    bool sgd, rmsprop;         /* plain SGD, or RMSprop with momentum 0.9, instead of Adam */
    bool logits;               /* MLP: a norm on the logits too */
    gr_tensor *(*curve)(gr_tape *, gr_tensor *); /* MLP: the nonlinearity, default gr_relu */
    double dropout;            /* MLP: probability of dropout after each hidden layer, default 0 */
    bool bare;                 /* MLP and CNN, for dive_spec_text: no arm has a norm */
    bool convs;                /* CNN: norms only after the convolutions, none in the hidden layer */
    const kit_text *text;      /* Transformer: the source of its batches, required */
} dive_spec;

/* For captions. With one input value the paper's norm of W x would remove its size. */
#define DIVE_LN_OF_PIXELS "the sum W x + W h and of the cell (a norm of W x alone would keep only the sign of a pixel)"

enum { DIVE_DEPTH = 32 };
typedef struct {
    dive_spec spec;              /* with the defaults filled in */
    gr_linear_module *in[DIVE_DEPTH], *out;
    gr_module *norm[DIVE_DEPTH]; /* MLP and CNN; norm[depth] is that of the logits, or NULL */
    gr_lstm *lstm;
    gr_conv_module *conv[2];
    gr_embedding_module *token;
    gr_positions *position;
    gr_transformer *body;
    /* Tensors of the last forward, which the arm's tape owns until its reset: */
    gr_tensor *raw[DIVE_DEPTH];  /* MLP: W x + b of each hidden layer, before the norm */
    gr_tensor *pre[DIVE_DEPTH];  /* MLP: the same after the norm, before the nonlinearity */
    gr_tensor *x, *h0;           /* LSTM: input [B, T, I]; initial state [1, B, H], which is noise in training with BN, else NULL (zeros) */
    gr_recurrent_out state;      /* LSTM: with dh_norm and dc_norm */
    gr_tensor *block[DIVE_DEPTH]; /* Transformer: the output of each block */
} dive_model;

/* .build and .loss for kit_arms, whose .user is the dive_spec and whose source gives images or text. An arm may have its own .user, set after
 * kit_arms_add. The arm's model is a dive_model; dive_arms_free frees it, and calls kit_arms_free. */
void dive_build(kit_arm *arm);
gr_tensor *dive_loss(kit_arm *arm, const void *batch, kit_score *score);
gr_tensor *dive_logits(kit_arm *arm, const void *batch); /* only the forward, without a loss */
void dive_arms_free(kit_arms *a);

/* Add the three arms none, BN and LN. */
void dive_arms_add(kit_arms *a);

/* The batches of a comparison for one seed: images or text. The caller frees them after the arms. */
typedef struct {
    gr_tape *tape;             /* has the seed */
    dive_spec spec;            /* for .user; a copy that knows the text */
    kit_images images;
    kit_text text;
} dive_batches;
/* Open the batches of the k-th seed, and set source, build, loss, user, seed and clip of a (clip 1 for LSTM and Transformer, else no clipping).
 * Returns false after an error, which is on d->r->tape. */
bool dive_batches_open(dive *d, dive_batches *b, kit_arms *a, const dive_spec *spec, size_t batch, size_t k);
void dive_batches_free(dive *d, dive_batches *b);

/* The pre-activations of the LSTM's gates at one time step of the last forward: [B, 4H] in the order i, f, g, o, after the norms and with the
 * bias. They are on the arm's tape, and not recorded. */
gr_tensor *dive_lstm_gates(kit_arm *arm, size_t step);

/* A description for captions: "784-128-128-10, ReLU, .., He's weights, biases 0, Adam, learning rate 0.001 constant, batch 128". With lr NAN it
 * omits the learning rate, with batch 0 the batch. */
const char *dive_spec_text(plot_figure *f, const dive_spec *s, size_t batch);

#endif
