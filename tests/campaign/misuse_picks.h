/* tests/campaign/misuse_picks.h - for each type of a parameter in the public headers, pick_TYPE: a random argument, NULL and nonsense among
 * them. The name of a parameter says that it is the count of a list or a buffer; such a count is always correct. For
 * tests/campaign/misuse.c alone. */
#ifndef GR_MISUSE_PICKS_H
#define GR_MISUSE_PICKS_H

/* ---- Numbers ---- */

static double any_double(void)
{
    static const double values[] = { 0, 1, -1, 0.5, 2, 1e-5, 0.1, NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e-300, GR_NONE, 3 };
    return PICK(values);
}
static int any_int(void)
{
    static const int values[] = { 0, 1, 2, 3, -1, -2, 0, 1, -9, 8, 100, INT_MAX, INT_MIN };
    return PICK(values);
}
static size_t any_size(void)
{
    static const size_t values[] = { 0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 6, 8, 16, 33, 100, SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 31, (size_t)1 << 40 };
    return PICK(values);
}
static double pick_double(const char *name)
{
    const double x = any_double();
    return say(" %s=%g", name, x), x;
}
static int pick_int(const char *name)
{
    const int x = any_int();
    return say(" %s=%d", name, x), x;
}
static bool named(const char *name, const char *list) { return strstr(list, name) && *name; }
static size_t pick_size_t(const char *name)
{
    const size_t x = named(name, " n ins outs bytes length argument_bytes saved_bytes ") ? below(4) : any_size();
    return say(" %s=%zu", name, x), x;
}
static ptrdiff_t pick_ptrdiff_t(const char *name) { return pick_int(name); }
static uint64_t pick_uint64_t(const char *name) { return pick_size_t(name); }
static bool pick__Bool(const char *name)
{
    const bool x = one_in(2);
    return say(" %s=%d", name, x), x;
}
#define ENUM(type) \
    static type pick_##type(const char *name) { return (type)(one_in(4) ? pick_int(name) : (int)below(6)); }
ENUM(gr_reduction)
ENUM(gr_fan)
ENUM(gr_dtype)
ENUM(gr_norm_kind)
#undef ENUM

/* ---- Text ---- */

static const char *pick_char_p(const char *name)
{
    static char much[5000];
    static const char *const values[] = { NULL, "", "a", "w", "fc", "weight", "bias", "0", "a.b", "a/b", much, "\xff\xfe", "\x1b[31m", "%s%n", "f.safetensors",
                                          "f.safetensors", "scalar", "log", "/nowhere/x" };
    memset(much, 'x', sizeof much - 1);
    const char *const x = one_in(4) ? NULL : PICK(values);
    say(" %s=%.40s", name, x ? x : "NULL");
    return x;
}
static const char *const *pick_char_p_p(const char *name)
{
    static const char *const none[] = { NULL }, *const pair[] = { "k", "v", NULL }, *const odd[] = { "k", NULL }, *const bad[] = { "\xff", "\x1b", NULL };
    static const char *const *const values[] = { NULL, none, pair, odd, bad };
    (void)name;
    return PICK(values);
}
static FILE *pick_FILE_p(const char *name) { return (void)name, one_in(3) ? NULL : nowhere; }

/* ---- Memory of the caller ---- */

static gr_real *pick_gr_real_p(const char *name) { return (void)name, one_in(8) ? NULL : (gr_real *)buffer; }
static int *pick_int_p(const char *name) { return (void)name, one_in(4) ? NULL : whole; }
static int64_t *pick_int64_t_p(const char *name) { return (void)name, one_in(4) ? NULL : (int64_t *)buffer; }
static void *pick_void_p(const char *name) { return (void)name, one_in(4) ? NULL : buffer; }
static size_t *pick_size_t_p(const char *name)
{
    static size_t values[16];
    for (size_t i = 0; i < 16; i++) values[i] = one_in(6) ? any_size() : below(4);
    return (void)name, one_in(6) ? NULL : values;
}
static gr_stream *pick_gr_stream_p(const char *name)
{
    static gr_stream own;
    return (void)name, one_in(4) ? NULL : &own;
}
static gr_tensor **pick_gr_tensor_p_p(const char *name)
{
    static gr_tensor *list[16];
    for (size_t i = 0; i < 16; i++) list[i] = any_tensor();
    if (list[0] && one_in(2)) list[1] = list[2] = list[3] = list[0];
    return (void)name, one_in(6) ? NULL : list;
}

