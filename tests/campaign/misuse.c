/* tests/campaign/misuse.c - every public function, in random order, with NULL, nonsense and good arguments.
 *
 *     make misuse SAN=address,undefined ARGS="--batches 5000"      400 calls each
 *     build/.../misuse --seed 1 --batch 17                         that batch alone, in this process: for a debugger
 *
 * misuse.awk makes the calls from the headers, so that a new function is in without an edit. Each batch runs in a child with limits; a
 * signal, a sanitizer's report or more than 20 seconds of CPU time is a failure, printed with its batch and its last call. It does not try
 * what C cannot check: pointers to freed objects, buffers shorter than their count. The exit status is 1 if a call failed in this way. */
#include "gradus.h"
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 400, MOST = 24, LIMIT = 8 << 20, FUNCTIONS = 1000 };

/* What the parent reads after the child has ended. */
typedef struct {
    char call[4096];
    size_t length, calls, of[FUNCTIONS], went_well[FUNCTIONS];
} report;
static report *shared;
static bool loud;

static void __attribute__((format(GR_PRINTF, 1, 2))) say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(shared->call + shared->length, sizeof shared->call - shared->length, format, arguments);
    va_end(arguments);
    if (n > 0) shared->length += (size_t)n;
    if (shared->length >= sizeof shared->call) shared->length = sizeof shared->call - 1;
}

/* ---- Random numbers, and the objects of a batch ---- */

static gr_stream chance;
static size_t below(size_t n) { return gr_stream_below(&chance, n); }
static bool one_in(size_t n) { return !below(n); }
#define PICK(array) (array)[below(sizeof(array) / sizeof *(array))]

static gr_tape *t;
static gr_module *root;
static FILE *nowhere;
static size_t used_bytes;
static double buffer[LIMIT / sizeof(double)]; /* as long as the longest tensor */
static int whole[LIMIT / sizeof(int)];

static void *limited_alloc(void *context, size_t bytes)
{
    (void)context;
    if (bytes > LIMIT || used_bytes + bytes > LIMIT) return NULL;
    used_bytes += bytes;
    return gr_default_allocator().alloc(NULL, bytes);
}
static void limited_release(void *context, void *p, size_t bytes)
{
    (void)context;
    used_bytes -= bytes;
    gr_default_allocator().release(NULL, p, bytes);
}
static const gr_allocator limited = { limited_alloc, limited_release, NULL };

/* A pool of pointers to a type: keep puts a result into it, pick returns one of them, now and then NULL. In a full pool a result replaces
 * another, which is freed if it is OWNED. */
#define POOL(type) OWNED(type, (void))
#define OWNED(type, release) \
    static type *pool_##type[MOST]; \
    static size_t count_##type; \
    static type *any_##type(void) { return count_##type && !one_in(12) ? pool_##type[below(count_##type)] : NULL; } \
    static void keep_##type##_p(type *x) \
    { \
        if (!x) return; \
        if (count_##type == MOST) { \
            type **const place = &pool_##type[below(MOST)]; \
            release(*place); \
            *place = x; \
        } else pool_##type[count_##type++] = x; \
    } \
    static type *pick_##type##_p(const char *name) \
    { \
        type *const x = any_##type(); \
        say(" %s=%p", name, (void *)x); \
        return x; \
    }
POOL(gr_ints)
POOL(gr_module)
POOL(gr_slot)
OWNED(gr_optim, gr_optim_free)
static void end_cache(gr_attention_cache *c);
OWNED(gr_attention_cache, end_cache)
OWNED(gr_batches, gr_batches_free)

static gr_safetensors *file; /* the last file that was opened */
static const gr_safetensors_entry *entry;
static void keep_gr_safetensors_p(gr_safetensors *f)
{
    if (f) gr_safetensors_free(file), file = f, entry = f->count ? f->entry : NULL;
}

static gr_tensor *pool_tensor[MOST];
static size_t count_tensor;
static void keep_gr_tensor_p(gr_tensor *x)
{
    if (x && x->len < 100000) pool_tensor[count_tensor < MOST ? count_tensor++ : below(MOST)] = x;
}
static gr_tensor *any_tensor(void) { return count_tensor && !one_in(16) ? pool_tensor[below(count_tensor)] : NULL; }
static gr_tensor *pick_gr_tensor_p(const char *name)
{
    gr_tensor *const x = any_tensor();
    say(" %s=%s", name, x ? "[" : "NULL");
    for (int k = 0; x && k < x->rank; k++) say("%s%zu", k ? ", " : "", x->dim[k]);
    if (x) say("]");
    return x;
}
static void keep_gr_recurrent_out(gr_recurrent_out o) { keep_gr_tensor_p(o.y), keep_gr_tensor_p(o.h), keep_gr_tensor_p(o.c); }

