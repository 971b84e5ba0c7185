/* tests/fuzz/fuzz.h - what the targets share. A target is a file tests/fuzz/fuzz_NAME.c that defines the five names below; its first files
 * are in tests/fuzz/corpus/NAME. tests/fuzz/main.c mutates them, and so does libFuzzer:
 *
 *     make fuzz SAN=address,undefined [ARGS=ROUNDS]       the same files in every run
 *     make libfuzzer CC=clang [SECONDS=60]                for as long, with coverage                                                    */
#ifndef GR_FUZZ_H
#define GR_FUZZ_H
#include "gradus.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FUZZ_ROOM = 1 << 14 }; /* bytes of a mutated file, at most */

extern const char fuzz_name[], fuzz_likely[];                     /* NAME; characters that matter in such a file */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);       /* reads it, and demands */
size_t fuzz_mend(uint8_t *bytes, size_t n, gr_stream *s);         /* gets a mutated file past the first checks; the new length */

#define demand(what, text) ((what) ? (void)0 : (fprintf(stderr, "fuzz_%s: %s does not hold\n", fuzz_name, text), abort()))

size_t fuzz_seed(uint8_t *bytes, size_t room);                    /* one more first file, made now; its length, 0: none */

/* For readers that want a path: the number of a file in memory that holds these bytes, which /proc/self/fd has under this name. */
const char *fuzz_number(const uint8_t *bytes, size_t n);
const char *fuzz_path(const uint8_t *bytes, size_t n);
#endif
