/* examples/dive/batch_size_claims.c - what the figure "batch_size" says about small and large batches. */
#include "examples/dive/batch_size.h"
#include "core/op.h"
#include <math.h>
#include <string.h>

/* The values of a record at one batch size, [seeds]. */
static const plot_record *at(gr_tape *t, const plot_record *r, size_t size)
{
    plot_record *const c = r ? gr_save(t, sizeof *c) : NULL;
    if (!c) return NULL;
    *c = *r, c->n = r->n / BATCHES, c->shape = GR_SHAPE(c->n), c->values = gr_save(t, c->n * sizeof *c->values);
    for (size_t k = 0; c->values && k < c->n; k++) c->values[k] = r->values[k * BATCHES + size];
    return c->values ? c : NULL;
}

/* Compare `what` of arm a with that of arm b, in a net at a batch size. A network that diverged counts as one that guesses. */
static dive_pair compare(const dive *d, dive_claims *c, size_t k, size_t a, size_t b, const char *what, size_t size)
{
    const batch_net n = batch_net_of(d, k);
    gr_tape *const t = c->f->t;
    const bool error = !strcmp(what, "error");
    return dive_compare(at(t, batch_get(d, &n, a, what), size), at(t, batch_get(d, &n, b, what), size),
                        (dive_scale){ .grid = error ? 100 / (double)batch_tested(d) : 0, .worst = error ? 90 : DIVE_GUESSING });
}

static const char *pair_text(plot_figure *f, const char *where, const dive_pair *p)
{
    return plot_figure_text(f, "%s %s against %s", where, dive_number(f->t, p->a, 2), dive_number(f->t, p->b, 2));
}

/* "CNN -1.20 +- 0.30; MLP .." */
static const char *intervals(plot_figure *f, const char *const *name, const dive_pair *p, size_t n)
{
    const char *text = "";
    for (size_t i = 0; i < n; i++) text = plot_figure_text(f, "%s%s%s %s", text, i ? "; " : "", name[i], dive_interval(f, &p[i], 2));
    return text;
}

/* A net gives a verdict at a batch size when its best arm's test loss is at most half of that of guessing. */
static const char *too_short(const dive *d, plot_figure *f, size_t k, size_t size)
{
    const batch_net n = batch_net_of(d, k);
    double best = HUGE_VAL;
    for (size_t i = 0; i < BATCH_ARMS; i++) best = fmin(best, dive_mean(at(f->t, batch_get(d, &n, i, "tested"), size)));
    return dive_too_short(f, (dive_budget){ .seeds = d->seeds,
                                            .steps = batch_steps(d, batch_at[size]),
                                            .least = DIVE_STEPS,
                                            .best = best,
                                            .must = DIVE_GUESSING / 2,
                                            .unit = "test loss" });
}

static const char *const errors = "test error in percent at batch";

/* LayerNorm and GroupNorm compute the same in both modes; BatchNorm does not. */
static void claim_modes(const dive *d, dive_claims *c)
{
    double largest[BATCH_ARMS] = { 0 };
    for (size_t k = 0; k < BATCH_NETS; k++) {
        const batch_net n = batch_net_of(d, k);
        for (size_t i = 0; i < BATCH_ARMS; i++) {
            const plot_record *const r = batch_difference(c->f->t, batch_get(d, &n, i, "shown"), batch_get(d, &n, i, "error"));
            double *const to = &largest[n.arm[i].norm == GR_NORM_BATCH ? 1 : i];
            for (size_t j = 0; r && j < r->n; j++) *to = fmax(*to, fabs(r->values[j]));
        }
    }
    dive_claim_exact(c, !(largest[2] > 0), "LayerNorm computes the same in training and evaluation mode",
                     "often said; Ba et al. 2016, abstract",
                     plot_figure_text(c->f,
                                      "largest difference of the test error between the modes, over all networks and batch sizes: "
                                      "LN %g points, GN %g points",
                                      largest[2], largest[3]),
                     plot_figure_text(c->f, "BatchNorm: %.1f points", largest[1]), "the modes differ");
}

