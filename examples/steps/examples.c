/* examples/steps/examples.c - the graphs that backward_steps has built in. */
#include "examples/steps/steps.h"

const steps_example_graph steps_example[STEPS_EXAMPLES] = {
    { "branch", "x and a are used twice", "x = 2; y = 3; a = x * y; b = a + x; L = a * b" },
    { "chain", "each value is used once", "w = 2; x = 0.25; L = square(tanh(w * x))" },
    { "square", "a node adds to one gradient twice", "x = 3; L = x * x" },
    { "neuron", "a weight, a bias and a target", "x = 1.5; w = -0.8; b = 0.3; y = 1; p = sigmoid(w * x + b); L = square(p - y)" },
    { "shared", "a recurrent network uses its weight w in each of three time steps",
      "w = 0.9; x = 0.5; h1 = tanh(w * x); h2 = tanh(w * h1); h3 = tanh(w * h2); L = square(h3 - 1)" },
    { "norm", "LayerNorm of two values: each affects the loss in three ways",
      "a = 1; b = 3; m = (a + b) / 2; c = a - m; d = b - m; s = sqrt((square(c) + square(d)) / 2 + 0.1); L = square(c / s - 2) + d / s" },
};
