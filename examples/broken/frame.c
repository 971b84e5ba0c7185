/* examples/broken/frame.c - main of each program of this folder. */
#include "examples/broken/frame.h"
#include "examples/kit/flags.h"
#include "examples/kit/program.h"
#include <string.h>

static bool show_find, run_fixed;
static uint64_t seed = 42;
static const kit_flag flag[] = {
    { "find", KIT_SWITCH, &show_find, NULL, "run the tool that finds the fault", 0, 0 },
    { "fixed", KIT_SWITCH, &run_fixed, NULL, "the program without its fault; with --find, the tool on that", 0, 0 },
    { "seed", KIT_COUNT, &seed, "N", "seed of all random numbers", 0, 0 },
};

int main(int argc, char **argv)
{
    const char *const slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const kit_flags flags = { slash ? slash + 1 : "broken", "it has a fault: see examples/broken/README.md", flag,
                              sizeof flag / sizeof *flag };
    kit_program_start();
    int code = kit_flags_parse(&flags, argc, argv, stdout, stderr);
    if (code != KIT_GO_ON) return code;
    gr_tape *const t = gr_tape_new(seed, NULL);
    if (show_find) (run_fixed ? find_fixed : find)(t);
    else (run_fixed ? train_fixed : train)(t);
    kit_check_stdout(t);
    code = kit_exit_code(t, flags.name, true);
    gr_tape_free(t);
    return code;
}
