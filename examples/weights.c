/* examples/weights.c - look into a .safetensors file, and build on weights from elsewhere.
 *
 * A point is three pairs of numbers. A first network learns which of the pairs have the same sign, and gets as many points as it needs. Its
 * weights go into a file, in double and under the names of another program. A second network has only 32 points to learn whether most pairs
 * have the same sign: it takes two layers from the file, freezes one of them, and moves the other slowly. A third network learns the same
 * without the file.
 * Shows: reading and writing files of named tensors, copying one into a parameter, freezing a part, parameter groups with AdamW.
 * Run:   examples/weights                             (at once)
 *        examples/weights --file x.safetensors        types, shapes, ranges and names in any file: one of ours, or of Python's safetensors
 *        examples/weights --save first.safetensors    keep the file of the first network
 * See:   on new points the second network is right on more than 80 of 100, and the third on about 60.
 * Exit:  0, or 1 --check missed its target; 2 a bad flag or path; 3 out of memory or disk full.
 */
#include "examples/kit/json.h"
#include "examples/kit/kit.h"
#include "examples/kit/output.h"
#include "gradus.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { H = 32, ALL = 8, FEW = 32, MANY = 2000 }; /* hidden units, classes of the first task, points of the second, new points for tests */

static kit_options o = { .seed = 42 };
static const char *file, *save;
static const kit_flag flag[] = {
    { "file", KIT_TEXT, &file, "FILE", "only look into this .safetensors file", 0, 0 },
    { "save", KIT_TEXT, &save, "FILE", "keep the weights of the first network", 0, 0 },
    KIT_FLAGS_RUN(o, "exit 1 unless the layers from the file help and the frozen one stays"),
};
static const kit_flags flags = { "weights", "look into a .safetensors file, and build on its weights", flag, sizeof flag / sizeof *flag };

/* ==== Looking into a file ==== */

static void print_range(gr_tape *t, const gr_safetensors_entry *e)
{
    const bool whole = e->dtype == GR_I32 || e->dtype == GR_I64;
    void *const values = gr_save(t, e->len * (whole ? sizeof(int64_t) : sizeof(gr_real)));
    double low = INFINITY, high = -INFINITY;
    if (!values) return;
    if (whole) gr_safetensors_integers(e, values);
    else gr_safetensors_reals(e, values);
    for (size_t i = 0; i < e->len; i++) {
        const double v = whole ? (double)((int64_t *)values)[i] : (double)((gr_real *)values)[i];
        if (v < low) low = v;
        if (v > high) high = v;
    }
    if (low < high) printf("  %.4g .. %.4g\n", low, high);
    else if (low <= high) printf("  %.4g\n", low);
    else printf("\n"); /* nothing but NaN, or no values */
}

static void print_file(gr_tape *t, const gr_safetensors *f)
{
    size_t bytes = 0;
    for (size_t i = 0; i < f->notes; i++)
        kit_json_text(stdout, f->note[i].key), printf(": "), kit_json_text(stdout, f->note[i].value), printf("\n");
    for (size_t i = 0; i < f->count && !gr_failed(t); i++) {
        const gr_safetensors_entry *const e = &f->entry[i];
        const gr_mark before = gr_tape_mark(t);
        printf("%-4s %-10s %6zu x %zu bytes  ", gr_dtype_name(e->dtype), gr_shape_name(t, e->shape), e->len, gr_dtype_bytes(e->dtype));
        kit_json_text(stdout, e->name), print_range(t, e);
        gr_tape_rewind(t, before);
        bytes += e->bytes;
    }
    printf("%zu tensors, %zu bytes\n", f->count, bytes);
}

/* ==== The networks ==== */

typedef struct {
    gr_module *net;
    gr_linear_module *fc1, *fc2, *head;
    size_t classes;
} model;

static model build(gr_tape *t, size_t classes)
{
    model m = { .net = gr_module_new(t), .classes = classes };
    m.fc1 = gr_linear_new(t, m.net, "fc1", 6, H, NULL);
    m.fc2 = gr_linear_new(t, m.net, "fc2", H, H, NULL);
    m.head = gr_linear_new(t, m.net, "head", H, classes, NULL);
    return m;
}

