/* ops/conv_planes.c - copies that the ways to compute a convolution share (ops/conv_plan.h). */
#include "core/simd.h"
#include "ops/conv_plan.h"

/* Planes from x. A vector may end behind its row: the next row comes later.
 * scalar kernel conv_fill: it copies. */
KERNEL(void, conv_fill, gr_real *restrict planes, const gr_real *restrict x, const gr__conv_image *m)
{
    size_t begin[2], skip[2], n[2]; /* padding; what lies before the part; what is copied */
    for (int k = 0; k < 2; k++) {
        const ptrdiff_t pad = m->padding[k];
        const size_t room = (k ? m->width : m->rows) * m->split[k];
        begin[k] = pad > 0 ? conv_min((size_t)pad, room) : 0, skip[k] = pad < 0 ? conv_min((size_t)-pad, m->H[k]) : 0;
        n[k] = conv_min(m->H[k] - skip[k], room - begin[k]);
    }
    const size_t W = m->H[1], s = m->split[1], left = begin[1], plane = m->plane, even_at = left % 2 * plane + left / 2, odd_at = (left + 1) % 2 * plane + (left + 1) / 2;
    for (size_t c = 0; c < m->C; c++, planes += m->planes) {
        memset(planes, 0, m->planes * sizeof *planes);
        const gr_real *from = x + (c * m->H[0] + skip[0]) * W + skip[1];
        gr_real *to = planes + begin[0] / m->split[0] * m->width;
        for (size_t i = 0, r = begin[0] % m->split[0]; i < n[0]; i++, from += W) {
            gr_real *const row = to + r * s * plane;
            if (s == 1)
                for (size_t j = 0; j < n[1]; j += R_WIDTH) v_store(row + left + j, v_load_most(from + j, n[1] - j));
            else if (s == 2)
                for (size_t j = 0; j < n[1]; j += 2 * R_WIDTH) {
                    r_vec even, odd;
                    v_load_split(&even, &odd, from + j, n[1] - j);
                    v_store(row + even_at + j / 2, even), v_store(row + odd_at + j / 2, odd);
                }
            else
                for (size_t j = 0; j < n[1]; j++) row[(left + j) % s * plane + (left + j) / s] = from[j];
            if (++r == m->split[0]) r = 0, to += m->width;
        }
    }
}

#if GR_HOST
void gr__conv_fill(int isa, gr_real *planes, const gr_real *x, const gr__conv_image *m) { conv_fill[isa](planes, x, m); }
#endif