/* ---- Objects of the library ---- */

static gr_tape *pick_gr_tape_p(const char *name) { return (void)name, one_in(20) ? NULL : t; }

static const gr_safetensors *pick_gr_safetensors_p(const char *name) { return (void)name, one_in(4) ? NULL : file; }
static const gr_safetensors_entry *pick_gr_safetensors_entry_p(const char *name) { return (void)name, one_in(4) ? NULL : entry; }

static gr_shape pick_gr_shape(const char *name)
{
    static const int ranks[] = { 0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 8, 9, -1, INT_MAX, INT_MIN };
    gr_shape s = { .rank = PICK(ranks) };
    for (int k = 0; k < GR_MAX_RANK; k++) s.dim[k] = one_in(20) ? any_size() : one_in(20) ? GR_INFER : below(5);
    return say(" %s=rank %d [%zu, %zu, ..]", name, s.rank, s.dim[0], s.dim[1]), s;
}
static gr_axes pick_gr_axes(const char *name)
{
    gr_axes a = { .count = one_in(10) ? any_int() : (int)below(4) };
    for (int k = 0; k < GR_MAX_RANK; k++) a.axis[k] = one_in(10) ? any_int() : (int)below(4) - 1;
    return say(" %s=%d axes %d, %d", name, a.count, a.axis[0], a.axis[1]), a;
}
static gr_init pick_gr_init(const char *name) { return (void)name, (gr_init){ (gr_init_kind)(one_in(5) ? any_int() : (int)below(9)), any_double(), any_double(), (gr_fan)below(3) }; }
static gr_schedule pick_gr_schedule(const char *name)
{
    return (void)name, (gr_schedule){ (gr_schedule_kind)(one_in(5) ? any_int() : (int)below(8)), any_size(), any_double(), any_size(), { any_size() },
                                      any_double(), any_double(), any_double() };
}
static gr_optim_group pick_gr_optim_group(const char *name) { return (void)name, (gr_optim_group){ any_double(), any_double(), one_in(2) }; }

/* A struct of options, or NULL. */
#define CONFIG(type, ...) \
    static const type *pick_##type##_p(const char *name) \
    { \
        static type c; \
        c = (type){ __VA_ARGS__ }; \
        (void)name; \
        return one_in(3) ? NULL : &c; \
    }
/* The default in most cases. */
static double D(void) { return one_in(2) ? 0 : any_double(); }
static int I(void) { return one_in(2) ? 0 : any_int(); }
static size_t S(void) { return one_in(2) ? 0 : any_size(); }
static bool B(void) { return one_in(3); }
static gr_state_report state_report;
CONFIG(gr_linear_config, B(), any_tensor())
CONFIG(gr_state_config, B(), one_in(2) ? NULL : "f", one_in(2) ? NULL : "w", one_in(2) ? NULL : &state_report)
CONFIG(gr_batches_config, one_in(2) ? NULL : "s", B())
CONFIG(gr_embedding_config, B(), S())
CONFIG(gr_norm_config, B(), B(), B(), B(), one_in(4) ? any_int() : (int)below(3) - 1, one_in(2) ? (int)below(3) : I(), S(), D(), B(), D())
CONFIG(gr_conv_config, I(), I(), I(), I(), I(), I(), I(), I(), B(), I(), I())
CONFIG(gr_interpolate_config, S(), S(), D(), D(), (gr_interpolate_mode)(one_in(6) ? any_int() : (int)below(2)), B())
CONFIG(gr_pool_config, one_in(2) ? 2 : any_int(), I(), I(), I(), I(), I(), B())
CONFIG(gr_multihead_attention_config, B(), B(), D())
CONFIG(gr_transformer_config, S(), one_in(2) ? gr_gelu : NULL, B(), B(), one_in(5), (gr_norm_kind)below(7), B(), B(), D())
CONFIG(gr_cross_entropy_config, (gr_reduction)I(), any_tensor(), D(), I(), B())
CONFIG(gr_attention_config, S(), B(), one_in(2) ? NULL : any_gr_ints(), any_gr_ints(), any_tensor(), D(), D(), one_in(2) ? NULL : "s")
CONFIG(gr_attention_input, any_gr_ints(), one_in(2) ? NULL : any_tensor(), one_in(2) ? NULL : any_gr_attention_cache(), one_in(2) ? NULL : any_tensor(),
       any_gr_ints(), any_tensor())
