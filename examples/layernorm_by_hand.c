/* examples/layernorm_by_hand.c - LayerNorm step by step on small vectors, as on paper, with every line checked.
 *
 * Shows: the formula forward and backward with all intermediate values; what epsilon, gamma and beta do; which elements share a mean in 2-D,
 *        3-D and 4-D; why a sample does not depend on its batch; and how BatchNorm, RMSNorm and GroupNorm differ.
 * Run:   examples/layernorm_by_hand                      all parts
 *        examples/layernorm_by_hand --list               the names of the parts
 *        examples/layernorm_by_hand --example backward   one part
 *        examples/layernorm_by_hand --x 1,2,4 --dy 1,0,0 --gamma 2,1,1 --eps 0        your own vector
 * The program calculates each line in double and compares it with the library's operators. Exit 1 if a line differs.
 */
#include "examples/norms/hand.h"
#include "examples/norms/norm.h"
#include "examples/kit/run.h"
#include "examples/kit/program.h"
#include "gradus.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPS 1e-5
static kit_options common = { .seed = 42, .threads = 1 };
static struct {
    const char *example, *x, *gamma, *beta, *dy;
    double eps;
    bool list;
} o = { .eps = EPS };

static const kit_flag flag[] = {
    { "example", KIT_TEXT, &o.example, "NAME", "show one part", 0, 0 },
    { "list", KIT_SWITCH, &o.list, NULL, "print the names of the parts", 0, 0 },
    { "x", KIT_TEXT, &o.x, "1,2,3", "your own vector, up to 64 numbers", 0, 0 },
    { "gamma", KIT_TEXT, &o.gamma, "1,1,1", "scale of your own vector; default 1", 0, 0 },
    { "beta", KIT_TEXT, &o.beta, "0,0,0", "shift of your own vector; default 0", 0, 0 },
    { "dy", KIT_TEXT, &o.dy, "1,0,0", "gradient with respect to the output y; default 1,0,0,..", 0, 0 },
    { "eps", KIT_NUMBER, &o.eps, "X", "epsilon for your own vector, inside the root", 0, 1e6 },
    KIT_FLAGS_RUN(common, "no effect: the program always exits with 1 if a line differs from the library"),
};
static const kit_flags flags = { "layernorm_by_hand", "LayerNorm on paper, checked line by line", flag, sizeof flag / sizeof *flag };

/* ---- The parts ---- */

#define VECTOR(...) \
    .N = sizeof((double[]){ __VA_ARGS__ }) / sizeof(double), .x = (double[]) { __VA_ARGS__ }
#define VALUES(...) \
    (const double[]) { __VA_ARGS__ }
#define SAY(...) norms_paper_text(p, __VA_ARGS__)

static void part_forward(norms_paper *p)
{
    SAY("Subtract the mean, divide by the standard deviation.\n\n");
    norms_hand_forward(p, &(norms_given){ VECTOR(1, 2, 3), .eps = 1e-5 });
    SAY("\nTwice the vector has the same xhat, apart from the effect of eps.\n\n");
    norms_hand_forward(p, &(norms_given){ VECTOR(2, 4, 6), .eps = 1e-5 });
    SAY("\nFour values.\n\n");
    norms_hand_forward(p, &(norms_given){ VECTOR(1, 2, 3, 4), .eps = 1e-5 });
}

static void part_backward(norms_paper *p)
{
    SAY("The gradient has three terms: the direct one, one through the mean, and one through the deviation. Its\n"
        "sum is 0, because a shift of x does not change y. With eps 0 it is orthogonal to xhat, because a scale\n"
        "of x does not change y.\n\n");
    const norms_given a = { VECTOR(1, 2, 4), .dy = VALUES(1, 0, 0) };
    norms_hand_forward(p, &a), SAY("\n"), norms_hand_backward(p, &a, common.seed);
    SAY("\nWith gamma, which scales the gradient from above.\n\n");
    norms_hand_backward(
        p, &(norms_given){ VECTOR(1, 2, 4), .gamma = VALUES(2, 1, 0.5), .beta = VALUES(0, 0, 1), .dy = VALUES(1, -1, 2), .eps = 1e-5 },
        common.seed);
}

