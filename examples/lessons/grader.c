/* grader.c - see grader.h. */
#include "grader.h"
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static const char *step;
static bool failed, rows_above, ended, knows_gradients; /* knows_gradients: from lesson 4 on, the learner calls gr_grad */

/* ---- Steps ---- */

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0) _exit(3);
}

/* Only calls that a signal handler may make. */
static void crashed(int signal)
{
    say("no\n\n");
    say(signal == SIGPROF ? "endless: Your code does not come to an end in this step. Does every loop count?\n"
                          : "crash: Your code crashed in this step. Look for an index beyond the end, or a pointer that points nowhere.\n");
    if (signal != SIGPROF && knows_gradients) say("gr_grad returns NULL for an input whose gradient nobody wants.\n");
    _exit(1);
}

static void left(void)
{
    if (!ended) say("no\n\nleft: Your code ended the program in this step. Remove its call of exit.\n"), _exit(1);
}

/* Processor time, so that a busy machine fails nobody. */
static void start_clock(void)
{
    const char *text = getenv("GRADER_SECONDS");
    const double seconds = text ? atof(text) : 20;
    const struct timeval limit = { (time_t)seconds, (suseconds_t)(1e6 * (seconds - floor(seconds))) };
    setitimer(ITIMER_PROF, &(struct itimerval){ .it_value = limit }, NULL);
}

void grader_start(const char *heading)
{
    static char stack[1 << 16]; /* for the handler, because endless recursion leaves no room on the stack itself */
    const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF };
    sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &(struct sigaction){ .sa_handler = crashed, .sa_flags = SA_ONSTACK }, NULL);
    setvbuf(stdout, NULL, _IONBF, 0);
    knows_gradients = atoi(heading + strcspn(heading, "0123456789")) >= 4;
    atexit(left);
    printf("%s\n\n", heading);
}

void grader_step(const char *what)
{
    if (step) printf("ok\n");
    step = what;
    printf("  %-52s ", what);
    start_clock();
}

int grader_end(const char *last)
{
    ended = true;
    return printf("ok\n\n%s\n", last) < 0;
}

void grader_failed(void)
{
    if (!failed) printf("no\n\n");
    failed = true;
}

static void print_row(const char *label, const double *v, size_t n, int digits)
{
    rows_above = true;
    printf("      %-8s", label);
    for (size_t i = 0; i < n; i++) printf(" %*.*f", digits + 5, digits, fabs(v[i]) < 0.5 * pow(10, -digits) ? 0 : v[i]);
    printf("\n");
}

void grader_row(const char *label, const double *v, size_t n) { print_row(label, v, n, 5); }

void grader_stop(const char *id, const char *format, ...)
{
    va_list a;
    grader_failed();
    va_start(a, format);
    printf("%s%s: ", rows_above ? "\n" : "", id);
    vprintf(format, a);
    printf("\n");
    va_end(a);
    ended = true;
    exit(1);
}

/* ---- Known mistakes ---- */

bool grader_same(const double *a, const double *b, size_t n)
{
    double most = 0, apart = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(a[i]) || !isfinite(b[i])) return false;
        most = fmax(most, fmax(fabs(a[i]), fabs(b[i]))), apart = fmax(apart, fabs(a[i] - b[i]));
    }
    return apart <= 1e-9 * most;
}

static int size(unsigned set)
{
    int n = 0;
    for (; set; set &= set - 1) n++;
    return n;
}

typedef bool confirmation(unsigned set);

/* The first set whose answer is got, of those that hold `chosen` and `more` mistakes out of `among`. */
static unsigned explain(grader_formula *f, const void *data, unsigned among, unsigned chosen, int more, const double *got, size_t n,
                        confirmation *confirm)
{
    double answer[GRADER_MOST];
    if (more == 0) {
        f(chosen, data, answer);
        return grader_same(answer, got, n) && (size(chosen) < 2 || !confirm || confirm(chosen)) ? chosen : 0;
    }
    for (unsigned bit = 1; bit && bit <= among; bit <<= 1) {
        if (!(among & bit)) continue;
        among &= ~bit; /* each set once */
        const unsigned found = explain(f, data, among, chosen | bit, more - 1, got, n, confirm);
        if (found) return found;
    }
    return 0;
}

