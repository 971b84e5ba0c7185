/* tests/test_batch_norm_padding.c - batch_norm where a part of x is padding, given by lengths or a mask: only real positions count. */
#include "tests/test.h"

enum { IN_DOUBLE = sizeof(gr_real) == 8 };

/* A lesson's two sentences "I am powerful ..", padded to four words with zeros, as three features each. Over the seven words feature one has mean
 * 4 and deviation 2; over all eight rows, padding included, 3.5 and 2.29. */
TEST(a_padded_sentence_moves_the_mean)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const gr_real words[] = { 1, 2, 3, 2, 4, 6, 3, 6, 9, 4, 8, 12, 5, 10, 15, 6, 12, 18, 7, 13, 19, 0, 0, 0 };
    gr_tensor *x = gr_input(t, words, GR_SHAPE(2, 4, 3)), *mean = gr_zeros(t, GR_SHAPE(3)), *var = gr_zeros(t, GR_SHAPE(3));
    gr_batch_norm_config o = { .running_mean = mean, .running_var = var, .momentum = 1, .eps = GR_NONE };
    gr_tensor *poisoned = gr_batch_norm(t, x, -1, NULL, NULL, &o);
    assert_ok(t);
    assert_close(mean->data, ((gr_real[]){ 3.5, 6.875, 10.25 }), 3, 1e-6);
    assert_true(fabs(sqrt((double)var->data[0] * 7 / 8) - 2.2912878) < 1e-6); /* the running variance is unbiased */
    assert_true(fabs((double)poisoned->data[0] + 1.0910895) < 1e-6);          /* "I" */
    assert_true(fabs((double)poisoned->data[18] - 1.5275252) < 1e-6);         /* "powerful" */

    o.lengths = gr_ints_new(t, (int[]){ 4, 3 }, GR_SHAPE(2));
    gr_tensor *right = gr_batch_norm(t, x, -1, NULL, NULL, &o);
    assert_close(mean->data, ((gr_real[]){ 4, (gr_real)55 / 7, (gr_real)82 / 7 }), 3, 1e-6);
    assert_true(fabs((double)var->data[0] * 6 / 7 - 4) < 1e-6);
    for (size_t w = 0; w < 7; w++) assert_true(fabs((double)right->data[3 * w] - ((double)w - 3) / 2) < 1e-6);
    assert_values(gr_slice(t, gr_reshape(t, right, GR_SHAPE(8, 3)), 7, 1), 0, 0, 0, 0);
    gr_tape_free(t);
}

typedef struct {
    gr_real *y, *dx, *dgamma, mean[80], var[80];
    size_t n;
    gr_tape *t;
} outcome;

/* A batch of N sequences of up to L positions and C channels. A real value depends on its sequence, position and channel alone; the padding
 * holds `rest`. */
static outcome run_padded(size_t N, size_t C, size_t L, const int *lengths, const gr_tensor *mask, gr_real rest, bool last, bool given)
{
    outcome r = { .t = gr_tape_new(3, NULL), .n = N * C * L };
    gr_tape *t = r.t;
    gr_tensor *x = gr_want_grad(t, gr_full(t, last ? GR_SHAPE(N, L, C) : GR_SHAPE(N, C, L), (double)rest)),
              *dy = gr_full(t, gr_shape_of(x), 9);
    gr_tensor *gamma = gr_want_grad(t, gr_randn(t, GR_SHAPE(C), 1, 1, "gamma")), *beta = gr_randn(t, GR_SHAPE(C), 0, 1, "beta");
    gr_tensor *mean = gr_zeros(t, GR_SHAPE(C)), *var = gr_ones(t, GR_SHAPE(C));
    for (size_t n = 0; n < N; n++)
        for (size_t l = 0; l < L; l++) {
            if (mask ? mask->data[n * L + l] == 0 : (int)l >= lengths[n]) continue;
            for (size_t c = 0; c < C; c++) {
                const size_t at = last ? (n * L + l) * C + c : (n * C + c) * L + l, k = 1009 * n + 37 * l + 7 * c;
                x->data[at] = (gr_real)(k * k % 251) / 50 + (gr_real)c, dy->data[at] = (gr_real)(k * k % 127) / 64 - 1;
            }
        }
    gr_batch_norm_config o = { .running_mean = mean, .running_var = var };
    if (mask) o.mask = gr_input(t, mask->data, gr_shape_of(mask));
    if (given && lengths) o.lengths = gr_ints_new(t, lengths, GR_SHAPE(N));
    gr_tensor *y = gr_batch_norm(t, x, last ? -1 : 1, gamma, beta, &o);
    assert_ok(t);
    assert_true(gr_backward_from(t, y, dy->data));
    r.y = y->data, r.dx = gr_grad(t, x), r.dgamma = gr_grad(t, gamma);
    memcpy(r.mean, mean->data, C * sizeof *r.mean), memcpy(r.var, var->data, C * sizeof *r.var);
    return r;
}

static void assert_same_outcome(const outcome *a, const outcome *b, size_t C)
{
    assert_same_bits(a->dgamma, b->dgamma, C);
    assert_same_bits(a->mean, b->mean, C);
    assert_same_bits(a->var, b->var, C);
}

static const gr_real rests[] = { 0, 1000000, (gr_real)NAN, (gr_real)-INFINITY };

