/* tests/test_kit_flags.c - the command line of the examples: values, --help and messages. */
#include "tests/test.h"
#include "examples/kit/flags.h"

typedef struct {
    bool quiet;
    const char *save;
    uint64_t hidden, seed;
    double lr, clip;
    int norm, kind;
} options;

/* Parse argv, which NULL ends, into o. text gets the output to stdout and stderr. */
static int parse(options *o, char *text, const char *const *argv)
{
    static const char *large[] = { "--hidden", "4096", "--lr=2", "--quiet", NULL };
    *o = (options){ .hidden = 128, .seed = 42, .lr = 0.5, .clip = 1, .norm = 1 };
    const kit_flag flag[] = {
        { "quiet", KIT_SWITCH, &o->quiet, NULL, "say less", 0, 0 },    { "save", KIT_TEXT, &o->save, "FILE", "weights go here", 0, 0 },
        { "hidden", KIT_COUNT, &o->hidden, "N", "units", 1, 4096 },    { "seed", KIT_COUNT, &o->seed, "N", "random numbers", 0, 0 },
        { "lr", KIT_NUMBER, &o->lr, "X", "learning rate", 1e-9, 10 },  { "clip", KIT_NUMBER, &o->clip, "X", "largest norm", 0, 0 },
        { "norm", KIT_CHOICE, &o->norm, "none|layer", "where", 0, 0 },
        { "kind", KIT_CHOICE, &o->kind, "a-long-word|a-longer-one", "what", 0, 0 },
        { "large", KIT_SHORT, large, NULL, "short for", 0, 0 },
    };
    const kit_flags flags = { "prog", "does things", flag, COUNT(flag) };
    int argc = 0;
    while (argv[argc]) argc++;
    memset(text, 0, 4096);
    FILE *const f = fmemopen(text, 4096, "w");
    assert_non_null(f);
    const int code = kit_flags_parse(&flags, argc, (char **)(uintptr_t)argv, f, f);
    fclose(f);
    return code;
}
#define PARSE(o, text, ...) parse(o, text, (const char *const[]){ "prog", __VA_ARGS__, NULL })

TEST(values_follow_their_flag_or_an_equals_sign)
{
    options o;
    char text[4096];
    assert_int_equal(
        PARSE(&o, text, "--hidden", "64", "--lr=2e-3", "--norm", "none", "--quiet", "--save=a=b", "--seed=18446744073709551615"),
        KIT_GO_ON);
    assert_true(o.quiet && o.hidden == 64 && o.lr == 2e-3 && o.norm == 0 && o.seed == UINT64_MAX);
    assert_string_equal(o.save, "a=b");
    assert_string_equal(text, "");
}

TEST(a_missing_flag_keeps_its_default_and_the_last_of_two_wins)
{
    options o;
    char text[4096];
    assert_int_equal(PARSE(&o, text, "--hidden=1", "--hidden", "4096", "--clip=-3"), KIT_GO_ON);
    assert_true(!o.quiet && !o.save && o.hidden == 4096 && o.seed == 42 && o.lr == 0.5 && o.norm == 1 && o.clip == -3);
}

TEST(a_flag_that_is_short_for_others_sets_them_and_later_flags_replace_its_values)
{
    options o;
    char text[4096];
    assert_int_equal(PARSE(&o, text, "--lr=1", "--large", "--hidden", "64"), KIT_GO_ON);
    assert_true(o.quiet && o.hidden == 64 && o.lr == 2 && o.seed == 42);
    assert_int_equal(PARSE(&o, text, "--hidden", "64", "--large"), KIT_GO_ON);
    assert_true(o.hidden == 4096);
    assert_int_equal(PARSE(&o, text, "--large", "--hidden=x"), 2);
    assert_string_equal(text, "prog: --hidden needs a whole number from 1 to 4096; got \"x\"\n");
}

TEST(help_prints_the_table_and_ends_with_0)
{
    options o;
    char text[4096];
    assert_int_equal(PARSE(&o, text, "--hidden=64", "--help", "--nonsense"), 0);
    assert_string_equal(text, "prog - does things\n\n"
                              "  --quiet                    say less\n"
                              "  --save FILE                weights go here\n"
                              "  --hidden N                 units (128)\n"
                              "  --seed N                   random numbers (42)\n"
                              "  --lr X                     learning rate (0.5)\n"
                              "  --clip X                   largest norm (1)\n"
                              "  --norm none|layer          where (layer)\n"
                              "  --kind a-long-word|a-longer-one\n"
                              "                             what (a-long-word)\n"
                              "  --large                    short for --hidden 4096 --lr=2 --quiet\n"
                              "  --help                     this page\n");
}

