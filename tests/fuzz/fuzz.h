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

enum { FUZZ_ROOM = 1 << 14 }; /* the greatest length of a mutated file */

extern const char fuzz_name[], fuzz_likely[];                     /* NAME; characters with a meaning in such a file */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);       /* reads the file and demands what must hold */
size_t fuzz_mend(uint8_t *bytes, size_t n, gr_stream *s);         /* makes a mutated file pass the first checks; the new length */

#define demand(what, text) ((what) ? (void)0 : (fprintf(stderr, "fuzz_%s: %s does not hold\n", fuzz_name, text), abort()))

size_t fuzz_seed(uint8_t *bytes, size_t room);                    /* makes one more first file and returns its length, or 0 */

/* For readers that need a path: put the bytes into a file in memory. Returns its number in /proc/self/fd, or its path. */
const char *fuzz_number(const uint8_t *bytes, size_t n);
const char *fuzz_path(const uint8_t *bytes, size_t n);
#endif
