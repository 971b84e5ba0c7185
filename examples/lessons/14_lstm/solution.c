/* solution.c - the exercise, solved. Read it after yours passes. */
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
    double n[MOST];
    for (int j = 0; j < H; j++) n[j] = c[j] = sigmoid(a[H + j]) * c_prev[j] + sigmoid(a[j]) * tanh(a[2 * H + j]);
    if (norm) layer_norm(H, c, n);
    for (int j = 0; j < H; j++) h[j] = sigmoid(a[3 * H + j]) * tanh(n[j]);
}

/* dh is the whole gradient of h; dc_later is what the next step hands back to c. Write (not add) the gradients of a and of c_prev. */
void my_step_backward(int H, bool norm, const double *a, const double *c_prev, const double *c, const double *dh, const double *dc_later,
                      double *da, double *dc_prev)
{
    double n[MOST], dn[MOST], dc[MOST], rstd = 1;
    for (int j = 0; j < H; j++) n[j] = c[j], dc[j] = dc_later[j];
    if (norm) rstd = layer_norm(H, c, n);
    for (int j = 0; j < H; j++) {
        const double o = sigmoid(a[3 * H + j]), T = tanh(n[j]);
        da[3 * H + j] = dh[j] * T * o * (1 - o);
        dn[j] = dh[j] * o * (1 - T * T);
        if (!norm) dc[j] += dn[j];
    }
    if (norm) layer_norm_backward(H, n, rstd, dn, dc);
    for (int j = 0; j < H; j++) {
        const double i = sigmoid(a[j]), f = sigmoid(a[H + j]), g = tanh(a[2 * H + j]);
        da[j] = dc[j] * g * i * (1 - i);
        da[H + j] = dc[j] * c_prev[j] * f * (1 - f);
        da[2 * H + j] = dc[j] * i * (1 - g * g);
        dc_prev[j] = dc[j] * f;
    }
}
