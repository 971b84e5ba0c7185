/* examples/kit/digits.c - strokes with random slant, rotation, size, thickness, shift and noise.
 *
 * A digit is one of a few skeletons: points in a box of 100 by 100. A smooth curve goes through all points (Catmull and Rom 1974); a point
 * that is given twice is a corner. Each point is moved at random, the skeleton is sheared, rotated, scaled and shifted, and a pen with a
 * round tip draws the curve. The code uses only + - * / and sqrt, which IEEE 754 defines exactly, so the bytes are the same everywhere. */
#include "examples/kit/digits.h"
#include <math.h>
#include <string.h>

enum { UP = -1, MOST_POINTS = 24, PIECES = 5, DRAWS = 4096 }; /* UP lifts the pen; DRAWS is the number of random words reserved for each digit */

/* clang-format off */
typedef struct { signed char label, n, xy[2 * MOST_POINTS]; } skeleton;
#define SKELETON(label, ...) { label, sizeof((signed char[]){ __VA_ARGS__ }) / 2, { __VA_ARGS__ } }

static const skeleton skeletons[] = {
    SKELETON(0, 50,0, 26,14, 18,50, 26,86, 50,100, 74,86, 82,50, 74,14, 50,0),
    SKELETON(0, 62,3, 36,8, 22,45, 30,86, 52,100, 74,80, 78,40, 66,10, 46,0),
    SKELETON(1, 50,0, 50,100),
    SKELETON(1, 32,22, 54,0, 54,0, 52,100),
    SKELETON(1, 32,20, 52,0, 52,0, 52,100, UP,UP, 30,100, 76,100),
    SKELETON(2, 22,26, 32,5, 55,0, 76,14, 74,38, 50,66, 20,100, 20,100, 82,99),
    SKELETON(2, 24,22, 40,2, 66,4, 76,26, 62,56, 36,86, 20,94, 26,81, 44,87, 62,98, 84,90),
    SKELETON(3, 22,12, 46,0, 72,9, 72,32, 44,47, 44,47, 76,58, 78,84, 52,100, 20,88),
    SKELETON(3, 22,2, 76,3, 76,3, 46,40, 46,40, 74,52, 80,78, 56,100, 20,90),
    SKELETON(4, 28,2, 20,56, 20,56, 84,56, UP,UP, 66,4, 64,100),
    SKELETON(4, 64,100, 66,0, 66,0, 18,66, 18,66, 86,66),
    SKELETON(4, 24,4, 22,40, 42,54, 72,46, UP,UP, 76,2, 66,100),
    SKELETON(5, 76,2, 32,2, 32,2, 27,44, 27,44, 54,38, 78,58, 74,88, 46,100, 20,88),
    SKELETON(5, 30,6, 26,46, 26,46, 58,42, 76,64, 64,94, 38,100, 18,88, UP,UP, 30,5, 80,0),
    SKELETON(6, 70,4, 40,22, 22,60, 28,90, 52,100, 76,84, 70,60, 48,54, 26,70),
    SKELETON(6, 54,0, 32,30, 22,70, 40,98, 68,94, 78,74, 62,57, 36,64, 25,80),
    SKELETON(7, 20,5, 80,3, 80,3, 44,100),
    SKELETON(7, 20,16, 23,5, 23,5, 78,4, 78,4, 58,44, 48,100),
    SKELETON(7, 20,5, 80,3, 80,3, 42,100, UP,UP, 36,54, 72,50),
    SKELETON(8, 70,14, 48,0, 28,14, 36,38, 60,54, 76,78, 52,100, 26,80, 40,54, 66,36, 70,14),
    SKELETON(8, 50,0, 30,10, 30,34, 50,46, 70,34, 70,10, 50,0, UP,UP, 50,46, 25,60, 25,88, 50,100, 75,88, 75,60, 50,46),
    SKELETON(9, 74,22, 52,2, 28,14, 26,38, 48,50, 70,38, 74,22, 74,22, 70,60, 62,100),
    SKELETON(9, 74,26, 50,0, 26,18, 32,44, 56,48, 74,26, 74,26, 75,70, 54,100, 26,92),
};
/* clang-format on */
enum { SKELETONS = sizeof skeletons / sizeof *skeletons };

typedef struct { double x, y; } point;

/* The affine map from the box to the image. */
typedef struct { double xx, xy, yx, yy, x0, y0; } hand;

static hand random_hand(gr_stream *s)
{
    const double height = gr_stream_uniform(s, 14, 21), width = height * gr_stream_uniform(s, 0.65, 1.05);
    const double slant = gr_stream_uniform(s, -0.15, 0.45), half = gr_stream_uniform(s, -0.1, 0.1); /* tan of half the angle of rotation */
    const double c = (1 - half * half) / (1 + half * half), sine = 2 * half / (1 + half * half);
    const double xx = width / 100, xy = -slant * height / 100, yy = height / 100;
    hand h = { c * xx, c * xy - sine * yy, sine * xx, sine * xy + c * yy, 0, 0 };
    h.x0 = KIT_SIDE / 2.0 + gr_stream_uniform(s, -2.5, 2.5) - 50 * (h.xx + h.xy);
    h.y0 = KIT_SIDE / 2.0 + gr_stream_uniform(s, -2.5, 2.5) - 50 * (h.yx + h.yy);
    return h;
}

