/* tests/test_checkpoint.c - a run that is stopped at any step and resumed ends with the same bits; a checkpoint that does not fit is
 * refused. */
#define FAILING_FILES
#include "core/library.h"
#include "tests/one_file.h"
#include "tests/own_rule.h"
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

/* A run with all kinds of state: moments, dropout masks, a counter, a kept state, a plateau, its own stream and order. */
enum { SAMPLES = 6, STEPS = 9 };
typedef struct {
    gr_tape *t;
    gr_module *net;
    gr_linear_module *in, *out;
    gr_dropout_module *drop;
    gr_optim *o;
    gr_stream shuffle;
    int64_t order[SAMPLES], position;
    double mean_loss;
} run;

static bool run_new(run *r, gr_tape *t, int rule)
{
    *r = (run){ .t = t, .net = gr_module_new(t), .position = SAMPLES };
    r->in = gr_linear_new(t, r->net, "in", 3, 8, NULL), r->drop = gr_dropout_new(t, r->net, "drop", 0.3), r->out = gr_linear_new(t, r->net, "out", 8, 1, NULL);
    gr_counter(t, r->net, "seen");
    r->o = rule == 0   ? gr_adam_new(t, r->net, &(gr_adam_config){ .lr = 0.05 })
           : rule == 1 ? gr_sgd_new(t, r->net, &(gr_sgd_config){ .lr = 0.05, .momentum = 0.9 })
           : rule == 2 ? gr_sgd_new(t, r->net, NULL)
           : rule == 3 ? gr_rmsprop_new(t, r->net, &(gr_rmsprop_config){ .momentum = 0.5, .centered = true })
           : rule == 4 ? gr_adagrad_new(t, r->net, &(gr_adagrad_config){ .initial_accumulator_value = 0.1, .lr_decay = 0.01 })
                       : amsgrad_new(t, r->net, 0.05);
    if (gr_failed(t)) return false;
    gr_optim_schedule(t, r->o, rule ? gr_schedule_plateau(0.5, 0) : gr_schedule_warmup(3, gr_schedule_cosine(7, 0)));
    r->shuffle = gr_stream_new(1, "train/shuffle");
    return !gr_failed(t);
}

static void run_free(run *r)
{
    gr_optim_free(r->o);
    gr_module_free(r->net);
}

static bool run_step(run *r)
{
    gr_tape *const t = r->t;
    gr_tape_reset(t);
    if (r->position == SAMPLES) {
        size_t order[SAMPLES];
        gr_stream_permutation(&r->shuffle, order, SAMPLES);
        for (int i = 0; i < SAMPLES; i++) r->order[i] = (int64_t)order[i];
        r->position = 0;
    }
    const gr_real sample = (gr_real)r->order[r->position++];
    gr_tensor *x = gr_input(t, (gr_real[]){ sample, 1, -sample }, GR_SHAPE(1, 3)), *kept = gr_kept(r->net, "h");
    gr_tensor *h = gr_tanh(t, gr_linear_forward(t, r->in, x));
    if (kept) h = gr_add(t, h, kept);
    gr_tensor *loss = gr_square(t, gr_linear_forward(t, r->out, gr_dropout_forward(t, r->drop, gr_add(t, h, gr_randn(t, GR_SHAPE(1, 8), 0, 0.1, "noise")))));
    gr_optim_zero_grad(r->o);
    gr_backward(t, gr_sum(t, loss, GR_ALL_AXES, false));
    gr_clip_grad_norm(t, r->o, 1);
    gr_detach_keep(t, r->net, "h", h);
    if (!gr_optim_step(t, r->o)) return false;
    gr_slot_find(r->net, "seen")->count++;
    r->mean_loss = 0.9 * r->mean_loss + 0.1 * (double)loss->data[0];
    gr_optim_observe(r->o, r->mean_loss);
    return true;
}