CONFIG(gr_norm_input, any_gr_ints(), any_tensor())
CONFIG(gr_recurrent_input, any_tensor(), any_tensor(), any_gr_ints(), B())
CONFIG(gr_sequence_config, any_tensor(), any_tensor(), any_gr_ints(), B(), B(), B(), D(), D(), one_in(2) ? NULL : buffer, one_in(2) ? NULL : buffer)
CONFIG(gr_recurrent_weights, one_in(2) ? 0 : (unsigned)below(64), any_tensor(), any_tensor(), any_tensor(), any_tensor(), { any_tensor(), any_tensor() },
       { any_tensor(), any_tensor() })
CONFIG(gr_sgd_config, D(), D(), D(), D(), B(), B(), B())
CONFIG(gr_adam_config, D(), D(), D(), D(), D(), B(), B())
CONFIG(gr_rmsprop_config, D(), D(), D(), D(), D(), B(), B(), B())
CONFIG(gr_adagrad_config, D(), D(), D(), D(), D(), B(), B())
CONFIG(gr_optim_config, D(), D(), B(), B(), { D(), D() }, one_in(2) ? NULL : buffer, one_in(2) ? 0 : 8)
CONFIG(gr_gradcheck_config, 1, D(), one_in(3) ? 2 : 0, B(), one_in(4) ? "nonsense" : NULL, B())
static const gr_recurrent_config *any_recurrent_config(void)
{
    static gr_recurrent_config c;
    c = (gr_recurrent_config){ one_in(2) ? 0 : (unsigned)below(70), one_in(9) ? any_size() : below(3), B(), B(), one_in(5), one_in(5), D(), one_in(5) ? any_double() : 0,
                               one_in(3) ? D() : 0, one_in(3) ? S() : 0, one_in(3) ? D() : 0, one_in(3) ? D() : 0 };
    return one_in(3) ? NULL : &c;
}
static gr_recurrent_kind pick_gr_recurrent_kind(const char *name) { return (void)name, (gr_recurrent_kind)below(4); }
static const gr_recurrent_config *pick_gr_recurrent_config_p(const char *name) { return (void)name, any_recurrent_config(); }
static const gr_recurrent_config *pick_gr_lstm_config_p(const char *name) { return (void)name, any_recurrent_config(); }
static const gr_recurrent_config *pick_gr_gru_config_p(const char *name) { return (void)name, any_recurrent_config(); }
static const gr_recurrent_config *pick_gr_rnn_config_p(const char *name) { return (void)name, any_recurrent_config(); }
static const gr_batch_norm_config *pick_gr_batch_norm_config_p(const char *name)
{
    static gr_batch_norm_config o;
    static int64_t batches;
    o = (gr_batch_norm_config){ .running_mean = any_tensor(), .running_var = any_tensor(), .batches = one_in(2) ? NULL : &batches, .momentum = D(), .cumulative = B(),
                                 .eps = D(), .lengths = any_gr_ints(), .mask = any_tensor() };
    if (one_in(2)) o.running_mean = o.running_var = NULL, o.lengths = NULL, o.mask = NULL;
    return (void)name, one_in(3) ? NULL : &o;
}