static gr_tensor *logits_of(gr_tape *t, const model *m, gr_tensor *x)
{
    gr_tensor *const h = gr_tanh(t, gr_linear_forward(t, m->fc1, x));
    return gr_linear_forward(t, m->head, gr_tanh(t, gr_linear_forward(t, m->fc2, h)));
}

/* n points of three pairs, and their labels. Each number has points of its own. */
static gr_tensor *points(gr_tape *t, size_t n, size_t classes, size_t number, gr_ints **labels)
{
    gr_stream s = gr_stream_new(o.seed, "points");
    gr_tensor *const x = gr_empty(t, GR_SHAPE(n, 6));
    *labels = gr_ints_new(t, NULL, GR_SHAPE(n));
    s.counter = (uint64_t)number << 32;
    for (size_t i = 0; i < n && *labels; i++) {
        double v[6];
        for (int k = 0; k < 6; k++) v[k] = gr_stream_uniform(&s, -1, 1), x->data[6 * i + (size_t)k] = (gr_real)v[k];
        const int a = v[0] * v[1] > 0, b = v[2] * v[3] > 0, c = v[4] * v[5] > 0; /* which pairs have the same sign */
        (*labels)->data[i] = classes == ALL ? 4 * a + 2 * b + c : a + b + c >= 2;
    }
    return x;
}

static void train(gr_tape *t, const model *m, gr_optim *optim, size_t steps, size_t n)
{
    for (size_t step = 0; step < steps && !gr_failed(t) && !kit_interrupted(); step++) {
        gr_ints *labels;
        gr_tape_reset(t);
        gr_tensor *const x = points(t, n, m->classes, m->classes == ALL ? step + 2 : 1, &labels); /* the second task has one batch */
        gr_optim_zero_grad(optim);
        gr_backward(t, gr_cross_entropy(t, logits_of(t, m, x), labels, NULL));
        gr_optim_step(t, optim);
    }
    gr_tape_reset(t);
}

/* Percent of MANY new points. */
static double accuracy(gr_tape *t, const model *m)
{
    gr_ints *labels;
    gr_tensor *const x = points(t, MANY, m->classes, 0, &labels);
    const gr_ints *const guess = gr_argmax(t, logits_of(t, m, x), 1, false);
    size_t right = 0;
    for (size_t i = 0; guess && i < MANY; i++) right += guess->data[i] == labels->data[i];
    gr_tape_reset(t);
    return 100.0 * (double)right / MANY;
}

/* ==== From one to the other ==== */

/* Write the weights as another program would: in double, with names of its own, and the number of steps. */
static bool write_file(gr_tape *t, const model *m, const char *path, int64_t steps)
{
    static const char *const name[] = { "body.0.w", "body.0.b", "body.1.w", "body.1.b", "top.w", "top.b" };
    gr_safetensors_item item[7] = { { "steps", GR_I64, GR_SCALAR, &steps } };
    size_t n = 1;
    for (const gr_slot *s = gr_slot_first(m->net); s; s = gr_slot_next(m->net, s), n++) {
        double *const values = gr_save(t, s->tensor->len * sizeof *values);
        for (size_t i = 0; values && i < s->tensor->len; i++) values[i] = (double)s->tensor->data[i];
        item[n] = (gr_safetensors_item){ name[n - 1], GR_F64, gr_shape_of(s->tensor), values };
    }
    return gr_safetensors_write(t, path, item, n, (const char *const[]){ "task", "three pairs, 8 classes", "checksum", "", NULL });
}

/* Copy the tensor `name` of the file into the parameter `path` of the module. Between two steps a program may write into parameters. */
static bool take(gr_tape *t, const gr_safetensors *f, const char *name, gr_module *net, const char *path)
{
    const gr_safetensors_entry *const e = gr_safetensors_find(f, name);
    const gr_slot *const s = gr_slot_find(net, path);
    if (gr_failed(t)) return false;
    if (!e || !s || strcmp(gr_shape_name(t, e->shape), gr_shape_text(t, s->tensor)) != 0)
        return gr_fail_as(t, GR_BAD_FILE, "", "%s of the file does not fit %s of the network", name, path);
    gr_safetensors_reals(e, s->tensor->data);
    return true;
}