static uint64_t run_hash(const run *r)
{
    uint64_t hash = (uint64_t)gr_slot_find(r->net, "seen")->count ^ r->shuffle.counter ^ (uint64_t)r->position << 8;
    for (gr_slot *s = gr_slot_first(r->net); s; s = gr_slot_next(r->net, s))
        if (s->tensor && (s->kind != GR_KEPT || s->count)) hash = hash_reals(hash, s->tensor->data, s->tensor->len);
    return hash_reals(hash, (gr_real[]){ (gr_real)r->mean_loss, (gr_real)gr_optim_lr(r->o) }, 2);
}

#define VALUES(r) \
    (gr_checkpoint_value[]){ { "shuffle", GR_I64, 2, &(r)->shuffle }, { "order", GR_I64, SAMPLES, (r)->order }, \
                             { "position", GR_I64, 1, &(r)->position }, { "mean loss", GR_F64, 1, &(r)->mean_loss } }, 4
static bool run_save(run *r) { return gr_checkpoint_save(r->t, r->net, r->o, path, VALUES(r)); }
static bool run_load(run *r) { return gr_checkpoint_load(r->t, r->net, r->o, path, VALUES(r)); }

/* ---- Resuming ---- */

TEST(a_run_resumed_at_any_step_ends_with_the_same_bits)
{
    for (int rule = 0; rule < 6; rule++) {
        run whole;
        assert_true(run_new(&whole, gr_tape_new(11, NULL), rule));
        for (int i = 0; i < STEPS; i++) assert_true(run_step(&whole));
        for (int stop = 0; stop <= STEPS; stop++) {
            run before, after;
            assert_true(run_new(&before, gr_tape_new(11, NULL), rule));
            for (int i = 0; i < stop; i++) assert_true(run_step(&before));
            assert_true(run_save(&before));
            assert_true(run_new(&after, gr_tape_new(11, NULL), rule));
            for (int i = 0; i < stop % 3; i++) assert_true(run_step(&after)); /* also into a run that has trained in another way */
            assert_true(run_load(&after));
            assert_int_equal(gr_optim_steps(after.o), stop);
            for (int i = stop; i < STEPS; i++) assert_true(run_step(&after));
            assert_true(run_hash(&after) == run_hash(&whole));
            run_free(&before), run_free(&after);
            gr_tape_free(before.t), gr_tape_free(after.t);
        }
        run_free(&whole);
        gr_tape_free(whole.t);
    }
}

TEST(a_checkpoint_names_the_states_as_the_rule_does)
{
    const struct { int rule; const char *names[4]; } c[] = {
        { 0, { "optim/exp_avg/in.weight", "optim/exp_avg_sq/in.weight" } },
        { 3, { "optim/square_avg/in.weight", "optim/momentum_buffer/in.weight", "optim/grad_avg/in.weight" } },
        { 4, { "optim/sum/in.weight" } },
        { 5, { "optim/exp_avg/in.weight", "optim/exp_avg_sq/in.weight", "optim/max_exp_avg_sq/in.weight" } },
    };
    for (size_t k = 0; k < COUNT(c); k++) {
        run r;
        size_t states = 0;
        assert_true(run_new(&r, gr_tape_new(11, NULL), c[k].rule) && run_step(&r) && run_save(&r));
        gr_safetensors *f = gr_safetensors_open(r.t, path);
        for (size_t i = 0; i < f->count; i++) states += !strncmp(f->entry[i].name, "optim/", 6) && strstr(f->entry[i].name, "/in.weight");
        for (size_t i = 0; i < states; i++) assert_true(i < 4 && c[k].names[i] && gr_safetensors_find(f, c[k].names[i]));
        assert_true(states == 4 || !c[k].names[states]);
        gr_safetensors_free(f);
        run_free(&r);
        gr_tape_free(r.t);
    }
}