/* Lists of 16; the call says that they have fewer entries. */
static const gr_safetensors_item *pick_gr_safetensors_item_p(const char *name)
{
    static gr_safetensors_item list[16];
    for (size_t i = 0; i < 16; i++) {
        list[i] = (gr_safetensors_item){ pick_char_p("item"), (gr_dtype)(one_in(4) ? any_int() : (int)below(7)), GR_SHAPE(below(4), below(4)), one_in(6) ? NULL : buffer };
        if (one_in(6)) list[i].shape = pick_gr_shape("shape");
    }
    return (void)name, one_in(6) ? NULL : list;
}
static const gr_checkpoint_value *pick_gr_checkpoint_value_p(const char *name)
{
    static gr_checkpoint_value list[16];
    static double values[64];
    for (size_t i = 0; i < 16; i++)
        list[i] = (gr_checkpoint_value){ one_in(2) ? "a" : pick_char_p("value"), (gr_dtype)(one_in(4) ? any_int() : (int)below(7)), below(5), one_in(6) ? NULL : values };
    return (void)name, one_in(6) ? NULL : list;
}
static gr_gradcheck_pattern pick_gr_gradcheck_pattern(const char *name) { return (void)name, (gr_gradcheck_pattern)(one_in(4) ? any_int() : (int)below(13)); }
static const gr_gradcheck_input *pick_gr_gradcheck_input_p(const char *name)
{
    static gr_gradcheck_input list[16];
    static gr_gradcheck_result result;
    static double numbers[4]; /* as many as the largest shape has values */
    for (size_t i = 0; i < 16; i++)
        list[i] = (gr_gradcheck_input){ one_in(9) ? (gr_shape){ 9, { 1 } } : GR_SHAPE(below(3), 2), D(), D(), D(), B(), B(), B(), one_in(2) ? NULL : (gr_real *)buffer,
                                        one_in(2) ? NULL : (gr_real *)buffer, one_in(2) ? NULL : &result, one_in(2) ? NULL : numbers, one_in(2) ? NULL : numbers,
                                        one_in(2) ? NULL : numbers };
    return (void)name, one_in(6) ? NULL : list;
}

/* ---- Functions and operators ---- */

static void some_task(void *argument, size_t chunk, int thread) { (void)argument, (void)chunk, (void)thread; }
static gr_task *pick_gr_task_p(const char *name) { return (void)name, one_in(4) ? NULL : some_task; }
static gr_function *pick_gr_function_p(const char *name) { return (void)name, one_in(6) ? NULL : gr_relu; }
static gr_function_1 *pick_gr_function_1_p(const char *name) { return (void)name, one_in(6) ? NULL : gr_elu; }
static gr_function_2 *pick_gr_function_2_p(const char *name) { return (void)name, one_in(6) ? NULL : gr_hardtanh; }
static gr_function_axis *pick_gr_function_axis_p(const char *name) { return (void)name, one_in(6) ? NULL : gr_softmax; }
static void some_segment(gr_tape *on, gr_tensor *const *in, gr_tensor **out, void *argument)
{
    (void)argument, (void)in; /* the list may be empty */
    out[0] = gr_tanh(on, gr_want_grad(on, gr_ones(on, GR_SHAPE(2, 3))));
}
static gr_segment *pick_gr_segment_p(const char *name) { return (void)name, one_in(6) ? NULL : some_segment; }
static gr_tensor *some_function(gr_tape *on, gr_tensor *const *in, void *argument) { return (void)argument, (void)in, gr_ones(on, GR_SHAPE(2)); }
static gr_gradcheck_function *pick_gr_gradcheck_function_p(const char *name) { return (void)name, one_in(6) ? NULL : some_function; }
static void some_move(const gr_optim_part *p)
{
    for (size_t i = 0; i < p->n; i++) p->x[i] -= (gr_real)p->lr * p->dx[i];
}
static const gr_optim_rule *pick_gr_optim_rule_p(const char *name)
{
    static const gr_optim_rule rules[] = { { "some", { NULL }, some_move }, { "more", { "a/", "a/", NULL, "" }, some_move }, { NULL, { NULL }, some_move }, { "no move", { NULL }, NULL } };
    return (void)name, one_in(6) ? NULL : &PICK(rules);
}
static const gr_op *pick_gr_op_p(const char *name)
{
    static const gr_op plain = { .name = "plain" };
    return (void)name, one_in(4) ? NULL : &plain;
}
#endif
