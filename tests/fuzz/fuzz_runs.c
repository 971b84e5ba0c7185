/* tests/fuzz/fuzz_runs.c - runs.jsonl, the numbers behind the figures, is refused with GR_BAD_FILE, or every array has its values. */
#include "examples/plot/runs.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "runs", fuzz_likely[] = "{}[]\",:\\u0123456789-+.eE \n\xff\xc3";
size_t fuzz_mend(uint8_t *bytes, size_t n, gr_stream *s) { return (void)bytes, (void)s, n; }
size_t fuzz_seed(uint8_t *bytes, size_t room) { return (void)bytes, (void)room, 0; }

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    double sum = 0;
    gr_tape *t = gr_tape_new(1, NULL);
    plot_runs r = plot_runs_open(t, fuzz_path(bytes, n));
    demand(!gr_failed(t) || gr_error_code(t) == GR_BAD_FILE, "runs, or the error of a bad file");
    for (const plot_record *p = r.first; p && !gr_failed(t); p = p->next) {
        size_t len = 1;
        for (int k = 0; k < p->shape.rank; k++) len *= p->shape.dim[k];
        demand(len == p->n && p->figure && p->name, "an array of its shape");
        for (size_t i = 0; i < p->n; i++) sum += p->values[i] > 0;
        demand(plot_runs_get(&r, p->figure, "%s", p->name), "finding an array by its name");
    }
    for (const plot_done *d = r.done; d && !gr_failed(t); d = d->next) {
        demand(d->figure && d->settings && d->hash, "a figure that is done");
        plot_runs_done(&r, d->figure, d->settings);
    }
    demand(sum >= 0, "a count");
    gr_tape_free(t);
    return 0;
}
