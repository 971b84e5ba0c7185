/* tests/test_two_tapes.c - two tapes on two threads share a model's weights and nothing else. A build with SAN=thread reports a race. */
#include "tests/test.h"
#include <pthread.h>

typedef struct { const gr_lstm *lstm; const gr_linear_module *fc; gr_real first[10]; bool good; } classification;

static void *classify(void *argument)
{
    classification *j = argument;
    gr_tape *t = gr_tape_new(3, &(gr_tape_config){ .threads = 2 });
    for (int step = 0; step < 20; step++) {
        gr_tape_reset(t);
        gr_tape_set_recording(t, step % 2);
        gr_tensor *x = gr_rand(t, GR_SHAPE(6, 12, 5), -1, 1, step ? "later" : "first");
        gr_tensor *z = gr_linear_forward(t, j->fc, gr_select(t, gr_lstm_forward(t, j->lstm, x, NULL).h, 0, -1));
        if (!step && z) memcpy(j->first, z->data, sizeof j->first);
    }
    j->good = !gr_failed(t);
    gr_tape_free(t);
    return NULL;
}

TEST(forward_passes_side_by_side_give_the_same_bits)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *net = gr_module_new(t);
    const gr_lstm *lstm = gr_lstm_new(t, net, "lstm", 5, 16, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016 });
    const gr_linear_module *fc = gr_linear_new(t, net, "fc", 16, 10, NULL);
    classification job[3] = { { lstm, fc, { 0 }, false }, { lstm, fc, { 0 }, false }, { lstm, fc, { 0 }, false } };
    pthread_t thread[2];
    assert_ok(t);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, classify, &job[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    classify(&job[2]);
    for (int i = 0; i < 3; i++) {
        assert_true(job[i].good);
        assert_same_bits(job[i].first, job[2].first, 10);
    }
    gr_module_free(net), gr_tape_free(t);
}

typedef struct { uint64_t hash; } trained;
static void *train(void *argument)
{
    trained *r = argument;
    gr_tape *t = gr_tape_new(5, NULL);
    gr_module *net = gr_module_new(t);
    gr_linear_module *fc = gr_linear_new(t, net, "fc", 7, 3, NULL);
    gr_optim *sgd = gr_sgd_new(t, net, &(gr_sgd_config){ .lr = 0.1, .momentum = 0.9 });
    for (int step = 0; step < 30; step++) {
        gr_tape_reset(t);
        gr_tensor *y = gr_linear_forward(t, fc, gr_rand(t, GR_SHAPE(9, 7), -1, 1, "x"));
        gr_tensor *loss = gr_mean(t, gr_square(t, y), GR_ALL_AXES, false);
        gr_optim_zero_grad(sgd);
        gr_backward(t, loss);
        gr_optim_step(t, sgd);
    }
    r->hash = gr_failed(t) ? 0 : hash_reals(1, fc->weight->data, fc->weight->len);
    gr_optim_free(sgd), gr_module_free(net), gr_tape_free(t);
    return NULL;
}

TEST(training_side_by_side_gives_the_bits_of_training_alone)
{
    trained r[3] = { { 0 } };
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, train, &r[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    train(&r[2]);
    assert_true(r[2].hash && r[0].hash == r[2].hash && r[1].hash == r[2].hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_passes_side_by_side_give_the_same_bits),
        cmocka_unit_test(training_side_by_side_gives_the_bits_of_training_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