static void keep_gr_sort_out(gr_sort_out o) { keep_gr_tensor_p(o.values), keep_gr_ints_p(o.ids); }

/* Modules of one kind; they are also in the pool of all modules. */
#define MODULE(type) \
    static type *pool_##type[MOST]; \
    static size_t count_##type; \
    static void keep_##type##_p(type *x) \
    { \
        if (x) pool_##type[count_##type < MOST ? count_##type++ : below(MOST)] = x, keep_gr_module_p(&x->module); \
    } \
    static type *pick_##type##_p(const char *name) \
    { \
        type *const x = count_##type && !one_in(12) ? pool_##type[below(count_##type)] : NULL; \
        say(" %s=%s", name, x ? x->module.kind : "NULL"); \
        return x; \
    }
MODULE(gr_linear_module)
MODULE(gr_embedding_module)
MODULE(gr_dropout_module)
MODULE(gr_norm)
MODULE(gr_conv_module)
MODULE(gr_recurrent)
MODULE(gr_lstm)
MODULE(gr_gru)
MODULE(gr_rnn)
MODULE(gr_multihead_attention)
MODULE(gr_transformer_layer)
MODULE(gr_transformer)
MODULE(gr_positions)
static void keep_gr_prelu_module_p(gr_prelu_module *p) { if (p) keep_gr_module_p(&p->module); } /* only gr_forward takes it */

#include "tests/campaign/misuse_picks.h"

/* ---- Functions that free an object, or whose arguments depend on each other ---- */

