/* tests/fuzz/fuzz_npy.c - arrays of NumPy are refused with GR_BAD_FILE, or the result is within the file. */
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "npy", fuzz_likely[] = "{}()'\",:<>|fi48 0123456789L\n\x93\x01\x02";

/* In half of the files the length of the header is corrected. */
size_t fuzz_mend(uint8_t *bytes, size_t n, gr_stream *s)
{
    if (n <= 12 || gr_stream_below(s, 2)) return n;
    const uint8_t *const end = memchr(bytes, '}', n);
    const size_t begin = bytes[6] == 2 ? 12 : 10;
    if (end && (size_t)(end - bytes) > begin) bytes[8] = (uint8_t)(end - bytes + 1 - (ptrdiff_t)begin), bytes[9] = 0;
    return n;
}

size_t fuzz_seed(uint8_t *bytes, size_t room) { return (void)bytes, (void)room, 0; }

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    gr_tape *t = gr_tape_new(1, NULL);
    const char *const path = fuzz_path(bytes, n);
    const gr_tensor *const x = gr_npy_read(t, path);
    demand(x ? !gr_failed(t) : gr_error_code(t) == GR_BAD_FILE, "an array, or the error of a bad file");
    demand(!x || x->len * 4 <= n, "values that are in the file");
    gr_tape_recover(t);
    const gr_ints *const i = gr_npy_read_ints(t, path);
    demand(i ? !gr_failed(t) : gr_error_code(t) == GR_BAD_FILE, "integers, or the error of a bad file");
    gr_tape_free(t);
    return 0;
}
