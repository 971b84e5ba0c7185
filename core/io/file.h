/* core/io/file.h - files that are read in order, or replaced as a whole. An error says what failed, on which path, and why. The first one stays
 * in e: a function that is given it does nothing more, and returns false. */
#ifndef GR_FILE_H
#define GR_FILE_H
#include "core/base.h"
#include <stddef.h>
#include <sys/types.h>

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

/* Reading. Only regular files; the caller closes what was opened. */
bool gr__file_open(gr__failure *e, gr__file *f, const char *path);
bool gr__file_read(gr__failure *e, gr__file *f, void *p, size_t bytes);
void gr__file_close(gr__file *f);

/* Writing: into a new file beside path, which takes path's place (and its permissions) in gr__file_commit, when all of it is on
 * the disk. A symbolic link stays, and what it leads to is replaced; a link that leads to nothing makes the file there. Create removes
 * what killed writers of the same path left, and nothing of those that live. After create has succeeded, end with commit or abandon. A commit
 * with an error in e abandons. A failed commit or create leaves nothing behind, and the old file as it was (or, when only the folder could
 * not be synced, the new one in place). */
bool gr__file_create(gr__failure *e, gr__file *f, const char *path);
bool gr__file_write(gr__failure *e, gr__file *f, const void *p, size_t bytes);
bool gr__file_commit(gr__failure *e, gr__file *f);
void gr__file_abandon(gr__file *f);

#endif
