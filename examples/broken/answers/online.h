/* answers/online.h - gr_print_batch_norms compares the batch with the running statistics. */
void find(gr_tape *t)
{
    model m;
    gr_ints *kind;
    run(t, &m);
    gr_tape_reset(t), gr_tape_set_tracing(t, true);
    forward(t, &m, signals(t, N, "training", &kind));
    gr_print_batch_norms(t, m.net, stdout);
    gr_print_norm(t, &m.bn->module, GR_SHAPE(N, L, C), stdout);
    gr_tape_reset(t), gr_module_free(m.net);
}
