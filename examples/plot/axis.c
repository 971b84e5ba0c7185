/* examples/plot/axis.c - axes: their ranges, ticks and labels. The SVG and the Plotly figure use the same ones. */
#include "examples/plot/draw.h"
#include <math.h>
#include <string.h>

enum { PIXELS_X = 70, PIXELS_Y = 44, SLANTED_X = 20 }; /* least distance between two ticks, the last for slanted words */

/* ---- Labels ---- */

#define MINUS "\xe2\x88\x92"
static void superscript(char *to, size_t bytes, int exponent)
{
    static const char *const digit[] = { "\xe2\x81\xb0", "\xc2\xb9",     "\xc2\xb2",     "\xc2\xb3",     "\xe2\x81\xb4",
                                         "\xe2\x81\xb5", "\xe2\x81\xb6", "\xe2\x81\xb7", "\xe2\x81\xb8", "\xe2\x81\xb9" };
    char plain[16];
    snprintf(plain, sizeof plain, "%d", exponent);
    size_t n = 0;
    for (const char *s = plain; *s; s++) n += (size_t)snprintf(to + n, bytes - n, "%s", *s == '-' ? "\xe2\x81\xbb" : digit[*s - '0']);
}

/* 3,000 or -0.25: a fixed number of decimals, and a comma between thousands. */
static void plain_label(char *to, size_t bytes, double v, int decimals)
{
    char plain[32], apart[32] = "";
    snprintf(plain, sizeof plain, "%.*f", decimals, fabs(v));
    const size_t whole = strcspn(plain, ".");
    for (size_t i = 0, n = 0; i <= strlen(plain); i++) {
        if (i && i < whole && (whole - i) % 3 == 0) apart[n++] = ',';
        apart[n++] = plain[i];
    }
    snprintf(to, bytes, "%s%s", v < 0 && strspn(plain, "0.") < strlen(plain) ? MINUS : "", apart);
}

/* 2x10^5, with the Unicode times sign and superscripts. It has the digits that distinguish v from v + step. */
static void power_label(char *to, size_t bytes, double v, double step)
{
    char power[24];
    int exponent = v == 0 ? 0 : (int)floor(log10(fabs(v)) + 1e-9);
    const double mantissa =
        v == 0 ? 0 : fabs(v) / pow(10, exponent > -300 ? exponent : -300) * (exponent > -300 ? 1 : pow(10, -300 - exponent));
    const int digits = (int)fmax(3, fmin(15, exponent - floor(log10(step) + 1e-9) + 1));
    superscript(power, sizeof power, exponent);
    if (v == 0) snprintf(to, bytes, "0");
    else if (fabs(mantissa - 1) < pow(10, 1 - digits) / 2) snprintf(to, bytes, "%s10%s", v < 0 ? MINUS : "", power);
    else
        snprintf(to, bytes,
                 "%s%.*g\xc3\x97"
                 "10%s",
                 v < 0 ? MINUS : "", digits, mantissa, power);
}

static void tick_add(plot_scale *s, double v, double step)
{
    if (s->n == PLOT_TICKS) return;
    char *const label = s->label[s->n];
    const int decimals = (int)-floor(log10(step) + 1e-9);
    s->at[s->n++] = v;
    if (fabs(v) >= 99999.5 || step < 0.99e-4) power_label(label, sizeof s->label[0], v, step);
    else plain_label(label, sizeof s->label[0], v, decimals > 0 ? decimals : 0);
}

/* ---- Ticks ---- */

/* The smallest number that is at least v and is 1, 2 or 5 times a power of ten. */
static double nice(double v)
{
    const double ten = pow(10, floor(log10(v) + 1e-9)), m = v / ten;
    return ten * (m < 1.0001 ? 1 : m < 2.0001 ? 2 : m < 5.0001 ? 5 : 10);
}

static void linear_ticks(plot_scale *s, double low, double high, double most, bool whole)
{
    double step = nice((high / 2 - low / 2) / most * 2);
    if (floor(high / step) - ceil(low / step) < 1) step = nice(step * 0.4); /* at least two ticks */
    if (whole && step < 1) step = 1;
    for (double k = ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && s->n < PLOT_TICKS; k++)
        tick_add(s, k == 0 ? 0 : k * step, step);
}

static void log_ticks(plot_scale *s, double most)
{
    const double decades = s->high - s->low;
    if (decades < 0.6) {
        linear_ticks(s, pow(10, s->low), pow(10, s->high), most, false);
        return;
    }
    const bool wide = decades >= 2.2;
    double every = wide ? nice(fmax(1, decades / most)) : 1;
    if (every > 1 && floor(s->high / every) - ceil(s->low / every) < 1) every = ceil(nice(every * 0.4));
    for (double e = floor(s->low / every) * every; e <= s->high; e += every)
        for (int m = 1; m <= 5; m += m == 1 ? 1 : 3) {
            const double at = e + log10(m), v = m * pow(10, e);
            if ((wide && m > 1) || at < s->low - 1e-9 || at > s->high + 1e-9 || s->n == PLOT_TICKS || v <= 0) continue;
            if (wide || v < 0.99e-3 || v > 1e5) s->at[s->n] = v, power_label(s->label[s->n++], sizeof s->label[0], v, pow(10, e));
            else tick_add(s, v, pow(10, fmin(e, 0)));
        }
}

