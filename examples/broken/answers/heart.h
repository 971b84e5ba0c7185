/* answers/heart.h - gr_gradcheck compares the operator's backward with finite differences. */
static gr_tensor *checked(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    return norm(t, in[0]);
}

void find(gr_tape *t)
{
    (void)t;
    const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(3, H) } };
    if (gr_gradcheck("norm", checked, NULL, in, 1, NULL, stdout)) printf("gr_gradcheck: the gradient of norm is right\n");
}
