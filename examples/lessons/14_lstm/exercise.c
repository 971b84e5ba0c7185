/* exercise.c - one step of an LSTM, and LayerNorm on its cell. Write the two parts marked TODO; everything else is there.
 * Check it as often as you like:   make grade N=14                                                                    */
#include <math.h>
#include <stdbool.h>

enum { MOST = 16 }; /* units; H is at most this */

void my_step(int H, bool norm, const double *a, const double *c_prev, double *c, double *h);
void my_step_backward(int H, bool norm, const double *a, const double *c_prev, const double *c, const double *dh, const double *dc_later,
                      double *da, double *dc_prev);

static double sigmoid(double v) { return 1 / (1 + exp(-v)); }

/* n = LN(c), with gamma 1 and beta 0. Returns rstd. */
static double layer_norm(int H, const double *c, double *n)
{
    double mean = 0, var = 0;
    for (int j = 0; j < H; j++) mean += c[j] / H;
    for (int j = 0; j < H; j++) var += (c[j] - mean) * (c[j] - mean) / H;
    for (int j = 0; j < H; j++) n[j] = (c[j] - mean) / sqrt(var + 1e-5);
    return 1 / sqrt(var + 1e-5);
}

/* Given dn, the gradient of n, add that of c to dc. */
static void layer_norm_backward(int H, const double *n, double rstd, const double *dn, double *dc)
{
    double mean = 0, mean_n = 0;
    for (int j = 0; j < H; j++) mean += dn[j] / H, mean_n += dn[j] * n[j] / H;
    for (int j = 0; j < H; j++) dc[j] += rstd * (dn[j] - mean - n[j] * mean_n);
}

/* One step of H units, from a [4H] (blocks of H: a_i, a_f, a_g, a_o) and the last cell. Write c and h. With norm, h = o tanh(LN(c)). */
void my_step(int H, bool norm, const double *a, const double *c_prev, double *c, double *h)
{
    /* TODO 1. The gates are i, f, o = sigmoid(a_i), sigmoid(a_f), sigmoid(a_o) and g = tanh(a_g). Begin without norm; layer_norm is for later. */
    (void)layer_norm, (void)norm;                                    /* remove this line when you add the norm */
    (void)sigmoid, (void)H, (void)a, (void)c_prev, (void)c, (void)h; /* remove this line */
}

/* dh is the whole gradient of h; dc_later is what the next step hands back to c. Write (not add) the gradients of a and of c_prev. */
void my_step_backward(int H, bool norm, const double *a, const double *c_prev, const double *c, const double *dh, const double *dc_later,
                      double *da, double *dc_prev)
{
    /* TODO 2. First the gradients of a_o and of what is inside the tanh, from dh. Then dc, the whole gradient of c. From dc the other four. */
    (void)layer_norm_backward, (void)norm;                                                      /* remove this line when you add the norm */
    (void)H, (void)a, (void)c_prev, (void)c, (void)dh, (void)dc_later, (void)da, (void)dc_prev; /* remove this line */
}
