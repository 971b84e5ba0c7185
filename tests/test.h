/* tests/test.h - what all tests share: cmocka, the library, assertions on tensors and messages, the check that results have the same
 * bits for every thread count and instruction set, and the gradient check. A test that cannot run here prints a line "not run: WHAT, WHY", which `make test`
 * shows. */
#ifndef GR_TEST_H
#define GR_TEST_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "core/internal.h"
#include "gradus.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With a sanitizer, too, malloc returns NULL for a size that cannot be had. */
__attribute__((visibility("default"))) const char *__asan_default_options(void), *__tsan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* TEST(what_it_checks) { ... } is a test, FIXTURE(name) { ... } sets up or tears down and returns 0, as cmocka calls them; state is cmocka's. */
#define TEST(name) static void name(__attribute__((unused)) void **state)
#define FIXTURE(name) static inline int name(__attribute__((unused)) void **state)

/* assert_ok: the tape is not in error. assert_message: it is, and the message is this text. */
#define assert_ok(t) \
    do { \
        if (gr_failed(t)) fail_msg("%s", gr_message(t)); \
    } while (0)
#define assert_message(t, text) (assert_true(gr_failed(t)), assert_string_equal(gr_message(t), text))
/* The call returns NULL or false and leaves this message. Then the tape recovers, which ends its tensors; those made by `lasting`
 * survive. */
#define assert_fails(t, call, text) (assert_true(!(call)), assert_message(t, text), gr_tape_recover(t))

/* The same for a call of a recurrent operator, which returns y, h and c. */
static inline void assert_no_sequence(gr_tape *t, gr_recurrent_out s, const char *message)
{
    assert_true(!s.y && !s.h && !s.c);
    assert_message(t, message);
    gr_tape_recover(t);
}

/* A tensor that survives gr_tape_recover, because it belongs to a child of the module. */
static inline gr_tensor *lasting(gr_tape *t, gr_module *owner, gr_shape shape, double value)
{
    return gr_buffer(t, gr_module_make(t, owner, NULL, "Lasting", sizeof(gr_module)), "value", shape, value);
}

/* |got - want| <= tolerance max|want| for every element; NaN equals NaN. assert_tensors_close also compares the shapes. */
#define assert_close(got, want, n, tolerance) test_close(got, want, n, tolerance, __FILE__, __LINE__)
#define assert_tensors_close(got, want, tolerance) test_tensors_close(got, want, tolerance, __FILE__, __LINE__)
/* assert_values(y, 1e-6, 1, 2, 3): y holds 1, 2 and 3. */
#define assert_values(got, tolerance, ...) \
    test_values(got, (const gr_real[]){ __VA_ARGS__ }, sizeof((gr_real[]){ __VA_ARGS__ }) / sizeof(gr_real), tolerance, __FILE__, __LINE__)
/* The same bits; any NaN equals any other. */
#define assert_same_bits(got, want, n) test_same_bits(got, want, n, __FILE__, __LINE__)

static inline void test_close(const gr_real *got, const gr_real *want, size_t n, double tolerance, const char *file, int line)
{
    double largest = 0, worst = 0;
    size_t at = 0;
    if (n && (!got || !want)) print_error("no values to compare\n"), _fail(file, line);
    for (size_t i = 0; i < n; i++)
        if (isfinite(want[i])) largest = fmax(largest, fabs((double)want[i]));
    for (size_t i = 0; i < n; i++) {
        double error = fabs((double)got[i] - (double)want[i]);
        if (got[i] == want[i] || (isnan(got[i]) && isnan(want[i]))) error = 0;
        if (isnan(error)) error = HUGE_VAL;
        if (error > worst) worst = error, at = i;
    }
    if (worst <= tolerance * largest) return;
    print_error("element %zu of %zu is %.9g and should be %.9g: the error is %.3g, and at most %.3g is allowed\n", at, n, (double)got[at], (double)want[at],
                worst, tolerance * largest);
    _fail(file, line);
}

static inline void test_tensors_close(const gr_tensor *got, const gr_tensor *want, double tolerance, const char *file, int line)
{
    if (!got || !want) print_error("there is no tensor\n"), _fail(file, line);
    if (!gr_same_shape(got, want)) print_error("the shapes differ\n"), _fail(file, line);
    test_close(got->data, want->data, got->len, tolerance, file, line);
}

static inline void test_values(const gr_tensor *got, const gr_real *want, size_t n, double tolerance, const char *file, int line)
{
    if (!got) print_error("there is no tensor\n"), _fail(file, line);
    if (got->len != n) print_error("there are %zu values, and there should be %zu\n", got->len, n), _fail(file, line);
    test_close(got->data, want, n, tolerance, file, line);
}