TEST(the_weights_of_a_checkpoint_are_a_state_dict)
{
    run r, other;
    assert_true(run_new(&r, gr_tape_new(11, NULL), 0) && run_step(&r) && run_save(&r));
    assert_true(run_new(&other, gr_tape_new(12, NULL), 0));
    assert_true(gr_state_load(other.t, other.net, path, NULL));
    assert_same_bits(other.in->weight->data, r.in->weight->data, 24);
    assert_int_equal(gr_optim_steps(other.o), 0);
    run_free(&other);
    gr_tape_free(other.t);
    assert_true(run_new(&other, gr_tape_new(11, NULL), 1));
    assert_true(gr_checkpoint_load(other.t, other.net, NULL, path, NULL, 0)); /* without the optimizer's part */
    assert_same_bits(other.in->weight->data, r.in->weight->data, 24);
    run_free(&r), run_free(&other);
    gr_tape_free(r.t), gr_tape_free(other.t);
}

/* ---- What does not fit ---- */

static void assert_refused(run *r, const gr_checkpoint_value *values, size_t n, const char *message)
{
    const uint64_t before = run_hash(r);
    char full[700];
    snprintf(full, sizeof full, message, path);
    assert_false(gr_checkpoint_load(r->t, r->net, r->o, path, values, n));
    assert_message(r->t, full);
    assert_true(run_hash(r) == before);
    gr_tape_recover(r->t);
}

TEST(a_checkpoint_of_another_run_is_refused)
{
    run r, seed, rule;
    assert_true(run_new(&r, gr_tape_new(11, NULL), 0) && run_step(&r) && run_save(&r));
    assert_true(run_new(&seed, gr_tape_new(12, NULL), 0) && run_new(&rule, gr_tape_new(11, NULL), 1));
    assert_refused(&seed, VALUES(&seed), "%s: belongs to a tape with seed 11; this tape has seed 12");
    assert_refused(&rule, VALUES(&rule), "%s: was made with optimizer adam; this one is sgd with momentum");
    assert_refused(&r, &(gr_checkpoint_value){ "epoch", GR_I64, 1, &r.position }, 1, "%s: value/epoch is missing");
    assert_refused(&r, &(gr_checkpoint_value){ "order", GR_I64, 2, r.order }, 1, "%s: value/order is I64 [6] and should be I64 [2]");
    assert_refused(&r, &(gr_checkpoint_value){ "order", GR_F64, 6, r.order }, 1, "%s: value/order is I64 [6] and should be F64 [6]");
    gr_param(r.t, r.net, "more", GR_SHAPE(2), gr_init_constant(0));
    assert_refused(&r, NULL, 0, "%s: does not fit the module: more [2] is missing");
    assert_true(gr_state_save(seed.t, seed.net, path, NULL));
    assert_refused(&seed, NULL, 0, "%s: is not a 'gradus checkpoint 2'; gr_state_load reads files that hold only weights");
    run_free(&r), run_free(&seed), run_free(&rule);
    gr_tape_free(r.t), gr_tape_free(seed.t), gr_tape_free(rule.t);
}

/* Each tensor of the file in turn is left out, cut short, or given another type: the load fails and changes nothing. Only a stream or a
 * kept state may be missing, and only if the file says that it did not exist when it was saved. */