static void part_epsilon(norms_paper *p)
{
    SAY("Equal values: the deviation is 0, and only epsilon prevents 0 / 0. y is beta, and the gradient is\n"
        "multiplied by 1 / sqrt(eps) = 316.\n\n");
    const norms_given constant = { VECTOR(5, 5, 5), .gamma = VALUES(1, 2, 3), .beta = VALUES(0.5, 0, -0.5), .dy = VALUES(1, 0, 0),
                                   .eps = 1e-5 };
    norms_hand_forward(p, &constant), SAY("\n"), norms_hand_backward(p, &constant, common.seed);
    SAY("\nThe same holds for a row of zeros, such as padding or a blank row of an image.\n\n");
    norms_hand_forward(p, &(norms_given){ VECTOR(0, 0, 0), .gamma = VALUES(1, 1, 1), .beta = VALUES(0.5, 0, -0.5), .eps = 1e-5 });
    SAY("\nA variance far below epsilon: xhat no longer has variance 1, but noise is not amplified either. A larger\n"
        "epsilon makes xhat smaller.\n\n");
    const double tiny[] = { 0.001, 0.001, 0.0011, 0.0009, 0.001 }, eps[] = { 1e-3, 1e-5, 1e-8, 1e-12, 0 };
    norms_hand_forward(p, &(norms_given){ .N = 5, .x = tiny, .eps = 1e-5 });
    for (size_t k = 0; k < sizeof eps / sizeof *eps; k++) {
        const norms_given a = { .N = 5, .x = tiny, .eps = eps[k] };
        const norms_row r = norms_hand(&a);
        char label[64];
        gr_tape_reset(p->t);
        snprintf(label, sizeof label, "xhat with eps = %g", eps[k]);
        norms_paper_line(p, label, r.xhat, 5, 0,
                         norms_values(gr_layer_norm(p->t, norms_put(p->t, tiny, GR_SHAPE(5)), 1, NULL, NULL, norms_eps(eps[k]))));
    }
}

static void part_affine(norms_paper *p)
{
    SAY("gamma and beta let the network choose a scale and a shift for each feature. They start at 1 and 0.\n\n");
    norms_hand_forward(p, &(norms_given){ VECTOR(1, 2, 3, 4), .gamma = VALUES(2, 1, 0.5, 0), .beta = VALUES(0, 10, 0, -1), .eps = 1e-5 });
    SAY("\nOnly beta: every mean moves. Only gamma: a gamma of 0 switches a feature off.\n\n");
    norms_hand_forward(p, &(norms_given){ VECTOR(1, 2, 3), .beta = VALUES(1, 1, 1), .eps = 1e-5 }), SAY("\n");
    norms_hand_forward(p, &(norms_given){ VECTOR(1, 2, 3), .gamma = VALUES(0, 3, -1), .eps = 1e-5 });
}

static void part_identity(norms_paper *p)
{
    SAY("With gamma = sqrt(var + eps) and beta = mean, the norm returns x.\n\n");
    norms_given a = { VECTOR(3, -1, 4, 10), .eps = 1e-5 };
    const norms_row r = norms_hand(&a);
    double gamma[4], beta[4];
    for (int i = 0; i < 4; i++) gamma[i] = r.sigma, beta[i] = r.mean;
    a.gamma = gamma, a.beta = beta;
    norms_hand_forward(p, &a);
    norms_paper_line(p, "x again", a.x, 4, 0,
                     norms_values(gr_layer_norm(p->t, norms_put(p->t, a.x, GR_SHAPE(4)), 1, norms_put(p->t, gamma, GR_SHAPE(4)),
                                                norms_put(p->t, beta, GR_SHAPE(4)), a.eps)));
}

static void part_small(norms_paper *p)
{
    SAY("One value is its own mean: y is beta for every x, and no gradient reaches x.\n\n");
    const norms_given one = { VECTOR(7), .gamma = VALUES(2), .beta = VALUES(0.5), .dy = VALUES(1), .eps = 1e-5 };
    norms_hand_forward(p, &one), SAY("\n"), norms_hand_backward(p, &one, common.seed);
    SAY("\nTwo different values always become -1 and 1; with eps 0 no gradient reaches x.\n\n");
    const norms_given two = { VECTOR(3, 8), .dy = VALUES(1, 0) };
    norms_hand_forward(p, &two), SAY("\n"), norms_hand_backward(p, &two, common.seed);
}

