/* examples/kit/progress.c - progress on stderr. */
#include "examples/kit/progress.h"
#include "examples/kit/program.h"
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

kit_progress kit_progress_new(FILE *to, size_t epochs, size_t steps)
{
    return (kit_progress){
        .to = to, .live = to && isatty(fileno(to)), .epochs = epochs, .left = steps, .since = kit_seconds(), .unit = "images"
    };
}

static double rate(const kit_progress *p) { return p->busy > 0 ? (double)p->images / p->busy : 0; }

void kit_progress_line(FILE *to, const char *text, const char *end)
{
    struct winsize window;
    const int n = (int)strlen(end);
    const int room = ioctl(fileno(to), TIOCGWINSZ, &window) == 0 && window.ws_col ? window.ws_col - 1 - n : INT_MAX;
    fprintf(to, "\r%.*s%s\033[K", room > 0 ? room : 0, text, end);
    fflush(to);
}

static void draw(const kit_progress *p, const char *text)
{
    char end[64];
    const double eta = p->busy / (double)p->steps * (double)p->left; /* seconds: more than an int holds for --steps 1000000000000 */
    snprintf(end, sizeof end, "  %.0f %s/s  %.0f:%02.0f left", rate(p), p->unit, floor(eta / 60),
             floor(fmod(eta, 60)));
    kit_progress_line(p->to, text, end);
}

/* Count a step that has just ended. Returns its images per second; *due says whether to draw the line again. */
static double end_step(kit_progress *p, size_t images, bool *due)
{
    const double now = kit_seconds(), took = now - p->since;
    p->since = now, p->busy += took;
    p->steps++, p->images += images;
    if (p->left > 0) p->left--;
    *due = p->live && now - p->drawn > 0.1;
    if (*due) p->drawn = now;
    return took > 0 ? (double)images / took : 0;
}

double kit_progress_step(kit_progress *p, size_t epoch, size_t images, const kit_score *score)
{
    char text[128];
    bool due;
    const double images_per_s = end_step(p, images, &due);
    snprintf(text, sizeof text, "epoch %zu/%zu  loss %.4f  accuracy %.2f %%", epoch + 1, p->epochs, kit_loss(score), kit_accuracy(score));
    if (due) draw(p, text);
    return images_per_s;
}

void kit_progress_show(kit_progress *p, size_t images, const char *text)
{
    bool due;
    end_step(p, images, &due);
    if (due) draw(p, text);
}

void kit_progress_wipe(const kit_progress *p)
{
    if (p->live) fprintf(p->to, "\r\033[K"), fflush(p->to);
}

void kit_progress_epoch(const kit_progress *p, size_t epoch)
{
    kit_progress_wipe(p);
    if (p->to && !p->live)
        fprintf(p->to, "epoch %zu/%zu  %zu steps  %.1f s  %.0f images/s\n", epoch + 1, p->epochs, p->steps, p->busy, rate(p));
}

void kit_progress_go_on(kit_progress *p) { p->since = kit_seconds(); }