static inline void test_same_bits(const gr_real *got, const gr_real *want, size_t n, const char *file, int line)
{
    for (size_t i = 0; i < n; i++) {
        if (!memcmp(got + i, want + i, sizeof *got) || (isnan(got[i]) && isnan(want[i]))) continue;
        print_error("element %zu of %zu is %a and should be %a\n", i, n, (double)got[i], (double)want[i]);
        _fail(file, line);
    }
}

/* A hash of the bits of the values, in which all NaNs are equal: FNV-1a that takes a value, not a byte, in each round. */
static inline uint64_t hash_reals(uint64_t hash, const gr_real *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t u = 0x7fc00000;
        if (!isnan(x[i])) u = 0, memcpy(&u, x + i, sizeof *x);
        hash = (hash ^ u) * 0x100000001b3u, hash ^= hash >> 32;
    }
    return hash;
}

/* Fill x with random values in [low, high) by xorshift, which is several times as fast as gr_rand. *seed must not be 0; the call advances
 * it. */
static inline void fill_random(uint64_t *seed, gr_real *x, size_t n, double low, double high)
{
    for (size_t i = 0; i < n; i++) {
        *seed ^= *seed << 13, *seed ^= *seed >> 7, *seed ^= *seed << 17;
        x[i] = (gr_real)(low + (high - low) * (double)(*seed >> 11) * 0x1p-53);
    }
}

/* Report that an elementwise operator has no record or no reference yet. With GRADUS_RECORDS set, as in .ci/full, this is a failure. */
static inline void test_lacks(const char *what, const char *name)
{
    if (getenv("GRADUS_RECORDS")) fail_msg("no %s of %s", what, name);
    print_message("not run: no %s of %s\n", what, name);
}

/* EACH_ISA(isa) { ... }: isa is the name of every instruction set that this build holds and this CPU has; best_isa is the last of them. */
#define EACH_ISA(isa) for (const char *isa = test_isa_after(NULL); isa; isa = test_isa_after(isa))
static inline const char *test_isa_after(const char *last)
{
    static const char *const all[] = { "scalar", "avx2", "avx512", "neon" };
    size_t k = 0;
    if (last)
        while (strcmp(all[k++], last)) continue;
    for (bool here = false; k < COUNT(all); k++) {
        gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .isa = all[k] }));
        here = !gr_failed(t);
        gr_tape_free(t);
        if (here) return all[k];
    }
    return NULL;
}
static inline const char *best_isa(void)
{
    const char *best = NULL;
    EACH_ISA(isa) best = isa;
    return best;
}

/* The result of f and all gradients have the same bits for 1, 2 and 4 threads and, in float, for every instruction set. `in` describes the
 * inputs as for gr_gradcheck; the sizes should be large enough for more than one chunk, and odd, so that vector loops have tails. If the
 * environment variable GRADUS_BITS names a file, the check appends a line "FILE:LINE HASH" to it: `make check-one` compares two builds in
 * this way. */
#define assert_bits_stay(f, argument, in, n) test_bits_stay(f, argument, in, n, __FILE__, __LINE__)

static inline uint64_t test_hash_of(gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n, int threads,
                                    const char *isa, const char *file, int line)
{
    gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .threads = threads, .isa = isa }));
    gr_tensor *x[16] = { NULL };
    uint64_t seed = 1;
    for (size_t k = 0; k < n && k < COUNT(x); k++) {
        const bool anything = !in[k].low && !in[k].high;
        x[k] = in[k].values ? gr_input(t, in[k].values, in[k].shape) : gr_empty(t, in[k].shape);
        if (x[k] && !in[k].values) fill_random(&seed, x[k]->data, x[k]->len, anything ? -2 : in[k].low, anything ? 2 : in[k].high);
        if (!in[k].no_grad) gr_want_grad(t, x[k]);
    }
    gr_tensor *y = f(t, x, argument);
    gr_real *dy = y ? calloc(y->len + 1, sizeof *dy) : NULL;
    if (dy) fill_random(&seed, dy, y->len, -1, 1);
    if (!dy || !gr_backward_from(t, y, dy)) print_error("%s\n", gr_message(t)), _fail(file, line);
    uint64_t hash = hash_reals(0xcbf29ce484222325u, y->data, y->len);
    for (size_t k = 0; k < n; k++)
        if (gr_grad(t, x[k])) hash = hash_reals(hash, gr_grad(t, x[k]), x[k]->len);
    free(dy);
    gr_tape_free(t);
    return hash;
}