static void fresh(void)
{
    static const gr_shape shapes[] = { { 0, { 0 } }, { 1, { 3 } }, { 2, { 2, 3 } }, { 3, { 2, 4, 3 } }, { 4, { 2, 4, 3, 3 } }, { 2, { 0, 3 } }, { 1, { 1 } },
                                       { 8, { 1, 2, 1, 2, 1, 2, 1, 2 } } };
    static const int small[] = { 0, 1, 2, 1, 0, 2, 1, 1 };
    count_tensor = count_gr_ints = 0;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        gr_tensor *x = gr_randn(t, shapes[k], 0, 1, "fresh");
        keep_gr_tensor_p(one_in(2) ? gr_want_grad(t, x) : x);
    }
    for (gr_slot *s = gr_slot_first(root); s && one_in(2); s = gr_slot_next(root, s))
        if (s->kind != GR_KEPT) keep_gr_tensor_p(s->tensor);
    keep_gr_ints_p(gr_ints_new(t, small, GR_SHAPE(2))), keep_gr_ints_p(gr_ints_new(t, small, GR_SHAPE(2, 4)));
    keep_gr_ints_p(gr_ints_new(t, small, GR_SCALAR));
}
static void own_gr_tape_reset(void) { gr_tape_reset(t), fresh(); }
static void own_gr_tape_recover(void) { gr_tape_recover(t), fresh(); }
static void own_gr_tape_rewind(void)
{
    const gr_mark old = gr_tape_mark(t);
    gr_tensor *x = any_tensor();
    if (one_in(2)) gr_exp(t, x);
    if (one_in(4)) gr_tape_reset(t), fresh();
    gr_tape_rewind(one_in(9) ? NULL : t, old);
    gr_tape_recover(t), fresh();
}
static void forget_modules(void)
{
    count_gr_module = count_gr_linear_module = count_gr_embedding_module = count_gr_dropout_module = count_gr_norm = count_gr_conv_module = 0;
    count_gr_recurrent = count_gr_lstm = count_gr_gru = count_gr_rnn = count_gr_multihead_attention = count_gr_transformer_layer = count_gr_transformer = 0;
    count_gr_positions = count_gr_slot = 0;
}
static void own_gr_module_free(void)
{
    gr_module *const m = any_gr_module();
    bool tied = false; /* a module that others are tied to, or that belongs to a larger layer, must not be freed alone */
    for (const gr_slot *s = gr_slot_first(root); s; s = gr_slot_next(root, s)) tied = tied || s->tied;
    if (m && (m == root ? !one_in(5) : tied || m->parent != root)) return;
    gr_tape_recover(t);
    gr_module_free(m);
    forget_modules();
    if (m == root) root = gr_module_new(t);
    for (gr_module *at = root; at; at = gr_module_next(root, at)) keep_gr_module_p(at);
    fresh();
}
static void end_cache(gr_attention_cache *c) { gr_tape_recover(t), fresh(), gr_attention_cache_free(c); } /* a step with it must end before */
static void own_gr_attention_cache_free(void)
{
    end_cache(count_gr_attention_cache && !one_in(12) ? pool_gr_attention_cache[--count_gr_attention_cache] : NULL);
}
static void own_gr_module_ready(void) { gr_module_ready(t, NULL); } /* on an error it frees the module */
static void own_gr_module_make(void)
{
    const char *const name = pick_char_p("name"), *const kind = pick_char_p("kind");
    gr_module *const parent = pick_gr_module_p("parent");
    keep_gr_module_p(gr_module_make(pick_gr_tape_p("t"), parent, name, kind, one_in(6) ? below(sizeof(gr_module)) : sizeof(gr_module) + below(40)));
}
static void own_gr_module_new(void) { gr_module_free(gr_module_new(pick_gr_tape_p("t"))); }
static void own_gr_optim_free(void)
{
    gr_optim *const o = pick_gr_optim_p("o");
    gr_optim_free(o);
    for (size_t i = 0; i < count_gr_optim; i++)
        if (pool_gr_optim[i] == o) pool_gr_optim[i--] = pool_gr_optim[--count_gr_optim];
}
static void own_gr_batches_free(void) { gr_batches_free(NULL); }
static void own_gr_batches_next(void) { gr_batches_next(pick_gr_batches_p("b")); } /* the numbers die with b */
static void own_gr_safetensors_free(void)
{
    gr_safetensors_free(file), file = NULL, entry = NULL;
}
static void own_gr_kept(void) { gr_kept(pick_gr_module_p("m"), pick_char_p("name")); } /* it is freed when another shape is kept */
static void own_gr_detach_keep(void)
{
    gr_module *const m = pick_gr_module_p("m");
    const char *const name = pick_char_p("name");
    gr_detach_keep(pick_gr_tape_p("t"), m, name, pick_gr_tensor_p("x"));
}
static void own_gr_forget(void)
{
    gr_module *const m = pick_gr_module_p("m");
    gr_tape_recover(t), fresh(); /* the kept state may be in the graph */
    gr_forget(pick_gr_tape_p("t"), m);
}
static void own_gr_checkpoint_load(void)
{
    gr_module *const m = pick_gr_module_p("m");
    gr_optim *const o = pick_gr_optim_p("o");
    gr_tape_recover(t), fresh();
    const char *const path = pick_char_p("path");
    gr_checkpoint_load(pick_gr_tape_p("t"), m, o, path, pick_gr_checkpoint_value_p("values"), below(3));
}
static void own_gr_tape_new_checked(void)
{
    const gr_tape_config c = { .threads = one_in(2) ? 0 : pick_int("threads"), .isa = pick_char_p("isa"), .allocator = one_in(2) ? &limited : NULL };
    gr_tape *u = gr_tape_new_checked(below(5), one_in(5) ? NULL : &c, one_in(4) ? 2 : sizeof(gr_real), one_in(4) ? 0 : GR_VERSION);
    if (gr_message(u)) gr_tape_free(u);
}
static void own_gr_tape_free(void) { gr_tape_free(NULL); }
static void own_gr_pool_new(void) { gr_pool_free(gr_pool_new(one_in(2) ? 2 : pick_int("threads"), one_in(2) ? &limited : NULL)); }
static void own_gr_pool_free(void) { gr_pool_free(NULL); }
static void own_gr_memory_new(void)
{
    const size_t bytes = pick_size_t("");
    gr_memory_free(&limited, gr_memory_new(&limited, bytes), bytes);
}
static void own_gr_memory_free(void) { gr_memory_free(&limited, NULL, below(2)); }
static void own_gr_fail(void) { gr_fail(pick_gr_tape_p("t"), pick_gr_op_p("op"), "%s", "nonsense"); }
static void own_gr_fail_as(void)
{
    const char *const name = pick_char_p("name");
    gr_fail_as(pick_gr_tape_p("t"), (gr_error)(1 + below(5)), name, "%d", 1);
}
static void own_gr_scratch(void) { if (t) gr_scratch(t); } /* allowed only in a backward */
static void own_gr_parallel(void) { gr_parallel(t, below(3), 0, pick_gr_task_p("f"), NULL); } /* allowed only in an operator, after gr_ready */
static void own_gr_stream_permutation(void)
{
    static size_t order[64];
    gr_stream_permutation(pick_gr_stream_p("s"), one_in(5) ? NULL : order, below(64));
}
static void own_gr_tape_set_recording(void) { gr_tape_set_recording(t, !one_in(4)); }

