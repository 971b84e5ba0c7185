/* tests/fuzz/fuzz_text.c - text files are refused with GR_BAD_FILE, or give windows of ids that a model may look up. */
#include "examples/kit/text.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "text", fuzz_likely[] = "\n \t.az\x01\x7f\x80\xff";
size_t fuzz_mend(uint8_t *bytes, size_t n, gr_stream *s) { return (void)bytes, (void)s, n; }
size_t fuzz_seed(uint8_t *bytes, size_t room) { return (void)bytes, (void)room, 0; }

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    size_t samples = 0;
    gr_tape *t = gr_tape_new(1, NULL);
    kit_text c = kit_text_open(t, fuzz_path(bytes, n), 3, 4);
    demand(!gr_failed(t) ? c.n == n : gr_error_code(t) == GR_BAD_FILE, "the text, or the error of a bad file");
    for (size_t i = 0; !gr_failed(t) && i < n; i++) demand(c.id[i] >= 0 && (size_t)c.id[i] < c.letters && c.letter[c.id[i]] == bytes[i], "a letter");
    const kit_source source = kit_text_source(&c);
    for (size_t i = 0; !gr_failed(t) && i < 3; i++) {
        source.batch(source.data, i < 2, i < 2 ? i : 0, &samples);
        demand(c.B && samples == c.B * c.T, "a batch");
        for (size_t k = 0; k < c.B * c.T; k++) demand((size_t)c.in[k] < c.letters && (size_t)c.next[k] < c.letters, "an id below the number of letters");
    }
    kit_text_free(&c);
    gr_tape_free(t);
    return 0;
}
