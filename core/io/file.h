/* core/io/file.h - files that are read in order, or replaced as a whole. An error says what failed, for which path, and why. The first error stays
 * in e; with an error in e, a function does nothing and returns false. */
#ifndef GR_FILE_H
#define GR_FILE_H
#include "core/base.h"
#include <sys/types.h>

enum { GR__PATH_BYTES = 4096 }; /* with the 0 at the end; Linux allows no longer path */

typedef struct {
    int fd;
    const char *path;   /* borrowed */
    size_t bytes;       /* reading: the size of the file when it was opened */
    const unsigned char *memory; /* reading: the bytes that come next, of a file in memory, which is not opened; else NULL */
    bool replaces;      /* writing, as all that follows: there was a file at path, */
    mode_t mode;        /* with these permissions */
    char target[GR__PATH_BYTES];    /* path, or the file to which it leads when it is a symbolic link */
    char temporary[GR__PATH_BYTES]; /* the name of the file until it is complete */
} gr__file;

/* Reading. Only regular files can be opened; the caller closes the file. */
bool gr__file_open(gr__failure *e, gr__file *f, const char *path);
bool gr__file_read(gr__failure *e, gr__file *f, void *p, size_t bytes);
void gr__file_close(gr__file *f);

/* Writing goes to a new file beside path. gr__file_commit waits until all of it is on the disk, and then replaces path with it, with path's
 * permissions. When path is a symbolic link, the file that it leads to is replaced or made. Create removes the files that killed writers of the
 * same path left, and no file of a living writer. After a successful create, call commit or abandon. A commit with an error in e abandons.
 * A failed commit or create leaves no new file, and the old file as it was. When only the sync of the folder failed, the new file is in place. */
bool gr__file_create(gr__failure *e, gr__file *f, const char *path);
bool gr__file_write(gr__failure *e, gr__file *f, const void *p, size_t bytes);
bool gr__file_commit(gr__failure *e, gr__file *f);
void gr__file_abandon(gr__file *f);

#endif
