/* examples/kit/run.c - the frame of a program. */
#include "examples/kit/run.h"
#include "core/op.h"
#include "examples/kit/program.h"
#include <stdarg.h>

int kit_run_start(kit_run *r, const kit_flags *flags, kit_options *o, int argc, char **argv)
{
    *r = (kit_run){ .flags = flags, .o = o };
    kit_program_start();
    const int code = kit_flags_parse(flags, argc, argv, stdout, stderr);
    if (code != KIT_GO_ON) return code;
    if (!o->threads) o->threads = (uint64_t)(kit_cores() < 4 ? kit_cores() : 4);
    r->pool = gr_pool_new((int)o->threads, NULL);
    r->tape = gr_tape_new(o->seed, (&(gr_tape_config){ .pool = r->pool }));
    return KIT_GO_ON;
}

bool kit_run_begin(kit_run *r, const char *data)
{
    r->log = kit_log_open(r->tape, r->o->log, r->o->resume);
    if (gr_failed(r->tape)) return false;
    r->started = true;
    kit_catch_interrupts();
    kit_log_header(r->tape, &r->log, r->flags, data);
    if (gr_failed(r->tape)) return false;
    if (!r->o->quiet)
        printf("%s\nseed %llu, %d threads, %s\n", data, (unsigned long long)r->o->seed, gr_tape_threads(r->tape), gr_tape_isa(r->tape));
    return kit_check_stdout(r->tape);
}

bool kit_run_need(kit_run *r, bool ok, const char *format, ...)
{
    if (ok || !r->o->check || gr_failed(r->tape) || kit_interrupted()) return ok;
    va_list list;
    va_start(list, format);
    fprintf(stderr, "%s: --check: ", r->flags->name);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    r->missed = true;
    return false;
}

void kit_run_fail(kit_run *r, const char *name, const gr_tape *t)
{
    if (gr_failed(t)) gr_fail_as(r->tape, gr_error_code(t), "", "%s: %s", name, t ? gr_message(t) : "out of memory");
}

int kit_run_end(kit_run *r)
{
    kit_log_close(r->tape, &r->log);
    kit_check_stdout(r->tape);
    int code = kit_exit_code(r->tape, r->flags->name, r->started);
    if (code == KIT_DONE && kit_interrupted()) fprintf(stderr, "%s: interrupted%s\n", r->flags->name, r->stopped), code = KIT_INTERRUPTED;
    if (code == KIT_DONE && r->missed) code = KIT_MISSED;
    gr_tape_free(r->tape), gr_pool_free(r->pool);
    return code;
}