static void part_shapes(norms_paper *p)
{
    SAY("Elements with the same letter share a mean and a deviation. The norm goes over the last axes.\n\n"
        "2-D, [batch, features]: one mean for each sample.\n");
    norms_hand_shape(p, GR_SHAPE(2, 3), 1);
    SAY("\n3-D, [batch, words, features]: one mean for each word, as in a Transformer; over the last two axes, one\n"
        "mean for each sentence.\n");
    norms_hand_shape(p, GR_SHAPE(2, 2, 3), 1), norms_hand_shape(p, GR_SHAPE(2, 2, 3), 2);
    SAY("\n4-D, [batch, channels, height, width]: over the last three axes, one mean for each image; over the last\n"
        "axis, one mean for each row of pixels, which is rarely intended.\n");
    norms_hand_shape(p, GR_SHAPE(2, 2, 1, 2), 3), norms_hand_shape(p, GR_SHAPE(2, 2, 1, 2), 1);
}

static void part_batch(norms_paper *p)
{
    SAY("The first row has the same bits beside any second row, and alone.\n\n");
    const double with[2][3] = { { 1, 2, 3 }, { 10, 20, 60 } }, other[2][3] = { { 1, 2, 3 }, { -5, 0, 1e6 } };
    gr_tape *t = p->t;
    gr_tape_reset(t);
    const gr_tensor *y = gr_layer_norm(t, norms_put(t, with[0], GR_SHAPE(2, 3)), 1, NULL, NULL, 1e-5);
    const gr_tensor *z = gr_layer_norm(t, norms_put(t, other[0], GR_SHAPE(2, 3)), 1, NULL, NULL, 1e-5);
    const gr_tensor *alone = gr_layer_norm(t, norms_put(t, with[0], GR_SHAPE(1, 3)), 1, NULL, NULL, 1e-5);
    p->columns = 3;
    for (int k = 0; k < 2; k++) {
        const norms_row r = norms_hand(&(norms_given){ .N = 3, .x = with[k], .eps = 1e-5 }),
                        s = norms_hand(&(norms_given){ .N = 3, .x = other[k], .eps = 1e-5 });
        norms_paper_line(p, k ? "second row" : "first row", with[k], 3, 0, NULL);
        norms_paper_line(p, "its xhat", r.xhat, 3, 0, y ? y->data + 3 * k : NULL);
        if (k)
            norms_paper_line(p, "another second row", other[k], 3, 0, NULL),
                norms_paper_line(p, "its xhat", s.xhat, 3, 0, z ? z->data + 3 : NULL);
    }
    norms_paper_holds(p, y && z && !memcmp(y->data, z->data, 3 * sizeof *y->data),
                      "the first row has the same bits beside another second row");
    norms_paper_holds(p, y && alone && !memcmp(y->data, alone->data, 3 * sizeof *y->data), "the first row has the same bits alone");
}

/* Print the line for column c of x [rows, C], and compare it with column c of the library's y. */
static void column(norms_paper *p, const char *label, const double *x, size_t rows, size_t C, size_t c, const gr_tensor *y)
{
    double v[NORMS_HAND];
    gr_real library[NORMS_HAND];
    for (size_t r = 0; r < rows; r++) v[r] = x[r * C + c], library[r] = y ? y->data[r * C + c] : 0;
    const norms_row h = norms_hand(&(norms_given){ .N = rows, .x = v, .eps = 1e-5 });
    norms_paper_line(p, label, h.xhat, rows, 0, library);
}

