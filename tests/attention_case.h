/* tests/attention_case.h - one case of attention: sizes, options and masked keys; and the functions that call it for gr_gradcheck. */
#ifndef GR_ATTENTION_CASE_H
#define GR_ATTENTION_CASE_H
#include "examples/composed/composed.h"
#include "ops/attention_packed.h"
#include "tests/compare.h"

enum { IN_DOUBLE = sizeof(gr_real) == 8 };

/* in: q, k and v, or qkv alone. */
typedef struct {
    size_t B, Tq, Tk, d, e;
    gr_attention_config o;
    int *lengths;  /* become .lengths of the options, on any tape */
    int mask_rank; /* default no mask; else it hides about every third key: 1 for a mask [1, Tq, Tk], 2 for [B, Tk], 3 for [B, Tq, Tk] */
} attention_case;

static inline const gr_attention_config *options_of(gr_tape *t, const attention_case *c, gr_attention_config *o)
{
    *o = c->o;
    if (c->lengths) o->lengths = gr_ints_new(t, c->lengths, GR_SHAPE(c->B));
    if (!c->mask_rank) return o;
    gr_tensor *m = c->mask_rank == 2 ? gr_ones(t, GR_SHAPE(c->B, c->Tk)) : gr_ones(t, GR_SHAPE(c->mask_rank == 1 ? 1 : c->B, c->Tq, c->Tk));
    for (size_t i = 0; m && i < m->len; i++) m->data[i] = (i * 7 + i / 5) % 3 != 0;
    o->mask = m;
    return o;
}
static inline gr_tensor *fused(gr_tape *t, gr_tensor *const *in, void *c)
{
    return gr_attention(t, in[0], in[1], in[2], options_of(t, c, &(gr_attention_config){ 0 }));
}
static inline gr_tensor *composed(gr_tape *t, gr_tensor *const *in, void *c)
{
    return composed_attention(t, in[0], in[1], in[2], options_of(t, c, &(gr_attention_config){ 0 }));
}
static inline gr_tensor *packed(gr_tape *t, gr_tensor *const *in, void *c)
{
    return gr__attention_packed(t, in[0], options_of(t, c, &(gr_attention_config){ 0 }));
}
static inline gr_tensor *packed_composed(gr_tape *t, gr_tensor *const *in, void *argument)
{
    const attention_case *c = argument;
    const size_t E = c->d * (c->o.heads ? c->o.heads : 1);
    gr_tensor *part[3];
    gr_split(t, in[0], -1, (size_t[]){ E, E, E }, 3, part);
    return composed_attention(t, part[0], part[1], part[2], options_of(t, c, &(gr_attention_config){ 0 }));
}

static inline size_t inputs_of(const attention_case *c, gr_gradcheck_input *in)
{
    const size_t heads = c->o.heads ? c->o.heads : 1;
    in[0] = (gr_gradcheck_input){ .shape = GR_SHAPE(c->B, c->Tq, heads * c->d) };
    in[1] = (gr_gradcheck_input){ .shape = GR_SHAPE(c->B, c->Tk, heads * c->d) };
    in[2] = (gr_gradcheck_input){ .shape = GR_SHAPE(c->B, c->Tk, heads * c->e) };
    return 3;
}
static inline gr_gradcheck_input packed_input_of(const attention_case *c)
{
    return (gr_gradcheck_input){ .shape = GR_SHAPE(c->B, c->Tq, 3 * (c->o.heads ? c->o.heads : 1) * c->d) };
}
#endif
