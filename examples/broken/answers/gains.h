/* answers/gains.h - gr_print_optim shows which parameters decay, and gr_print what has become of a gain. */
void find(gr_tape *t)
{
    model m = build(t);
    run(t, &m);
    gr_print_optim(m.adam, stdout);
    for (int b = 0; b < BLOCKS; b++) gr_print(m.ln[b]->weight, stdout);
    gr_print(m.last->weight, stdout);
    gr_optim_free(m.adam), gr_module_free(m.net);
}