static void part_batch_norm(norms_paper *p)
{
    static const double x[] = { 1, 2, 3, 4, 6, 11, 7, 1, 5, 0, 3, -7 };
    static const double words[] = { 1, 2, 3, 2, 4, 6, 3, 6, 9, 4, 8, 12, 5, 10, 15, 6, 12, 18, 7, 13, 19, 0, 0, 0 };
    char label[64];
    gr_tape *t = p->t;
    gr_tape_reset(t);
    gr_tensor *m = norms_put(t, x, GR_SHAPE(4, 3)), *w = norms_put(t, words, GR_SHAPE(8, 3));
    const gr_tensor *ln = gr_layer_norm(t, m, 1, NULL, NULL, 1e-5), *bn = gr_batch_norm(t, m, -1, NULL, NULL, NULL);
    p->columns = 4;
    SAY("One matrix, [4 samples, 3 features]. LayerNorm normalizes each row; BatchNorm (in training) normalizes\n"
        "each column.\n\n");
    for (size_t r = 0; r < 4; r++) {
        const norms_row h = norms_hand(&(norms_given){ .N = 3, .x = x + 3 * r, .eps = 1e-5 });
        snprintf(label, sizeof label, "sample %zu", r + 1), norms_paper_line(p, label, x + 3 * r, 3, 0, NULL);
        norms_paper_line(p, "  LayerNorm, of this row", h.xhat, 3, 0, ln ? ln->data + 3 * r : NULL);
    }
    for (size_t c = 0; c < 3; c++) snprintf(label, sizeof label, "  BatchNorm, of column %zu", c + 1), column(p, label, x, 4, 3, c, bn);

    SAY("\nA batch of two sentences with four and three words; the shorter one is padded with zeros. Feature one is\n"
        "1 2 3 4 and 5 6 7 0. BatchNorm counts the zero: the mean is 3.5 and the deviation 2.29, so that the first\n"
        "word, \"I\", becomes -1.09, and the last word, \"powerful\", 1.5275. With a mask the mean is 4 and the\n"
        "deviation 2, and they become -1.5 and 1.5. LayerNorm turns \"I\" into [-1.2247, 0, 1.2247] in every batch,\n"
        "and padding into beta.\n\n");
    p->columns = 8;
    const gr_tensor *poisoned = gr_batch_norm(t, w, -1, NULL, NULL, NULL), *own = gr_layer_norm(t, w, 1, NULL, NULL, 1e-5);
    const gr_tensor *mask = norms_put(t, (const double[]){ 1, 1, 1, 1, 1, 1, 1, 0 }, GR_SHAPE(8));
    const gr_tensor *masked = gr_batch_norm(t, w, -1, NULL, NULL, &(gr_batch_norm_config){ .mask = mask });
    const double zero[3] = { 0, 0, 0 };
    column(p, "feature one, padding counted", words, 8, 3, 0, poisoned);
    column(p, "feature one, masked", words, 7, 3, 0, masked);
    const norms_row i = norms_hand(&(norms_given){ .N = 3, .x = words, .eps = 1e-5 });
    norms_paper_line(p, "LayerNorm of \"I\"", i.xhat, 3, 0, norms_values(own));
    norms_paper_line(p, "LayerNorm of the padding", zero, 3, 0, own ? own->data + 21 : NULL);
}

static void part_relatives(norms_paper *p)
{
    gr_tape *t = p->t;
    const double x[] = { 3, 4 }, root = sqrt(12.5), maps[] = { 1, 3, 2, 8, -1, 0, 5, 7 };
    gr_tape_reset(t);
    p->columns = 2;
    SAY("RMSNorm does not subtract the mean: y = x / sqrt(mean(x^2) + eps), here with eps 0.\n\n");
    gr_tensor *in = norms_put(t, x, GR_SHAPE(2));
    norms_paper_line(p, "x", x, 2, 0, NULL);
    norms_paper_line(p, "mean(x^2)", (const double[]){ 12.5 }, 1, 0, norms_values(gr_mean(t, gr_square(t, in), GR_ALL_AXES, false)));
    norms_paper_line(p, "y", (const double[]){ 3 / root, 4 / root }, 2, 0, norms_values(gr_rms_norm(t, in, 1, NULL, GR_NONE)));

    SAY("\nGroupNorm divides the channels into groups. With one group it equals LayerNorm over the whole image; with\n"
        "one group per channel it equals InstanceNorm. One image, [1, 4 channels, 2].\n\n");
    gr_tensor *image = norms_put(t, maps, GR_SHAPE(1, 4, 2));
    p->columns = 8;
    norms_paper_line(p, "x", maps, 8, 0, NULL);
    for (size_t groups = 1; groups <= 4; groups *= 2) {
        double y[8];
        char label[64];
        const size_t N = 8 / groups;
        for (size_t k = 0; k < groups; k++)
            memcpy(y + k * N, norms_hand(&(norms_given){ .N = N, .x = maps + k * N, .eps = 1e-5 }).xhat, N * sizeof *y);
        snprintf(label, sizeof label, "%zu group%s", groups, groups > 1 ? "s" : "");
        norms_paper_line(p, label, y, 8, 0, norms_values(gr_group_norm(t, image, groups, NULL, NULL, 1e-5)));
        if (groups == 1) norms_paper_line(p, "LayerNorm", y, 8, 0, norms_values(gr_layer_norm(t, image, 2, NULL, NULL, 1e-5)));
        if (groups == 4) norms_paper_line(p, "InstanceNorm", y, 8, 0, norms_values(gr_instance_norm(t, image, 1, NULL, NULL, 1e-5)));
    }
}

