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
                      *const mlp = too_short(d, f, BATCH_MLP, B2);
    const dive_pair none[] = { compare(d, c, BATCH_CNN, 0, 1, "error", B2), compare(d, c, BATCH_MLP, 0, 1, "error", B2) };
    const dive_verdict unstable[] = { dive_is_below(&none[0]), dive_is_below(&none[1]) };
    dive_claim claim = { .statement = "BatchNorm is unstable at small batches", .seeds = d->seeds, .too_short = cnn ? cnn : mlp };
    claim.source = "often said; Wu, He 2018", claim.control = "no norm, with the same samples and learning rate";
    claim.measured =
        plot_figure_text(f, "%s, no norm against BN: %s; %s", small, pair_text(f, name[0], &none[0]), pair_text(f, name[1], &none[1]));
    claim.interval = intervals(f, name, none, 2), claim.verdict = dive_together(unstable, 2);
    claim.why = plot_figure_text(f, "CNN: %s; MLP: %s", dive_verdict_name[unstable[0]], dive_verdict_name[unstable[1]]);
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
static const plot_record *penalty(const dive *d, gr_tape *t, size_t arm)
{
    const batch_net n = batch_net_of(d, BATCH_CNN);
    return batch_difference(t, at(t, batch_get(d, &n, arm, "error"), B2), at(t, batch_get(d, &n, arm, "error"), B32));
}

static void claim_penalty(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    const plot_record *const bn = penalty(d, f->t, 1), *const gn = penalty(d, f->t, 3);
    const dive_scale scale = { .grid = 100 / (double)batch_tested(d), .worst = 90, .factor = 3 };
    const dive_pair three = dive_compare(bn, gn, scale), p = dive_compare(gn, bn, (dive_scale){ .grid = scale.grid, .worst = 90 });
    const dive_verdict most = dive_is_below(&three), more = dive_is_below(&p);
    dive_claim_add(c, &(dive_claim){ .statement = "A batch of 2 costs BatchNorm at least three times as much as GroupNorm",
                                     .source = "Wu, He 2018: 10.6 points on ImageNet (CC4; the bound of three times is ours)",
                                     .measured = plot_figure_text(
                                         f, "test error at batch 2 minus that at batch 32: BN %+.2f, GN %+.2f points", p.b, p.a),
                                     .control = "GroupNorm in the same CNN with the same samples",
                                     .interval = plot_figure_text(f, "BN minus 3 GN %s", dive_interval(f, &three, 2)),
                                     .seeds = d->seeds,
                                     .too_short = too_short(d, f, BATCH_CNN, B32),
                                     .verdict = most == DIVE_FAIL   ? DIVE_PASS
                                                : more == DIVE_PASS ? DIVE_DIFFERS
                                                                    : more,
                                     .why = more == DIVE_PASS ? "BatchNorm loses more, but the interval is not above three times"
                                                              : "the seeds do not show that BatchNorm loses more" });
}

/* Figure 6 of the LayerNorm paper. */
static void claim_figure_six(const dive *d, dive_claims *c)
{
    plot_figure *const f = c->f;
    static const char *const name[] = { "BN on the logits too", "BN in hidden layers" };
    const dive_pair large[] = { compare(d, c, BATCH_MLP, 2, 3, "area", B128), compare(d, c, BATCH_MLP, 2, 1, "area", B128) };
    const dive_pair small[] = { compare(d, c, BATCH_MLP, 2, 3, "area", B4), compare(d, c, BATCH_MLP, 2, 1, "area", B4) };
    const dive_verdict v[] = { dive_is_below(&small[0]), dive_is_below(&small[1]) };
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
    claim.statement = "MLP at batch 4: BatchNorm degrades, LayerNorm does not";
    claim.source = "Ba et al. 2016, figure 6 right (LN8; there with the unbiased variance)";
    claim.measured = plot_figure_text(f, "training loss over %zu steps, LN against BN: %s; %s", batch_steps(d, 4),
                                      pair_text(f, name[0], &small[0]), pair_text(f, name[1], &small[1]));
    claim.control = plot_figure_text(f, "batch 128: %.2f against %.2f and %.2f", large[0].a, large[0].b, large[1].b);
    claim.interval = intervals(f, name, small, 2), claim.too_short = too_short(d, f, BATCH_MLP, B4), claim.verdict = dive_together(v, 2);
    claim.why = plot_figure_text(f, "%s: %s; %s: %s", name[0], dive_verdict_name[v[0]], name[1], dive_verdict_name[v[1]]);
    dive_claim_add(c, &claim);
}

void dive_batch_size_claims(const dive *d, dive_claims *c)
{
    claim_modes(d, c);
    claim_small(d, c);
    claim_online(d, c);
    claim_large(d, c);
    claim_penalty(d, c);
    claim_figure_six(d, c);
}
