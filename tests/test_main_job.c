/* tests/test_main_job.c - examples/seq_mnist_lstm as its users see it: its output, its files and its exit codes. Most runs read a small
 * folder of drawn digits in MNIST's format. */
#include "tests/program.h"

#define SMALL "--data", data, "--hidden=16", "--batch=32", "--epochs=2", "--threads=1"

FIXTURE(set_up)
{
    if (program_set_up(state) != 0) return -1;
    put_digits();
    return 0;
}

/* Check the line with which every successful run ends, and return its fingerprint. */
static const char *last_line(void)
{
    double accuracy, loss;
    unsigned long long images, seed;
    static char fingerprint[32];
    const char *line = out;
    for (const char *p = out; (p = strstr(p, "test accuracy ")); p++)
        if (p == out || p[-1] == '\n') line = p;
    int used = 0;
    const int got = sscanf(line, "test accuracy %lf %%  loss %lf  images %llu  seed %llu  fingerprint %16[0-9a-f]%n", &accuracy, &loss,
                           &images, &seed, fingerprint, &used);
    if (got != 5 || strlen(fingerprint) != 16 || strcmp(line + used, "\n") != 0)
        fail_msg("the last line is wrong:\n%s%s", out, err);
    assert_true(accuracy >= 0 && accuracy <= 100 && loss > 0);
    return fingerprint;
}

TEST(help_lists_the_flags)
{
    assert_int_equal(RUN("--help"), 0);
    assert_string_equal(err, "");
    static const char *const names[] = { "data",      "norm",       "placement", "hidden", "layers", "batch",   "epochs", "steps",
                                         "optimizer", "lr",         "schedule",  "clip",   "seed",   "threads", "save",   "load",
                                         "eval",      "checkpoint", "resume",    "log",    "report", "plotly", "with", "quiet",   "check",  "help" };
    for (size_t i = 0; i < COUNT(names); i++) {
        char line[32];
        snprintf(line, sizeof line, "\n  --%s ", names[i]);
        if (!strstr(out, line)) fail_msg("--help does not list --%s", names[i]);
    }
}

TEST(quiet_prints_the_last_line_only)
{
    assert_run(SMALL, "--quiet");
    assert_string_equal(err, "");
    assert_int_equal(strncmp(out, "test accuracy ", 14), 0);
    last_line();
    assert_non_null(strstr(out, "images 100  seed 42 "));
}

TEST(an_epoch_prints_a_line_of_numbers_on_stdout)
{
    assert_run(SMALL);
    last_line();
    assert_non_null(strstr(out, "\nepoch 1/2  train loss "));
    assert_non_null(strstr(out, "\nepoch 2/2  train loss "));
    assert_non_null(strstr(out, data));
    assert_non_null(strstr(err, "epoch 2/2  14 steps"));
    assert_null(strchr(err, '\r'));
}

TEST(the_same_seed_gives_the_same_bits_for_any_threads_and_instruction_set)
{
    char want[1 << 10];
    assert_run(SMALL, "--quiet", "--steps=5");
    strcpy(want, out);
    assert_run("--data", data, "--hidden=16", "--batch=32", "--epochs=2", "--threads=2", "--quiet", "--steps=5");
    assert_string_equal(out, want);
    assert_run("--data", data, "--hidden=16", "--batch=32", "--epochs=2", "--threads=4", "--quiet", "--steps=5");
    assert_string_equal(out, want);
    EACH_ISA(isa)
    {
        if (sizeof(gr_real) == sizeof(double)) continue; /* OpenBLAS promises no bits */
        assert_int_equal(ended(start(isa, in_dir("out"), ARGV(SMALL, "--quiet", "--steps=5"))), 0);
        assert_string_equal(out, want);
    }
    assert_run(SMALL, "--quiet", "--steps=5", "--seed=43");
    assert_string_not_equal(last_line(), strstr(want, "fingerprint ") + 12);
}