static void claim_small(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    static const char *const name[] = { "CNN", "MLP", "CNN with norms after convolutions only" };
    const char *const small = plot_figure_text(f, "%s 2", errors), *const cnn = too_short(d, f, BATCH_CNN, B2),
                      *const mlp = too_short(d, f, BATCH_MLP, B2), *const convs = too_short(d, f, BATCH_CONVS, B2);
    const dive_pair none[] = { compare(d, c, BATCH_CNN, 0, 1, "error", B2), compare(d, c, BATCH_MLP, 0, 1, "error", B2),
                               compare(d, c, BATCH_CONVS, 0, 1, "error", B2) };
    const dive_verdict worse[] = { dive_is_below(&none[0]), dive_is_below(&none[1]), dive_is_below(&none[2]) };
    dive_claim claim = { .statement = "At batch 2 BatchNorm is worse than no norm",
                         .seeds = d->seeds,
                         .too_short = cnn   ? cnn
                                      : mlp ? mlp
                                            : convs };
    claim.source = "often said, as \"unstable at small batches\"", claim.control = "no norm, with the same samples and learning rate";
    claim.measured = plot_figure_text(f, "%s, no norm against BN: %s; %s; %s", small, pair_text(f, name[0], &none[0]),
                                      pair_text(f, name[1], &none[1]), pair_text(f, name[2], &none[2]));
    claim.interval = intervals(f, name, none, 3), claim.verdict = dive_together(worse, 3);
    claim.why =
        plot_figure_text(f, "with norms in hidden layers, where BatchNorm gives only 1 and -1: %s and %s; after convolutions only: %s",
                         dive_verdict_name[worse[0]], dive_verdict_name[worse[1]], dive_verdict_name[worse[2]]);
    dive_claim_add(c, &claim);

    const dive_pair ln[] = { compare(d, c, BATCH_CNN, 2, 1, "error", B2), compare(d, c, BATCH_MLP, 2, 1, "error", B2),
                             compare(d, c, BATCH_CONVS, 2, 1, "error", B2) };
    const dive_verdict better[] = { dive_is_below(&ln[0]), dive_is_below(&ln[1]), dive_is_below(&ln[2]) };
    claim.statement = "LayerNorm is better than BatchNorm at small batches", claim.source = "often said; Ba et al. 2016";
    claim.control = "the same placement, samples and learning rate", claim.interval = intervals(f, name, ln, 3);
    claim.measured = plot_figure_text(f, "%s, LN against BN: %s; %s; %s", small, pair_text(f, name[0], &ln[0]),
                                      pair_text(f, name[1], &ln[1]), pair_text(f, name[2], &ln[2]));
    claim.verdict = dive_together(better, 3);
    claim.why = plot_figure_text(f, "with norms in hidden layers: %s and %s; with norms after convolutions only: %s",
                                 dive_verdict_name[better[0]], dive_verdict_name[better[1]], dive_verdict_name[better[2]]);
    dive_claim_add(c, &claim);
}

static void claim_online(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    const dive_pair one = compare(d, c, BATCH_CONVS, 2, 1, "error", B1);
    const dive_verdict v = dive_is_below(&one);
    dive_claim_add(
        c, &(dive_claim){
               .statement = "LayerNorm is better than BatchNorm online, at batch 1",
               .source = "often said; Ba et al. 2016",
               .measured = plot_figure_text(
                   f, "BatchNorm is impossible in hidden layers; with norms only after convolutions, %s 1, LN against BN: %s", errors,
                   pair_text(f, "CNN", &one)),
               .control = "the same placement, samples and learning rate",
               .interval = dive_interval(f, &one, 2),
               .seeds = d->seeds,
               .too_short = too_short(d, f, BATCH_CONVS, B1),
               .verdict = v == DIVE_PASS ? DIVE_PASS : DIVE_DIFFERS,
               .why = plot_figure_text(f, "in a hidden layer BatchNorm is impossible at batch 1; after convolutions the verdict is %s",
                                       dive_verdict_name[v]) });
}

