/* answers/lookup.h - before training, gr_print shows how sure attention is, and gr_print_audit how large the gradients of q and k are. */
void find(gr_tape *t)
{
    model m = build(t);
    gr_backward(t, loss_of(t, &m));
    gr_print(gr_slice(t, m.p, 0, 4), stdout);
    gr_print_audit(t, m.net, NULL, stdout);
    gr_tape_reset(t), gr_module_free(m.net);
}
