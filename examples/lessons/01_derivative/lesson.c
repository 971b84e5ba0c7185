/* lesson.c - the slope of a loss, found by nudging a weight.
 *
 * Shows: slopes from the right, from the left, and their mean; how far a slope can be trusted; a weight that follows it; which step h gives
 *        the smallest error; two weights.
 * Run:   make lesson N=1         expected.txt is its output; make quiz N=1 prints the answers to the quiz                                 */
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Numbers in columns; -0 and what only rounding leaves become 0. */
static void row(const char *label, const double *v, size_t n)
{
    printf("  %-34s", label);
    for (size_t i = 0; i < n; i++) printf("%11.5f", fabs(v[i]) < 5e-6 ? 0 : v[i]);
    printf("\n");
}
static void number(const char *label, double v) { row(label, &v, 1); }

typedef double function(double x);

static double from_the_right(function *f, double x, double h) { return (f(x + h) - f(x)) / h; }
static double from_the_left(function *f, double x, double h) { return (f(x) - f(x - h)) / h; }
static double mean_of_both(function *f, double x, double h) { return (from_the_right(f, x, h) + from_the_left(f, x, h)) / 2; }

/* The model says w x; for x = 3 it should say y = 5. */
static double loss(double w) { return (w * 3 - 5) * (w * 3 - 5); }
static double slope(double w) { return 2 * (w * 3 - 5) * 3; }

static void by_hand(void)
{
    printf("1. By hand: the loss (w x - y)^2 with x = 3, y = 5, at w = 2\n\n");
    number("w x - y", 2 * 3 - 5), number("loss at w = 2", loss(2)), number("w x at w = 2.1", 2.1 * 3),
        number("w x - y at w = 2.1", 2.1 * 3 - 5);
    number("loss at w = 2.1", loss(2.1)), number("loss at w = 1.9", loss(1.9));
    number("slope from the right, h = 0.1", from_the_right(loss, 2, 0.1)),
        number("slope from the left,  h = 0.1", from_the_left(loss, 2, 0.1));
    number("their mean", mean_of_both(loss, 2, 0.1)), number("slope from the right, h = 0.01", from_the_right(loss, 2, 0.01));
    number("exactly: 2 (w x - y) x", slope(2));
}

static void trust(void)
{
    const double move[] = { -0.01, -0.1, -0.3, -1 };
    printf("\n2. How far can you trust the slope? Move w, and see how far the loss moves\n\n");
    printf("  %-34s%11s%11s\n", "", "expected", "found");
    for (int i = 0; i < 4; i++) {
        char label[40];
        snprintf(label, sizeof label, "w moves by %g", move[i]);
        row(label, (double[]){ slope(2) * move[i], loss(2 + move[i]) - loss(2) }, 2);
    }
}

static void follow(void)
{
    printf("\n3. Follow the slope: w becomes w - 0.05 slope, again and again\n\n");
    printf("  %-34s%11s%11s%11s\n", "", "w", "loss", "slope");
    double w = 2;
    for (int i = 0; i < 5; i++) {
        char label[40];
        snprintf(label, sizeof label, i ? "after step %d" : "start", i);
        const double s = mean_of_both(loss, w, 1e-5);
        row(label, (double[]){ w, loss(w), s }, 3);
        w -= 0.05 * s;
    }
}

/* Multiplications alone, so that every machine rounds alike. */
static double fifth(double x) { return x * x * x * x * x; }
static double four_points(function *f, double x, double h)
{
    return (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h);
}

static void steps(void)
{
    const double h[] = { 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 1e-16 };
    printf("\n4. The error of the slope of x^5 at x = 1, which is 5, for each step h\n\n");
    printf("  %-10s%16s%16s%16s\n", "h", "from the right", "mean of both", "four points");
    for (size_t i = 0; i < sizeof h / sizeof *h; i++)
        printf("  %-10.0e%16.0e%16.0e%16.0e\n", h[i], fabs(from_the_right(fifth, 1, h[i]) - 5), fabs(mean_of_both(fifth, 1, h[i]) - 5),
               fabs(four_points(fifth, 1, h[i]) - 5));
}

static double two_weights(double w, double b) { return (w * 3 + b - 5) * (w * 3 + b - 5); }

static void gradient(void)
{
    const double h = 1e-5, l = two_weights(2, 0);
    printf("\n5. Two weights: the loss (w x + b - y)^2 at w = 2, b = 0\n\n");
    number("only w is nudged", (two_weights(2 + h, 0) - l) / h), number("only b is nudged", (two_weights(2, h) - l) / h);
    number("both are nudged", (two_weights(2 + h, h) - l) / h);
}

static double parabola(double x) { return x * x; }
static double absolute(double x) { return fabs(x); }

/* The answers to the quiz: answer it first. */
static void quiz(void)
{
    printf("1. x^2 at x = 5, h = 0.1: 2 x h + h^2, divided by h, is 2 x + h. From both sides, h cancels.\n");
    number("from the right", from_the_right(parabola, 5, 0.1)), number("central", mean_of_both(parabola, 5, 0.1));
    printf("2. w = 1: the slope is negative, so the loss falls when w grows.\n");
    number("slope", slope(1));
    printf("3. w = 5/3: the slope is 0 at the lowest loss. From the right it is 9 h, and would move w away.\n");
    number("from the right, h = 0.1", from_the_right(loss, 5.0 / 3, 0.1)), number("central, h = 0.1", mean_of_both(loss, 5.0 / 3, 0.1));
    printf("4. h = 1e-17: 2 + h rounds to 2, so that the loss does not move.\n");
    number("from the right", from_the_right(loss, 2, 1e-17));
    printf("5. |x| at 0 has a kink. The central difference is the mean of two different slopes, and no error tells you so.\n");
    number("from the right", from_the_right(absolute, 0, 0.1)), number("from the left", from_the_left(absolute, 0, 0.1));
    number("central", mean_of_both(absolute, 0, 0.1));
    printf("6. A million weights: two runs of the model for each, %d runs. With backward, one run is enough.\n", 2 * 1000000);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--quiz")) return quiz(), 0;
    by_hand(), trust(), follow(), steps(), gradient();
}
