/* answers/floor.h - a stream is a function of its seed and its name, so two equal ones give the same numbers. Print them side by side. */
#include <math.h>

void find(gr_tape *t)
{
    static gr_real x[N], y[N];
    double xx = 0, nn = 0, xn = 0;
    measure(gr_tape_seed(t), x, y);
    printf("       x    noise\n");
    for (size_t i = 0; i < N; i++) {
        const double noise = (double)(y[i] - x[i] * x[i] / 2);
        if (i < 4) printf("%8.4f %8.4f\n", (double)x[i], noise);
        xx += (double)(x[i] * x[i]), nn += noise * noise, xn += (double)x[i] * noise;
    }
    printf("correlation of x and noise: %.3f\n", xn / sqrt(xx * nn));
}
