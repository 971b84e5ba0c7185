/* tests/cases.h - the checks of an operator with one input [N, C, ..] over a table of cases. */
#ifndef GR_CASES_H
#define GR_CASES_H
#include "tests/compare.h"

/* The operator and its twin, which take a case; the input of a case, and its size in bytes. */
typedef struct {
    const char *name;
    gr_gradcheck_function *fused, *composed;
    gr_gradcheck_input (*input_of)(const void *c);
    size_t size;
} case_kind;

static inline void *case_at(const case_kind *kind, const void *cases, size_t k, gr_gradcheck_input *in)
{
    void *const c = (char *)(uintptr_t)cases + k * kind->size;
    *in = kind->input_of(c);
    return c;
}

static inline void assert_cases_gradients(const case_kind *kind, const void *cases, size_t count)
{
    gr_gradcheck_input in;
    for (size_t k = 0; k < count; k++) {
        void *const c = case_at(kind, cases, k, &in);
        if (!test_gradcheck(kind->name, kind->fused, c, &in, 1, NULL, stderr)) fail_msg("case %zu", k);
    }
}

static inline void assert_cases_twin(const case_kind *kind, const void *cases, size_t count)
{
    gr_gradcheck_input in;
    for (size_t k = 0; k < count; k++) {
        void *const c = case_at(kind, cases, k, &in);
        assert_agree(kind->fused, kind->composed, c, &in, 1, sizeof(gr_real) == 8 ? 1e-14 : 1e-6);
    }
}

static inline void assert_cases_bits(const case_kind *kind, const void *cases, size_t count)
{
    gr_gradcheck_input in;
    for (size_t k = 0; k < count; k++) {
        void *const c = case_at(kind, cases, k, &in);
        assert_bits_stay(kind->fused, c, &in, 1);
    }
}

static inline void assert_cases_alone_as_in_batch(const case_kind *kind, const void *cases, size_t count)
{
    gr_gradcheck_input in;
    for (size_t k = 0; k < count; k++) {
        void *const c = case_at(kind, cases, k, &in);
        assert_alone_as_in_batch(kind->fused, c, &in, 1, 0);
    }
}

/* Each case without samples, and without channels. */
static inline void assert_cases_of_nothing(const case_kind *kind, const void *cases, size_t count)
{
    gr_gradcheck_input in;
    for (size_t k = 0; k < count; k++)
        for (int without = 0; without < 2; without++) {
            void *const c = case_at(kind, cases, k, &in);
            in.shape.dim[without] = 0;
            compared a = compare_start(kind->fused, c, &in, 1);
            assert_int_equal(a.y->len, 0);
            assert_int_equal(a.y->dim[1], in.shape.dim[1]);
            compare_backward(&a, &(gr_real){ 1 });
            gr_tape_free(a.t);
        }
}
#endif
