/* tests/fuzz/fuzz_safetensors.c - mutated files into the safetensors reader: it refuses with GR_BAD_FILE, or what it returns is sound.
 *
 *     make fuzz SAN=address,undefined [ARGS=rounds]       mutations of the recorded file, the same in every run
 *     clang -fsanitize=fuzzer,address -DGR_LIBFUZZER ...  with libFuzzer                                                     */
#include "gradus.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void demand(bool what, const char *name)
{
    if (what) return;
    fprintf(stderr, "fuzz_safetensors: %s does not hold\n", name);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    gr_tape *t = gr_tape_new(1);
    uint8_t *exact = malloc(n + !n); /* so that AddressSanitizer sees a read past the end */
    memcpy(exact, bytes, n);
    gr_safetensors *f = gr_safetensors_parse(t, "fuzz", exact, n);
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
    free(exact);
    gr_tape_free(t);
    return 0;
}

#ifndef GR_LIBFUZZER
enum { ROOM = 4096 };

static void write_length(uint8_t *bytes, uint64_t length)
{
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(length >> 8 * i);
}

/* One change: a byte, a run of bytes moved over others, removed, or a number in the text grown. */
static size_t mutate(gr_stream *s, uint8_t *bytes, size_t n)
{
    static const char likely[] = "{}[]\",:\\u0123456789-. \n\xff\xc3";
    if (!n) return n;
    const size_t at = gr_stream_below(s, n), length = gr_stream_below(s, n - at < 40 ? n - at : 40);
    switch (gr_stream_below(s, 6)) {
    case 0: bytes[at] ^= (uint8_t)(1u << gr_stream_below(s, 8)); return n;
    case 1: bytes[at] = (uint8_t)likely[gr_stream_below(s, sizeof likely - 1)]; return n;
    case 2: memmove(bytes + at, bytes + at + length, n - at - length); return n - length;
    case 3: memmove(bytes + gr_stream_below(s, n - length + 1), bytes + at, length); return n;
    case 4:
        if (n + length > ROOM) return n;
        memmove(bytes + at + length, bytes + at, n - at);
        return n + length;
    default:
        for (size_t i = at; i < n; i++)
            if (bytes[i] >= '0' && bytes[i] <= '9') {
                bytes[i] = (uint8_t)('0' + gr_stream_below(s, 10));
                break;
            }
        return n;
    }
}

int main(int argc, char **argv)
{
    static uint8_t seed[ROOM], bytes[ROOM];
    const size_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
    FILE *f = fopen("tests/golden/types.safetensors", "rb");
    const size_t n = f ? fread(seed, 1, ROOM, f) : 0;
    if (f) fclose(f);
    if (n < 16) return fprintf(stderr, "fuzz_safetensors: tests/golden/types.safetensors cannot be read: run it from the root of the tree\n"), 2;
    gr_stream s = gr_stream_new(1, "fuzz");
    for (size_t round = 0; round < rounds; round++) {
        const size_t cut = gr_stream_below(&s, 4) ? n : gr_stream_below(&s, n), changes = 1 + gr_stream_below(&s, 6);
        size_t length = cut;
        memcpy(bytes, seed, n);
        for (size_t i = 0; i < changes; i++) length = mutate(&s, bytes, length);
        if (length > 8 && gr_stream_below(&s, 2)) write_length(bytes, gr_stream_below(&s, length - 7)); /* past the first check */
        if (length >= n && gr_stream_below(&s, 2)) memcpy(bytes, seed, 8);
        LLVMFuzzerTestOneInput(bytes, length);
    }
    printf("fuzz_safetensors: %zu files\n", rounds);
    return 0;
}
#endif
