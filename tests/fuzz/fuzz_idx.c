/* tests/fuzz/fuzz_idx.c - IDX files of images and of labels are refused with GR_BAD_FILE, or hold n items. */
#include "examples/kit/idx.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "idx", fuzz_likely[] = "\x01\x03\x08\x09\x0a\x1c\x7f\x80\xff";
size_t fuzz_mend(uint8_t *bytes, size_t n, gr_stream *s) { return (void)bytes, (void)s, n; }
size_t fuzz_seed(uint8_t *bytes, size_t room) { return (void)bytes, (void)room, 0; }

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const char *const number = fuzz_number(bytes, n);
    for (size_t side = 0; side <= 28; side += 28) {
        gr_tape *t = gr_tape_new(1, NULL);
        kit_idx x = kit_idx_read(t, "/proc/self/fd", number, side);
        demand(x.data ? !gr_failed(t) : gr_error_code(t) == GR_BAD_FILE, "a file, or the error of a bad one");
        if (x.data) demand(x.n && x.item == (side ? side * side : 1) && n == (side ? 16 : 8) + x.n * x.item, "the number of items");
        for (size_t i = 0; x.data && i < x.n * x.item; i++) demand(side || x.data[i] <= 9, "a label of 0 to 9");
        kit_idx_free(t, &x);
        gr_tape_free(t);
    }
    return 0;
}