/* Print (x - mean) / sigma of x [N] for the four definitions of sigma. */
static void four_ways(norms_paper *p, const double *x, size_t N, double eps)
{
    static const char *const label[] = { "N, inside", "N - 1, inside", "N, outside", "N - 1, outside" };
    gr_tape *t = p->t;
    const norms_row r = norms_hand(&(norms_given){ .N = N, .x = x });
    gr_tape_reset(t);
    gr_tensor *in = norms_put(t, x, GR_SHAPE(N)), *d = gr_sub(t, in, gr_mean(t, in, GR_ALL_AXES, false));
    p->columns = N;
    norms_paper_line(p, "x", x, N, 0, NULL);
    for (int k = 0; k < 4; k++) {
        const double var = r.squares / (double)(N - (k & 1)), sigma = k & 2 ? sqrt(var) + eps : sqrt(var + eps);
        double y[NORMS_HAND];
        gr_tensor *v = gr_var(t, in, GR_ALL_AXES, k & 1, false);
        const gr_tensor *library = gr_div(t, d, k & 2 ? gr_add_scalar(t, gr_sqrt(t, v), eps) : gr_sqrt(t, gr_add_scalar(t, v, eps)));
        for (size_t i = 0; i < N; i++) y[i] = r.d[i] / sigma;
        norms_paper_line(p, label[k], y, N, 0, k ? norms_values(library) : norms_values(gr_layer_norm(t, in, 1, NULL, NULL, eps)));
    }
}

static void part_conventions(norms_paper *p)
{
    SAY("Implementations of LayerNorm disagree: they divide the variance by N or by N - 1, and they add epsilon\n"
        "inside the root or to the root. PyTorch and gradus use the first line, the Annotated Transformer uses the\n"
        "last. Eps is 1e-5.\n\n");
    four_ways(p, (const double[]){ 1, 0, 0, 0 }, 4, 1e-5);
    SAY("\nWhere the variance is as small as epsilon, the place of epsilon matters as well.\n\n");
    four_ways(p, (const double[]){ 0.01, 0, 0, 0 }, 4, 1e-5);
}

/* ---- All parts, or your own vector ---- */

static const struct {
    const char *name, *about;
    void (*show)(norms_paper *p);
} parts[] = {
    { "forward", "the formula, step by step", part_forward },
    { "backward", "the three terms of the gradient, dgamma, dbeta", part_backward },
    { "epsilon", "a row of equal values, a tiny variance", part_epsilon },
    { "affine", "gamma and beta", part_affine },
    { "identity", "gamma and beta that return x", part_identity },
    { "small", "one value, two values", part_small },
    { "shapes", "2-D, 3-D, 4-D: which elements share a mean", part_shapes },
    { "batch", "a sample does not depend on its batch", part_batch },
    { "batch-norm", "rows against columns, and what padding does", part_batch_norm },
    { "relatives", "RMSNorm, GroupNorm, InstanceNorm", part_relatives },
    { "conventions", "N or N - 1, epsilon inside or outside", part_conventions },
};
enum { PARTS = sizeof parts / sizeof *parts };

