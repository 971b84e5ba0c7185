/* core/files.h - read and write files of named tensors (core/io/safetensors.h) and arrays of NumPy, with the memory and the errors of a tape. */
#ifndef GR_FILES_H
#define GR_FILES_H
#include "core/io/safetensors.h"
#include "core/tensor.h"

/* Read a file; the caller frees the result with gr_safetensors_free. Returns NULL on an error. Fails if the file cannot be read, or if it is damaged:
 * a hole or an overlap in the data, a name that appears twice, a size that does not fit, a rank above 8, a header longer than
 * 100,000,000 bytes or nested deeper than 2, or a wrong checksum. A damaged file cannot make it ask for more than a few times the file's size.
 *
 * The checksum is the note "checksum" of __metadata__, "crc64:" and 16 hexadecimal digits: the CRC-64/XZ of the whole file, with
 * zeros for these digits. It covers the length, the header and the data, so a damaged file cannot be read as another
 * model. gr_state_save and gr_checkpoint_save always write it, and a note "format" that begins with "gradus ": a file with such a note but without
 * a checksum is damaged too. Files of other programs need no checksum. */
GR_API gr_safetensors *gr_safetensors_open(gr_tape *t, const char *path);
/* The same for a file whose length bytes lie in memory, for example weights that are part of the program. The result holds a copy. Messages call the
 * file "memory". */
GR_API gr_safetensors *gr_safetensors_open_memory(gr_tape *t, const void *bytes, size_t length);

/* Write n tensors to path. The file at path is replaced as a whole or not at all. The bytes are those that the Python package would write: larger types
 * first, then by name; the header is padded with spaces to a multiple of 8 bytes. notes: key, value, key, value, ... NULL, or NULL for no notes.
 * No checksum is added, unless notes has the key "checksum": its value is then replaced by the checksum. Returns false on an error. Fails if a
 * name or a key appears twice or is not UTF-8, if a shape or a type does not exist, or if the file cannot be written.
 *
 * When path is a symbolic link, the file that it leads to is replaced, and the link stays. Replacing needs the permission to write in the
 * folder. The new file gets the permissions of the old one, which do not protect it from being replaced.
 * The file is written under the name path.gradus-0.tmp, or -1 and so on to -31 (a short name where that is too long for the folder),
 * and locked by flock. The next save of the same path removes what a killed program left, and never a locked file. On a
 * network file system whose locks other machines do not see, only one machine may save to a path at a time. */
GR_API bool gr_safetensors_write(gr_tape *t, const char *path, const gr_safetensors_item *items, size_t n, const char *const *notes);

/* ---- Arrays of NumPy: one array in a file, as numpy.save writes it ---- */

/* Read an array as a tensor or as integers, which t owns. Types: float32, float64, int32, int64, little-endian, in C order. gr_npy_read converts all of
 * them to gr_real; gr_npy_read_ints reads the integers. They fail, and return NULL, if the file cannot be read or is damaged, if it holds another
 * type (objects, big-endian numbers) or Fortran order, if its rank is above 8, or if an integer does not fit an int. Like all that t owns, the result ends at the next gr_tape_reset: data for a whole
 * run is copied by the program, or kept with gr_detach_keep and read by gr_kept. */
GR_API gr_tensor *gr_npy_read(gr_tape *t, const char *path);
GR_API gr_ints *gr_npy_read_ints(gr_tape *t, const char *path);
/* Write x to path, with the bytes that numpy.save would write: gr_real as float32 or float64, an int as int32. The file is replaced as a whole or not at
 * all (see gr_safetensors_write). Fails if x is NULL or dead, or the file cannot be written. */
GR_API bool gr_npy_write(gr_tape *t, const gr_tensor *x, const char *path);
GR_API bool gr_npy_write_ints(gr_tape *t, const gr_ints *x, const char *path);

#endif
