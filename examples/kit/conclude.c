/* examples/kit/conclude.c - sentences that are computed from the numbers of a comparison. */
#include "examples/kit/conclude.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Print the words of text; the first line, whose beginning the caller has printed, is at `column`. */
static void wrap(FILE *out, const char *text, int indent, int column)
{
    for (const char *word = text + strspn(text, " "); *word; word += strspn(word, " ")) {
        int length = (int)strcspn(word, " ");
        if (!strncmp(word + length, " %", 2)) length += 1 + (int)strcspn(word + length + 1, " "); /* 95 % stays on one line */
        if (column > indent && column + 1 + length > KIT_COLUMNS) fprintf(out, "\n%*s", indent, ""), column = indent;
        fprintf(out, "%s%.*s", column > indent ? " " : "", length, word);
        column += (column > indent) + length, word += length;
    }
    fputc('\n', out);
}

void kit_wrap(FILE *out, const char *text, int indent)
{
    fprintf(out, "%*s", indent, "");
    wrap(out, text, indent, indent);
}

void kit_conclude(void) { puts("\nWhat to see"); }

void kit_conclude_say(const char *format, ...)
{
    char text[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fputs("- ", stdout);
    wrap(stdout, text, 2, 2);
}

void kit_conclude_seed(const kit_options *o)
{
    kit_conclude_say("All this is one run with seed %llu. The order of two arms counts only if other values of --seed give it too.",
                     (unsigned long long)o->seed);
}

size_t kit_smallest(const double *value, size_t n)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (!isnan(value[i]) && (best == n || value[i] < value[best])) best = i;
    return best;
}

static double variance(const kit_score *s)
{
    const double n = (double)s->images + 2, p = ((double)s->hits + 1) / n;
    return p * (1 - p) / n;
}

double kit_noise(const kit_score *a, const kit_score *b) { return 200 * sqrt(variance(a) + variance(b)); }

/* ---- Arms ---- */

static const char *unit(const kit_arms *a) { return a->source.scored ? a->source.scored : a->source.unit ? a->source.unit : "images"; }

void kit_arms_legend(const kit_arms *a)
{
    char text[640], marks[120] = "";
    if (a->mark[0] != 0)
        snprintf(marks, sizeof marks, " to %g%s: the step of the first evaluation that reached it, - if none did.", a->mark[0],
                 a->marks_are_losses ? " (test loss)" : " %");
    snprintf(text, sizeof text,
             "While the arms train: %s of each; the progress line on a terminal has training losses. In the table, train loss: the mean over all "
             "steps. gap: test loss minus the training loss since the evaluation before.%s ms/step, seconds: of the arm's own training.",
             a->n > 4 ? "the test accuracy" : "test loss and accuracy", marks);
    putchar('\n');
    kit_wrap(stdout, text, 0);
}

/* The arm that is called "none" in a table. */
static const char *name(const kit_arm *arm) { return strcmp(arm->name, "none") ? arm->name : "no norm"; }

static bool ended(const kit_arm *arm) { return !arm->diverged && arm->tested.images; }

/* The indices of the arms with the best and the worst accuracy. Returns how many arms ended. */
static size_t order(const kit_arms *a, size_t *best, size_t *worst)
{
    double good[KIT_ARMS], bad[KIT_ARMS];
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) {
        const bool there = ended(&a->arm[i]);
        good[i] = there ? -kit_accuracy(&a->arm[i].tested) : (double)NAN, bad[i] = -good[i], n += there;
    }
    *best = kit_smallest(good, a->n), *worst = kit_smallest(bad, a->n);
    return n;
}

static void say_first(const kit_arms *a)
{
    for (size_t k = KIT_MARKS; k-- > 0;) {
        char who[256] = "";
        size_t first = 0, how_many = 0, reached = 0;
        for (size_t i = 0; i < a->n; i++) {
            const size_t step = a->arm[i].mark[k].step;
            if (step) reached++, first = !first || step < first ? step : first;
        }
        if (!reached) continue;
        for (size_t i = 0; i < a->n; i++)
            if (a->arm[i].mark[k].step == first)
                snprintf(who + strlen(who), sizeof who - strlen(who), "%s%s", how_many++ ? ", " : "", name(&a->arm[i]));
        if (how_many == a->n) kit_conclude_say("%s: all arms reached %g%s at the same evaluation, after step %zu.", a->title, a->mark[k],
                                               a->marks_are_losses ? "" : " %", first);
        else kit_conclude_say("%s: the first to reach %s %g%s is %s, at the evaluation after step %zu of %zu; %zu of %zu arms reached it.", a->title,
                              a->marks_are_losses ? "a test loss of" : "", a->mark[k], a->marks_are_losses ? "" : " %", who, first, a->steps,
                              reached, a->n);
        return;
    }
}

