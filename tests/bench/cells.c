/* tests/bench/cells.c - the one list of cells, for `make bench` and `make bench-peers`. The sizes stand in the order of bench_kind.sizes. */
#include "tests/bench/bench.h"

/* clang-format off */
#define TRAIN(sections, kind, name, ...) { sections, BENCH_TRAIN, kind, name, { __VA_ARGS__ } },
#define INFER(kind, name, ...) { "inference", BENCH_INFER, kind, name, { __VA_ARGS__ } },
#define GROW(kind, name, ...) TRAIN("growth", kind, name, __VA_ARGS__)
#define OP(kind, ...) BOTH("operators", kind, NULL, __VA_ARGS__)
#define NAMED(kind, name, ...) BOTH("operators", kind, name, __VA_ARGS__)
#define BOTH(sections, kind, name, ...) \
    { sections, BENCH_FORWARD, kind, name, { __VA_ARGS__ } }, { sections, BENCH_BACKWARD, kind, name, { __VA_ARGS__ } },
#define CACHES(kind) OP(kind, 64, 64) OP(kind, 256, 256) OP(kind, 2048, 512) OP(kind, 8192, 1024) /* in L1, L2, L3, and beyond */
#define TWO(kind) OP(kind, 512, 128) OP(kind, 2048, 512)
#define CLASSES(kind) OP(kind, 1024, 10) OP(kind, 1024, 64) OP(kind, 1024, 65) OP(kind, 1024, 1000)
#define CONV(name, ...) NAMED("conv2d", name, __VA_ARGS__)
#define OPTIM(kind, name, ...) TRAIN("optimizers", kind, name, __VA_ARGS__)

