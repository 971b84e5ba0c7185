/* examples/kit/text.h - windows of text as sequences of characters, from a file or from sentences of a small grammar. */
#ifndef KIT_TEXT_H
#define KIT_TEXT_H
#include "examples/kit/arms.h"
#include "examples/kit/file.h"

typedef struct {
    int *id;              /* the text; the last tenth, from `train` on, is the test set */
    size_t n, train;
    unsigned char letter[256]; /* the byte of an id, in rising order */
    int of[256];          /* the id of a byte; -1 if the text does not contain it */
    size_t letters;
    const char *path;     /* NULL means made-up sentences */
    /* The batch: windows of T characters, and the same windows one character later. The stream train/windows draws where training windows
     * begin; test windows follow one another without overlap. */
    size_t B, T, batch;   /* windows in this batch; characters in a window; windows in a full batch */
    int *in, *next;       /* [B, T] */
    gr_tape *tape;
} kit_text;

/* Read the text of the file path, or of tinyshakespeare.txt in the folder path. path NULL means about 70,000 characters of sentences drawn
 * from the tape's seed. Errors are set on t. The caller frees the text before the tape. */
kit_text kit_text_open(gr_tape *t, const char *path, size_t batch, size_t window);

/* The same in two steps, so that a file is read once for several texts. The caller frees the bytes with kit_bytes_free. */
kit_bytes kit_text_read(gr_tape *t, const char *path);
kit_text kit_text_of(gr_tape *t, const char *path, const kit_bytes *bytes, size_t batch, size_t window);
void kit_text_free(kit_text *c);

/* Draw one of n ids with the probabilities p. */
size_t kit_draw(gr_stream *s, const gr_real *p, size_t n);

/* A part of the text as parallel streams, for truncated back-propagation through time: stream b of `batch` begins length b characters after
 * from, and is read in chunks of T characters. */
typedef struct { const kit_text *text; size_t from, length, chunks; } kit_streams;

/* The streams of the training or test characters. Fewer characters than one chunk needs are an error on the text's tape. */
kit_streams kit_text_streams(const kit_text *c, bool training);

/* Chunk k of every stream, `shift` characters later: ids [T, batch] on t. NULL on an error. */
gr_ints *kit_text_chunk(gr_tape *t, const kit_streams *s, size_t k, size_t shift);

/* The text as a source; each of its batches is c itself. */
kit_source kit_text_source(kit_text *c);

#endif
