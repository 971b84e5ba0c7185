/* examples/kit/kit.h - what programs need and the library does not: flags, data, progress, a log, exit codes, comparisons. */
#include "examples/kit/kit_arms.h"
#include "examples/kit/kit_data.h"
#include "examples/kit/kit_flags.h"
#include "examples/kit/kit_log.h"
#include "examples/kit/kit_program.h"
#include "examples/kit/kit_progress.h"
#include "examples/kit/kit_resume.h"
#include "examples/kit/kit_run.h"