const bench_cell bench_cells[] = {
    /* ---- Training steps ---- */
    TRAIN("steps growth memory start-up", "lstm", "LN-LSTM b64", 64, 28, 28, 128, 1)
    TRAIN("steps", "lstm", "LN-LSTM b8", 8, 28, 28, 128, 1)
    TRAIN("steps growth memory", "lstm", "LN-LSTM b1", 1, 28, 28, 128, 1)
    TRAIN("steps growth memory", "lstm", "LSTM b64", 64, 28, 28, 128, 0)
    TRAIN("steps growth", "lstm", "LSTM b1", 1, 28, 28, 128, 0)
    TRAIN("steps growth memory", "lstm", "LSTM b64 H512", 64, 28, 28, 512, 0)
    TRAIN("steps growth memory", "lstm", "LSTM b64 H1024", 64, 28, 28, 1024, 0)
    TRAIN("steps memory", "gru", "GRU b64", 64, 28, 28, 128, 0)
    TRAIN("steps", "gru", "GRU b1", 1, 28, 28, 128, 0)
    TRAIN("steps memory", "rnn", "RNN b64", 64, 28, 28, 128, 0)
    TRAIN("steps", "rnn", "RNN b1", 1, 28, 28, 128, 0)
    TRAIN("steps memory start-up", "mlp", "MLP 1000-1000 b128", 128, 784, 1000, 2, 0)
    TRAIN("steps memory", "mlp", "MLP 1000-1000 b4", 4, 784, 1000, 2, 0)
    TRAIN("steps", "mlp", "MLP 1000-1000 b128 + BN", 128, 784, 1000, 2, 1)
    TRAIN("steps", "mlp", "MLP 1000-1000 b128 + LN", 128, 784, 1000, 2, 2)
    TRAIN("steps start-up", "mlp", "MLP 64 b64", 64, 784, 64, 1, 0)
    TRAIN("steps memory start-up", "cnn", "CNN 32-64 b64", 64, 32, 64, 0, 0)
    TRAIN("steps memory", "cnn", "CNN 32-64 b64 + BN", 64, 32, 64, 0, 1)
    TRAIN("steps", "cnn", "CNN 32-64 b64 + LN", 64, 32, 64, 0, 2)
    TRAIN("steps", "cnn", "CNN 32-64 b64 + GN", 64, 32, 64, 0, 3)
    TRAIN("steps memory", "cnn", "CNN 16-32 padded b64", 64, 16, 32, 1, 0)
    TRAIN("steps", "cnn", "CNN 16-32 padded b64 + BN", 64, 16, 32, 1, 1)
    TRAIN("steps", "cnn", "CNN 16-32 padded b64 + LN", 64, 16, 32, 1, 2)
    TRAIN("steps", "cnn", "CNN 16-32 padded b64 + GN", 64, 16, 32, 1, 3)
    TRAIN("steps growth memory start-up", "gpt", "GPT 4x128 b12 T64", 12, 64, 128, 4, 4)
    TRAIN("steps growth memory", "gpt", "GPT 4x512 b12 T64", 12, 64, 512, 8, 4)
    TRAIN("steps growth memory", "gpt", "GPT 4x128 b1 T1024", 1, 1024, 128, 4, 4)

    /* ---- Operators ---- */
    CONV("conv 3x3 32-64 26", 64, 32, 26, 64, 3, 0, 1, 1)
    CONV("conv 3x3 1-32 28", 64, 1, 28, 32, 3, 0, 1, 1)
    CONV("conv 3x3 16-32 14 padded", 64, 16, 14, 32, 3, 1, 1, 1)
    CONV("conv 3x3 64-64 14 padded", 64, 64, 14, 64, 3, 1, 1, 1)
    CONV("conv 3x3 32-64 26 b1", 1, 32, 26, 64, 3, 0, 1, 1)
    CONV("conv 3x3 32-64 14 stride 2", 64, 32, 14, 64, 3, 1, 2, 1)
    CONV("conv 1x1 64-64 14", 64, 64, 14, 64, 1, 0, 1, 1)
    CONV("conv 5x5 16-32 14 padded", 64, 16, 14, 32, 5, 2, 1, 1)
    CONV("conv 3x3 depthwise 32 14", 64, 32, 14, 32, 3, 1, 1, 32)
    OP("max_pool2d", 64, 64, 24) OP("avg_pool2d", 64, 64, 24) OP("max_pool2d", 64, 16, 28)
    OP("batch_norm", 64, 32, 26) OP("group_norm", 64, 32, 26) OP("instance_norm", 64, 32, 26) OP("to_nhwc", 64, 32, 26)
    OP("layer_norm", 64, 128) OP("layer_norm", 1024, 128) OP("layer_norm", 1792, 512) OP("layer_norm", 4096, 768)
    OP("rms_norm", 1024, 128) OP("rms_norm", 4096, 768)
    CLASSES("softmax") CLASSES("log_softmax") CLASSES("cross_entropy") OP("softmax", 4096, 768) OP("cross_entropy", 64, 10)
    CACHES("add") CACHES("mul") CACHES("gelu") TWO("div") TWO("mse")
    TWO("silu") TWO("sigmoid") TWO("tanh") TWO("exp") TWO("relu") TWO("gelu_tanh") TWO("dropout")
    TWO("erf") TWO("sin") TWO("softplus") TWO("mish")
    TWO("add_row") TWO("add_column") TWO("add_outer") TWO("mul_row") TWO("mul_column")
    CACHES("sum_0") CACHES("sum_1") TWO("sum_all") TWO("max_0") TWO("max_1") TWO("var_0")
    CACHES("transpose") TWO("cat_1") TWO("narrow")
    OP("embedding", 65, 128, 1024) OP("embedding", 10000, 128, 1024)
    OP("attention", 16, 4, 64, 32) OP("attention", 4, 4, 512, 32) OP("attention", 1, 4, 1024, 32) OP("attention", 12, 8, 64, 64)
    OP("matmul", 64, 28, 512) OP("matmul", 64, 128, 512) OP("matmul", 64, 512, 128) OP("matmul", 63, 127, 129) OP("matmul", 65, 129, 33)
    OP("matmul", 256, 256, 256) OP("matmul", 512, 512, 512) OP("matmul", 1024, 1024, 1024)
    OP("linear", 1, 128, 512) OP("linear", 1, 784, 1000) OP("linear", 4, 784, 1000) OP("linear", 8, 128, 512) OP("linear", 64, 128, 512)
    OP("linear", 64, 1000, 10) OP("linear", 128, 784, 1000) OP("linear", 128, 1000, 1000) OP("linear", 768, 128, 384)
    OP("linear", 768, 512, 128) OP("linear", 1792, 28, 512)
    BOTH("operators start-up", "square", NULL, 1, 16)

    /* ---- Optimizers: a million parameters ---- */
    OPTIM("adam", "Adam 1M", 1000000, 1) OPTIM("adam", "Adam 1M in 50", 1000000, 50) OPTIM("adam", "Adam 1M dead", 1000000, 1, 1)
    OPTIM("adamw", "AdamW 1M", 1000000, 1) OPTIM("adamw", "AdamW 1M in 50", 1000000, 50)
    OPTIM("sgd", "SGD 1M", 1000000, 1) OPTIM("sgd", "SGD 1M in 50", 1000000, 50)
    OPTIM("momentum", "SGD momentum 1M", 1000000, 1) OPTIM("momentum", "SGD momentum 1M dead", 1000000, 1, 1)
    OPTIM("rmsprop", "RMSprop 1M", 1000000, 1) OPTIM("adagrad", "Adagrad 1M", 1000000, 1)

    /* ---- Inference ---- */
    INFER("mlp", "infer MLP 1000-1000 b1", 1, 784, 1000, 2, 0)
    INFER("mlp", "infer MLP 1000-1000 b4", 4, 784, 1000, 2, 0)
    INFER("mlp", "infer MLP 1000-1000 b128", 128, 784, 1000, 2, 0)
    INFER("mlp", "infer MLP 64 b1", 1, 784, 64, 1, 0)
    INFER("lstm", "infer LN-LSTM b1", 1, 28, 28, 128, 1)
    INFER("lstm", "infer LN-LSTM b64", 64, 28, 28, 128, 1)
    INFER("lstm", "infer LSTM b1", 1, 28, 28, 128, 0)
    INFER("lstm", "infer LSTM b64", 64, 28, 28, 128, 0)
    INFER("cnn", "infer CNN 32-64 b1", 1, 32, 64, 0, 0)
    INFER("cnn", "infer CNN 32-64 b64", 64, 32, 64, 0, 0)
    INFER("cnn", "infer CNN 16-32 padded + BN b64", 64, 16, 32, 1, 1)
    INFER("gpt", "infer GPT 4x128 b1 T64", 1, 64, 128, 4, 4)

    /* ---- Growth: one size at a time. Some steps above belong to these rows, too. ---- */
#define LENGTH(T) GROW("lstm", "LN-LSTM b64 T" #T, 64, T, 28, 128, 1) GROW("lstm", "LSTM b64 T" #T, 64, T, 28, 128, 0)
    LENGTH(64) LENGTH(128) LENGTH(256) LENGTH(512) LENGTH(1024)
#define LN_HIDDEN(H) GROW("lstm", "LN-LSTM b64 H" #H, 64, 28, 28, H, 1)
#define HIDDEN(H) LN_HIDDEN(H) GROW("lstm", "LSTM b64 H" #H, 64, 28, 28, H, 0)
    HIDDEN(32) HIDDEN(64) HIDDEN(256) LN_HIDDEN(512) LN_HIDDEN(1024)
#define BATCH(B) GROW("lstm", "LN-LSTM b" #B, B, 28, 28, 128, 1) GROW("lstm", "LSTM b" #B, B, 28, 28, 128, 0)
    BATCH(4) BATCH(16) BATCH(256) BATCH(1024)
#define SIZE(d, heads) GROW("gpt", "GPT 4x" #d " b12 T64", 12, 64, d, heads, 4)
    SIZE(64, 4) SIZE(256, 8)
#define CONTEXT(T, B) GROW("gpt", "GPT 4x128 b" #B " T" #T, B, T, 128, 4, 4)
    CONTEXT(128, 6) CONTEXT(256, 3) CONTEXT(512, 2)
#define WIDTH(W) GROW("mlp", "MLP width " #W " b128", 128, 784, W, 2, 0) GROW("mlp", "MLP width " #W " b4", 4, 784, W, 2, 0)
    WIDTH(64) WIDTH(256) WIDTH(1024) WIDTH(2048) WIDTH(4096)
};
const int bench_cells_count = sizeof bench_cells / sizeof *bench_cells;
