/* tests/fuzz/fuzz_safetensors.c - files of tensors are refused with GR_BAD_FILE, or the result is valid. */
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "safetensors", fuzz_likely[] = "{}[]\",:\\u0123456789-. \n\xff\xc3";

/* In half of the files the length of the header is corrected. */
size_t fuzz_mend(uint8_t *bytes, size_t n, gr_stream *s)
{
    if (n <= 8 || gr_stream_below(s, 2)) return n;
    const uint64_t length = gr_stream_below(s, 2) ? gr_stream_below(s, n - 7) : (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8;
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(length >> 8 * i);
    return n;
}

size_t fuzz_seed(uint8_t *bytes, size_t room) { return (void)bytes, (void)room, 0; }

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    gr_tape *t = gr_tape_new(1, NULL);
    gr_safetensors *f = gr_safetensors_open(t, fuzz_path(bytes, n));
    demand(f ? !gr_failed(t) : gr_error_code(t) == GR_BAD_FILE, "a file, or the error of a bad one");
    size_t data = 0;
    for (size_t i = 0; f && i < f->count; i++) {
        const gr_safetensors_entry *e = &f->entry[i];
        size_t len = 1;
        for (int k = 0; k < e->shape.rank; k++) len *= e->shape.dim[k];
        demand(len == e->len && len * gr_dtype_bytes(e->dtype) == e->bytes && e->bytes <= n, "the length of a tensor");
        demand(gr_safetensors_find(f, e->name) == e, "finding a tensor by its name");
        gr_real *x = malloc(e->len * sizeof *x + !e->len);
        gr_safetensors_reals(e, x);
        free(x);
        data += e->bytes;
    }
    demand(!f || data == f->data_bytes, "tensors that fill the data");
    gr_safetensors_free(f);
    gr_tape_free(t);
    return 0;
}
