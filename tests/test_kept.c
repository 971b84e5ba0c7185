/* tests/test_kept.c - kept states that change their shape: gr_tape_recover restores them, and no state is freed while a name refers to
 * it. */
#include "tests/failing.h"

static gr_tensor *keep(gr_tape *t, gr_module *m, gr_shape shape, double value) { return gr_detach_keep(t, m, "h", gr_full(t, shape, value)); }

static void any_error(gr_tape *t)
{
    gr_add(t, gr_zeros(t, GR_SHAPE(2)), gr_zeros(t, GR_SHAPE(3)));
    assert_true(gr_failed(t));
}

static void assert_keeps(const gr_module *m, gr_shape shape, double value)
{
    const gr_tensor *const kept = gr_kept(m, "h");
    assert_non_null(kept);
    assert_int_equal(kept->rank, shape.rank);
    for (int i = 0; i < shape.rank; i++) assert_int_equal(kept->dim[i], shape.dim[i]);
    for (size_t i = 0; i < kept->len; i++) assert_true(kept->data[i] == (gr_real)value);
    assert_string_equal(kept->path, "h");
}

TEST(recover_restores_the_old_shape)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *m = gr_module_new(t);
    keep(t, m, GR_SHAPE(2, 3), 7);
    gr_tape_reset(t);
    assert_true(gr_forget(t, m));
    keep(t, m, GR_SHAPE(4, 3), 8);
    assert_keeps(m, GR_SHAPE(4, 3), 8);
    assert_true(gr_forget(t, m));
    keep(t, m, GR_SHAPE(500), 9);
    any_error(t);
    gr_tape_recover(t);
    assert_keeps(m, GR_SHAPE(2, 3), 7);
    assert_true(gr_forget(t, m));
    keep(t, m, GR_SHAPE(4, 3), 1);
    gr_tape_reset(t);
    gr_tape_recover(t); /* the step is over, so its kept state stays */
    assert_keeps(m, GR_SHAPE(4, 3), 1);
    assert_null(keep(t, m, GR_SHAPE(4, 4), 1));
    assert_message(t, "detach_keep: h was kept as [4, 3]; got [4, 4]");
    gr_module_free(m);
    gr_tape_free(t);
}

TEST(recover_after_a_first_keep_keeps_nothing)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *m = gr_module_new(t);
    keep(t, m, GR_SHAPE(3), 7);
    any_error(t);
    gr_tape_recover(t);
    assert_null(gr_kept(m, "h"));
    keep(t, m, GR_SHAPE(2), 8); /* now any shape is allowed */
    assert_keeps(m, GR_SHAPE(2), 8);
    gr_module_free(m);
    gr_tape_free(t);
}

/* A checkpoint with another shape that is refused, and one that is loaded. */
TEST(a_checkpoint_may_hold_another_shape)
{
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("kept"));
    gr_tape *saver = gr_tape_new(1, NULL), *t = gr_tape_new(1, NULL);
    gr_module *saved = gr_module_new(saver), *m = gr_module_new(t);
    keep(saver, saved, GR_SHAPE(5, 3), 5);
    assert_true(gr_checkpoint_save(saver, saved, NULL, path, NULL, 0));
    keep(t, m, GR_SHAPE(2, 3), 7);
    gr_tape_reset(t);
    assert_true(gr_forget(t, m));
    int64_t run = 0;
    assert_false(gr_checkpoint_load(t, m, NULL, path, &(gr_checkpoint_value){ "run", GR_I64, 1, &run }, 1));
    gr_tape_recover(t);
    assert_keeps(m, GR_SHAPE(2, 3), 7);
    assert_true(gr_checkpoint_load(t, m, NULL, path, NULL, 0));
    assert_keeps(m, GR_SHAPE(5, 3), 5);
    any_error(t);
    gr_tape_recover(t); /* recover restores the state of the load */
    assert_keeps(m, GR_SHAPE(5, 3), 5);
    unlink(path);
    gr_module_free(m), gr_module_free(saved);
    gr_tape_free(t), gr_tape_free(saver);
}

/* The graph reads the values that were kept when it was recorded. */
TEST(a_backward_may_follow_a_change_of_shape)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_module *m = gr_module_new(t);
    gr_tensor *x = gr_want_grad(t, gr_full(t, GR_SHAPE(2, 2), 3));
    keep(t, m, GR_SHAPE(2, 2), 4);
    gr_tensor *y = gr_sum(t, gr_mul(t, x, gr_kept(m, "h")), GR_ALL_AXES, false);
    assert_true(gr_forget(t, m));
    keep(t, m, GR_SHAPE(300, 3), 5);
    assert_true(gr_backward(t, y));
    for (int i = 0; i < 4; i++) assert_true(gr_grad(t, x)[i] == 4);
    gr_module_free(m);
    gr_tape_free(t);
}