/* The point at u in [0, 1] between b and c of the curve through a, b, c, d, in one coordinate. */
static double curve(double a, double b, double c, double d, double u)
{
    return b + 0.5 * u * (c - a + u * (2 * a - 5 * b + 4 * c - d + u * (3 * (b - c) + d - a)));
}

static int clamp(double v, int high) { return v < 0 ? 0 : v > high ? high : (int)v; }

/* Draw the pen's path from a to b. A pixel's ink is the largest part of it that the tip covers; strokes do not add up. */
static void draw_line(double *ink, point a, point b, double radius)
{
    const double reach = radius + 1, dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy;
    const int left = clamp((a.x < b.x ? a.x : b.x) - reach, KIT_SIDE), right = clamp((a.x < b.x ? b.x : a.x) + reach + 1, KIT_SIDE);
    const int top = clamp((a.y < b.y ? a.y : b.y) - reach, KIT_SIDE), bottom = clamp((a.y < b.y ? b.y : a.y) + reach + 1, KIT_SIDE);
    for (int row = top; row < bottom; row++)
        for (int col = left; col < right; col++) {
            const double px = col + 0.5 - a.x, py = row + 0.5 - a.y;
            double along = length2 > 0 ? (px * dx + py * dy) / length2 : 0;
            along = along < 0 ? 0 : along > 1 ? 1 : along;
            const double ex = px - along * dx, ey = py - along * dy;
            double cover = radius + 0.5 - sqrt(ex * ex + ey * ey);
            cover = cover < 0 ? 0 : cover > 1 ? 1 : cover;
            double *const here = &ink[row * KIT_SIDE + col];
            if (cover > *here) *here = cover;
        }
}

/* Draw the stroke through p[0 .. n-1]. */
static void draw_stroke(double *ink, const point *p, int n, double radius)
{
    for (int i = 0; i + 1 < n; i++) {
        const point a = p[i > 0 ? i - 1 : i], b = p[i], c = p[i + 1], d = p[i + 2 < n ? i + 2 : i + 1];
        point from = b;
        if (memcmp(&b, &c, sizeof b) == 0) continue; /* a corner */
        for (int k = 1; k <= PIECES; k++) {
            const double u = k / (double)PIECES;
            const point to = { curve(a.x, b.x, c.x, d.x, u), curve(a.y, b.y, c.y, d.y, u) };
            draw_line(ink, from, to, radius);
            from = to;
        }
    }
}

/* Convert ink to bytes, with uneven ink and a few specks on the paper. */
static void to_bytes(gr_stream *s, const double *ink, uint8_t *pixels)
{
    const double level = gr_stream_uniform(s, 150, 255), grain = gr_stream_uniform(s, 0, 90);
    for (int i = 0; i < KIT_PIXELS; i++)
        pixels[i] = ink[i] > 0 ? (uint8_t)clamp(ink[i] * (level - grain * gr_stream_uniform(s, 0, 1)) + 0.5, 255) : 0;
    for (size_t specks = gr_stream_below(s, 9); specks > 0; specks--)
        pixels[gr_stream_below(s, KIT_PIXELS)] = (uint8_t)(40 + gr_stream_below(s, 160));
}

int kit_digit(uint64_t seed, const char *name, size_t index, uint8_t *pixels)
{
    gr_stream s = gr_stream_new(seed, name);
    s.counter = (uint64_t)index * DRAWS;

    const int label = (int)gr_stream_below(&s, 10);
    int first = 0, styles = 0;
    while (skeletons[first].label != label) first++;
    while (first + styles < SKELETONS && skeletons[first + styles].label == label) styles++;
    const skeleton *const k = &skeletons[first + (int)gr_stream_below(&s, (size_t)styles)];

    const hand h = random_hand(&s);
    const double radius = gr_stream_uniform(&s, 0.6, 1.9);
    double ink[KIT_PIXELS] = { 0 };
    point p[MOST_POINTS];
    int n = 0;
    for (int i = 0; i < k->n; i++) {
        const int x = k->xy[2 * i], y = k->xy[2 * i + 1];
        if (x == UP) {
            draw_stroke(ink, p, n, radius);
            n = 0;
        } else if (n > 0 && x == k->xy[2 * i - 2] && y == k->xy[2 * i - 1]) {
            p[n] = p[n - 1], n++;
        } else {
            const double u = x + gr_stream_uniform(&s, -6, 6), v = y + gr_stream_uniform(&s, -6, 6);
            p[n++] = (point){ h.x0 + h.xx * u + h.xy * v, h.y0 + h.yx * u + h.yy * v };
        }
    }
    draw_stroke(ink, p, n, radius);
    to_bytes(&s, ink, pixels);
    return label;
}
