/* grader.h - what the graders of all lessons share: numbered steps, help after a crash, and the search for a known mistake.
 *
 * A grader writes the exercise's formula once more, with a switch for each typical mistake. When the learner's numbers are wrong,
 * grader_explain turns the switches, first one, then two, then three at a time, until the formula gives the learner's numbers. */
#ifndef GRADER_H
#define GRADER_H
#include "gradus.h"
#include <stdbool.h>
#include <stddef.h>

/* ---- Steps ---- */

/* Print the heading. A step whose code crashes, ends the program, or needs more than $GRADER_SECONDS of processor time (default 20) fails. */
void grader_start(const char *heading);
void grader_step(const char *what); /* the step that begins; the one before has passed */
int grader_end(const char *last);   /* all steps have passed: print `last` and return 0 for main */

/* The step has failed. Call grader_failed before you print numbers of your own, and grader_row for each row of them. grader_stop prints
 * "id: message" and exits with 1; it calls grader_failed if nobody has. */
void grader_failed(void);
void grader_row(const char *label, const double *v, size_t n);
_Noreturn void grader_stop(const char *id, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- Known mistakes ---- */

typedef struct { const char *id, *says; } grader_mistake; /* mistake number k is bit k of a set; there are at most 31 */

/* #define MISTAKES(M) M(id, "what it says") M(..) lists the mistakes of a lesson. GRADER_MISTAKES(MISTAKES) makes the enumerators id = 1 << k
 * and list_count, and the array `list`, which ends with { NULL, NULL }. GRADER_MISTAKES_OF(name, MISTAKES) is for a lesson with two lists: it makes
 * name_count and the array `name`. */
#define GRADER_MISTAKES(LIST) GRADER_MISTAKES_OF(list, LIST)
#define GRADER_MISTAKES_OF(name, LIST) \
    enum { LIST(GRADER_NUMBER_) name##_count }; \
    enum { LIST(GRADER_BIT_) }; \
    static const grader_mistake name[] = { LIST(GRADER_ENTRY_) { NULL, NULL } }; \
    _Static_assert(name##_count <= 31, "an enumerator is an int")
#define GRADER_NUMBER_(id, says) id##_number,
#define GRADER_BIT_(id, says) id = 1u << id##_number,
#define GRADER_ENTRY_(id, says) { #id, says },

/* Write the answer that somebody gives who makes exactly these mistakes. 0 is the right answer. */
typedef void grader_formula(unsigned mistakes, const void *data, double *answer);

enum { GRADER_MOST = 1024 }; /* values in an answer */

/* Whether the n values are equal up to 1e-9 of the largest; NaN equals nothing. */
bool grader_same(const double *a, const double *b, size_t n);

/* The smallest set out of `among`, of at most three mistakes, whose answer is got; 0 when there is none. */
unsigned grader_explain(grader_formula *f, const void *data, unsigned among, const double *got, size_t n);
/* Stop with the messages of a set. */
_Noreturn void grader_stop_mistakes(const grader_mistake *known, unsigned mistakes);

/* For `grade --ambiguous`: print the pairs of single mistakes out of `among` that no answer can tell apart. Returns how many there are. */
int grader_ambiguous(const grader_mistake *known, grader_formula *f, const void *data, unsigned among, size_t n);

/* ---- A result of the exercise ---- */

typedef struct { const char *name; const double *v; size_t rows, n; } grader_input; /* v is [rows, n] */

typedef struct {
    const char *name; /* "dx" */
    const char *of;   /* the data in words: "3 rows of 5 values, eps = 0.3" */
    grader_formula *formula;
    const void *data; /* for formula */
    unsigned among;   /* the mistakes that can be in this result */
    size_t rows, N;
    const double *got;          /* [rows, N]: the learner's */
    const double *before;       /* what other operators had put into this gradient; NULL means 0. It must be neither an input nor dy:
                                a backward that takes one gradient for another could then pass */
    const grader_input *inputs; /* shown if nothing explains the result; ends with { NULL }. NULL if there are none to show */
    bool rows_are_steps;        /* each row is the result of a step that continues the one before */
    bool unlike;                /* the values of a row are different quantities, or steps: that the first one alone is right says nothing */
    const char *const *alone;   /* [rows]: what it means if this row alone is right; NULL means nothing. NULL for the usual words */
    bool (*confirm)(unsigned);  /* whether the learner's other results agree with a set of two or three mistakes; NULL means yes */
} grader_result;

/* Return when r is right. Otherwise show the learner's numbers beside the right ones, of `worked` if that is wrong too, and else of the first
 * row of r that is wrong. Then stop with the mistakes that explain r; or with the shape of its error: NaN, all zeros, nearly right, the wrong sign,
 * a factor, one row or step alone is right, the first value of each row alone is right, the same error along each row; or with "unknown".
 * worked is a small example, such as the README's; NULL if there is none. `before` is subtracted from what is shown. */
void grader_judge(const grader_mistake *known, const grader_result *r, const grader_result *worked);

/* The same for a result whose rows are results of their own, with these names, such as a mean and a variance. The mistakes that explain all
 * rows together are named; if there are none, each row is judged alone. */
void grader_judge_each(const grader_mistake *known, const grader_result *r, const grader_result *worked, const char *const *names);

/* gr_gradcheck of at most 8 inputs; stops with "gradcheck" and its message when a gradient is wrong. The second one is for an operator: it stops
 * with "null_gradient" when a gradient is wrong only if no other one is wanted; names has the name of each input. */
void grader_gradcheck(const char *name, gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n);
void grader_gradcheck_operator(const char *name, gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n,
                               const char *const *names);

#endif