/* Read "1,2,3" into v [NORMS_HAND]. Returns how many numbers there are. */
static size_t numbers(gr_tape *t, const char *name, const char *text, double *v)
{
    size_t n = 0;
    for (const char *s = text; s; n++) {
        char *end;
        const double d = n < NORMS_HAND ? strtod(s, &end) : 0;
        if (n == NORMS_HAND) return gr_fail_as(t, GR_MISUSE, "", "--%s takes up to %d numbers", name, NORMS_HAND), 0;
        if (end == s || (*end && *end != ',') || !(fabs(d) <= 1e6))
            return gr_fail_as(t, GR_MISUSE, "", "--%s needs numbers from -1e6 to 1e6 with commas between them; got \"%s\"", name, text), 0;
        v[n] = d, s = *end ? end + 1 : NULL;
    }
    return n;
}

/* The reader's own vector. */
typedef struct {
    double x[NORMS_HAND], gamma[NORMS_HAND], beta[NORMS_HAND], dy[NORMS_HAND];
    norms_given a;
} own;

static void own_read(gr_tape *t, own *w)
{
    const struct {
        const char *name, *text;
        double *v;
    } more[] = { { "gamma", o.gamma, w->gamma }, { "beta", o.beta, w->beta }, { "dy", o.dy, w->dy } };
    w->a = (norms_given){ numbers(t, "x", o.x, w->x), w->x, o.gamma ? w->gamma : NULL, o.beta ? w->beta : NULL, w->dy, o.eps };
    memset(w->dy, 0, sizeof w->dy), w->dy[0] = 1;
    for (int k = 0; k < 3; k++) {
        const size_t n = more[k].text ? numbers(t, more[k].name, more[k].text, more[k].v) : w->a.N;
        if (n != w->a.N) gr_fail_as(t, GR_MISUSE, "", "--%s has %zu numbers, but --x has %zu", more[k].name, n, w->a.N);
    }
}

static void own_show(norms_paper *p, const own *w)
{
    SAY("\n");
    norms_hand_forward(p, &w->a);
    SAY("\n");
    norms_hand_backward(p, &w->a, common.seed);
}

static void show(norms_paper *p, const kit_log *log)
{
    for (int k = 0; k < PARTS; k++) {
        if (o.example && strcmp(o.example, parts[k].name)) continue;
        const norms_paper before = *p;
        SAY("\n\n%s - %s\n\n", parts[k].name, parts[k].about);
        parts[k].show(p);
        kit_log_write(p->t, log, "part", { "part", .text = parts[k].name }, { "lines", (double)(p->lines - before.lines) },
                      { "wrong", (double)(p->wrong - before.wrong) });
    }
}

static void check_flags(gr_tape *t)
{
    bool found = !o.example;
    for (int k = 0; k < PARTS; k++) found |= !found && !strcmp(o.example, parts[k].name);
    if (!found) gr_fail_as(t, GR_MISUSE, "", "--example %s: there is no such part; --list prints the names", o.example);
    if (o.example && o.x) gr_fail_as(t, GR_MISUSE, "", "--example and --x exclude each other");
    if (!o.x && (o.gamma || o.beta || o.dy || o.eps < EPS || o.eps > EPS))
        gr_fail_as(t, GR_MISUSE, "", "--gamma, --beta, --dy and --eps need --x");
}

int main(int argc, char **argv)
{
    kit_run r;
    const int code = kit_run_start(&r, &flags, &common, argc, argv);
    if (code != KIT_GO_ON) return code;
    for (int k = 0; k < PARTS && o.list; k++) printf("%-12s %s\n", parts[k].name, parts[k].about);
    norms_paper p = { .t = r.tape, .out = common.quiet ? NULL : stdout };
    own mine;
    check_flags(r.tape);
    if (o.x) own_read(r.tape, &mine);
    if (!o.list && kit_run_begin(&r, o.x ? "your own vector" : "the vectors of this program")) {
        if (o.x) own_show(&p, &mine);
        else show(&p, &r.log);
        if (!gr_failed(r.tape)) printf("%s%zu lines checked against the library, %zu differ\n", common.quiet ? "" : "\n", p.lines, p.wrong);
        r.missed = p.wrong > 0;
    }
    return kit_run_end(&r);
}
