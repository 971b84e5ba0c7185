/* tests/test_recompute.c - segments that are run again in backward: the same bits, less memory, masks and statistics as they were. */
#include "tests/failing.h"

enum { T = 784, CHUNK = 28, N = 8, I = 1, H = 16 };

/* ---- An LSTM over 784 steps, in segments ---- */

typedef struct {
    gr_module *net;
    gr_lstm *lstm;
    gr_linear *fc;
    gr_dropout_module *drop;
    bool plainly;
} reader;

static reader reader_new(gr_tape *t)
{
    reader r = { .net = gr_module_new(t) };
    r.lstm = gr_lstm_new(t, r.net, "lstm", I, H, &(gr_lstm_config){ .norm = GR_LSTM_LN_BA2016 });
    r.drop = gr_dropout_new(t, r.net, "drop", 0.25);
    r.fc = gr_linear_new(t, r.net, "fc", H, 3, NULL);
    return r;
}

/* in: a chunk of x, h, c, which are NULL at first.  out: h, c */
static void read_chunk(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    const reader *r = *(reader **)argument;
    const gr_lstm_out s = gr_lstm_forward(t, r->lstm, gr_dropout_forward(t, r->drop, in[0]), &(gr_lstm_input){ .h0 = in[1], .c0 = in[2] });
    out[0] = s.h, out[1] = s.c;
}

static gr_tensor *read_all(gr_tape *t, const reader *r, gr_tensor *x)
{
    gr_tensor *state[2] = { NULL, NULL };
    for (size_t k = 0; k < T / CHUNK; k++) {
        gr_tensor *const in[3] = { gr_slice(t, x, CHUNK * k, CHUNK), state[0], state[1] };
        if (r->plainly) read_chunk(t, in, state, &r);
        else gr_recompute(t, read_chunk, &r, sizeof r, in, 3, state, 2);
    }
    return gr_cross_entropy(t, gr_linear_forward(t, r->fc, gr_select(t, state[0], 0, -1)), gr_ints_new(t, (int[N]){ 0, 2 }, GR_SHAPE(N)),
                            NULL);
}

static uint64_t train(gr_tape *t, bool plainly)
{
    reader r = reader_new(t);
    r.plainly = plainly;
    gr_optim *sgd = gr_sgd_new(t, r.net, &(gr_sgd_config){ .lr = 0.1, .momentum = 0.9 });
    uint64_t hash = 0xcbf29ce484222325u;
    for (int step = 0; step < 3; step++) {
        gr_tape_reset(t);
        gr_tensor *x = gr_want_grad(t, gr_randn(t, GR_SHAPE(T, N, I), 0, 1, "x")), *loss = read_all(t, &r, x);
        gr_optim_zero_grad(sgd);
        gr_backward(t, loss);
        if (loss) hash = hash_reals(hash, loss->data, 1);
        if (x && gr_grad(t, x)) hash = hash_reals(hash, gr_grad(t, x), x->len);
        for (gr_slot *s = gr_slot_first(r.net); s; s = gr_slot_next(r.net, s))
            if (gr_grad(t, s->tensor)) hash = hash_reals(hash, gr_grad(t, s->tensor), s->tensor->len);
        gr_optim_step(t, sgd);
    }
    gr_optim_free(sgd), gr_module_free(r.net);
    return hash;
}

static void segments_give_the_same_bits_for_less_memory(void **state)
{
    (void)state;
    size_t bytes[2];
    uint64_t hash[3];
    for (int plainly = 0; plainly < 2; plainly++) {
        gr_tape *t = gr_tape_new(1);
        hash[plainly] = train(t, plainly);
        assert_ok(t);
        bytes[plainly] = gr_tape_bytes(t);
        gr_tape_free(t);
    }
    gr_tape *t = gr_tape_new_with(1, &(gr_tape_config){ .threads = 3 });
    hash[2] = train(t, false);
    gr_tape_free(t);
    assert_true(hash[0] == hash[1] && hash[0] == hash[2]);
    print_message("%zu bytes with segments, %zu without\n", bytes[0], bytes[1]);
    assert_true(3 * bytes[0] < bytes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_give_the_same_bits_for_less_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
