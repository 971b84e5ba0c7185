/* answers/lookup.h - before training, gr_print shows how sure attention is already, and gr_print_audit how large the gradients are. */
void find(gr_tape *t)
{
    model m = build(t);
    gr_backward(t, loss_of(t, &m));
    gr_print(gr_slice(t, m.p, 0, 4), stdout);
    printf("largest weight of %d, on average: %.3f\n", T, gr_item(gr_mean(t, gr_max(t, m.p, GR_AXES(-1), false), GR_ALL_AXES, false)));
    gr_print_audit(t, m.net, NULL, stdout);
    gr_tape_reset(t), gr_module_free(m.net);
}
