/* tests/test_program_looking_inside.c - examples/looking_inside as its users see it. */
#include "tests/program.h"

TEST(both_faults_are_found)
{
    assert_run("--check");
    assert_string_equal(err, "");
    static const char *const part[] = {
        "\ntotal                      67             48 ",
        "\nfc.weight    [6, 3]  uniform in [-0.57735, 0.57735)\n",
        "\nln.weight    [6]  constant 1\n",
        "\n   1  layer_norm       [4, 6]  <- 0 [4, 6], ln.weight [6], ln.bias [6]\n",
        "\n      fc.bias [6] = [",
        "]\n        gradient [",
        "\n      output [4, 6] = [",
        ", ...] min ",
        "\n   3  sigmoid          [4, 6]  <- 2 [4, 6]\n      output [4, 6] = [",
        "\n        no gradient\n   4  tanh ", /* of the gate */
        "\n   8  mean             []  <- 7 [4, 1]\n      output [] = [",
        "]\n        gradient [1]\n",
        " gr_print ====\n[4, 6]\n[[",
        "\ngate.weight  not reached: detach lets no gradient pass\n",
        "\n6 of 8 parameters learn, 0 frozen\n",
        "\nln (LayerNorm) on [4, 6]: 4 means and 4 variances, each over 6 values\n",
        "\n    A A A A A A\n    B B B B B B\n",
        "\n    A B C D E F\n    A B C D E F\n",
        "\nbn                4         1 ",
        "few values",
        "\ngate.weight: cut by detach\n",
        "\ndirect ",
        ", through the mean ",
        ", the next two 0\n",
        "\nanomaly: forward of log in log made NaN at ",
        "\n2 parameters do not learn; a NaN was made\n",
    };
    const char *at = out;
    for (size_t i = 0; i < COUNT(part); i++) {
        at = strstr(at, part[i]);
        if (!at) fail_msg("\"%s\" is missing, or not in its place", part[i]);
    }
    assert_run("--check", "--quiet", "--seed=7", "--threads=1");
    assert_string_equal(out, "2 parameters do not learn; a NaN was made\n");
}

TEST(without_its_faults_the_network_learns)
{
    assert_run("--repaired");
    assert_non_null(strstr(out, "\n8 of 8 parameters learn, 0 frozen\n"));
    assert_non_null(
        strstr(out, "==== who makes the first NaN? gr_tape_set_anomaly ====\nnobody\n0 parameters do not learn; no NaN was made\n"));
    assert_ends(1,
                "looking_inside: --check: 0 parameters do not learn, not the 2 of the gate\n"
                "looking_inside: --check: the path from the gate to the loss is cut by nothing, not by detach\n"
                "looking_inside: --check: the logarithm of a negative number was not noticed\n",
                "--repaired", "--check", "--quiet");
}

TEST(the_graph_is_written_for_graphviz)
{
    static char text[1 << 12];
    assert_run("--quiet", "--dot", in_dir("graph.dot"));
    slurp(in_dir("graph.dot"), text, sizeof text);
    assert_int_equal(strncmp(text, "digraph tape {\n", 15), 0);
    assert_non_null(strstr(text, "n1 [label=\"layer_norm\\n[4, 6]\"];"));
    assert_string_equal(text + strlen(text) - 2, "}\n");
    assert_int_equal(unlink(in_dir("graph.dot")), 0);
    assert_ends(2, "looking_inside: --dot: cannot write 'none/graph.dot': No such file or directory\n", "--dot=none/graph.dot");
}

TEST(bad_flags_and_paths_are_refused)
{
    assert_run("--help");
    assert_non_null(strstr(out, "\n  --repaired "));
    assert_ends(2, "looking_inside: unknown flag --repair; did you mean --repaired? --help lists all\n", "--repair");
    if (access("/dev/full", W_OK) != 0) printf("not run: a full disk, there is no /dev/full\n"), skip();
    assert_ends(3, "looking_inside: /dev/full: cannot write the log: No space left on device\n", "--log", "/dev/full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_faults_are_found),
        cmocka_unit_test(without_its_faults_the_network_learns),
        cmocka_unit_test(the_graph_is_written_for_graphviz),
        cmocka_unit_test(bad_flags_and_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, program_set_up, program_tear_down);
}