TEST(saved_weights_load_and_evaluate_to_the_same)
{
    char trained[1 << 10];
    assert_run(SMALL, "--quiet", "--save", in_dir("weights"));
    strcpy(trained, out);
    assert_run(SMALL, "--quiet", "--eval", "--load", in_dir("weights"));
    assert_string_equal(out, trained);
    assert_int_equal(RUN("--data", data, "--hidden=17", "--eval", "--load", in_dir("weights")), 2);
    assert_non_null(strstr(err, in_dir("weights")));
    assert_int_equal(truncate(in_dir("weights"), 100), 0);
    assert_int_equal(RUN(SMALL, "--eval", "--load", in_dir("weights")), 2);
    assert_non_null(strstr(err, in_dir("weights")));
    assert_int_equal(unlink(in_dir("weights")), 0);
}

TEST(a_run_resumed_at_any_step_ends_with_the_same_bits)
{
    static const char *const stops[] = { "--steps=1", "--steps=6", "--steps=7", "--steps=8", "--steps=13", "--steps=14" };
    char whole[1 << 10];
    assert_run(SMALL, "--quiet");
    strcpy(whole, out);
    for (size_t i = 0; i < COUNT(stops); i++) {
        assert_run(SMALL, "--quiet", stops[i], "--checkpoint", in_dir("checkpoint"));
        assert_run(SMALL, "--quiet", "--checkpoint", in_dir("checkpoint"), "--resume");
        assert_string_equal(out, whole);
        assert_int_equal(RUN(SMALL, "--batch=16", "--checkpoint", in_dir("checkpoint"), "--resume"), 2);
        assert_non_null(strstr(err, "/checkpoint: its run had --batch 32, and this one has 16\n"));
        assert_int_equal(unlink(in_dir("checkpoint")), 0);
    }
}

TEST(every_optimizer_schedule_and_placement_trains)
{
    static const char *const runs[][2] = {
        { "--norm=none", "--lr=1e-3" },
        { "--placement=gates", "--layers=2" },
        { "--placement=sum", "--clip=0" },
        { "--placement=cell", "--schedule=constant" },
        { "--placement=sum-cell", "--standardize" },
        { "--placement=per-gate", "--optimizer=sgd" },
    };
    char seen[COUNT(runs)][20];
    for (size_t i = 0; i < COUNT(runs); i++) {
        assert_run(SMALL, "--quiet", "--steps=3", runs[i][0], runs[i][1]);
        strcpy(seen[i], last_line());
        for (size_t k = 0; k < i; k++) assert_string_not_equal(seen[i], seen[k]);
    }
}

TEST(the_log_has_a_record_of_the_run_of_each_step_and_each_epoch)
{
    static char text[1 << 16];
    int steps = 0, epochs = 0, evaluations = 0;
    assert_run(SMALL, "--quiet", "--eval-every=5", "--log", in_dir("log"));
    slurp(in_dir("log"), text, sizeof text);
    static const char first[] = "{\"kind\": \"run\", \"program\": \"seq_mnist_lstm\", \"version\": \"" GR_VERSION_TEXT "\", \"flags\": {";
    assert_int_equal(strncmp(text, first, sizeof first - 1), 0);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        assert_int_equal(line[0], '{');
        assert_int_equal(line[strlen(line) - 1], '}');
        steps += !strncmp(line, "{\"kind\": \"step\", \"step\": ", 25) && strstr(line, "\"loss\": ") && strstr(line, "\"lr\": ") &&
                 strstr(line, "\"grad_norm\": ") && strstr(line, "\"images_per_s\": ");
        evaluations += !strncmp(line, "{\"kind\": \"eval\", \"step\": ", 25) && strstr(line, "\"test_accuracy\": ");
        epochs += !strncmp(line, "{\"kind\": \"epoch\", \"epoch\": ", 27) && strstr(line, "\"train_loss\": ") &&
                  strstr(line, "\"test_accuracy\": ");
    }
    assert_int_equal(steps, 14);
    assert_int_equal(evaluations, 2);
    assert_int_equal(epochs, 2);
    assert_int_equal(unlink(in_dir("log")), 0);
}

/* The run ends before training with exit code 2 and one line that says what is wrong, and where. program_tear_down checks that it left no
 * file. */
#define assert_refused(text, ...) \
    do { \
        char want_[600]; \
        snprintf(want_, sizeof want_, "seq_mnist_lstm: %s\n", text); \
        assert_int_equal(RUN(__VA_ARGS__), 2); \
        assert_string_equal(err, want_); \
        assert_null(strstr(out, "epoch")); \
    } while (0)

static const char *joined(const char *before, const char *path, const char *after)
{
    static char text[512];
    snprintf(text, sizeof text, "%s%s%s", before, path, after);
    return text;
}

