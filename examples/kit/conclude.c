/* examples/kit/conclude.c - sentences that are computed from the numbers of a comparison. */
#include "examples/kit/conclude.h"
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

void kit_conclude(void) { puts("\nWhat to see"); }

void kit_conclude_say(const char *format, ...)
{
    char words[KIT_WORDS];
    const char *text = words, *before = "- ";
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    for (int n; (n = kit_line(&text, KIT_COLUMNS - 2)) > 0; text += n, before = "  ") printf("%s%.*s\n", before, n, text);
}

void kit_conclude_seed(const kit_options *o)
{
    kit_conclude_say("All this is one run with seed %llu. The order of two arms counts only if other values of --seed give it too.",
                     (unsigned long long)o->seed);
}

size_t kit_largest(kit_list *names, const double *value, const char *const *name, size_t n, int digits)
{
    char print[32], largest[32];
    size_t at = n;
    for (size_t i = 0; i < n; i++)
        if (!isnan(value[i]) && (at == n || value[i] > value[at])) at = i;
    if (at < n) snprintf(largest, sizeof largest, "%.*g", digits, value[at]);
    for (size_t i = 0; i < n && at < n; i++) {
        snprintf(print, sizeof print, "%.*g", digits, value[i]);
        if (!strcmp(print, largest)) kit_list_add(names, "%s", name[i]);
    }
    return at;
}

static double variance(const kit_score *s)
{
    const double n = (double)s->images + 2, p = ((double)s->hits + 1) / n;
    return p * (1 - p) / n;
}

double kit_noise(const kit_score *a, const kit_score *b) { return 200 * sqrt(variance(a) + variance(b)); }

/* ---- Arms ---- */

const char *kit_arm_name(const kit_arm *arm) { return strcmp(arm->name, "none") ? arm->name : "the arm without a norm"; }

static const char *unit(const kit_arms *a) { return a->source.scored ? a->source.scored : a->source.unit ? a->source.unit : "images"; }

void kit_arms_legend(const kit_arms *a)
{
    char marks[120] = "";
    if (a->mark[0] != 0)
        snprintf(marks, sizeof marks, " to %g%s: the step of the first evaluation that reached it, - if none did.", a->mark[0],
                 a->marks_are_losses ? " (test loss)" : " %");
    putchar('\n');
    kit_wrap(stdout, 0,
             "While the arms train: %s of each; the progress line on a terminal has training losses. In the table, train loss: the mean over all "
             "steps. gap: test loss minus the training loss since the evaluation before.%s ms/step, seconds: of the arm's own training.",
             a->n > 4 ? "the test accuracy" : "test loss and accuracy", marks);
}

static bool ended(const kit_arm *arm) { return !arm->diverged && arm->tested.images; }
static double accuracy(const kit_arm *arm) { return ended(arm) ? kit_accuracy(&arm->tested) : (double)NAN; }

static double apart(const kit_arm *better, const kit_arm *worse) { return accuracy(better) - accuracy(worse); }
static bool differ(const kit_arm *better, const kit_arm *worse) { return apart(better, worse) > kit_noise(&better->tested, &worse->tested); }

/* Write the indices of the values that are not NaN into at, the largest first; equal values stay in order. Returns how many there are. */
static size_t rank(const double *value, size_t n, size_t *at)
{
    size_t known = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = known;
        if (isnan(value[i])) continue;
        for (; k > 0 && value[at[k - 1]] < value[i]; k--) at[k] = at[k - 1];
        at[k] = i, known++;
    }
    return known;
}

/* The arms that ended, and which of them cannot be told apart from the best and from the worst. */
typedef struct {
    size_t n;
    const kit_arm *best, *worst;
    bool high[KIT_ARMS], low[KIT_ARMS];
} order;

static order order_of(const kit_arms *a)
{
    double value[KIT_ARMS];
    size_t at[KIT_ARMS];
    order o = { 0 };
    for (size_t i = 0; i < a->n; i++) value[i] = accuracy(&a->arm[i]);
    o.n = rank(value, a->n, at);
    if (!o.n) return o;
    o.best = &a->arm[at[0]], o.worst = &a->arm[at[o.n - 1]];
    for (size_t k = 0; k < o.n; k++) o.high[at[k]] = !differ(o.best, &a->arm[at[k]]), o.low[at[k]] = !differ(&a->arm[at[k]], o.worst);
    return o;
}

