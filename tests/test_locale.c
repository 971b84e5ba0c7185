/* tests/test_locale.c - printed text and messages are the same in a locale with a decimal comma. */
#include "tests/failing.h"
#include <locale.h>
#include <sys/stat.h>

/* Write the LC_NUMERIC file of glibc's compiled locales (magic, six offsets, six values: decimal point, thousands separator, grouping, both
 * as wide characters, the character set), so that the test needs no locale to be installed. */
static bool comma_is_the_decimal_point(void)
{
    const uint32_t head[] = { 0x20031114, 6, 0x20, 0x22, 0x24, 0x28, 0x2c, 0x30 }, points[] = { ',', '.' };
    mkdir(in_folder("comma"), 0700);
    FILE *f = fopen(in_folder("comma/LC_NUMERIC"), "wb");
    assert_non_null(f);
    fwrite(head, sizeof *head, COUNT(head), f);
    fwrite(",\0.\0\3\3\0\0", 1, 8, f), fwrite(points, sizeof *points, COUNT(points), f), fwrite("UTF-8", 1, 6, f);
    fclose(f);
    setenv("LOCPATH", test_folder, 1);
    const bool set = setlocale(LC_NUMERIC, "comma");
    remove(in_folder("comma/LC_NUMERIC")), rmdir(in_folder("comma"));
    return set && !strcmp(localeconv()->decimal_point, ",");
}

static gr_tensor *wrong_gradient(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    return gr_mul(t, in[0], gr_detach(t, in[0]));
}

/* Print every text that has a decimal point, then the messages. */
static void print_all(FILE *out)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    gr_linear_module *fc = gr_linear_new(t, net, "fc", 3, 2, NULL);
    gr_norm *bn = gr_batch_norm_new(t, net, "bn", 2, NULL);
    gr_optim *o = gr_adam_new(t, net, &(gr_adam_config){ .lr = 0.25 });
    gr_tape_set_tracing(t, true);
    gr_tensor *x = gr_randn(t, GR_SHAPE(4, 3), 0, 1, "x");
    gr_backward(t, gr_sum(t, gr_norm_forward(t, bn, gr_linear_forward(t, fc, x), NULL), GR_ALL_AXES, false));
    gr_print(gr_input(t, (gr_real[]){ (gr_real)1.5, (gr_real)-0.25 }, GR_SHAPE(2)), out);
    gr_print(gr_input(t, (gr_real[]){ (gr_real)1.5e9, (gr_real)-0.25 }, GR_SHAPE(2)), out);
    gr_print_graph_values(t, out);
    gr_print_init(net, out);
    gr_print_batch_norms(t, net, out);
    gr_print_optim(o, out);
    gr_print_audit(t, net, o, out);
    gr_gradcheck("wrong", wrong_gradient, NULL, &(gr_gradcheck_input){ .shape = GR_SHAPE(2) }, 1, NULL, out);
    gr_clip_grad_norm(t, o, -0.5);
    fprintf(out, "%s\n", gr_message(t));
    gr_tape_recover(t);
    gr_tape_set_tracing(t, false), gr_tape_set_anomaly(t, true);
    gr_log(t, gr_input(t, (gr_real[]){ (gr_real)-1.5, (gr_real)0.25 }, GR_SHAPE(2)));
    fprintf(out, "%s\n", gr_message(t));
    gr_optim_free(o), gr_module_free(net), gr_tape_free(t);
}

static char *printed(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    print_all(f);
    fclose(f);
    return text;
}

TEST(a_decimal_comma_changes_no_text)
{
    char *want = printed();
    if (!comma_is_the_decimal_point()) {
        print_message("not run: the locale with a decimal comma, this C library does not take it\n");
        free(want);
        return;
    }
    char *got = printed();
    assert_string_equal(got, want);
    assert_non_null(strstr(got, "[ 1.5000, -0.2500]"));
    assert_non_null(strstr(got, "got -0.5\n"));
    assert_string_equal(localeconv()->decimal_point, ","); /* the program's locale is unchanged */
    char number[8];
    snprintf(number, sizeof number, "%.1f", 1.5);
    assert_string_equal(number, "1,5");
    setlocale(LC_NUMERIC, "C");
    free(got), free(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_decimal_comma_changes_no_text) };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