TEST(bad_flags_and_paths_are_refused_before_training)
{
    assert_refused("--hidden needs a whole number from 1 to 65536; got \"0\"", "--hidden=0");
    assert_refused("unknown flag --hiden; did you mean --hidden? --help lists all", "--hiden=3");
    assert_refused("--placement goes with --norm layer", SMALL, "--norm", "batch", "--placement", "sum");
    assert_refused("--eval needs --load", SMALL, "--eval");
    assert_refused("--resume needs --checkpoint", SMALL, "--resume");
    assert_refused("--checkpoint needs training, and --eval does not train", SMALL, "--eval", "--load=x", "--checkpoint=y");
    assert_refused("--load and --resume exclude each other: both say with which weights the run starts", SMALL, "--load=x", "--resume",
                   "--checkpoint=y");
    assert_refused(
        joined("", in_dir("none"), "/train-images-idx3-ubyte: no such file, plain or .gz (examples/fetch_mnist.sh fetches MNIST)"),
        "--data", in_dir("none"));
    assert_refused(joined("", dir, "/train-images-idx3-ubyte: no such file, plain or .gz (examples/fetch_mnist.sh fetches MNIST)"),
                   "--data", dir);
    assert_refused(joined("--save: cannot write '", in_dir("none/w"), "': No such file or directory"), SMALL, "--save",
                   in_dir("none/w"));
    assert_refused(joined("--checkpoint: cannot write '", dir, "': it is not a regular file"), SMALL, "--checkpoint", dir);
    assert_refused(joined("", in_dir("none/l"), ": cannot open the log: No such file or directory"), SMALL, "--log", in_dir("none/l"));
    assert_int_equal(RUN(SMALL, "--load", in_dir("none/w"), "--log", in_dir("log")), 2);
    assert_non_null(strstr(err, in_dir("none/w")));
    assert_int_not_equal(access(in_dir("log"), F_OK), 0);
    assert_int_equal(RUN(SMALL, "--resume", "--checkpoint", in_dir("c")), 2);
    assert_non_null(strstr(err, in_dir("c")));
}

TEST(check_ends_with_1_when_the_target_is_missed)
{
    assert_int_equal(RUN(SMALL, "--steps=1", "--quiet", "--check"), 1);
    last_line();
    assert_non_null(strstr(err, "seq_mnist_lstm: --check: "));
}

TEST(a_loss_that_is_not_finite_ends_with_1)
{
    assert_run(SMALL, "--quiet", "--steps=1", "--save", in_dir("weights"));
    gr_tape *t = gr_tape_new(1, NULL);
    gr_safetensors *const f = gr_safetensors_open(t, in_dir("weights"));
    assert_ok(t);
    gr_safetensors_item items[64];
    assert_in_range(f->count, 1, COUNT(items));
    memset(f->data + f->data_bytes - sizeof(gr_real), 255, sizeof(gr_real)); /* a NaN */
    for (size_t i = 0; i < f->count; i++)
        items[i] = (gr_safetensors_item){ f->entry[i].name, f->entry[i].dtype, f->entry[i].shape, f->entry[i].data };
    assert_true(gr_safetensors_write(t, in_dir("weights"), items, f->count, NULL));
    gr_safetensors_free(f), gr_tape_free(t);
    assert_int_equal(RUN(SMALL, "--quiet", "--load", in_dir("weights")), 1);
    assert_string_equal(out, "");
    assert_non_null(strstr(err, "seq_mnist_lstm: clip_grad_norm: the gradient norm is NaN at "));
    assert_int_equal(unlink(in_dir("weights")), 0);
}

TEST(a_full_disk_ends_with_3)
{
    if (access("/dev/full", W_OK) != 0) printf("not run: a full disk, there is no /dev/full\n"), skip();
    assert_int_equal(RUN(SMALL, "--log", "/dev/full"), 3);
    assert_string_equal(err, "seq_mnist_lstm: /dev/full: cannot write the log: No space left on device\n");
    assert_int_equal(ended(start(NULL, "/dev/full", ARGV(SMALL, "--quiet"))), 3);
    assert_string_equal(err, "seq_mnist_lstm: cannot write to stdout: No space left on device\n");
}