static double apart(const kit_arm *better, const kit_arm *worse) { return kit_accuracy(&better->tested) - kit_accuracy(&worse->tested); }
static bool differ(const kit_arm *better, const kit_arm *worse) { return apart(better, worse) > kit_noise(&better->tested, &worse->tested); }

/* Whether an arm has learned more than equal probabilities. */
static bool learned(const kit_arms *a, double guess)
{
    for (size_t i = 0; i < a->n; i++)
        if (ended(&a->arm[i]) && kit_loss(&a->arm[i].tested) < 0.9 * guess) return true;
    return false;
}

bool kit_conclude_arms(const kit_arms *a, double guess)
{
    size_t best, worst;
    for (size_t i = 0; i < a->n; i++)
        if (a->arm[i].diverged) kit_conclude_say("%s: %s diverged at step %zu.", a->title, name(&a->arm[i]), a->arm[i].diverged);
    if (order(a, &best, &worst) < 2) {
        kit_conclude_say("%s: fewer than two arms came to the end, so there is nothing to compare.", a->title);
        return false;
    }
    const kit_arm *const b = &a->arm[best], *const w = &a->arm[worst];
    if (!learned(a, guess)) {
        kit_conclude_say("%s: nothing can be seen. After %zu step%s the test loss of the best arm is %.2f; equal probabilities have "
                         "%.2f. Take more steps.", a->title, b->steps, b->steps == 1 ? "" : "s", kit_loss(&b->tested), guess);
        return false;
    }
    const double noise = kit_noise(&b->tested, &w->tested);
    if (differ(b, w))
        kit_conclude_say("%s: %s has the highest test accuracy, %.2f %%, and %s the lowest, %.2f %%. They are %.2f points apart; with %zu test "
                         "%s chance explains up to %.2f.", a->title, name(b), kit_accuracy(&b->tested), name(w), kit_accuracy(&w->tested), apart(b, w),
                         b->tested.images, unit(a), noise);
    else kit_conclude_say("%s: the arms cannot be told apart. Their test accuracies are %.2f to %.2f %%, and with %zu test %s chance explains "
                          "up to %.2f points.", a->title, kit_accuracy(&w->tested), kit_accuracy(&b->tested), b->tested.images, unit(a), noise);
    say_first(a);
    return true;
}

void kit_conclude_pair(const kit_arms *a, size_t i, size_t j)
{
    const kit_arm *x = &a->arm[i], *y = &a->arm[j];
    size_t best, worst;
    order(a, &best, &worst);
    if (!ended(x) || !ended(y) || (i == best && j == worst) || (j == best && i == worst) || !differ(&a->arm[best], &a->arm[worst])) return;
    if (kit_accuracy(&x->tested) < kit_accuracy(&y->tested)) x = &a->arm[j], y = &a->arm[i];
    const double p = kit_accuracy(&x->tested), q = kit_accuracy(&y->tested), noise = kit_noise(&x->tested, &y->tested);
    if (differ(x, y))
        kit_conclude_say("%s: %s's test accuracy is higher than %s's by %.2f points (%.2f %% against %.2f %%; noise %.2f).", a->title, name(x),
                         name(y), p - q, p, q, noise);
    else kit_conclude_say("%s: %s and %s cannot be told apart (%.2f %% against %.2f %%; noise %.2f points).", a->title, name(x), name(y), p, q,
                          noise);
}

static double gap(const kit_arm *arm) { return kit_loss(&arm->tested) - kit_loss(&arm->recent); }

void kit_conclude_gap(const kit_arms *a, double least)
{
    double negative[KIT_ARMS];
    for (size_t i = 0; i < a->n; i++) negative[i] = ended(&a->arm[i]) ? -gap(&a->arm[i]) : (double)NAN;
    const size_t most = kit_smallest(negative, a->n);
    if (most == a->n || gap(&a->arm[most]) < least) return;
    kit_conclude_say("%s: %s has the largest gap, %+.2f: its test loss is %.2f, and its training loss at the end %.2f.", a->title,
                     name(&a->arm[most]), gap(&a->arm[most]), kit_loss(&a->arm[most].tested), kit_loss(&a->arm[most].recent));
}
