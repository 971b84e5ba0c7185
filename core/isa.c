/* core/isa.c - which instruction set the kernels use: the best one that this build contains and this CPU supports. */
#include "core/internal.h"
#include "core/kernel.h"

#define TEXT(isa) #isa
#define NAME(isa) TEXT(isa),
static const char *const isa_names[] = { GR_ISAS(NAME) };
enum { ISAS = sizeof isa_names / sizeof *isa_names };

static bool isa_runs_here(int isa)
{
#if defined __x86_64__ && !defined GR_ONE_ISA
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    return isa == 0 || (isa == 1 ? avx2 : avx512);
#else
    return isa == 0;
#endif
}

const char *gr__isa_name(int isa) { return isa_names[isa]; }

int gr__isa_choose(const char *wanted)
{
    for (int isa = ISAS - 1; isa >= 0; isa--)
        if ((!wanted || !strcmp(wanted, isa_names[isa])) && isa_runs_here(isa)) return isa;
    return -1;
}
