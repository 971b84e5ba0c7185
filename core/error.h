/* core/error.h - the kinds of errors. */
#ifndef GR_ERROR_H
#define GR_ERROR_H

typedef enum {
    GR_OK,
    GR_MISUSE,     /* wrong shapes, arguments or order of calls */
    GR_NO_MEMORY,
    GR_BAD_FILE,   /* the content of a file is not what it should be */
    GR_IO_FAILED,  /* open, read, write, fsync or rename failed */
    GR_NOT_FINITE, /* anomaly mode found a NaN or an infinity, or an optimizer refused one */
} gr_error;

#endif
