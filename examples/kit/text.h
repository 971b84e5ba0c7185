/* examples/kit/text.h - text, character by character, in windows: from a file, or of sentences by a small grammar. */
#ifndef KIT_TEXT_H
#define KIT_TEXT_H
#include "examples/kit/arms.h"
#include "examples/kit/file.h"

typedef struct {
    int *id;              /* the text; from `train` on, its last tenth, it is the test set */
    size_t n, train;
    unsigned char letter[256]; /* of an id, in the order of bytes */
    int of[256];          /* the id of a letter, -1 of one that the text lacks */
    size_t letters;
    const char *path;     /* NULL: made up */
    /* The batch: windows of T characters, and what comes one later. Training windows begin anywhere, by the stream train/windows; test windows
     * lie side by side. */
    size_t B, T, batch;   /* B: those in it; batch: those of a full one */
    int *in, *next;       /* [B, T] */
    gr_tape *tape;
} kit_text;

/* The text of a file, or of tinyshakespeare.txt if path is a folder that holds it. path NULL: some 70,000 characters of sentences, by the
 * tape's seed. Errors are on t. Free before the tape. */
kit_text kit_text_open(gr_tape *t, const char *path, size_t batch, size_t window);

/* The same in two steps, for several texts of one file that is read once: its bytes, to be freed with kit_bytes_free; the text of them. */
kit_bytes kit_text_read(gr_tape *t, const char *path);
kit_text kit_text_of(gr_tape *t, const char *path, const kit_bytes *bytes, size_t batch, size_t window);
void kit_text_free(kit_text *c);

/* As a source, whose batches are c itself. */
kit_source kit_text_source(kit_text *c);

#endif
