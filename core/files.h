/* core/files.h - reading and writing files of named tensors (core/io/safetensors.h): memory and errors are the tape's. */
#ifndef GR_FILES_H
#define GR_FILES_H
#include "core/io/safetensors.h"
#include "core/tape.h"
GR_BEGIN

/* Read a file and check all of it: no holes, overlaps, duplicate names, sizes that do not fit; rank at most 8; a header of at most
 * 100,000,000 bytes, nested no deeper than 2; and the checksum, when the file has one. No more memory is asked for than the file is
 * long, a small factor aside. NULL on an error. Free with gr_safetensors_free.
 *
 * The checksum is a note of __metadata__, "checksum": "crc64:" and 16 hexadecimal digits: the CRC-64/XZ of the whole file, in which
 * these digits stand as zeros. It covers the length, the header and the data, so that a damaged file is an error and not another
 * model. Every file of gr_state_save and gr_checkpoint_save has one, and a note "format" that begins with "gradus ": without the
 * checksum, a file with such a note is an error too. Files of other programs load without one. */
GR_API gr_safetensors *gr_safetensors_open(gr_tape *t, const char *path);
/* The same from memory, which is copied; path only names it in messages. */
GR_API gr_safetensors *gr_safetensors_parse(gr_tape *t, const char *path, const void *bytes, size_t n);

/* Write n tensors to path, which is replaced as a whole or not at all. The order in the file is that of the Python package, and
 * so is each byte: larger types first, then by name; the header is padded with spaces to a multiple of 8 bytes. notes: key, value,
 * key, value, ... NULL, or NULL. Names and notes are UTF-8, each name and each key is there once. No checksum is added, unless notes
 * has the key "checksum": then the file's checksum is the value that is written, whatever value was given.
 * Where path is a symbolic link, the file that it leads to is written, and the link stays. Replacing asks for the permission to write in the
 * folder; the file's own permissions are kept, and do not protect it.
 * While a file is written it is called path.gradus-0.tmp, or -1 and so on to -31 (a short name where that is too long for the folder),
 * and locked by flock. What a killed program left there is removed by the next save of the same path; what is locked never is. On a
 * network file system whose locks other machines do not see, only one machine may save to a path at a time. */
GR_API bool gr_safetensors_write(gr_tape *t, const char *path, const gr_safetensors_item *items, size_t n, const char *const *notes);

GR_END
#endif