static void segment(gr_tape *t, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    gr_module *const m = *(gr_module **)argument;
    gr_tensor *const h = gr_carried(t, m, "h");
    gr_tensor *const y = gr_mul(t, in[0], h ? gr_sum(t, h, GR_ALL_AXES, false) : gr_scalar(t, 1));
    gr_forget(t, m);
    gr_detach_keep(t, m, "h", y);
    out[0] = y;
}
TEST(a_recomputed_segment_may_change_the_shape)
{
    for (size_t rows = 1; rows < 4; rows++) {
        gr_tape *t = gr_tape_new(1, NULL);
        gr_module *m = gr_module_new(t);
        keep(t, m, GR_SHAPE(2, 3), 7);
        gr_tape_reset(t);
        gr_tensor *x = gr_want_grad(t, gr_full(t, GR_SHAPE(rows, 3), 2)), *y;
        assert_true(gr_recompute(t, segment, &m, sizeof m, (gr_tensor *[]){ x }, 1, &y, 1));
        assert_keeps(m, GR_SHAPE(rows, 3), 84);
        assert_true(gr_backward(t, gr_sum(t, y, GR_ALL_AXES, false)));
        assert_keeps(m, GR_SHAPE(rows, 3), 84);
        for (size_t i = 0; i < 3 * rows; i++) assert_true(gr_grad(t, x)[i] == 42);
        any_error(t);
        gr_tape_recover(t);
        assert_keeps(m, GR_SHAPE(2, 3), 7);
        gr_module_free(m);
        gr_tape_free(t);
    }
}

/* Sequences of 200 different lengths: the memory of the old shapes is freed when their step is over. */
TEST(old_shapes_are_freed_in_later_steps)
{
    failing_memory memory = { 0 };
    const gr_allocator allocator = { failing_alloc, failing_release, &memory };
    gr_tape *t = gr_tape_new(1, (&(gr_tape_config){ .allocator = &allocator }));
    gr_module *m = gr_module_new(t);
    size_t live = 0;
    for (size_t step = 0; step < 400; step++) {
        gr_tape_reset(t);
        assert_true(gr_forget(t, m));
        keep(t, m, GR_SHAPE(1 + step % 200), (double)step);
        if (step % 7 == 3) any_error(t), gr_tape_recover(t);
        if (step == 10) live = memory.live;
    }
    assert_true(memory.live <= live + 4);
    gr_module_free(m);
    gr_tape_free(t);
    assert_int_equal(memory.live, 0);
}

/* A tape does not free a state that another tape can still restore. */
TEST(two_tapes_may_keep_in_one_module)
{
    gr_tape *a = gr_tape_new(1, NULL), *b = gr_tape_new(2, NULL);
    gr_module *m = gr_module_new(a);
    keep(a, m, GR_SHAPE(2), 1);
    for (size_t step = 0; step < 20; step++) {
        gr_tape_reset(a);
        assert_true(gr_forget(a, m));
        keep(a, m, GR_SHAPE(3), 2);
        for (size_t i = 0; i < 3; i++) {
            gr_tape_reset(b);
            assert_true(gr_forget(b, m));
            keep(b, m, GR_SHAPE(4 + (step + i) % 5), 3);
        }
        any_error(a);
        gr_tape_recover(a);
        assert_keeps(m, GR_SHAPE(2), 1);
    }
    gr_module_free(m);
    gr_tape_free(a), gr_tape_free(b);
}

static bool program(gr_tape *t, void *path)
{
    gr_module *m = gr_module_new(t);
    gr_linear_new(t, m, "fc", 2, 2, NULL);
    gr_tape_stream(t, "noise");
    if (!gr_failed(t)) gr_detach_keep(t, m, "h", gr_zeros(t, GR_SHAPE(2)));
    gr_tape_reset(t);
    const bool before = gr_kept(m, "h") && !gr_failed(t);
    gr_forget(t, m);
    gr_detach_keep(t, m, "h", gr_zeros(t, GR_SHAPE(3)));
    gr_detach_keep(t, m, "g", gr_zeros(t, GR_SHAPE(1)));
    gr_checkpoint_save(t, m, NULL, path, NULL, 0);
    gr_forget(t, m);
    gr_detach_keep(t, m, "h", gr_zeros(t, GR_SHAPE(4)));
    const bool well = gr_checkpoint_load(t, m, NULL, path, NULL, 0);
    if (well) assert_true(gr_kept(m, "h")->len == 3 && gr_kept(m, "g"));
    if (!well && before) {
        gr_tape_recover(t);
        assert_true(gr_kept(m, "h")->len == 2 && !gr_kept(m, "g"));
        gr_fail_as(t, GR_NO_MEMORY, "", "as before");
    }
    gr_module_free(m);
    return well;
}
TEST(every_allocation_may_fail)
{
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("memory"));
    fail_every_allocation(program, path);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recover_restores_the_old_shape),
        cmocka_unit_test(recover_after_a_first_keep_keeps_nothing),
        cmocka_unit_test(a_checkpoint_may_hold_another_shape),
        cmocka_unit_test(a_backward_may_follow_a_change_of_shape),
        cmocka_unit_test(a_recomputed_segment_may_change_the_shape),
        cmocka_unit_test(old_shapes_are_freed_in_later_steps),
        cmocka_unit_test(two_tapes_may_keep_in_one_module),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
