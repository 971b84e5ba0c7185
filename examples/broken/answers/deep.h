/* answers/deep.h - gr_print_audit: the gradients of all layers, at the start and after 50 steps. */
void find(gr_tape *t)
{
    model m = build(t);
    gr_backward(t, loss_of(t, &m));
    gr_print_audit(t, m.net, m.adam, stdout);
    run(t, &m, 50);
    gr_print_audit(t, m.net, m.adam, stdout);
    gr_optim_free(m.adam), gr_module_free(m.net);
}
