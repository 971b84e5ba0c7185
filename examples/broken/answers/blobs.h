/* answers/blobs.h - gr_norm_gradient: what the last norm does to the gradient. gr_print_graph: is there one at all? */
void find(gr_tape *t)
{
    model m = build(t);
    run(t, &m);
    gr_print_graph(t, stdout);
    if (m.after != m.before) {
        const gr_norm_terms dx = gr_norm_gradient(t, &m.ln[LAYERS - 1]->module, m.before, gr_grad(t, m.after));
        printf("gradient of the logits: direct %.4f, through the mean %.4f, through the variance %.4f, sum %.4f\n", dx.direct_norm, dx.mean_norm,
               dx.variance_norm, dx.dx_norm);
        gr_print(gr_slice(t, m.after, 0, 3), stdout);
    } else gr_print(gr_slice(t, m.before, 0, 3), stdout);
    gr_tape_reset(t), gr_module_free(m.net);
}