static void claim_large(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    static const char *const name[] = { "loss", "error" };
    const dive_pair p[] = { compare(d, c, BATCH_CNN, 1, 2, "area", B128), compare(d, c, BATCH_CNN, 1, 2, "error", B128) };
    const dive_verdict v[] = { dive_is_below(&p[0]), dive_is_below(&p[1]) };
    dive_claim_add(c, &(dive_claim){ .statement = "BatchNorm is better for convolutional networks with large batches",
                                     .source = "often said; Ba et al. 2016, section 6.7",
                                     .measured = plot_figure_text(f, "batch 128, %zu steps, BN against LN: %s; %s", batch_steps(d, 128),
                                                                  pair_text(f, "training loss over all steps", &p[0]),
                                                                  pair_text(f, "test error in percent", &p[1])),
                                     .control = "the same placement, samples and learning rate",
                                     .interval = intervals(f, name, p, 2),
                                     .seeds = d->seeds,
                                     .too_short = too_short(d, f, BATCH_CNN, B128),
                                     .verdict = dive_together(v, 2),
                                     .why = plot_figure_text(f, "training loss: %s; test error: %s", dive_verdict_name[v[0]],
                                                             dive_verdict_name[v[1]]) });
}

/* The error at batch 2 minus that at batch 32, in each seed. */
static const plot_record *penalty(const dive *d, gr_tape *t, size_t net, size_t arm)
{
    const batch_net n = batch_net_of(d, net);
    return batch_difference(t, at(t, batch_get(d, &n, arm, "error"), B2), at(t, batch_get(d, &n, arm, "error"), B32));
}

static void claim_penalty(const dive *d, dive_claims *c)
{
    static const size_t net[] = { BATCH_CONVS, BATCH_CNN };
    static const char *const name[] = { "norms after convolutions only, as in the paper", "norms in the hidden layer too" };
    plot_figure *const f = c->f;
    const dive_scale scale = { .grid = 100 / (double)batch_tested(d), .worst = 90, .factor = 3 };
    const char *measured = "test error at batch 2 minus that at batch 32", *why = "", *lacks = NULL;
    dive_pair three[2];
    dive_verdict v[2];
    for (size_t k = 0; k < 2; k++) {
        const plot_record *const bn = penalty(d, f->t, net[k], 1), *const gn = penalty(d, f->t, net[k], 3);
        const dive_pair p = dive_compare(gn, bn, (dive_scale){ .grid = scale.grid, .worst = 90 });
        three[k] = dive_compare(bn, gn, scale);
        const dive_verdict more = dive_is_below(&p), less = dive_is_below(&three[k]);
        v[k] = dive_in_part(less == DIVE_FAIL ? DIVE_PASS : less == DIVE_PASS ? DIVE_FAIL : less, more);
        measured = plot_figure_text(f, "%s; %s: BN %+.2f, GN %+.2f points", measured, name[k], p.b, p.a);
        why = plot_figure_text(f, "%s%s%s: %s%s", why, k ? "; " : "", name[k], dive_verdict_name[v[k]],
                               v[k] == DIVE_DIFFERS && more == DIVE_PASS ? ", it costs more, but not shown to be three times as much" : "");
        if (!lacks) lacks = too_short(d, f, net[k], B32);
    }
    dive_claim_add(c, &(dive_claim){ .statement = "In a CNN a batch of 2 costs BatchNorm at least three times as much as GroupNorm",
                                     .source = "Wu, He 2018: 10.6 points on ImageNet (CC4; the bound of three times is ours)",
                                     .measured = measured,
                                     .control = "GroupNorm in the same places with the same samples",
                                     .interval = plot_figure_text(f, "BN minus 3 GN: %s", intervals(f, name, three, 2)),
                                     .seeds = d->seeds,
                                     .too_short = lacks,
                                     .verdict = dive_together(v, 2),
                                     .why = why });
}

