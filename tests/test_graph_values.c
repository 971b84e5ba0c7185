/* tests/test_graph_values.c - gr_print_graph_values: the values and gradients of what the tape recorded. */
#include "tests/failing.h"

#define NO_GRADIENT "        no gradient\n"

static char *printed(const gr_tape *t)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    gr_print_graph_values(t, f);
    fclose(f);
    return text;
}

static void assert_graph(const gr_tape *t, const char *want)
{
    char *text = printed(t);
    assert_string_equal(text, want);
    free(text);
}

static gr_tensor *wanted(gr_tape *t, const gr_real *values, size_t n) { return gr_want_grad(t, gr_input(t, values, GR_SHAPE(n))); }

/* ---- What is printed ---- */

TEST(values_come_before_backward_and_gradients_after_it)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *y = gr_mul(t, wanted(t, (gr_real[]){ 2, 3 }, 2), wanted(t, (gr_real[]){ 4, 5 }, 2));
    assert_graph(t, "   0  mul              [2]  <- input [2], input [2]\n"
                    "      input [2] = [2, 3]\n" NO_GRADIENT
                    "      input [2] = [4, 5]\n" NO_GRADIENT
                    "      output [2] = [8, 15]\n" NO_GRADIENT);
    assert_true(gr_backward_from(t, y, (gr_real[]){ 1, 1 })); /* the example of core/print.h */
    assert_graph(t, "   0  mul              [2]  <- input [2], input [2]\n"
                    "      input [2] = [2, 3]\n        gradient [4, 5]\n"
                    "      input [2] = [4, 5]\n        gradient [2, 3]\n"
                    "      output [2] = [8, 15]\n        gradient [1, 1]\n");
    gr_exp(t, gr_scale(t, y, 0)); /* no backward reaches what comes after it */
    char *text = printed(t);
    assert_non_null(strstr(text, "\n   1  scale            [2]  <- 0 [2]\n      output [2] = [0, 0]\n" NO_GRADIENT
                                 "   2  exp              [2]  <- 1 [2]\n      output [2] = [1, 1]\n" NO_GRADIENT));
    free(text);
    gr_tape_reset(t);
    assert_graph(t, "");
    gr_tape_free(t);
}

TEST(a_leaf_is_printed_once_and_a_view_as_its_base)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t), *part = gr_module_make(t, net, "part", "Part", sizeof *part);
    gr_tensor *w = gr_param(t, net, "w", GR_SHAPE(2, 2), gr_init_constant(3)), *frozen = gr_param(t, part, "v", GR_SHAPE(2), gr_init_constant(5));
    gr_requires_grad(part, false);
    gr_tensor *h = gr_mul(t, gr_slice(t, w, 1, 1), frozen);
    gr_mul(t, w, w);
    gr_backward(t, gr_sum(t, gr_reshape(t, h, GR_SHAPE(2)), GR_ALL_AXES, false));
    assert_ok(t);
    static const char want[] = "   0  mul              [1, 2]  <- w [1, 2], part.v [2]\n"
                               "      w [2, 2] = [3, 3, 3, 3]\n        gradient [0, 0, 5, 5]\n"
                               "      output [1, 2] = [15, 15]\n        gradient [1, 1]\n"
                               "   1  mul              [2, 2]  <- w [2, 2], w [2, 2]\n"
                               "      output [2, 2] = [9, 9, 9, 9]\n" NO_GRADIENT
                               "   2  sum              []  <- 0 [2]\n"
                               "      output [] = [30]\n        gradient [1]\n";
    assert_graph(t, want);
    assert_graph(t, want); /* it changed nothing */
    gr_tape_reset(t);
    gr_neg(t, w);
    assert_graph(t, "   0  neg              [2, 2]  <- w [2, 2]\n"
                    "      w [2, 2] = [3, 3, 3, 3]\n        gradient [0, 0, 5, 5]\n" /* of the step before */
                    "      output [2, 2] = [-3, -3, -3, -3]\n" NO_GRADIENT);
    gr_module_zero_grad(net), w->data[0] = 7;
    assert_graph(t, "   0  neg              [2, 2]  <- w [2, 2]\n"
                    "      w [2, 2] = [7, 3, 3, 3]\n" NO_GRADIENT
                    "      output [2, 2] = [-3, -3, -3, -3]\n" NO_GRADIENT);
    gr_tape_reset(t), gr_module_free(net), gr_tape_free(t);
}

/* The lines of an input of these values that neg has used. */
static void assert_input(const gr_real *values, size_t n, const char *want)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_neg(t, wanted(t, values, n));
    char *text = printed(t), line[256];
    snprintf(line, sizeof line, "\n      input [%zu] = %s\n" NO_GRADIENT, n, want);
    if (!strstr(text, line)) assert_string_equal(text, line);
    free(text);
    gr_tape_free(t);
}

