/* tests/fuzz/fuzz_names.c - files of names are refused with GR_BAD_FILE, or give batches of ids that a model may look up. */
#include "examples/kit/names.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "names", fuzz_likely[] = "\n\n\n\r\t az\x01\xff\xc3";
size_t fuzz_mend(uint8_t *bytes, size_t n, gr_stream *s) { return (void)bytes, (void)s, n; }
size_t fuzz_seed(uint8_t *bytes, size_t room) { return (void)bytes, (void)room, 0; }

static void check_batch(const kit_names *c)
{
    for (size_t b = 0; b < c->B; b++) {
        demand(c->length[b] >= 2 && c->length[b] <= KIT_NAMES_LONGEST + 1 && (size_t)c->length[b] <= c->T, "the length of a name");
        for (size_t k = 0; k < c->T; k++) {
            const int in = c->in[b * c->T + k], target = c->target[b * c->T + k];
            demand(in >= 0 && (size_t)in <= c->letters && target < (int)c->letters && (target >= 0 || target == -100), "an id below the number of letters");
            demand(((int)k < c->length[b]) == (target >= 0), "padding after the end of a name");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    size_t samples = 0;
    gr_tape *t = gr_tape_new(1, NULL);
    kit_names c = kit_names_open(t, fuzz_path(bytes, n), 16);
    demand(!gr_failed(t) || gr_error_code(t) == GR_BAD_FILE, "names, or the error of a bad file");
    const kit_source source = kit_names_source(&c);
    for (size_t i = 0; !gr_failed(t) && i < 3; i++) {
        source.batch(source.data, i < 2, i, &samples);
        demand(samples && samples == c.B, "a batch");
        check_batch(&c);
    }
    kit_names_free(&c);
    gr_tape_free(t);
    return 0;
}