/* Figure 6 left of the LayerNorm paper. */
static void claim_large_mlp(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    static const char *const name[] = { "BN on the logits too", "BN in hidden layers" };
    const dive_pair large[] = { compare(d, c, BATCH_MLP, 2, 3, "area", B128), compare(d, c, BATCH_MLP, 2, 1, "area", B128) };
    dive_claim claim = { .statement = "MLP at batch 128: LayerNorm (hidden layers) trains faster than BatchNorm (all layers)",
                         .source = "Ba et al. 2016, figure 6 left (LN7)",
                         .seeds = d->seeds,
                         .too_short = too_short(d, f, BATCH_MLP, B128),
                         .verdict = dive_is_below(&large[0]) };
    claim.measured =
        plot_figure_text(f, "training loss over %zu steps, LN against BN: %s", batch_steps(d, 128), pair_text(f, name[0], &large[0]));
    claim.control = plot_figure_text(f, "the same placement, which the paper lacks: %s", pair_text(f, name[1], &large[1]));
    claim.interval = intervals(f, name, large, 2);
    claim.why = plot_figure_text(f, "LayerNorm's training loss is not lower, at the learning rate %.1e", batch_lr(128));
    dive_claim_add(c, &claim);
}

/* The training loss at batch 4 minus that at batch 128, in each seed. */
static const plot_record *rise(const dive *d, gr_tape *t, size_t arm)
{
    const batch_net n = batch_net_of(d, BATCH_MLP);
    return batch_difference(t, at(t, batch_get(d, &n, arm, "area"), B4), at(t, batch_get(d, &n, arm, "area"), B128));
}

/* Figure 6 right of the LayerNorm paper. Batch 4 also sees fewer samples, so that the loss rises without a norm too, which is the comparison. */
static void claim_small_mlp(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    static const char *const name[] = { "none minus BN", "none minus BN on the logits too", "LN minus none" };
    const plot_record *const none = rise(d, f->t, 0);
    const dive_scale scale = { .worst = DIVE_GUESSING };
    const dive_pair p[] = { dive_compare(none, rise(d, f->t, 1), scale), dive_compare(none, rise(d, f->t, 3), scale),
                            dive_compare(rise(d, f->t, 2), none, scale) };
    const dive_verdict v[] = { dive_is_below(&p[0]), dive_is_below(&p[1]), dive_is_at_most(&p[2], 0.1) };
    dive_claim_add(
        c, &(dive_claim){
               .statement = "From batch 128 to batch 4 the training loss of an MLP rises more with BatchNorm than without a norm, and with "
                            "LayerNorm at most 0.1 more",
               .source = "Ba et al. 2016, figure 6 right: BatchNorm degrades at batch 4 (LN8; there with the unbiased variance; the bound "
                         "of 0.1 is ours)",
               .measured = plot_figure_text(f,
                                            "mean training loss over %zu steps at batch 4 minus that over %zu steps at batch 128: none "
                                            "%+.2f, BN %+.2f, BN on the logits too %+.2f, LN %+.2f",
                                            batch_steps(d, 4), batch_steps(d, 128), p[0].a, p[0].b, p[1].b, p[2].a),
               .control = "no norm, with the same samples and learning rate",
               .interval = intervals(f, name, p, 3),
               .seeds = d->seeds,
               .too_short = too_short(d, f, BATCH_MLP, B4),
               .verdict = dive_together(v, 3),
               .why = plot_figure_text(f, "BN: %s; BN on the logits too: %s; LN: %s", dive_verdict_name[v[0]], dive_verdict_name[v[1]],
                                       dive_verdict_name[v[2]]) });
}

void dive_batch_size_claims(const dive *d, dive_claims *c)
{
    claim_modes(d, c);
    claim_small(d, c);
    claim_online(d, c);
    claim_large(d, c);
    claim_penalty(d, c);
    claim_large_mlp(d, c);
    claim_small_mlp(d, c);
}
