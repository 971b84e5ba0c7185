/* examples/kit/resume.c - checkpoints of a program. */
#include "examples/kit/resume.h"
#include "core/op.h"
#include <assert.h>

enum { MOST = 16 };

bool kit_checkpoint_save(gr_tape *t, const char *path, const gr_module *m, const gr_optim *optim, const kit_fixed *fixed, size_t n,
                         size_t taken)
{
    int64_t number[MOST] = { (int64_t)taken };
    assert(n < MOST);
    for (size_t i = 0; i < n; i++) number[1 + i] = (int64_t)fixed[i].value;
    return !path || gr_checkpoint_save(t, m, optim, path, &(gr_checkpoint_value){ "run", GR_I64, 1 + n, number }, 1);
}

bool kit_checkpoint_load(gr_tape *t, const char *path, gr_module *m, gr_optim *optim, const kit_fixed *fixed, size_t n, size_t *taken)
{
    int64_t number[MOST] = { 0 };
    assert(n < MOST);
    if (!gr_checkpoint_load(t, m, optim, path, &(gr_checkpoint_value){ "run", GR_I64, 1 + n, number }, 1)) return false;
    for (size_t i = 0; i < n; i++)
        if ((uint64_t)number[1 + i] != fixed[i].value)
            return gr_fail_as(t, GR_BAD_FILE, "", "%s: its run had %s %llu, and this one has %llu", path, fixed[i].name,
                              (unsigned long long)number[1 + i], (unsigned long long)fixed[i].value);
    *taken = (size_t)number[0];
    return true;
}
