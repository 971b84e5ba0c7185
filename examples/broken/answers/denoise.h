/* answers/denoise.h - anomaly mode gives the memory of a dead tensor to no other tensor for one step, so its use is an error. */
void find(gr_tape *t)
{
    gr_tape_set_anomaly(t, true);
    run(t);
    printf("%s\n", gr_failed(t) ? gr_message(t) : "anomaly mode: no dead tensor is used");
    if (gr_failed(t)) gr_tape_recover(t);
}
