/* nn/internal.h - what the files of nn/ and optim/ share. Nobody else includes it. */
#ifndef GR_NN_INTERNAL_H
#define GR_NN_INTERNAL_H
#include "core/files.h"
#include "core/library.h"
#include "nn/nn.h"

/* The note "format" of a checkpoint and of a state_dict. A file with such a note must have a checksum. */
#define GR__CHECKPOINT "gradus checkpoint 2"
#define GR__STATE "gradus state 1"

/* Fill s's tensor by the rule s->init. False, with an error, if the shape does not suit the rule, or when out of memory. */
bool gr__init_draw(gr_tape *t, const gr_slot *s);

/* Whether s is a slot of m or of a module under it. */
bool gr__slot_is_under(const gr_module *m, const gr_slot *s);
/* Whether s is the one slot under m that stands for its tensor, which tied slots share. */
bool gr__slot_stands(const gr_module *m, const gr_slot *s);

/* The path of s below m: "weight" for fc1.weight below fc1. */
const char *gr__slot_key(const gr_module *m, const gr_slot *s);

/* An optimizer's pointer to a slot, in the list of the slot's holds; NULL once the slot was freed. */
typedef struct gr__hold { struct gr__hold *next; gr_slot *slot; } gr__hold;

/* Whether n is not 0; otherwise the error "fc: in must be 1 or more; got 0". */
bool gr__size_is_positive(gr_tape *t, const gr_module *m, const char *what, size_t n);

/* Which values share a statistic: a row of the last axes; or a group of features, over all other axes, in each sample, or at each position. */
typedef enum { GR__NORM_OF_ROWS, GR__NORM_OF_FEATURES, GR__NORM_OF_SAMPLES, GR__NORM_OF_POSITIONS } gr__norm_shares;
gr__norm_shares gr__norm_shares_of(const gr_norm *n);
bool gr__norm_has_mean(const gr_norm *n); /* false for an RMSNorm */
/* Whether n takes an x of that shape; otherwise the error, which names op. */
bool gr__norm_fits(gr_tape *t, const gr_op *op, const gr_norm *n, gr_shape x);

/* The name of a random stream, "<path>/<end>", lies in memory behind a module's struct. gr__stream_room returns the bytes that it needs if the
 * module is called name under parent (NULL: a number). Once m has its path, gr__stream_name writes the name to room and returns room. */
size_t gr__stream_room(const gr_module *parent, const char *name, const char *end);
char *gr__stream_name(char *room, const gr_module *m, const char *end);

/* Make a column of a printed table at least as wide as text, unless text has 60 characters or more. */
void gr__widen(int *width, const char *text);
int gr__widest_parameter(const gr_module *m); /* the width that the paths of the parameters under m need */

/* ---- Slots and kept states ---- */

/* Make a slot behind those of m; gr__slot_append checks the name first. gr__slot_remove unlinks and frees s, and returns NULL. */
gr_slot *gr__slot_new(gr_tape *t, gr_module *m, const char *name, gr_slot_kind kind);
gr_slot *gr__slot_append(gr_tape *t, gr_module *m, const char *name, gr_slot_kind kind);
void *gr__slot_remove(gr_slot *s);
gr_slot *gr__slot_called(const gr_module *m, const char *name, gr_slot_kind kind); /* of m itself; NULL when there is none, or for NULL */
bool gr__name_is_taken(const gr_module *m, const char *name); /* whether a slot of m or a module right under it has that name */
gr_tensor *gr__slot_tensor(gr_tape *t, const gr_slot *s, gr_shape shape); /* a zeroed tensor with s's path, which the caller gives to s */

/* The memory of a kept state. After gr_forget a state may have several versions, one for each shape. */
typedef struct gr__version {
    struct gr__version *next;
    gr_tensor *tensor;
    const gr_tape *tape; /* the tape that has used it; NULL when several have */
    size_t resets;       /* how many resets that tape had made when it last used it */
} gr__version;
void gr__version_free(const gr_slot *s, gr__version *v);

/* The version of s, a kept state, that has this shape; made when there is none. The caller sets s->tensor to it. NULL, with an error, when out of memory. */
gr_tensor *gr__kept_memory(gr_tape *t, gr_slot *s, gr_shape shape);

/* ---- state_dict ---- */

/* What m saves, in memory of the tape with room for `more` items behind it. NULL, with an error, when out of memory. */
gr_safetensors_item *gr__state_items(gr_tape *t, const gr_module *m, size_t more, size_t *count);
/* A slot, and the entry of a file that fills it, or NULL. The end of a list has the slot NULL. */
typedef struct { gr_slot *slot; const gr_safetensors_entry *entry; } gr__state_pair;
/* Pair the slots of m with the entries of f, in memory of the tape. exact: every type must be gr_real, without conversion. config may be NULL. NULL,
 * with one error that lists everything that does not fit. */
const gr__state_pair *gr__state_match(gr_tape *t, const gr_safetensors *f, const gr_module *m, const char *path, bool exact, const gr_state_config *config);
void gr__state_fill(const gr__state_pair *pairs); /* cannot fail */
/* a followed by b, in memory of the tape; NULL once it has run out. */
const char *gr__joined(gr_tape *t, const char *a, const char *b);

#endif
