/* tests/test_failures_models.c - training steps of every architecture in which every allocation fails in turn, once or until the error has
 * been seen. tests/models.h says what must hold. test_failures.c does the same for an LSTM, with files and threads. */
#include "tests/models.h"

TEST(a_failed_step_leaves_no_trace)
{
    for (size_t k = 0; k < COUNT(models); k++) models_fail_all(&models[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_failed_step_leaves_no_trace) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
