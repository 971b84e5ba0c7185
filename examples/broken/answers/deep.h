/* answers/deep.h - gr_audit: the norm of the gradient of one weight of each layer, at the start and after 100 steps. The look at the start takes the
 * first batch, and gives it back to the training: the losses are those of the program without --find. */
static void show(gr_tape *t, const model *m, const char *when)
{
    printf("%-15s", when);
    for (int l = 0; l < LAYERS; l++) printf(" %8.1e", gr_audit(t, gr_slot_find(&m->body->layer[l]->module, "linear2.weight"), m->adam).norm);
    printf("\n");
}

void find(gr_tape *t)
{
    model m = build(t);
    gr_stream *const s = gr_tape_stream(t, "texts");
    const uint64_t first = s->counter;
    gr_backward(t, loss_of(t, &m));
    show(t, &m, "at the start");
    s->counter = first;
    run(t, &m, 100), show(t, &m, "after 100 steps");
    gr_optim_free(m.adam), gr_module_free(m.net);
}
