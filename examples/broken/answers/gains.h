/* answers/gains.h - gr_print_optim shows which parameters decay, and gr_print what has become of the gains. */
void find(gr_tape *t)
{
    model m = build(t);
    run(t, &m);
    gr_print_optim(m.adam, stdout);
    for (int l = 0; l < LAYERS; l++) gr_print(m.ln[l]->weight, stdout);
    gr_optim_free(m.adam), gr_module_free(m.net);
}
