/* core/error.h - the kinds of errors. */
#ifndef GR_ERROR_H
#define GR_ERROR_H

typedef enum {
    GR_OK,
    GR_MISUSE,     /* shapes, arguments, order of calls */
    GR_NO_MEMORY,
    GR_BAD_FILE,   /* a file whose content is not what it should be */
    GR_IO_FAILED,  /* open, read, write, fsync, rename */
    GR_NOT_FINITE, /* a NaN or an infinity where it was to be refused */
} gr_error;

#endif
