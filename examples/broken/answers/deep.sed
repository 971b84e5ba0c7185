# Post-norm needs a warm-up: at the start the gradients of the last layers are large, and full steps of Adam ruin them.
/m.adam = gr_adam_new/a\
    gr_optim_schedule(t, m.adam, gr_schedule_warmup(100, gr_schedule_constant()));