TEST(large_tensors_are_summed_up)
{
    const bool is_double = sizeof(gr_real) == sizeof(double);
    assert_input((gr_real[1]){ 0 }, 0, "[]");
    assert_input((gr_real[]){ 1, -2, (gr_real)0.1, (gr_real)1e-30, (gr_real)1234567, -0.5 }, 6, "[1, -2, 0.1, 1e-30, 1.23457e+06, -0.5]");
    assert_input((gr_real[]){ 1, -2, 3, 4, 5, 6, 11 }, 7, "[1, -2, 3, ...] min -2, mean 4, max 11");
    assert_input((gr_real[]){ 1, 2, 3, 4, 5, 6, (gr_real)INFINITY }, 7, "[1, 2, 3, ...] min 1, mean inf, max inf");
    assert_input((gr_real[]){ (gr_real)NAN, 2, 3, 4, 5, 6, 7 }, 7, "[nan, 2, 3, ...] min 2, mean nan, max 7");
    assert_input((gr_real[]){ 5, 2, 3, (gr_real)NAN, 9, 6, 7 }, 7, "[5, 2, 3, ...] min 2, mean nan, max 9");
    assert_input((gr_real[]){ 1, is_double ? (gr_real)1e300 : (gr_real)1e38 }, 2, is_double ? "[1, 1e+300]" : "[1, 1e+38]");
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *x = gr_want_grad(t, gr_reshape(t, gr_arange(t, 9), GR_SHAPE(3, 3)));
    gr_backward(t, gr_sum(t, gr_square(t, x), GR_ALL_AXES, false));
    assert_ok(t);
    assert_graph(t, "   0  square           [3, 3]  <- input [3, 3]\n"
                    "      input [9] = [0, 1, 2, ...] min 0, mean 4, max 8\n"
                    "        gradient [0, 2, 4, ...] min 0, mean 8, max 16\n"
                    "      output [3, 3] = [0, 1, 4, ...] min 0, mean 22.6667, max 64\n"
                    "        gradient [1, 1, 1, ...] min 1, mean 1, max 1\n"
                    "   1  sum              []  <- 0 [3, 3]\n"
                    "      output [] = [204]\n"
                    "        gradient [1]\n");
    gr_tape_free(t);
}

/* ---- When there is nothing to print ---- */

TEST(nothing_is_printed_without_a_working_tape)
{
    assert_graph(NULL, "");
    gr_tape *t = gr_tape_new(1, NULL);
    gr_print_graph_values(t, NULL), gr_print_graph_values(NULL, NULL);
    assert_graph(t, "");
    gr_tensor *x = wanted(t, (gr_real[]){ -1, 1 }, 2);
    gr_tensor *y = gr_log(t, x);
    gr_tape_set_anomaly(t, true);
    assert_false(gr_backward_from(t, y, (gr_real[]){ (gr_real)NAN, 1 }));
    assert_graph(t, ""); /* the gradients are incomplete */
    gr_tape_recover(t);
    assert_graph(t, "");
    assert_ok(t);
    gr_tape_free(t);
}

TEST(without_memory_for_the_list_nothing_is_printed)
{
    failing_memory memory = { 0 };
    gr_tape *t = gr_tape_new(1, &(gr_tape_config){ .allocator = &(gr_allocator){ failing_alloc, failing_release, &memory } });
    gr_neg(t, wanted(t, (gr_real[]){ 1 }, 1));
    const size_t live = memory.live;
    memory.fail_at = memory.calls + 1;
    assert_graph(t, "");
    assert_ok(t);
    assert_graph(t, "   0  neg              [1]  <- input [1]\n      input [1] = [1]\n" NO_GRADIENT "      output [1] = [-1]\n" NO_GRADIENT);
    assert_int_equal(memory.live, live);
    gr_tape_free(t);
    assert_int_equal(memory.live, 0);
}

/* ---- No dead tensor is read: in anomaly mode, AddressSanitizer would tell ---- */

TEST(what_a_rewind_ended_is_not_printed)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tape_set_anomaly(t, true);
    gr_tensor *x = wanted(t, (gr_real[]){ 2 }, 1), *y = gr_neg(t, x);
    const gr_mark mark = gr_tape_mark(t);
    gr_mul(t, gr_exp(t, y), wanted(t, (gr_real[]){ 3 }, 1));
    gr_tape_rewind(t, mark);
    assert_graph(t, "   0  neg              [1]  <- input [1]\n      input [1] = [2]\n" NO_GRADIENT "      output [1] = [-2]\n" NO_GRADIENT);
    gr_backward(t, gr_square(t, y));
    assert_ok(t);
    assert_graph(t, "   0  neg              [1]  <- input [1]\n      input [1] = [2]\n        gradient [4]\n"
                    "      output [1] = [-2]\n        gradient [-4]\n"
                    "   1  square           [1]  <- 0 [1]\n      output [1] = [4]\n        gradient [1]\n");
    gr_tape_free(t);
}

