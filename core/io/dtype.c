/* core/io/dtype.c - the types of numbers in files: names, sizes, conversion. The files are little-endian, and the library runs on little-endian
 * machines only. */
#include "core/io/safetensors.h"
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "gradus reads and writes files as they lie in memory");

static const struct { char name[5]; unsigned char bytes; } dtypes[GR_DTYPES] = { { "F16", 2 }, { "BF16", 2 }, { "I32", 4 },
                                                                                  { "F32", 4 }, { "F64", 8 }, { "I64", 8 } };
const char *gr_dtype_name(gr_dtype dtype) { return (unsigned)dtype < GR_DTYPES ? dtypes[dtype].name : "?"; }
size_t gr_dtype_bytes(gr_dtype dtype) { return (unsigned)dtype < GR_DTYPES ? dtypes[dtype].bytes : 0; }

static float float_of_bits(uint32_t bits) { return (union { uint32_t u; float f; }){ bits }.f; }

/* 1 sign bit, 5 exponent bits, 10 mantissa bits. Shifted into a float, the exponent is 112 too small, which a product corrects exactly, also for
 * subnormals. Infinities and NaN get all exponent bits instead. */
static float float_of_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = (uint32_t)(half & 0x7fff) << 13;
    if (rest >= 0x0f800000) return float_of_bits(sign | 0x7f800000 | rest);
    return (sign ? -1.0f : 1.0f) * (float_of_bits(rest) * 0x1p112f);
}

static gr_real real_at(const unsigned char *p, gr_dtype dtype)
{
    union { uint16_t h; int32_t i; int64_t l; float f; double d; } u;
    memcpy(&u, p, gr_dtype_bytes(dtype));
    switch (dtype) {
    case GR_F16: return (gr_real)float_of_half(u.h);
    case GR_BF16: return (gr_real)float_of_bits((uint32_t)u.h << 16);
    case GR_I32: return (gr_real)u.i;
    case GR_F32: return (gr_real)u.f;
    case GR_F64: return (gr_real)u.d;
    default: return (gr_real)u.l;
    }
}

void gr_safetensors_reals(const gr_safetensors_entry *e, gr_real *out)
{
    if (!e || !out) return;
    const size_t step = gr_dtype_bytes(e->dtype);
    if (e->dtype == GR_REAL_DTYPE) memcpy(out, e->data, e->bytes);
    else
        for (size_t i = 0; i < e->len; i++) out[i] = real_at(e->data + i * step, e->dtype);
}

void gr_safetensors_integers(const gr_safetensors_entry *e, int64_t *out)
{
    if (!e || !out) return;
    if (e->dtype == GR_I64) memcpy(out, e->data, e->bytes);
    for (size_t i = 0; e->dtype == GR_I32 && i < e->len; i++) {
        int32_t value;
        memcpy(&value, e->data + i * sizeof value, sizeof value);
        out[i] = value;
    }
}