static void say_order(const kit_arms *a, const order *o)
{
    const double noise = kit_noise(&o->best->tested, &o->worst->tested);
    kit_list high = { 0 }, low = { 0 }, both = { 0 };
    char between[1200] = "";
    if (!differ(o->best, o->worst)) {
        kit_conclude_say("%s: the arms cannot be told apart. Their test accuracies are %.2f to %.2f %%; with %zu test %s a difference of up to %.2f points "
                         "is noise.", a->title, accuracy(o->worst), accuracy(o->best), o->best->tested.images, unit(a), noise);
        return;
    }
    for (size_t i = 0; i < a->n; i++)
        if (o->high[i] || o->low[i])
            kit_list_add(o->high[i] && o->low[i] ? &both : o->high[i] ? &high : &low, "%s (%.2f %%)", kit_arm_name(&a->arm[i]), accuracy(&a->arm[i]));
    if (both.n) snprintf(between, sizeof between, " %s cannot be told apart from the highest or from the lowest.", both.text);
    kit_conclude_say("%s: %s %s; %s %s.%s The highest and the lowest are %.2f points apart; with %zu test %s a difference of up to %.2f points is noise.",
                     a->title, high.text, high.n == 1 ? "has the highest test accuracy" : "have the highest test accuracies and cannot be told apart", low.text,
                     low.n == 1 ? "has the lowest" : "have the lowest and cannot be told apart", between, apart(o->best, o->worst),
                     o->best->tested.images, unit(a), noise);
}

/* Say who is first at mark k, which an arm reached after `first` steps, and who is later or does not reach it. */
static void say_mark(const kit_arms *a, size_t k, size_t first)
{
    kit_list early = { 0 }, late = { 0 }, never = { 0 };
    char mark[64], then[2200] = "";
    bool lead = false; /* somebody was one evaluation ahead */
    for (size_t i = 0; i < a->n; i++) {
        const size_t step = a->arm[i].mark[k].step;
        const char *const name = kit_arm_name(&a->arm[i]);
        if (!step) kit_list_add(&never, "%s", name);
        else kit_list_add(step > first + a->every ? &late : &early, "%s (step %zu)", name, step);
        lead = lead || (step > first && step <= first + a->every);
    }
    snprintf(mark, sizeof mark, "a test %s of %g%s", a->marks_are_losses ? "loss" : "accuracy", a->mark[k], a->marks_are_losses ? "" : " %");
    if (late.n) snprintf(then, sizeof then, "; %s %s later", late.text, late.n == 1 ? "is" : "are");
    if (never.n) snprintf(then + strlen(then), sizeof then - strlen(then), "; %s %s not reach it", never.text, never.n == 1 ? "does" : "do");
    const char *const so = lead ? " A lead of one evaluation does not count." : "";
    if (!*then) kit_conclude_say("%s: no arm is the first to reach %s: %s.%s", a->title, mark, early.text, so);
    else kit_conclude_say("%s: the first to reach %s %s %s%s.%s", a->title, mark, early.n == 1 ? "is" : "are", early.text, then, so);
}

static void say_marks(const kit_arms *a)
{
    for (size_t k = KIT_MARKS; k-- > 0;) {
        size_t first = SIZE_MAX, reached = 0;
        for (size_t i = 0; i < a->n; i++) {
            const size_t step = a->arm[i].mark[k].step;
            if (step) reached++, first = step < first ? step : first;
        }
        if (reached < 2) continue;
        say_mark(a, k, first);
        return;
    }
}

/* The lowest test loss of an arm that ended. */
static double lowest_loss(const kit_arms *a)
{
    double lowest = HUGE_VAL;
    for (size_t i = 0; i < a->n; i++)
        if (ended(&a->arm[i])) lowest = fmin(lowest, kit_loss(&a->arm[i].tested));
    return lowest;
}