TEST(a_wrong_part_of_a_checkpoint_is_refused_and_changes_nothing)
{
    run r;
    assert_true(run_new(&r, gr_tape_new(11, NULL), 0) && run_step(&r) && run_save(&r));
    gr_safetensors *f = gr_safetensors_open(r.t, path);
    for (size_t skip = 0; skip < f->count; skip++)
        for (int how = 0; how < 4; how++) {
            gr_safetensors_item item[64];
            size_t n = 0;
            char tensors[24];
            for (size_t i = 0; i < f->count; i++) {
                item[n] = (gr_safetensors_item){ f->entry[i].name, f->entry[i].dtype, f->entry[i].shape, f->entry[i].data };
                if (i == skip && how == 1) item[n].shape = GR_SHAPE(0);
                if (i == skip && how == 2) item[n].dtype = GR_F16;
                n += i != skip || how == 1 || how == 2;
            }
            snprintf(tensors, sizeof tensors, "%zu", how ? n : f->count);
            const char *const notes[] = { "format", "gradus checkpoint 2", "seed", "11", "optimizer", "adam", "tensors", tensors, "checksum", "", NULL };
            assert_true(gr_safetensors_write(r.t, path, item, n, notes));
            run other;
            assert_true(run_new(&other, gr_tape_new(11, NULL), 0) && run_step(&other) && run_step(&other));
            const uint64_t before = run_hash(&other);
            const char *const name = f->entry[skip].name;
            const bool may_lack = how == 3 && (!strncmp(name, "stream/", 7) || !strncmp(name, "kept/", 5));
            const bool reshaped = how == 1 && !strncmp(name, "kept/", 5); /* this shape fits too: the file decides */
            assert_int_equal(run_load(&other), may_lack || reshaped);
            if (!may_lack && !reshaped) assert_int_equal(gr_error_code(other.t), GR_BAD_FILE);
            if (!may_lack && !reshaped) assert_true(run_hash(&other) == before);
            run_free(&other);
            gr_tape_free(other.t);
        }
    gr_safetensors_free(f);
    run_free(&r);
    gr_tape_free(r.t);
}

TEST(entries_without_an_owner_are_refused_and_named)
{
    run r;
    assert_true(run_new(&r, gr_tape_new(11, NULL), 2));
    assert_false(gr_failed(r.t));
    const char *const notes[] = { "format", "gradus checkpoint 2", "seed", "11", "optimizer", "sgd", "tensors", "10", "checksum", "", NULL };
    const char *const real = gr_dtype_name(GR_REAL_DTYPE);
    const int64_t two[2] = { 5, 6 };
    const gr_real one = 1;
    char typed[2][80];
    snprintf(typed[0], sizeof typed[0], "%%s: kept/h is I64 [1] and should be %s [1]", real);
    snprintf(typed[1], sizeof typed[1], "%%s: stream/noise is %s [1] and should be I64 [2]", real);
    const struct { gr_safetensors_item item; const char *message; } c[] = {
        { { "kept/nobody.h", GR_REAL_DTYPE, GR_SHAPE(1), &one }, "%s: kept/nobody.h: there is no such module" },
        { { "kept/in.weight.h", GR_REAL_DTYPE, GR_SHAPE(1), &one }, "%s: kept/in.weight.h: there is no such module" },
        { { "kept/in", GR_REAL_DTYPE, GR_SHAPE(1), &one }, "%s: kept/in: the module has something else of that name" },
        { { "kept/in.weight", GR_REAL_DTYPE, GR_SHAPE(1), &one }, "%s: kept/in.weight: the module has something else of that name" },
        { { "kept/", GR_REAL_DTYPE, GR_SHAPE(1), &one }, "%s: kept/ is not the name of a kept state" },
        { { "kept/in.", GR_REAL_DTYPE, GR_SHAPE(1), &one }, "%s: kept/in. is not the name of a kept state" },
        { { "kept/a/b", GR_REAL_DTYPE, GR_SHAPE(1), &one }, "%s: kept/a/b is not the name of a kept state" },
        { { "kept/h", GR_I64, GR_SHAPE(1), two }, typed[0] },
        { { "kept/h", GR_REAL_DTYPE, GR_SHAPE(0, (size_t)1 << 40, (size_t)1 << 40), NULL }, "%s: kept/h: [0, 1099511627776, 1099511627776] is not a shape that fits this machine" },
        { { "stream/noise", GR_I64, GR_SHAPE(2), two }, "%s: stream/noise has a key that differs from this tape's" },
        { { "stream/noise", GR_REAL_DTYPE, GR_SHAPE(1), &one }, typed[1] },
        { { "strxam/noise", GR_I64, GR_SHAPE(2), two }, "%s: strxam/noise does not belong in a checkpoint" },
        { { "optim/stex", GR_I64, GR_SHAPE(2), two }, "%s: optim/stex does not belong in a checkpoint" },
        { { "/", GR_I64, GR_SHAPE(2), two }, "%s: / does not belong in a checkpoint" },
    };
    gr_safetensors_item item[16];
    for (size_t k = 0; k < COUNT(c); k++) {
        size_t n = 0;
        for (gr_slot *s = gr_slot_first(r.net); s; s = gr_slot_next(r.net, s)) {
            if (s->tensor) item[n++] = (gr_safetensors_item){ s->path, GR_REAL_DTYPE, gr_shape_of(s->tensor), s->tensor->data };
            else item[n++] = (gr_safetensors_item){ s->path, GR_I64, GR_SCALAR, &s->count };
        }
        assert_int_equal(n, 5); /* no slot was left behind */
        item[n++] = c[k].item;
        item[n++] = (gr_safetensors_item){ "optim/step", GR_I64, GR_SHAPE(4), (int64_t[4]){ 0 } };
        item[n++] = (gr_safetensors_item){ "optim/power", GR_F64, GR_SHAPE(4, 2), (double[8]){ 0 } };
        item[n++] = (gr_safetensors_item){ "optim/rate", GR_F64, GR_SHAPE(3), (double[3]){ 0 } };
        item[n++] = (gr_safetensors_item){ "optim/count", GR_I64, GR_SHAPE(2), two };
        assert_true(gr_safetensors_write(r.t, path, item, n, notes));
        const gr_real weight = r.in->weight->data[0];
        assert_refused(&r, NULL, 0, c[k].message);
        assert_true(r.in->weight->data[0] == weight);
        assert_null(gr_kept(r.net, "h"));
        assert_null(gr__tape_stream_at(r.t, 0, NULL));
    }
    run_free(&r);
    gr_tape_free(r.t);
}

