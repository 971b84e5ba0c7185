/* answers/sensors.h - anomaly mode stops at the first value that is not finite, and names the operator. */
void find(gr_tape *t)
{
    gr_tape_set_anomaly(t, true);
    run(t);
    printf("%s\n", gr_failed(t) ? gr_message(t) : "anomaly mode: every value is finite");
    if (gr_failed(t)) gr_tape_recover(t);
}
