/* core/io/npy.c - arrays in files of numpy.save:
 *     6 bytes       "\x93NUMPY"
 *     2 bytes       the version of the format, 1.0 or 2.0
 *     2 or 4 bytes  N, the length of the header, little-endian
 *     N bytes       {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, spaces and a newline
 *     the rest      the values */
#include "core/io/internal.h"
#include <stdlib.h>

static const char npy_magic[] = "\x93NUMPY";
static const char *const npy_type[GR_DTYPES] = { [GR_I32] = "'<i4'", [GR_F32] = "'<f4'", [GR_F64] = "'<f8'", [GR_I64] = "'<i8'" };

/* ---- Reading ---- */

static const char *npy_value(const char *header, const char *key)
{
    const char *const found = strstr(header, key);
    return found ? found + strlen(key) + strspn(found + strlen(key), ": ") : "";
}

/* The keys may have any order. NULL, or the key whose value is not like the one above. */
static const char *npy_header(const char *header, gr_safetensors_entry *v)
{
    static const char shape[] = "'shape'";
    const char *const type = npy_value(header, "'descr'"), *at = npy_value(header, shape);
    size_t whole = 2 * sizeof(double); /* times the sizes but 0: it must not overflow, so that a tensor can have the shape */
    v->len = 1, v->dtype = GR_I32;
    while (v->dtype < GR_DTYPES && strncmp(type, npy_type[v->dtype], 5) != 0) v->dtype++;
    if (v->dtype == GR_DTYPES) return "'descr'";
    if (strncmp(npy_value(header, "'fortran_order'"), "False", 5) != 0) return "'fortran_order'";
    if (*at != '(') return shape;
    for (at += 1 + strspn(at + 1, " "); *at != ')';) {
        const bool digit = *at >= '0' && *at <= '9';
        char *end;
        const unsigned long long n = digit ? strtoull(at, &end, 10) : 0;
        if (!digit || n > SIZE_MAX || v->shape.rank == GR_MAX_RANK || (n && !gr_size_mul(whole, (size_t)n, &whole))) return shape;
        v->shape.dim[v->shape.rank++] = (size_t)n, v->len *= (size_t)n, at = end + strspn(end, " ");
        if (*at == ',') at += 1 + strspn(at + 1, " ");
        else if (*at != ')' || v->shape.rank == 1) return shape; /* in Python, (2) is no tuple */
    }
    v->bytes = v->len * gr_dtype_bytes(v->dtype);
    return NULL;
}

bool gr__npy_parse(gr__failure *e, const char *path, unsigned char *file, size_t bytes, gr_safetensors_entry *v)
{
    const size_t begin = bytes > 6 && file[6] == 2 ? 12 : 10;
    size_t length = 0;
    if (bytes < begin || memcmp(file, npy_magic, 6) != 0 || file[6] < 1 || file[6] > 2)
        return gr__fail(e, GR_BAD_FILE, path, "is not a file of numpy.save, version 1.0 or 2.0");
    for (size_t k = begin; k-- > 8;) length = length << 8 | file[k];
    if (length > bytes - begin) return gr__fail(e, GR_BAD_FILE, path, "is damaged: its header should be %zu bytes long, but the file is shorter", length);
    if (length) file[begin + length - 1] = 0; /* in place of the newline */
    const char *const header = length ? (const char *)file + begin : "";
    *v = (gr_safetensors_entry){ .data = file + begin + length };
    const char *const wrong = npy_header(header, v);
    const char *const value = wrong ? npy_value(header, wrong) : "", *const end = *value == '[' ? "]" : *value == '(' ? ")" : ",}";
    if (wrong)
        return gr__fail(e, GR_BAD_FILE, path, "must have a type of '<f4', '<f8', '<i4' or '<i8', C order and at most %d axes, and fit this machine; its %s is %.*s; %s",
                        GR_MAX_RANK, wrong, *value ? (int)(strcspn(value, end) + !end[1]) : 7, *value ? value : "missing",
                        *value == '[' ? "numpy.save(file, x['a']) saves the field a of a record" : "numpy.ascontiguousarray(x, '<f4') converts an array");
    char shape[GR__SHAPE_ROOM];
    return v->bytes == bytes - begin - length ||
           gr__fail(e, GR_BAD_FILE, path, "is damaged: %zu bytes of values do not fill %s of type %s", bytes - begin - length,
                    gr__shape_write(shape, v->shape.rank, v->shape.dim), npy_type[v->dtype]);
}

/* ---- Writing: the same bytes as numpy.save, which leaves room to lengthen the first size to 21 digits ---- */

bool gr__npy_write(gr__failure *e, const char *path, gr_dtype dtype, int rank, const size_t *dim, const void *data)
{
    char head[512];
    gr__file f;
    size_t bytes = gr_dtype_bytes(dtype);
    int n = 10 + sprintf(head + 10, "{'descr': %s, 'fortran_order': False, 'shape': (", npy_type[dtype]);
    for (int k = 0; k < rank; k++) bytes *= dim[k], n += sprintf(head + n, k ? ", %zu" : "%zu", dim[k]);
    n += sprintf(head + n, rank == 1 ? ",), }" : "), }");
    const int room = rank ? 21 - snprintf(NULL, 0, "%zu", dim[0]) : 0, whole = (n + room + 1) / 64 * 64 + 64;
    memset(head + n, ' ', (size_t)(whole - n)), memcpy(head, npy_magic, 6);
    head[6] = 1, head[7] = 0, head[8] = (char)((whole - 10) & 255), head[9] = (char)((whole - 10) >> 8), head[whole - 1] = '\n';
    if (!gr__file_create(e, &f, path)) return false;
    gr__file_write(e, &f, head, (size_t)whole), gr__file_write(e, &f, data, bytes);
    return gr__file_commit(e, &f);
}