#include "misuse_calls.h"

/* ---- Batches ---- */

enum { FUNCTION_COUNT = sizeof calls / sizeof *calls };
_Static_assert(sizeof calls / sizeof *calls < (size_t)FUNCTIONS, "room for all functions");

static void run_batch(uint64_t seed, size_t batch)
{
    char name[40];
    snprintf(name, sizeof name, "batch %zu", batch);
    chance = gr_stream_new(seed, name);
    nowhere = fopen("/dev/null", "w");
    t = gr_tape_new(seed, &(gr_tape_config){ .allocator = &limited, .threads = one_in(4) ? 2 : 1 });
    root = gr_module_new(t);
    keep_gr_module_p(root);
    for (size_t i = 0; i < 4096; i++) buffer[i] = (double)i / 7, whole[i] = (int)(i % 4);
    fresh();
    for (size_t i = 0; i < CALLS; i++) {
        const size_t k = below(FUNCTION_COUNT);
        shared->length = 0;
        say("call %zu: %s", i, calls[k].name);
        shared->calls++, shared->of[k]++;
        calls[k].call();
        shared->went_well[k] += !gr_failed(t);
        if (loud) printf("%s  %s\n", shared->call, gr_message(t)), fflush(stdout);
        if (gr_failed(t) && !one_in(4)) gr_tape_recover(t), fresh();
    }
    shared->length = 0;
    say("the end of the batch");
    while (count_gr_batches) gr_batches_free(pool_gr_batches[--count_gr_batches]);
    while (count_gr_optim) gr_optim_free(pool_gr_optim[0]), pool_gr_optim[0] = pool_gr_optim[--count_gr_optim];
    while (count_gr_attention_cache) end_cache(pool_gr_attention_cache[--count_gr_attention_cache]);
    gr_tape_recover(t);
    own_gr_safetensors_free(), gr_module_free(root), gr_tape_free(t), fclose(nowhere);
    if (used_bytes) say(": %zu bytes were not given back", used_bytes), abort();
}

static bool batch_is_good(uint64_t seed, size_t batch)
{
    int status = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (!child) {
        setrlimit(RLIMIT_CPU, &(struct rlimit){ 20, 20 });
        alarm(120);
        run_batch(seed, batch);
        exit(0); /* with the leak check */
    }
    if (waitpid(child, &status, 0) == child && status == 0) return true;
    printf("FAILED --seed %llu --batch %zu: %s %d after %s\n", (unsigned long long)seed, batch, WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), shared->call);
    return false;
}

/* Remove the files that calls have made in this folder, whatever their names are. */
static void remove_files(void)
{
    DIR *const here = opendir(".");
    for (const struct dirent *e; here && (e = readdir(here));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) remove(e->d_name);
    if (here) closedir(here);
}

int main(int argc, char **argv)
{
    unsigned long long seed = 1, batches = 1000, first = 0, failed = 0;
    bool alone = false;
    for (int i = 1; i + 1 < argc; i += 2) {
        const unsigned long long n = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--seed")) seed = n;
        else if (!strcmp(argv[i], "--batches")) batches = n;
        else if (!strcmp(argv[i], "--first")) first = n;
        else if (!strcmp(argv[i], "--batch")) first = n, batches = 1, alone = loud = true;
        else return fprintf(stderr, "misuse [--seed N] [--first N] [--batches N] [--batch N]\n"), 2;
    }
    char folder[] = "/tmp/gradus-misuse-XXXXXX";
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || !mkdtemp(folder) || chdir(folder)) return perror("misuse"), 2;
    if (alone) run_batch(seed, first);
    for (size_t b = first; !alone && b < first + batches; b++) failed += !batch_is_good(seed, b);
    remove_files();
    if (chdir("/") || rmdir(folder)) printf("left over: %s\n", folder);
    size_t never = 0, well = 0;
    for (size_t k = 0; k < FUNCTION_COUNT; k++) {
        well += shared->went_well[k];
        if (!shared->went_well[k] && ++never && !alone) printf("never without an error: %s, %zu calls\n", calls[k].name, shared->of[k]);
    }
    printf("%zu calls of %d functions, %zu without an error; %llu of %llu batches failed\n", shared->calls, FUNCTION_COUNT, well, failed, batches);
    return failed ? 1 : 0;
}