/* A batch has the same bits when it is cut to its longest sequence or padded further, whatever the padding holds. */
TEST(bits_do_not_depend_on_the_amount_or_values_of_padding)
{
    enum { N = 150, C = 19, LONG = 33 }; /* at least 64 sequences that are not empty */
    for (int longest = 1; longest <= 31; longest += 6)
        for (int last = 0; last < 2; last++) {
            int lengths[N];
            for (size_t n = 0; n < N; n++) lengths[n] = (int)(n * 5 + 2) % (longest + 1);
            const size_t L = (size_t)longest;
            outcome ragged = run_padded(N, C, L, lengths, NULL, 5, last, true);
            for (size_t r = 0; r < COUNT(rests); r++) {
                outcome padded = run_padded(N, C, LONG, lengths, NULL, rests[r], last, true);
                assert_same_outcome(&padded, &ragged, C);
                for (size_t i = 0; i < padded.n; i++) {
                    const size_t n = i / (C * LONG), l = last ? i / C % LONG : i % LONG, c = last ? i % C : i / LONG % C;
                    const size_t at = last ? (n * L + l) * C + c : (n * C + c) * L + l;
                    const gr_real zero = 0;
                    assert_same_bits(padded.y + i, (int)l < lengths[n] ? ragged.y + at : &zero, 1);
                    assert_same_bits(padded.dx + i, (int)l < lengths[n] ? ragged.dx + at : &zero, 1);
                }
                gr_tape_free(padded.t);
            }
            gr_tape_free(ragged.t);
        }
}

/* Full lengths mean that nothing is padding, as no lengths do. */
TEST(full_lengths_give_the_same_bits_as_no_lengths)
{
    const int lengths[] = { 21, 21, 21 };
    for (int last = 0; last < 2; last++) {
        outcome a = run_padded(3, 18, 21, lengths, NULL, 0, last, true), b = run_padded(3, 18, 21, lengths, NULL, 0, last, false);
        assert_same_outcome(&a, &b, 18);
        assert_same_bits(a.y, b.y, a.n);
        assert_same_bits(a.dx, b.dx, a.n);
        gr_tape_free(a.t), gr_tape_free(b.t);
    }
}

TEST(a_mask_gives_the_same_bits_as_the_same_lengths)
{
    const int lengths[] = { 20, 3, 0, 33, 16 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_tensor *mask = gr_zeros(t, GR_SHAPE(5, 33));
    for (size_t p = 0; p < mask->len; p++) mask->data[p] = (int)(p % 33) < lengths[p / 33];
    for (int last = 0; last < 2; last++) {
        outcome a = run_padded(5, 6, 33, lengths, NULL, 1, last, true), b = run_padded(5, 6, 33, NULL, mask, 2, last, true);
        assert_same_outcome(&a, &b, 6);
        assert_same_bits(a.y, b.y, a.n);
        assert_same_bits(a.dx, b.dx, a.n);
        gr_tape_free(a.t), gr_tape_free(b.t);
    }
    gr_tape_free(t);
}

/* Random masks: the values of the padding change no bit. The real rows alone give the same bits too if channels are last; otherwise they
 * agree up to rounding. */
TEST(a_masked_batch_agrees_with_its_gathered_rows)
{
    enum { C = 5 };
    gr_tape *t = gr_tape_new(1, NULL);
    gr_stream draw = gr_stream_new(5, "masks");
    for (int turn = 0; turn < 60; turn++) {
        gr_tape_reset(t);
        const size_t N = 1 + (size_t)(gr_stream_uniform(&draw, 0, 90)), L = 2 + (size_t)(gr_stream_uniform(&draw, 0, 40));
        const double share = gr_stream_uniform(&draw, 0.1, 1.2);
        gr_tensor *mask = gr_zeros(t, GR_SHAPE(N, L));
        for (size_t p = 0; p < mask->len; p++) mask->data[p] = gr_stream_uniform(&draw, 0, 1) < share || p % mask->len < 2;
        outcome last = run_padded(N, C, L, NULL, mask, 0, true, true);
        for (int k = 0; k < 2; k++) {
            outcome a = run_padded(N, C, L, NULL, mask, rests[turn % 3], k, true),
                    b = run_padded(N, C, L, NULL, mask, rests[3 - turn % 2], k, true);
            assert_same_outcome(&a, &b, C);
            assert_same_bits(a.y, b.y, a.n);
            assert_same_bits(a.dx, b.dx, a.n);
            assert_close(a.mean, last.mean, C, IN_DOUBLE ? 1e-13 : 1e-5);
            assert_close(a.var, last.var, C, IN_DOUBLE ? 1e-13 : 1e-5);
            assert_close(a.dgamma, last.dgamma, C, IN_DOUBLE ? 1e-12 : 1e-4);
            gr_tape_free(a.t), gr_tape_free(b.t);
        }
        size_t rows = 0;
        for (size_t p = 0; p < mask->len; p++) rows += mask->data[p] != 0;
        gr_tensor *x = gr_empty(t, GR_SHAPE(rows, C)), *mean = gr_zeros(t, GR_SHAPE(C)), *var = gr_ones(t, GR_SHAPE(C));
        for (size_t p = 0, row = 0; p < mask->len; p++)
            for (size_t c = 0; c < C && mask->data[p] != 0; c++) {
                const size_t k = 1009 * (p / L) + 37 * (p % L) + 7 * c;
                x->data[row * C + c] = (gr_real)(k * k % 251) / 50 + (gr_real)c, row += c == C - 1;
            }
        gr_batch_norm(t, x, 1, NULL, NULL, &(gr_batch_norm_config){ .running_mean = mean, .running_var = var });
        assert_ok(t);
        assert_same_bits(mean->data, last.mean, C);
        assert_same_bits(var->data, last.var, C);
        gr_tape_free(last.t);
    }
    gr_tape_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_padded_sentence_moves_the_mean),      cmocka_unit_test(bits_do_not_depend_on_the_amount_or_values_of_padding),
        cmocka_unit_test(full_lengths_give_the_same_bits_as_no_lengths),      cmocka_unit_test(a_mask_gives_the_same_bits_as_the_same_lengths),
        cmocka_unit_test(a_masked_batch_agrees_with_its_gathered_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