static unsigned explain_and_confirm(grader_formula *f, const void *data, unsigned among, const double *got, size_t n, confirmation *confirm)
{
    for (int count = 1; count <= 3 && count <= size(among); count++) {
        const unsigned found = explain(f, data, among, 0, count, got, n, confirm);
        if (found) return found;
    }
    return 0;
}

unsigned grader_explain(grader_formula *f, const void *data, unsigned among, const double *got, size_t n)
{
    return explain_and_confirm(f, data, among, got, n, NULL);
}

void grader_stop_mistakes(const grader_mistake *known, unsigned mistakes)
{
    grader_failed();
    if (size(mistakes) > 1) printf("\n%d mistakes together give exactly your numbers.\n", size(mistakes));
    for (int k = 0; mistakes; k++, mistakes >>= 1)
        if (mistakes & 1) printf("\n%s: %s\n", known[k].id, known[k].says);
    ended = true;
    exit(1);
}

int grader_ambiguous(const grader_mistake *known, grader_formula *f, const void *data, unsigned among, size_t n)
{
    double a[GRADER_MOST], b[GRADER_MOST], right[GRADER_MOST];
    int count = 0;
    f(0, data, right);
    for (int i = 0; i < 32; i++) {
        if (!(among >> i & 1)) continue;
        f(1u << i, data, a);
        if (grader_same(a, right, n)) printf("%s cannot be told from the right answer\n", known[i].id), count++;
        for (int j = 0; j < i; j++) {
            if (!(among >> j & 1)) continue;
            f(1u << j, data, b);
            if (grader_same(a, b, n)) printf("%s cannot be told from %s\n", known[i].id, known[j].id), count++;
        }
    }
    return count;
}

/* ---- A result of the exercise ---- */

/* The learner's part and the right part of a result: without what was in the gradient before. Returns whether the result is right. */
static bool parts(const grader_result *r, double *mine, double *right)
{
    const size_t n = r->rows * r->N;
    r->formula(0, r->data, right);
    const bool same = grader_same(r->got, right, n);
    for (size_t i = 0; i < n; i++) {
        const double before = r->before ? r->before[i] : 0;
        mine[i] = r->got[i] - before, right[i] -= before;
    }
    return same;
}

/* How many digits after the point show that two rows differ: 5 or more. */
static int digits_for(const double *a, const double *b, size_t n)
{
    double apart = 0;
    int digits = 5;
    for (size_t i = 0; i < n; i++) apart = fmax(apart, fabs(a[i] - b[i]));
    while (digits < 12 && apart < pow(10, -digits)) digits++;
    return digits;
}

static void show(const grader_result *r, const double *mine, const double *right)
{
    size_t row = 0;
    while (row + 1 < r->rows && grader_same(mine + row * r->N, right + row * r->N, r->N)) row++;
    printf("      %s", r->name);
    if (r->rows > 1) printf(", row %zu", row);
    printf("%s, for %s\n", r->before ? ", minus what it held before" : "", r->of);
    mine += row * r->N, right += row * r->N;
    const int digits = digits_for(mine, right, r->N);
    print_row("yours", mine, r->N, digits), print_row("right", right, r->N, digits);
}

static void show_inputs(const grader_input *in)
{
    printf("      the inputs\n");
    for (; in->name; in++)
        for (size_t row = 0; row < in->rows; row++) grader_row(row ? "" : in->name, in->v + row * in->n, in->n);
}

/* Show what is wrong: the worked example if it is. Returns whether it was the example. */
static bool show_wrong(const grader_result *r, const grader_result *worked, const double *mine, const double *right)
{
    double mine_worked[GRADER_MOST], right_worked[GRADER_MOST];
    const bool small = worked && !parts(worked, mine_worked, right_worked);
    grader_failed();
    if (small) show(worked, mine_worked, right_worked);
    else show(r, mine, right);
    return small;
}

