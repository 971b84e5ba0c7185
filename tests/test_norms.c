/* tests/test_norms.c - group, instance, RMS norm and the norm over any axes. */
#include "tests/compare.h"

typedef struct { const char *name; gr_gradcheck_function *f; gr_shape x, affine; size_t ins; } norms_case;

static gr_tensor *batch_first(gr_tape *t, gr_tensor *const *in, void *a)
{
    (void)a;
    return gr_batch_norm(t, in[0], 1, in[1], in[2], &(gr_batch_norm_options){ .eps = 0.1 });
}
static gr_tensor *group(gr_tape *t, gr_tensor *const *in, void *a) { return (void)a, gr_group_norm(t, in[0], 3, in[1], in[2], 0.1); }
static gr_tensor *instance(gr_tape *t, gr_tensor *const *in, void *a) { return (void)a, gr_instance_norm(t, in[0], 1, in[1], in[2], 0.1); }
static gr_tensor *channel(gr_tape *t, gr_tensor *const *in, void *a)
{
    return (void)a, gr_norm_axes(t, in[0], GR_AXES(1), GR_AXES(1), in[1], in[2], 0.1);
}
static gr_tensor *rms(gr_tape *t, gr_tensor *const *in, void *a) { return (void)a, gr_rms_norm(t, in[0], 1, in[1], 0.1); }

static const norms_case cases[] = {
    { "batch_norm", batch_first, { 3, { 4, 6, 5 } }, { 1, { 6 } }, 3 }, { "group_norm", group, { 3, { 4, 6, 5 } }, { 1, { 6 } }, 3 },
    { "instance_norm", instance, { 3, { 4, 6, 5 } }, { 1, { 6 } }, 3 }, { "norm_axes", channel, { 3, { 4, 6, 5 } }, { 1, { 6 } }, 3 },
    { "rms_norm", rms, { 3, { 4, 5, 6 } }, { 1, { 6 } }, 2 },
};

static void gradient_matches_finite_differences(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(cases); k++) {
        const gr_gradcheck_input in[3] = { { .shape = cases[k].x }, { .shape = cases[k].affine }, { .shape = cases[k].affine } };
        assert_true(gr_gradcheck(stderr, cases[k].name, cases[k].f, NULL, in, cases[k].ins, NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(gradient_matches_finite_differences) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
