/* tests/report/twelve_values.c - what the library computes for the section of twelve numbers, as JSON for check_twelve.py: a list of objects with
 * the inputs norm, x, dy, eps, gamma and beta, and the results y and dx. Build it with REAL=double, because the page computes in double. */
#include "gradus.h"
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 3, FEATURES = 4, N = SAMPLES * FEATURES };
typedef struct {
    const char *norm;
    double x[N], dy[N], eps, gamma, beta;
} arguments;

static gr_tensor *norm(gr_tape *t, const arguments *a, gr_tensor *x, gr_tensor *gamma, gr_tensor *beta)
{
    const double eps = a->eps == 0 ? GR_NONE : a->eps;
    if (!strcmp(a->norm, "layer")) return gr_layer_norm(t, x, 1, gamma, beta, eps);
    if (!strcmp(a->norm, "batch")) return gr_batch_norm(t, x, 1, gamma, beta, &(gr_batch_norm_config){ .eps = eps });
    if (!strcmp(a->norm, "rms")) return gr_rms_norm(t, x, 1, gamma, eps);
    return gr_group_norm(t, x, 2, gamma, beta, eps);
}

static void print(const char *name, const double *v, const char *end)
{
    printf("\"%s\": [", name);
    for (size_t i = 0; i < N; i++) printf("%s%.17g", i ? ", " : "", v[i]);
    printf("]%s", end);
}

static void show(gr_tape *t, const arguments *a)
{
    static bool again;
    gr_real in[2][N];
    double out[2][N];
    for (size_t i = 0; i < N; i++) in[0][i] = (gr_real)a->x[i], in[1][i] = (gr_real)a->dy[i];
    gr_tape_reset(t);
    gr_tensor *x = gr_want_grad(t, gr_input(t, in[0], GR_SHAPE(SAMPLES, FEATURES)));
    gr_tensor *gamma = gr_full(t, GR_SHAPE(FEATURES), a->gamma), *beta = gr_full(t, GR_SHAPE(FEATURES), a->beta);
    gr_tensor *y = norm(t, a, x, gamma, beta);
    if (!gr_backward_from(t, y, in[1])) return;
    for (size_t i = 0; i < N; i++) out[0][i] = (double)y->data[i], out[1][i] = (double)gr_grad(t, x)[i];
    printf("%s{\"norm\": \"%s\", \"eps\": %.17g, \"gamma\": %.17g, \"beta\": %.17g, ", again ? ",\n" : "", a->norm, a->eps, a->gamma,
           a->beta);
    print("x", a->x, ", "), print("dy", a->dy, ", "), print("y", out[0], ", "), print("dx", out[1], "}");
    again = true;
}

/* Normal values; the same far from 0; an equal row and an equal column; a row of zeros; one large value; small differences. */
enum { KINDS = 6 };
static void fill(arguments *a, int kind, gr_stream *random)
{
    for (size_t i = 0; i < N; i++) {
        const size_t row = i / FEATURES, column = i % FEATURES;
        const double v = gr_stream_normal(random, 0, 1);
        a->dy[i] = gr_stream_normal(random, 0, 1);
        a->x[i] = kind == 1                                ? v + 1000
                  : kind == 2 && (row == 1 || column == 2) ? 0.1
                  : kind == 3 && row == 2                  ? 0
                  : kind == 5                              ? v / 1000
                                                           : v;
    }
    if (kind == 4) a->x[6] = 100;
}

int main(void)
{
    static const char *const name[] = { "layer", "batch", "rms", "group" };
    static const double eps[] = { 0, 1e-5, 0.1, 100 }, scale[][2] = { { 1, 0 }, { -2.5, 1.3 }, { 0.7, -3 }, { 0, 0.5 } };
    gr_tape *const t = gr_tape_new(1, NULL);
    gr_stream random = gr_stream_new(1, "twelve");
    arguments a;
    fputs("[", stdout);
    for (int kind = 0; kind < KINDS; kind++) {
        fill(&a, kind, &random);
        for (size_t i = 0; i < 4 * 4 * 4; i++) {
            a.norm = name[i / 16], a.eps = eps[i / 4 % 4], a.gamma = scale[i % 4][0], a.beta = scale[i % 4][1];
            show(t, &a);
        }
    }
    fputs("]\n", stdout);
    const bool bad = gr_failed(t) || fflush(stdout) != 0;
    if (bad) fprintf(stderr, "twelve_values: %s\n", gr_message(t));
    gr_tape_free(t);
    return bad;
}