/* What does a result look like that no known mistake explains? Each of these stops if it can tell. */

static void look_at_factor(const grader_result *r, bool small, const double *got, const double *right)
{
    const size_t n = r->rows * r->N;
    double scaled[GRADER_MOST];
    size_t largest = 0;
    for (size_t i = 0; i < n; i++)
        if (fabs(right[i]) > fabs(right[largest])) largest = i;
    const double factor = got[largest] / right[largest];
    for (size_t i = 0; i < n; i++) scaled[i] = factor * right[i];
    if (!grader_same(got, scaled, n)) return;
    if (fabs(factor + 1) < 1e-9) grader_stop("sign", "The sign is wrong everywhere in %s.", r->name);
    if (small) grader_stop("factor", "In the larger test each value of %s is %.6g times what it should be.", r->name, factor);
    grader_stop("factor", "Each value of %s is %.6g times what it should be.", r->name, factor);
}

static void look_at_size(const grader_result *r, const double *got, const double *right)
{
    bool zero = true;
    double most = 0, apart = 0;
    for (size_t i = 0; i < r->rows * r->N; i++) {
        if (!isfinite(got[i]))
            grader_stop("not_finite", "A value of %s is %g. Look for a division by 0 or the root of a negative number.", r->name, got[i]);
        zero &= got[i] == 0;
        most = fmax(most, fabs(right[i])), apart = fmax(apart, fabs(got[i] - right[i]));
    }
    if (zero) grader_stop("all_zero", "Each value of %s is 0. Is the loop there, and does it run?", r->name);
    if (apart < 1e-5 * most)
        grader_stop("nearly_right", "The largest error of %s is %.1g times its largest value. Do you use float, fabsf, sqrtf or powf?%s",
                    r->name, apart / most,
                    knows_gradients ? " gr_real is double\nhere. Otherwise a very small number, such as eps, is in the wrong place." : "");
}

/* Whether the first of n values is right and all others are wrong. */
static bool first_alone(const double *got, const double *right, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(right[i]));
    bool alone = n > 1;
    for (size_t i = 0; i < n; i++) alone &= (fabs(got[i] - right[i]) <= 1e-9 * most) == (i == 0);
    return alone;
}

static void look_at_rows(const grader_result *r, const double *got, const double *right)
{
    bool one = false, constant = true, column = !r->rows_are_steps && !r->unlike;
    bool varies = false; /* the right values do, along a row */
    size_t row = 0, wrong = 0;
    for (size_t k = 0; k < r->rows; k++, got += r->N, right += r->N) {
        if (grader_same(got, right, r->N)) one = true, row = k;
        else wrong++;
        column &= first_alone(got, right, r->N);
        for (size_t i = 1; i < r->N; i++) {
            constant &= fabs(got[i] - right[i] - got[0] + right[0]) < 1e-9;
            varies |= fabs(right[i] - right[0]) > 1e-9;
        }
    }
    one &= wrong + 1 == r->rows && r->rows > 1;
    if (one && r->rows_are_steps && row == 0)
        grader_stop("first_step_right",
                    "The first step is right, and all later ones are wrong. Look at what is kept from step to step: do you use the old\n"
                    "value, and do you write the new one back? Does a factor that changes from step to step, such as a power of k, have the\n"
                    "right value in step 2?");
    if (one && r->alone && r->alone[row]) grader_stop("one_row", "%s", r->alone[row]);
    if (one && !r->rows_are_steps && !r->alone)
        grader_stop("one_row",
                    "Row %zu of %s is right, and all others are wrong. From row to row, does every sum start at 0 again, and does every\n"
                    "index move on? Is something kept for one row only?",
                    row, r->name);
    if (column)
        grader_stop("one_column",
                    "Only the first value of %s%s is right. From value to value, does every sum start at 0 again, and does every\n"
                    "index move on? Is something kept for the first one only?",
                    r->rows > 1 ? "each row of " : "", r->name);
    if (constant && varies)
        grader_stop("constant_error", "The error of %s is the same number all along each row: look at what you subtract.", r->name);
}