TEST(an_interrupted_run_resumes_with_the_same_bits)
{
    size_t step = 0;
    char until[32], resumed[1 << 10];
    const pid_t child = start(NULL, in_dir("out"), ARGV(SMALL, "--epochs=100000", "--checkpoint", in_dir("checkpoint")));
    while (is_running(child) && access(in_dir("checkpoint"), F_OK) != 0) continue; /* wait for the end of the first epoch */
    kill(child, SIGINT);
    assert_int_equal(ended(child), 130);
    const char *const message = strstr(err, "seq_mnist_lstm: interrupted after step ");
    assert_non_null(message);
    assert_int_equal(sscanf(message, "seq_mnist_lstm: interrupted after step %zu; --resume continues the run\n", &step), 1);
    assert_true(step >= 7);

    snprintf(until, sizeof until, "--steps=%zu", step + 3);
    assert_run(SMALL, "--quiet", "--epochs=100000", "--checkpoint", in_dir("checkpoint"), "--resume", until);
    strcpy(resumed, out);
    assert_run(SMALL, "--quiet", "--epochs=100000", until);
    assert_string_equal(out, resumed);
    assert_int_equal(unlink(in_dir("checkpoint")), 0);
}

/* Eleven blank rows are the most that an image of MNIST has. Each multiplies the gradient of a cell that stays 0 by 1 / sqrt(eps). */
TEST(blank_rows_do_not_blow_up_the_first_gradient)
{
    enum { B = 64, BLANK = 11 };
    static gr_real pixels[B * KIT_PIXELS];
    static int labels[B];
    for (size_t i = 0; i < B; i++) {
        uint8_t image[KIT_PIXELS];
        labels[i] = kit_digit(1, "digits/train", i, image);
        for (int k = BLANK * KIT_SIDE; k < KIT_PIXELS; k++) pixels[i * KIT_PIXELS + k] = (gr_real)(image[k] / 255.0);
    }
    for (uint64_t seed = 1; seed <= 3; seed++) {
        gr_tape *t = gr_tape_new(seed, NULL);
        gr_module *net = gr_module_new(t);
        const gr_lstm_config config = { .norm = GR_LSTM_LN_BA2016, .batch_first = true, .forget_bias = 1 };
        gr_lstm *lstm = gr_lstm_new(t, net, "lstm", KIT_SIDE, 128, &config);
        gr_linear_module *fc = gr_linear_new(t, net, "fc", 128, 10, NULL);
        gr_optim *adam = gr_adam_new(t, net, NULL);
        gr_tensor *h = gr_lstm_forward(t, lstm, gr_input(t, pixels, GR_SHAPE(B, KIT_SIDE, KIT_SIDE)), NULL).h;
        gr_tensor *z = gr_linear_forward(t, fc, gr_select(t, h, 0, -1));
        gr_backward(t, gr_cross_entropy(t, z, gr_ints_new(t, labels, GR_SHAPE(B)), NULL));
        const double norm = gr_clip_grad_norm(t, adam, 1);
        assert_ok(t);
        assert_true(norm > 0.01 && norm < 100);
        gr_optim_free(adam), gr_module_free(net), gr_tape_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_lists_the_flags),
        cmocka_unit_test(quiet_prints_the_last_line_only),
        cmocka_unit_test(an_epoch_prints_a_line_of_numbers_on_stdout),
        cmocka_unit_test(the_same_seed_gives_the_same_bits_for_any_threads_and_instruction_set),
        cmocka_unit_test(saved_weights_load_and_evaluate_to_the_same),
        cmocka_unit_test(a_run_resumed_at_any_step_ends_with_the_same_bits),
        cmocka_unit_test(every_optimizer_schedule_and_placement_trains),
        cmocka_unit_test(the_log_has_a_record_of_the_run_of_each_step_and_each_epoch),
        cmocka_unit_test(bad_flags_and_paths_are_refused_before_training),
        cmocka_unit_test(check_ends_with_1_when_the_target_is_missed),
        cmocka_unit_test(a_loss_that_is_not_finite_ends_with_1),
        cmocka_unit_test(a_full_disk_ends_with_3),
        cmocka_unit_test(an_interrupted_run_resumes_with_the_same_bits),
        cmocka_unit_test(blank_rows_do_not_blow_up_the_first_gradient),
    };
    return cmocka_run_group_tests(tests, set_up, program_tear_down);
}