typedef struct { char *text[2]; int runs; bool has_gradient[2]; } observed;

/* Two operators, on the second half of in[0], whose outputs are [2 x] and [4 x^2]. */
static void observed_segment(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    observed *seen = argument;
    gr_tensor *const half = gr_slice(t, in[0], 1, 1);
    out[0] = gr_scale(t, half, 2);
    out[1] = gr_square(t, out[0]);
    if (seen->runs > 1) return;
    seen->has_gradient[seen->runs] = gr_grad(t, half);
    seen->text[seen->runs++] = printed(t);
}

TEST(a_segment_is_one_operator_and_prints_its_own_inside)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tape_set_anomaly(t, true);
    observed seen = { 0 };
    gr_tensor *out[2], *x = wanted(t, (gr_real[]){ 1, 3 }, 2);
    assert_true(gr_recompute(t, observed_segment, &seen, 0, GR_IN(x), out, 2));
    assert_graph(t, "   0  recompute        [1][1]  <- input [2]\n      input [2] = [1, 3]\n" NO_GRADIENT
                    "      output [1] = [6]\n" NO_GRADIENT "      output [1] = [36]\n" NO_GRADIENT);
    gr_backward(t, gr_add(t, out[0], out[1]));
    assert_ok(t);
    assert_int_equal(seen.runs, 2);
    for (int run = 0; run < 2; run++) {
        char want[512];
        snprintf(want, sizeof want,
                 "   0  scale            [1]  <- input [1]\n      input [2] = [1, 3]\n%s      output [1] = [6]\n" NO_GRADIENT
                 "   1  square           [1]  <- 0 [1]\n      output [1] = [36]\n" NO_GRADIENT,
                 run ? "        gradient [0, 0]\n" : NO_GRADIENT);
        assert_string_equal(seen.text[run], want);
        assert_int_equal(seen.has_gradient[run], run); /* of a view: no pointer before backward */
        free(seen.text[run]);
    }
    assert_graph(t, "   0  recompute        [1][1]  <- input [2]\n      input [2] = [1, 3]\n        gradient [0, 26]\n"
                    "      output [1] = [6]\n        gradient [1]\n      output [1] = [36]\n        gradient [1]\n"
                    "   1  add              [1]  <- 0 [1], 0 [1]\n      output [1] = [42]\n        gradient [1]\n");
    gr_tape_free(t);
}

/* Backward gives the memory of the gradients inside a Transformer to others. */
TEST(inside_a_transformer_only_asked_gradients_are_printed)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_transformer *tf = gr_transformer_new(t, net, "tf", 8, 2, 2, NULL);
    gr_tensor *x = gr_randn(t, GR_SHAPE(2, 3, 8), 0, 1, "x");
    gr_backward(t, gr_sum(t, gr_square(t, gr_transformer_forward(t, tf, x, NULL)), GR_ALL_AXES, false));
    assert_ok(t);
    char *text = printed(t);
    size_t outputs = 0, without = 0;
    for (const char *p = text; (p = strstr(p, "      output ")); p++) {
        outputs++;
        without += !strncmp(strchr(p, '\n') + 1, NO_GRADIENT, strlen(NO_GRADIENT));
    }
    assert_int_equal(outputs, gr_tape_nodes(t));
    if (!without || without + 3 > outputs) fail_msg("%zu of %zu outputs have no gradient", without, outputs);
    for (gr_slot *s = gr_slot_first(net); s; s = gr_slot_next(net, s)) { /* every parameter is there, once */
        char name[128];
        snprintf(name, sizeof name, "\n      %s [", s->tensor->path);
        const char *const first = strstr(text, name);
        assert_true(first && !strstr(first + 1, name));
        assert_int_equal(strncmp(strchr(first + 1, '\n') + 1, "        gradient [", 18), 0);
    }
    free(text);
    gr_tape_reset(t), gr_module_free(net), gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_before_backward_and_gradients_after_it),
        cmocka_unit_test(a_leaf_is_printed_once_and_a_view_as_its_base),
        cmocka_unit_test(large_tensors_are_summed_up),
        cmocka_unit_test(nothing_is_printed_without_a_working_tape),
        cmocka_unit_test(without_memory_for_the_list_nothing_is_printed),
        cmocka_unit_test(what_a_rewind_ended_is_not_printed),
        cmocka_unit_test(a_segment_is_one_operator_and_prints_its_own_inside),
        cmocka_unit_test(inside_a_transformer_only_asked_gradients_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