TEST(a_missing_path_module_or_value_is_an_error)
{
    run r;
    assert_true(run_new(&r, gr_tape_new(11, NULL), 0));
    assert_false(gr_checkpoint_save(NULL, r.net, r.o, path, NULL, 0));
    assert_false(gr_checkpoint_load(NULL, r.net, r.o, path, NULL, 0));
    assert_fails(r.t, gr_checkpoint_save(r.t, r.net, r.o, NULL, NULL, 0), "checkpoint_save: the path is NULL");
    assert_fails(r.t, gr_checkpoint_load(r.t, NULL, r.o, path, NULL, 0), "checkpoint_load: the module is NULL");
    assert_fails(r.t, gr_checkpoint_save(r.t, r.net, r.o, path, &(gr_checkpoint_value){ .name = "x" }, 1),
                 "checkpoint_save: value 0 needs a name, a type and data");
    assert_fails(r.t, gr_checkpoint_save(r.t, r.net, r.o, path, &(gr_checkpoint_value){ "x", (gr_dtype)77, 1, &r }, 1),
                 "checkpoint_save: value 0 needs a name, a type and data");
    assert_fails(r.t, gr_checkpoint_save(r.t, r.net, r.o, path, NULL, 1), "checkpoint_save: values is NULL, but n is 1");
    gr_module *lone = gr_module_new(r.t);
    assert_fails(r.t, gr_checkpoint_save(r.t, lone, r.o, path, NULL, 0), "checkpoint_save: the optimizer holds parameters of a module that is not in m");
    assert_fails(r.t, gr_checkpoint_load(r.t, lone, r.o, path, NULL, 0), "checkpoint_load: the optimizer holds parameters of a module that is not in m");
    gr_module_free(lone);
    assert_false(gr_checkpoint_load(r.t, r.net, r.o, path, NULL, 2));
    assert_message(r.t, "checkpoint_load: values is NULL, but n is 2");
    run_free(&r);
    gr_tape_free(r.t);
}

