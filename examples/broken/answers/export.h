/* answers/export.h - gr_gradcheck is content, because backward fits forward. The operator of the library, on the same row, has other numbers. */
static gr_tensor *checked(gr_tape *t, gr_tensor *const *in, void *argument)
{
    (void)argument;
    return norm(t, in[0], in[1], in[2]);
}

void find(gr_tape *t)
{
    const gr_gradcheck_input in[] = { { .shape = GR_SHAPE(3, H) }, { .shape = GR_SHAPE(H) }, { .shape = GR_SHAPE(H) } };
    if (gr_gradcheck("norm", checked, NULL, in, 3, NULL, stdout)) printf("gr_gradcheck: the gradient of norm is right\n");
    gr_tensor *const x = gr_input(t, (const gr_real[]){ 1, 2, 4, 8 }, GR_SHAPE(1, H));
    gr_tensor *const own = norm(t, x, gr_scalar(t, 1), gr_scalar(t, 0)), *const right = library_norm(t, x, NULL, NULL);
    if (gr_failed(t)) return;
    printf("x             1       2       4       8\nnorm    ");
    for (size_t i = 0; i < H; i++) printf("%8.4f", (double)own->data[i]);
    printf("\nlibrary ");
    for (size_t i = 0; i < H; i++) printf("%8.4f", (double)right->data[i]);
    printf("\nratio   ");
    for (size_t i = 0; i < H; i++) printf("%8.4f", (double)(own->data[i] / right->data[i]));
    printf("\n");
}