bool kit_conclude_arms(const kit_arms *a, double guess)
{
    const order o = order_of(a);
    for (size_t i = 0; i < a->n; i++)
        if (a->arm[i].diverged) kit_conclude_say("%s: %s diverged at step %zu.", a->title, kit_arm_name(&a->arm[i]), a->arm[i].diverged);
    if (o.n < 2) {
        kit_conclude_say("%s: fewer than two arms came to the end, so there is nothing to compare.", a->title);
        return false;
    }
    if (!(lowest_loss(a) < 0.9 * guess)) {
        kit_conclude_say("%s: nothing can be seen yet. After %zu step%s the lowest test loss is %.2f, and equal probabilities have %.2f. Take more steps.",
                         a->title, o.best->steps, o.best->steps == 1 ? "" : "s", lowest_loss(a), guess);
        return false;
    }
    say_order(a, &o), say_marks(a);
    return true;
}

void kit_conclude_pair(const kit_arms *a, size_t i, size_t j)
{
    const order o = order_of(a);
    const kit_arm *x = &a->arm[i], *y = &a->arm[j];
    if (!ended(x) || !ended(y) || !differ(o.best, o.worst) || (o.high[i] && o.high[j]) || (o.low[i] && o.low[j])) return;
    if (accuracy(x) < accuracy(y)) x = &a->arm[j], y = &a->arm[i];
    if (x == o.best && y == o.worst) return;
    const double noise = kit_noise(&x->tested, &y->tested);
    if (differ(x, y))
        kit_conclude_say("%s: %s has a higher test accuracy than %s: %.2f %% against %.2f %%, %.2f points more (noise %.2f).", a->title,
                         kit_arm_name(x), kit_arm_name(y), accuracy(x), accuracy(y), apart(x, y), noise);
    else kit_conclude_say("%s: %s and %s cannot be told apart: %.2f %% against %.2f %% (noise %.2f points).", a->title, kit_arm_name(x), kit_arm_name(y),
                          accuracy(x), accuracy(y), noise);
}

void kit_conclude_training(const kit_arms *a)
{
    double negative[KIT_ARMS];
    size_t at[KIT_ARMS];
    kit_list all = { 0 };
    for (size_t i = 0; i < a->n; i++) negative[i] = ended(&a->arm[i]) ? -kit_loss(&a->arm[i].whole) : (double)NAN;
    const size_t n = rank(negative, a->n, at);
    for (size_t k = 0; k < n; k++) kit_list_add(&all, "%.4f (%s)", -negative[at[k]], kit_arm_name(&a->arm[at[k]]));
    if (n) kit_conclude_say("%s: the training losses, as the mean over all steps, are %s.", a->title, all.text);
}

void kit_conclude_gap(const kit_arms *a, double least)
{
    kit_list wide = { 0 };
    for (size_t i = 0; i < a->n; i++) {
        const kit_arm *const arm = &a->arm[i];
        const double test = kit_loss(&arm->tested), train = kit_loss(&arm->recent);
        if (ended(arm) && fabs(test - train) >= least) kit_list_add(&wide, "%s (%.2f and %.2f, gap %+.2f)", kit_arm_name(arm), test, train, test - train);
    }
    if (wide.n) kit_conclude_say("%s: test loss and last training loss differ by %g or more with %s.", a->title, least, wide.text);
}

void kit_conclude_change(const kit_arms *from, const kit_arms *to)
{
    double loss[KIT_ARMS], noise = 0;
    size_t at[KIT_ARMS];
    kit_list all = { 0 };
    char why[160] = "";
    for (size_t i = 0; i < from->n; i++) {
        loss[i] = apart(&from->arm[i], &to->arm[i]);
        if (!isnan(loss[i])) noise = fmax(noise, kit_noise(&from->arm[i].tested, &to->arm[i].tested));
    }
    const size_t n = rank(loss, from->n, at);
    for (size_t k = 0; k < n; k++) kit_list_add(&all, "%+.2f (%s)", 0 - loss[at[k]], kit_arm_name(&from->arm[at[k]]));
    if (!n) return;
    const size_t before = from->arm[at[0]].whole.images, after = to->arm[at[0]].whole.images;
    if (before != after)
        snprintf(why, sizeof why, " The runs trained on %zu and %zu %s, so compare the arms with each other, not the runs.", before, after, unit(from));
    kit_conclude_say("From %s to %s the test accuracy changes by these points: %s. A change of up to %.2f is noise.%s", from->title, to->title,
                     all.text, noise, why);
}