void grader_judge(const grader_mistake *known, const grader_result *r, const grader_result *worked)
{
    double mine[GRADER_MOST], right[GRADER_MOST];
    if (parts(r, mine, right)) return;
    const bool small = show_wrong(r, worked, mine, right);
    const unsigned found = explain_and_confirm(r->formula, r->data, r->among, r->got, r->rows * r->N, r->confirm);
    if (found) grader_stop_mistakes(known, found);
    look_at_size(r, mine, right);
    look_at_factor(r, small, mine, right);
    look_at_rows(r, mine, right);
    int count = 0;
    while (known[count].id) count++;
    if (!small && r->inputs) show_inputs(r->inputs);
    grader_stop("unknown", "no match for %s among %d known mistakes. Work through the row above by hand%s.", r->name, count,
                small || r->inputs ? "" : ": its\ninputs are in grade.c of this lesson");
}

typedef struct {
    const grader_result *whole;
    size_t row;
} one_of;

static void formula_row(unsigned m, const void *data, double *answer)
{
    const one_of *p = data;
    const grader_result *r = p->whole;
    double all[GRADER_MOST];
    r->formula(m, r->data, all);
    memcpy(answer, all + p->row * r->N, r->N * sizeof *answer);
}

static grader_result row_of(const one_of *p, const char *name)
{
    const grader_result *r = p->whole;
    const size_t at = p->row * r->N;
    return (grader_result){ name, r->of, formula_row, p, r->among, 1, r->N, r->got + at, r->before ? r->before + at : NULL, r->inputs,
                            .unlike = r->unlike };
}

void grader_judge_each(const grader_mistake *known, const grader_result *r, const grader_result *worked, const char *const *names)
{
    double mine[GRADER_MOST], right[GRADER_MOST];
    const unsigned found = grader_explain(r->formula, r->data, r->among, r->got, r->rows * r->N);
    for (size_t row = 0; row < r->rows; row++) {
        const one_of general = { r, row }, example = { worked, row };
        const grader_result one = row_of(&general, names[row]), small = worked ? row_of(&example, names[row]) : one;
        if (!found) grader_judge(known, &one, worked ? &small : NULL);
        else if (!parts(&one, mine, right)) show_wrong(&one, worked ? &small : NULL, mine, right), grader_stop_mistakes(known, found);
    }
}

/* ---- Gradients by finite differences ---- */

/* names NULL: each gradient need not be right alone */
static void check_gradients(const char *const *names, const char *name, gr_gradcheck_function *f, void *argument,
                            const gr_gradcheck_input *in, size_t n)
{
    char said[1024] = "";
    FILE *out = fmemopen(said, sizeof said, "w");
    gr_gradcheck_input with[8];
    gr_gradcheck_result found[8] = { 0 };
    for (size_t k = 0; k < n; k++) with[k] = in[k], with[k].result = &found[k];
    const bool good = gr_gradcheck(name, f, argument, with, n, &(gr_gradcheck_config){ .alone = names }, out);
    if (out) fclose(out);
    for (size_t k = 0; k < n; k++)
        if (found[k].pattern == GR_GRADCHECK_ALONE)
            grader_stop("null_gradient",
                        "Element %zu of the gradient of input %zu (%s) is %.6g when no other gradient is wanted, and %.6g when all are.\n"
                        "A NULL gradient must not stop the others.",
                        found[k].element, k + 1, names[k], found[k].backward, found[k].differences);
    if (!good) grader_stop("gradcheck", "%s", said);
}

void grader_gradcheck(const char *name, gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n)
{
    check_gradients(NULL, name, f, argument, in, n);
}

void grader_gradcheck_operator(const char *name, gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n,
                               const char *const *names)
{
    check_gradients(names, name, f, argument, in, n);
}