static inline void test_bits_stay(gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n, const char *file,
                                  int line)
{
    const char *last = best_isa();
    const uint64_t want = test_hash_of(f, argument, in, n, 1, last, file, line);
    FILE *bits = getenv("GRADUS_BITS") ? fopen(getenv("GRADUS_BITS"), "a") : NULL;
    if (bits) fprintf(bits, "%s:%d %016llx\n", file, line, (unsigned long long)want), fclose(bits);
    EACH_ISA(isa)
    {
        if (sizeof(gr_real) == sizeof(double) && strcmp(isa, last)) continue;
        for (int threads = 1; threads <= 4; threads *= 2) {
            if (test_hash_of(f, argument, in, n, threads, isa, file, line) == want) continue;
            print_error("%s with %d threads gives other bits than %s with one thread\n", isa, threads, last);
            _fail(file, line);
        }
    }
}

/* test_gradcheck is gr_gradcheck, also of each gradient alone, and appends the graph of f to the file that $GRADUS_CHECKED names, for tests/tools/check_gradients.sh. */
typedef struct { gr_gradcheck_function *f; void *argument; FILE *graph; size_t n; bool called; } test_noted;

/* The gradients of in, one after the other, of the sum of f(in). Their memory holds `before`, and with fresh backward itself must clear it. */
static inline void test_gradients_from(gr_tape *t, gr_tensor *const *in, const test_noted *noted, double before, bool fresh, gr_real *to)
{
    for (size_t k = 0; k < noted->n; k++) {
        for (size_t i = 0; in[k]->grad && i < in[k]->len; i++) in[k]->grad[i] = (gr_real)before;
        if (fresh && in[k]->flags & GR__HAS_GRAD) in[k]->flags |= GR__FRESH;
    }
    gr_tensor *const y = noted->f(t, in, noted->argument);
    gr_real *const dy = malloc((y ? y->len : 0) * sizeof *dy + 1);
    for (size_t i = 0; y && i < y->len; i++) dy[i] = (gr_real)(1 + i % 7) / 4;
    if (y) gr_backward_from(t, y, dy);
    for (size_t k = 0; k < noted->n; k++)
        for (size_t i = 0; gr__gradient(in[k]) && i < in[k]->len; i++) *to++ = in[k]->grad[i];
    free(dy);
    gr_tape_recover(t);
}

/* A gradient that an operator clears while it adds to it has the bits of one that was cleared before. */
static inline void test_clears(gr_tape *t, gr_tensor *const *in, const test_noted *noted)
{
    size_t len = 1;
    for (size_t k = 0; k < noted->n; k++) len += in[k]->len;
    gr_real *const start = malloc(3 * len * sizeof *start), *const fresh = start + len, *const zero = fresh + len, *at = start;
    memset(start, 0, 3 * len * sizeof *start);
    for (size_t k = 0; k < noted->n; at += in[k++]->len) memcpy(at, in[k]->grad, in[k]->len * sizeof *at);
    test_gradients_from(t, in, noted, (double)NAN, true, fresh);
    test_gradients_from(t, in, noted, 0, false, zero);
    at = start;
    for (size_t k = 0; k < noted->n; at += in[k++]->len) memcpy(in[k]->grad, at, in[k]->len * sizeof *at);
    if (memcmp(fresh, zero, len * sizeof *zero)) fail_msg("%s", "the gradient depends on what its memory held");
    free(start);
}

static inline gr_tensor *test_note_graph(gr_tape *t, gr_tensor *const *in, void *argument)
{
    test_noted *const noted = argument;
    const bool first = !noted->called;
    noted->called = true;
    if (first) test_clears(t, in, noted);
    gr_tensor *const y = noted->f(t, in, noted->argument);
    if (noted->graph && first) gr_print_graph(t, noted->graph);
    return y;
}

static inline bool test_gradcheck(const char *name, gr_gradcheck_function *f, void *argument, const gr_gradcheck_input *in, size_t n,
                                  const gr_gradcheck_config *config, FILE *out)
{
    const char *const path = getenv("GRADUS_CHECKED");
    test_noted noted = { f, argument, path && *path ? fopen(path, "a") : NULL, n, false };
    gr_gradcheck_config with = config ? *config : (gr_gradcheck_config){ 0 };
    with.alone = true;
    const bool good = gr_gradcheck(name, test_note_graph, &noted, in, n, &with, out);
    if (noted.graph) fclose(noted.graph);
    return good;
}
#endif
