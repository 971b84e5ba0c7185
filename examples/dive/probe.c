/* examples/dive/probe.c - measuring inside models while they train. */
#include "examples/dive/probe.h"
#include "core/op.h"
#include <math.h>

enum { SCORED = 1000 };

void dive_frames(dive_probe *p, size_t n, size_t last, bool evenly)
{
    p->frames = 0;
    for (size_t k = 0; k < n && k < DIVE_FRAMES; k++) {
        const double share = n > 1 ? (double)k / (double)(n - 1) : 1;
        const double step = evenly ? share * (double)last : k ? pow((double)last, share) : 0;
        const size_t at = (size_t)(step + 0.5);
        if (!p->frames || at > p->at[p->frames - 1]) p->at[p->frames++] = at;
    }
}

double *dive_frames_steps(const dive_probe *p, double at[DIVE_FRAMES])
{
    for (size_t k = 0; k < p->frames; k++) at[k] = (double)p->at[k];
    return at;
}

static void look(dive_probe *p, kit_arms *a)
{
    for (size_t i = 0; i < a->n && !gr_failed(p->d->r->tape); i++) {
        kit_arm *const arm = &a->arm[i];
        if (arm->diverged) continue;
        gr_tape_set_training(arm->tape, false), gr_tape_set_recording(arm->tape, false);
        gr_tape_reset(arm->tape);
        if ((p->logits ? p->logits : dive_logits)(arm, &p->images)) p->see(p, arm, i, p->next);
        gr_tape_set_training(arm->tape, true), gr_tape_set_recording(arm->tape, true);
        if (gr_failed(arm->tape))
            gr_fail_as(p->d->r->tape, gr_error_code(arm->tape), "", "%s %s: %s", p->title, arm->name, gr_message(arm->tape));
    }
    p->next++;
}

static bool watch(kit_arms *a, size_t step, bool evaluated)
{
    dive_probe *const p = a->user;
    if (evaluated && step) return true;
    if (p->next < p->frames && p->at[p->next] == step) look(p, a);
    return dive_tick(p->d, p->from + (p->to - p->from) * (double)step / (double)p->steps, "%s, step %zu of %zu", p->title, step, p->steps);
}

bool dive_probe_run(dive_probe *p)
{
    gr_tape *const t = p->d->r->tape;
    dive_batches b;
    kit_arms a = { .title = p->title, .watch = watch, .steps = p->steps, .every = p->steps };
    if (!dive_batches_open(p->d, &b, &a, p->spec, p->batch, p->seed)) return false;
    kit_batches seen = kit_batches_new(t, &p->d->data.test, p->samples, false);
    const size_t scored = SCORED / b.images.test.batch;
    if (a.source.test > scored) a.source.test = scored;
    if (p->build) a.build = p->build, a.loss = p->loss;
    (p->add ? p->add : dive_arms_add)(&a);
    a.user = p, p->next = 0;
    if (!gr_failed(t)) p->images = kit_next(&seen);
    const bool well = kit_arms_run(p->d->r, &a) && !kit_interrupted();
    for (size_t i = 0; i < a.n; i++) p->accuracy[i] = a.arm[i].diverged ? (double)NAN : kit_accuracy(&a.arm[i].tested);
    dive_arms_free(&a), kit_batches_free(t, &seen), dive_batches_free(p->d, &b);
    return well;
}