static void word_ticks(plot_scale *s, const plot_axis *a, double pixels)
{
    size_t longest = 0;
    const size_t most = pixels > 0 ? (size_t)fmax(2, fmin(PLOT_TICKS / 2, pixels / SLANTED_X)) : PLOT_TICKS / 2;
    s->every = (a->ticks + most - 1) / most;
    s->words = a->tick;
    for (size_t i = 0; i < a->ticks; i += s->every) {
        const size_t n = plot_characters(a->tick[i]);
        longest = n > longest ? n : longest;
        s->at[s->n++] = (double)i;
    }
    s->slant = pixels > 0 && (double)longest * 7 + 6 > pixels / (double)s->n;
}

const char *plot_scale_label(const plot_scale *s, size_t i)
{
    return s->words ? s->words[i * s->every] ? s->words[i * s->every] : "" : s->label[i];
}

/* ---- Ranges ---- */

typedef struct {
    double low, high;
    bool whole;
} range;

static void reach(range *r, bool log, const double *v, size_t n)
{
    for (size_t i = 0; v && i < n; i++) {
        if (!isfinite(v[i]) || (log && v[i] <= 0)) continue;
        const double at = log ? log10(v[i]) : v[i];
        r->low = fmin(r->low, at), r->high = fmax(r->high, at);
        if (v[i] != floor(v[i])) r->whole = false;
    }
}

static range reach_of(const plot_panel *p, const plot_axis *a)
{
    const bool log = a->log, vertical = a == &p->y;
    range r = { HUGE_VAL, -HUGE_VAL, !vertical };
    for (size_t k = 0; k < p->n; k++) {
        const plot_series *const s = p->series[k];
        const size_t rows = s->moves ? p->figure->frames : 1;
        if (a == &p->x2) reach(&r, log, s->x2, s->n);
        else if (!vertical) reach(&r, log, s->x, s->n);
        else reach(&r, log, s->y, rows * s->n), reach(&r, log, s->low, rows * s->n), reach(&r, log, s->high, rows * s->n);
        if (s->mark != PLOT_BARS || log) continue;
        if (vertical) r.low = fmin(r.low, 0), r.high = fmax(r.high, 0);
        else if (s->n > 1 && isfinite(s->x[1] - s->x[0]))
            r.low = fmin(r.low, s->x[0] - (s->x[1] - s->x[0]) / 2), r.high = fmax(r.high, s->x[s->n - 1] + (s->x[1] - s->x[0]) / 2);
    }
    return r;
}

/* Widen a range a little, and give an empty range or a single value a width. */
static range roomy(const plot_panel *p, range r, bool log, bool vertical)
{
    bool bars = false, dots = false;
    for (size_t k = 0; k < p->n; k++) bars |= p->series[k]->mark == PLOT_BARS, dots |= p->series[k]->mark != PLOT_LINE;
    if (r.low > r.high) return log ? (range){ -1, 0, false } : (range){ 0, 1, false };
    if (r.low == r.high) {
        const double around = log ? 0.3 : r.low != 0 ? fabs(r.low) / 10 : 1;
        return (range){ r.low - around, r.high + around, r.whole && around >= 1 };
    }
    const double span = r.high / 2 - r.low / 2, room = 2 * span * (vertical ? 0.05 : dots ? 0.03 : 0.015);
    if (!bars || (vertical && r.low < 0)) r.low -= vertical || dots || log ? room : 0;
    if (!bars || vertical) r.high += room;
    return r;
}

/* a is p's axis x, x2 or y. */
static plot_scale scale_of(const plot_panel *p, const plot_axis *a, double pixels)
{
    const bool vertical = a == &p->y;
    plot_scale s = { .log = a->log };
    range r = { a->low, a->high, false };
    const size_t cells = p->map ? vertical ? p->map->rows : p->map->columns : a->ticks;
    const bool given = isfinite(a->low) && isfinite(a->high) && a->low < a->high && (!a->log || a->low > 0);
    const range data = reach_of(p, a);
    if (p->map || a->tick) r = (range){ -0.5, (double)(cells ? cells : 1) - 0.5, true }, s.log = false;
    else if (given) r = a->log ? (range){ log10(a->low), log10(a->high), false } : (range){ a->low, a->high, data.whole };
    else r = roomy(p, data, a->log, vertical);
    const double most = 1e308; /* the limit keeps differences finite */
    s.low = fmax(r.low, -most), s.high = fmin(r.high, most);
    if (p->map && vertical) s.low = r.high, s.high = r.low; /* the first row is at the top */
    const double ticks = fmax(2, floor(pixels / (vertical ? PIXELS_Y : PIXELS_X)));
    if (a->tick) word_ticks(&s, a, vertical ? 0 : pixels);
    else if (s.log) log_ticks(&s, ticks);
    else linear_ticks(&s, fmin(s.low, s.high), fmax(s.low, s.high), ticks, r.whole);
    const double span = fabs(s.high / 2 - s.low / 2) * 2,
                 digits = s.log ? 4 : 4 + ceil(log10(fmax(fabs(s.low), fabs(s.high)) / span) - 0.3);
    s.digits = digits > 4 ? digits < 12 ? (int)digits : 12 : 4;
    return s;
}

plot_scale plot_scale_x(const plot_panel *p) { return scale_of(p, &p->x, plot_panel_width(p) - 76); }
plot_scale plot_scale_x2(const plot_panel *p) { return scale_of(p, &p->x2, plot_panel_width(p) - 76); }
plot_scale plot_scale_y(const plot_panel *p)
{
    return scale_of(p, &p->y, plot_panel_width(p) / (p->aspect > 0 ? p->aspect : 1.6) - 50);
}

double plot_scale_place(const plot_scale *s, double v)
{
    if (!isfinite(v) || (s->log && v <= 0)) return (double)NAN;
    const double at = s->log ? log10(v) : v, place = (at / 2 - s->low / 2) / (s->high / 2 - s->low / 2);
    return fmax(-2, fmin(3, place));
}