TEST(a_rule_whose_states_have_no_names_for_a_file_is_refused)
{
#define STATE(number, shown) "odd: state " number " is called '" shown "'; a name is UTF-8 text without '/', not empty, and new"
    static const struct { gr_optim_rule rule; const char *message; } c[] = {
        { { "odd", { "" }, amsgrad_move }, STATE("0", "") },
        { { "odd", { "m", "a/b" }, amsgrad_move }, STATE("1", "a/b") },
        { { "odd", { "m", "\xff" }, amsgrad_move }, STATE("1", "\\xff") },
        { { "odd", { "m", NULL, NULL, "m" }, amsgrad_move }, STATE("3", "m") },
        { { "odd\xc3", { "m" }, amsgrad_move }, "optim_new: the rule needs a name, which is UTF-8 text and not empty" },
        { { "", { "m" }, amsgrad_move }, "optim_new: the rule needs a name, which is UTF-8 text and not empty" },
    };
#undef STATE
    run r;
    assert_true(run_new(&r, gr_tape_new(11, NULL), 0));
    for (size_t k = 0; k < COUNT(c); k++) assert_fails(r.t, gr_optim_new(r.t, r.net, &c[k].rule, NULL), c[k].message);
    run_free(&r);
    gr_tape_free(r.t);
}

/* ---- Failures ---- */

static bool save_and_resume(gr_tape *t, void *unused)
{
    (void)unused;
    run r, other;
    gr_tape *const second = gr_tape_new(gr_tape_seed(t), NULL); /* a tape with its own allocator, which does not fail, prepares the file */
    if (run_new(&other, second, 0) && run_step(&other)) run_save(&other);
    bool well = run_new(&r, t, 0);
    const uint64_t before = well ? run_hash(&r) : 0;
    const bool loaded = well && run_load(&r);
    if (well && !loaded) assert_true(run_hash(&r) == before && !gr_kept(r.net, "h"));
    well = loaded && run_save(&r);
    run_free(&r), run_free(&other);
    gr_tape_free(second);
    return well;
}
TEST(every_allocation_may_fail)
{
    fail_every_allocation(save_and_resume, NULL);
}

TEST(a_kill_leaves_the_old_file_or_the_new)
{
    run r;
    assert_true(run_new(&r, gr_tape_new(11, NULL), 0) && run_save(&r));
    for (int kills = 0; kills < 25; kills++) {
        const pid_t child = fork();
        if (!child)
            for (;;) run_step(&r), run_save(&r);
        usleep((useconds_t)(1000 + kills * 137));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        run after;
        assert_true(run_new(&after, gr_tape_new(11, NULL), 0));
        if (!run_load(&after)) fail_msg("%s", gr_message(after.t));
        assert_int_equal(gr_slot_find(after.net, "seen")->count, gr_optim_steps(after.o));
        run_free(&after);
        gr_tape_free(after.t);
    }
    assert_true(run_save(&r)); /* removes the unfinished files of the killed processes */
    DIR *d = opendir(test_folder);
    for (struct dirent *e; (e = readdir(d));) assert_null(strstr(e->d_name, ".tmp"));
    closedir(d);
    run_free(&r);
    gr_tape_free(r.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_resumed_at_any_step_ends_with_the_same_bits),
        cmocka_unit_test(a_checkpoint_names_the_states_as_the_rule_does),
        cmocka_unit_test(the_weights_of_a_checkpoint_are_a_state_dict),
        cmocka_unit_test(a_checkpoint_of_another_run_is_refused),
        cmocka_unit_test(a_wrong_part_of_a_checkpoint_is_refused_and_changes_nothing),
        cmocka_unit_test(entries_without_an_owner_are_refused_and_named),
        cmocka_unit_test(a_missing_path_module_or_value_is_an_error),
        cmocka_unit_test(a_rule_whose_states_have_no_names_for_a_file_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_kill_leaves_the_old_file_or_the_new),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
