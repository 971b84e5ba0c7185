/* core/io/file.h - files for the library: read in order, or replaced as a whole. Every error says what, which path, and why. */
#ifndef GR_FILE_H
#define GR_FILE_H
#include "core/tape.h"
#include <sys/types.h>
GR_BEGIN

enum { GR__PATH_BYTES = 4096 }; /* with the 0 at the end: Linux takes no longer path */

typedef struct {
    int fd;
    const char *path;   /* borrowed */
    size_t bytes;       /* of a file that is read: its size when it was opened */
    bool replaces;      /* of a file that is written, and the rest: there was a file, and */
    mode_t mode;        /* its permissions */
    char target[GR__PATH_BYTES];    /* path, or where it leads when it is a symbolic link */
    char temporary[GR__PATH_BYTES]; /* the name it has until it is complete */
} gr__file;

/* Reading. Only regular files; whatever was opened is to be closed. */
bool gr__file_open(gr_tape *t, gr__file *f, const char *path);
bool gr__file_read(gr_tape *t, gr__file *f, void *p, size_t bytes);
void gr__file_close(gr__file *f);

/* Writing: into a new file beside path, which takes path's place (and its permissions) in gr__file_commit, when all of it is on
 * the disk. A symbolic link stays, and what it leads to is replaced; a link that leads to nothing makes the file there. Create removes
 * what writers of the same path left that were killed, and nothing of those that live. After create has succeeded, end with commit or abandon; a failed commit or create leaves nothing behind, and the
 * old file as it was (or, when only the folder could not be synced, the new one in place). */
bool gr__file_create(gr_tape *t, gr__file *f, const char *path);
bool gr__file_write(gr_tape *t, gr__file *f, const void *p, size_t bytes);
bool gr__file_commit(gr_tape *t, gr__file *f);
void gr__file_abandon(gr__file *f);

GR_END
#endif
