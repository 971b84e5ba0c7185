/* Another hand: arrays of the gates, no norm in backward yet, and dc taken for what the next step handed back. */
#include <math.h>
#include <stdbool.h>

void my_step(int H, bool norm, const double *a, const double *c_prev, double *c, double *h);
void my_step_backward(int H, bool norm, const double *a, const double *c_prev, const double *c, const double *dh, const double *dc_later,
                      double *da, double *dc_prev);

static double s(double v) { return 0.5 + 0.5 * tanh(v / 2); }

void my_step(int H, bool norm, const double *a, const double *c_prev, double *c, double *h)
{
    const double *i = a, *f = a + H, *g = a + 2 * H, *o = a + 3 * H;
    double mean = 0, square = 0;
    for (int j = 0; j < H; j++) c[j] = s(f[j]) * c_prev[j] + s(i[j]) * tanh(g[j]), mean += c[j] / H, square += c[j] * c[j] / H;
    for (int j = 0; j < H; j++) h[j] = s(o[j]) * tanh(norm ? (c[j] - mean) / sqrt(square - mean * mean + 1e-5) : c[j]);
}

void my_step_backward(int H, bool norm, const double *a, const double *c_prev, const double *c, const double *dh, const double *dc_later,
                      double *da, double *dc_prev)
{
    (void)norm;
    for (int j = 0; j < H; j++) {
        const double i = s(a[j]), f = s(a[H + j]), g = tanh(a[2 * H + j]), o = s(a[3 * H + j]), dc = dc_later[j];
        da[j] = dc * g * i * (1 - i), da[H + j] = dc * c_prev[j] * f * (1 - f), da[2 * H + j] = dc * i * (1 - g * g);
        da[3 * H + j] = dh[j] * tanh(c[j]) * o * (1 - o), dc_prev[j] = dc * f;
    }
}