static void learn_and_write(gr_tape *t, const char *path)
{
    const model m = build(t, ALL);
    gr_optim *const adam = gr_adam_new(t, m.net, &(gr_adam_config){ .lr = 0.01 });
    train(t, &m, adam, 2000, 64);
    const double right = accuracy(t, &m);
    if (!o.quiet && !gr_failed(t)) printf("which pairs have the same sign: %.1f %% right after 2000 steps with new points\n\n", right);
    write_file(t, &m, path, (int64_t)gr_optim_steps(adam));
    gr_optim_free(adam), gr_module_free(m.net);
}

static void take_two_layers(gr_tape *t, const char *path, gr_module *net)
{
    gr_safetensors *const f = gr_safetensors_open(t, path);
    const char *const task = gr_safetensors_note_of(f, "task");
    if (f && !o.quiet) print_file(t, f), printf("\ntwo layers of the network for '%s':\n", task);
    take(t, f, "body.0.w", net, "fc1.weight"), take(t, f, "body.0.b", net, "fc1.bias");
    take(t, f, "body.1.w", net, "fc2.weight"), take(t, f, "body.1.b", net, "fc2.bias");
    gr_safetensors_free(f);
}

/* The same training for both: on the layers from the file, and from first values. */
static void compare(kit_run *r, const model *from_file, const model *from_start)
{
    gr_tape *const t = r->tape;
    gr_requires_grad(&from_file->fc1->module, false);
    gr_optim *const adamw = gr_adamw_new(t, from_file->net, &(gr_adam_config){ .lr = 0.01 });
    gr_optim *const other = gr_adamw_new(t, from_start->net, &(gr_adam_config){ .lr = 0.01 });
    gr_optim_set_group(t, adamw, &from_file->fc2->module, (gr_optim_group){ .lr_scale = 0.1, .weight_decay = GR_NONE });
    if (!o.quiet) gr_print_optim(adamw, stdout);

    const uint64_t before = kit_fingerprint(&from_file->fc1->module);
    train(t, from_file, adamw, 200, FEW), train(t, from_start, other, 200, FEW);
    const double with = accuracy(t, from_file), without = accuracy(t, from_start);
    gr_optim_free(adamw), gr_optim_free(other);
    if (gr_failed(t) || kit_interrupted()) return;
    printf("most pairs have the same sign, learned from %d points: %.1f %% right with the layers from the file, %.1f %% without\n", FEW,
           with, without);
    kit_log_write(t, &r->log, "result", { "with", with }, { "without", without });
    kit_run_need(r, kit_fingerprint(&from_file->fc1->module) == before, "the frozen layer moved");
    kit_run_need(r, with > 75 && with > without + 10, "%.1f %% right with the layers from the file, %.1f %% without", with, without);
}

/* Without --save the file is removed at the end. */
static void work(kit_run *r)
{
    gr_tape *const t = r->tape;
    char path[4096];
    const char *const place = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    snprintf(path, sizeof path, "%s/gradus-weights-XXXXXX", place);
    const int fd = save ? -1 : mkstemp(path);
    if (!save && fd < 0) gr_fail_as(t, GR_IO_FAILED, "", "%s: cannot make a file there: %s", place, strerror(errno));
    if (fd >= 0) close(fd); /* Windows replaces no open file */
    const model second = build(t, 2), third = build(t, 2);
    learn_and_write(t, save ? save : path);
    take_two_layers(t, save ? save : path, second.net);
    if (!gr_failed(t)) compare(r, &second, &third);
    gr_module_free(second.net), gr_module_free(third.net);
    if (fd >= 0) unlink(path);
}

int main(int argc, char **argv)
{
    kit_run r;
    const int code = kit_run_start(&r, &flags, &o, argc, argv);
    if (code != KIT_GO_ON) return code;
    if (file && save)
        gr_fail_as(r.tape, GR_MISUSE, "", "--file only looks into a file, and --save keeps the file of a training: give one of them");
    gr_safetensors *const f = file ? gr_safetensors_open(r.tape, file) : NULL;
    kit_can_write(r.tape, "save", save);
    if (kit_run_begin(&r, file ? file : "points of three pairs, drawn")) {
        if (file) print_file(r.tape, f);
        else work(&r);
    }
    gr_safetensors_free(f);
    return kit_run_end(&r);
}