TEST(an_unknown_flag_is_answered_with_the_nearest)
{
    options o;
    char text[4096];
    assert_int_equal(PARSE(&o, text, "--hiden=3"), 2);
    assert_string_equal(text, "prog: unknown flag --hiden; did you mean --hidden? --help lists all\n");
    assert_int_equal(PARSE(&o, text, "--hlep"), 2);
    assert_string_equal(text, "prog: unknown flag --hlep; did you mean --help? --help lists all\n");
    assert_int_equal(PARSE(&o, text, "--momentum", "3"), 2);
    assert_string_equal(text, "prog: unknown flag --momentum; --help lists all\n");
    assert_int_equal(PARSE(&o, text, "--a-name-that-is-longer-than-any-flag-could-be-in-earnest"), 2);
    assert_string_equal(text, "prog: unknown flag --a-name-that-is-longer-than-any-flag-could-be-in-earnest; --help lists all\n");
}

TEST(a_bad_value_is_named_with_what_is_allowed)
{
    static const struct {
        const char *arg, *text;
    } bad[] = {
        { "--hidden=0", "prog: --hidden needs a whole number from 1 to 4096; got \"0\"\n" },
        { "--hidden=-1", "prog: --hidden needs a whole number from 1 to 4096; got \"-1\"\n" },
        { "--hidden= 5", "prog: --hidden needs a whole number from 1 to 4096; got \" 5\"\n" },
        { "--hidden=5x", "prog: --hidden needs a whole number from 1 to 4096; got \"5x\"\n" },
        { "--hidden=1e2", "prog: --hidden needs a whole number from 1 to 4096; got \"1e2\"\n" },
        { "--seed=18446744073709551616",
          "prog: --seed needs a whole number from 0 to 18446744073709551615; got \"18446744073709551616\"\n" },
        { "--lr=0", "prog: --lr needs a number from 1e-09 to 10; got \"0\"\n" },
        { "--lr=nan", "prog: --lr needs a number from 1e-09 to 10; got \"nan\"\n" },
        { "--lr=0x1", "prog: --lr needs a number from 1e-09 to 10; got \"0x1\"\n" },
        { "--lr=", "prog: --lr needs a number from 1e-09 to 10; got \"\"\n" },
        { "--clip=1e999", "prog: --clip needs a number; got \"1e999\"\n" },
        { "--clip=1,5", "prog: --clip needs a number; got \"1,5\"\n" },
        { "--norm=lay", "prog: --norm needs one of none|layer; got \"lay\"\n" },
        { "--norm=none|layer", "prog: --norm needs one of none|layer; got \"none|layer\"\n" },
        { "--norm=", "prog: --norm needs one of none|layer; got \"\"\n" },
        { "--save=", "prog: --save needs FILE; got \"\"\n" },
        { "--save", "prog: --save needs FILE after it\n" },
        { "--large=4", "prog: --large takes no value; got \"4\"\n" },
        { "--quiet=yes", "prog: --quiet takes no value; got \"yes\"\n" },
        { "-q", "prog: \"-q\" is not a flag: flags begin with --, and --help lists them\n" },
        { "--", "prog: \"--\" is not a flag: flags begin with --, and --help lists them\n" },
        { "mnist", "prog: \"mnist\" is not a flag: flags begin with --, and --help lists them\n" },
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        options o;
        char text[4096];
        assert_int_equal(PARSE(&o, text, bad[i].arg), 2);
        assert_string_equal(text, bad[i].text);
    }
}

TEST(a_flag_is_not_taken_for_the_value_of_the_one_before)
{
    options o;
    char text[4096];
    assert_int_equal(PARSE(&o, text, "--save", "--quiet"), 2);
    assert_string_equal(text, "prog: --save needs FILE after it\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_their_flag_or_an_equals_sign),
        cmocka_unit_test(a_missing_flag_keeps_its_default_and_the_last_of_two_wins),
        cmocka_unit_test(a_flag_that_is_short_for_others_sets_them_and_later_flags_replace_its_values),
        cmocka_unit_test(help_prints_the_table_and_ends_with_0),
        cmocka_unit_test(an_unknown_flag_is_answered_with_the_nearest),
        cmocka_unit_test(a_bad_value_is_named_with_what_is_allowed),
        cmocka_unit_test(a_flag_is_not_taken_for_the_value_of_the_one_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
