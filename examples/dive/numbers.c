/* examples/dive/numbers.c - correlations, effective ranks, principal axes, percentiles.
 *
 * All moments take two passes: they subtract the mean first and then sum products, so that no digits cancel. */
#include "examples/dive/numbers.h"
#include "core/op.h"
#include <float.h>
#include <math.h>

static double *reals(gr_tape *t, size_t a, size_t b)
{
    size_t n, bytes;
    if (!gr_size_mul(a, b, &n) || !gr_size_mul(n, sizeof(double), &bytes)) return gr_fail_as(t, GR_NO_MEMORY, "", "out of memory");
    return gr_save(t, bytes ? bytes : 1);
}

double *dive_columns(gr_tape *t, const gr_tensor *x, size_t first, size_t count)
{
    if (!x) return NULL;
    const size_t H = gr_size(x, -1), n = H ? x->len / H : 0;
    if (count > H || first > H - count)
        return gr_fail_as(t, GR_MISUSE, "", "columns %zu to %zu of a matrix of %zu", first, first + count, H);
    double *const y = reals(t, n, count);
    for (size_t i = 0; y && i < n; i++)
        for (size_t j = 0; j < count; j++) y[i * count + j] = (double)x->data[i * H + first + j];
    return y;
}

double *dive_doubles(gr_tape *t, const gr_tensor *x) { return dive_columns(t, x, 0, gr_size(x, -1)); }

/* ---- Correlation ---- */

/* The columns of x [n, H], minus their means and scaled to length 1, as rows of y [H, n]. A constant column becomes NaN. Returns how many columns
 * are constant. */
static size_t standard_columns(const double *x, size_t n, size_t H, double *y)
{
    size_t constant = 0;
    for (size_t j = 0; j < H; j++) {
        double *const c = y + j * n, low = HUGE_VAL, high = -HUGE_VAL, sum = 0, squares = 0;
        for (size_t i = 0; i < n; i++) c[i] = x[i * H + j], sum += c[i], low = fmin(low, c[i]), high = fmax(high, c[i]);
        const double mean = sum / (double)n;
        for (size_t i = 0; i < n; i++) c[i] -= mean, squares += c[i] * c[i];
        const double length = low < high ? sqrt(squares) : (double)NAN;
        for (size_t i = 0; i < n; i++) c[i] /= length;
        constant += !(low < high);
    }
    return constant;
}

size_t dive_correlate(gr_tape *t, const double *x, size_t n, size_t H, double *r)
{
    double *const y = x ? reals(t, H, n) : NULL;
    for (size_t i = 0; i < H * H; i++) r[i] = NAN;
    if (!y) return H;
    const size_t constant = standard_columns(x, n, H, y);
    for (size_t i = 0; i < H; i++)
        for (size_t j = 0; j <= i; j++) {
            double dot = 0;
            for (size_t k = 0; k < n; k++) dot += y[i * n + k] * y[j * n + k];
            const double rounded = isnan(dot) || i != j ? dot : 1;
            r[i * H + j] = r[j * H + i] = rounded > 1 ? 1 : rounded < -1 ? -1 : rounded;
        }
    return constant;
}

static double mean_of_pairs(const double *r, size_t H, bool absolute)
{
    double sum = 0;
    size_t pairs = 0;
    for (size_t i = 0; i < H; i++)
        for (size_t j = 0; j < i; j++)
            if (!isnan(r[i * H + j])) sum += absolute ? fabs(r[i * H + j]) : r[i * H + j], pairs++;
    return pairs ? sum / (double)pairs : (double)NAN;
}

double dive_mean_abs_r(const double *r, size_t H) { return mean_of_pairs(r, H, true); }
double dive_mean_r(const double *r, size_t H) { return mean_of_pairs(r, H, false); }

double dive_effective_rank(gr_tape *t, const double *r, size_t H)
{
    size_t n = 0;
    for (size_t i = 0; i < H; i++) n += !isnan(r[i * H + i]);
    double *const a = reals(t, n, n), *const value = reals(t, n, 1), sum = 0, entropy = 0;
    if (!a || !value || !n) return NAN;
    for (size_t i = 0, k = 0; i < H; i++)
        for (size_t j = 0; j < H && !isnan(r[i * H + i]); j++)
            if (!isnan(r[j * H + j])) a[k++] = r[i * H + j];
    if (!dive_eigen(t, a, n, value, NULL)) return NAN;
    for (size_t i = 0; i < n; i++) value[i] = fmax(value[i], 0), sum += value[i];
    for (size_t i = 0; i < n; i++)
        if (value[i] > 0) entropy -= value[i] / sum * log(value[i] / sum);
    return exp(entropy);
}

/* ---- Eigenvalues ---- */

/* Rotate columns p and q and rows p and q of a by the angle that makes a[p, q] 0 (Golub, Van Loan, section 8.5), and rows p and q of v too. */
static void rotate(double *a, double *v, size_t n, size_t p, size_t q)
{
    const double tau = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    const double tangent = (tau < 0 ? -1 : 1) / (fabs(tau) + sqrt(1 + tau * tau));
    const double c = 1 / sqrt(1 + tangent * tangent), s = tangent * c;
    for (size_t k = 0; k < n; k++) {
        const double x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - s * y, a[k * n + q] = s * x + c * y;
    }
    for (size_t k = 0; k < n; k++) {
        const double x = a[p * n + k], y = a[q * n + k];
        a[p * n + k] = c * x - s * y, a[q * n + k] = s * x + c * y;
    }
    for (size_t k = 0; v && k < n; k++) {
        const double x = v[p * n + k], y = v[q * n + k];
        v[p * n + k] = c * x - s * y, v[q * n + k] = s * x + c * y;
    }
}

static void swap_rows(double *a, size_t columns, size_t i, size_t j)
{
    for (size_t k = 0; k < columns; k++) {
        const double x = a[i * columns + k];
        a[i * columns + k] = a[j * columns + k], a[j * columns + k] = x;
    }
}

/* Sort the values in falling order with their rows, and make the largest component of each row positive. */
static void in_order(double *values, double *vectors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t best = i;
        for (size_t j = i + 1; j < n; j++)
            if (values[j] > values[best]) best = j;
        swap_rows(values, 1, i, best);
        if (vectors) swap_rows(vectors, n, i, best);
    }
    for (size_t i = 0; vectors && i < n; i++) {
        double *const v = vectors + i * n, largest = 0;
        for (size_t k = 0; k < n; k++)
            if (fabs(v[k]) > fabs(largest)) largest = v[k];
        for (size_t k = 0; k < n && largest < 0; k++) v[k] = -v[k];
    }
}

bool dive_eigen(gr_tape *t, double *a, size_t n, double *values, double *vectors)
{
    if (!a) return false;
    double all = 0;
    for (size_t i = 0; i < n * n; i++) all += a[i] * a[i];
    for (size_t i = 0; vectors && i < n * n; i++) vectors[i] = i / n == i % n;
    for (int sweep = 0; sweep < 60; sweep++) {
        double off = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++) off += a[i * n + j] * a[i * n + j];
        if (!(off > DBL_EPSILON * DBL_EPSILON * all)) break;
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++)
                if (a[p * n + q] != 0) rotate(a, vectors, n, p, q);
    }
    for (size_t i = 0; i < n; i++) values[i] = a[i * n + i];
    in_order(values, vectors, n);
    return !gr_failed(t);
}

bool dive_principal(gr_tape *t, const double *x, size_t n, size_t H, size_t k, double *mean, double *axes, double *share)
{
    double *const c = reals(t, H, H), *const value = reals(t, H, 1), *const vector = reals(t, H, H), trace = 0;
    if (!x || !c || !value || !vector || k > H) return false;
    for (size_t j = 0; j < H; j++) mean[j] = 0;
    for (size_t i = 0; i < H * H; i++) c[i] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < H; j++) mean[j] += x[i * H + j] / (double)n;
    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; p < H; p++)
            for (size_t q = 0; q < H; q++) c[p * H + q] += (x[i * H + p] - mean[p]) * (x[i * H + q] - mean[q]) / (double)n;
    for (size_t j = 0; j < H; j++) trace += c[j * H + j];
    if (!dive_eigen(t, c, H, value, vector)) return false;
    for (size_t i = 0; i < k * H; i++) axes[i] = vector[i];
    for (size_t i = 0; i < k; i++) share[i] = trace > 0 ? value[i] / trace : 0;
    return true;
}

void dive_project(const double *x, size_t n, size_t H, const double *mean, const double *axes, size_t k, double *y)
{
    for (size_t i = 0; i < n; i++)
        for (size_t a = 0; a < k; a++) {
            double dot = 0;
            for (size_t j = 0; j < H; j++) dot += (x[i * H + j] - mean[j]) * axes[a * H + j];
            y[i * k + a] = dot;
        }
}

/* ---- Percentiles and rows ---- */

/* Move the k-th smallest value to x[k], so that no larger value is before it and no smaller one after it (Hoare 1961). */
static double smallest(double *x, size_t n, size_t k)
{
    for (size_t low = 0, high = n - 1; low < high;) {
        const double pivot = x[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;; i++, j--) {
            while (x[i] < pivot) i++;
            while (x[j] > pivot) j--;
            if (i >= j) break;
            const double y = x[i];
            x[i] = x[j], x[j] = y;
        }
        if (k <= j) high = j; /* x[low .. j] are at most pivot, the rest at least pivot */
        else low = j + 1;
    }
    return x[k];
}

double dive_percentile(double *x, size_t n, double p)
{
    if (!n) return NAN;
    const double at = p / 100 * (double)(n - 1);
    const size_t k = (size_t)at < n - 1 ? (size_t)at : n - 1;
    const double low = smallest(x, n, k);
    return k + 1 < n && at > (double)k ? low + (at - (double)k) * (smallest(x, n, k + 1) - low) : low;
}

void dive_helmert(const double *x, size_t H, double *y)
{
    double sum = 0;
    for (size_t k = 1; k < H; k++) {
        sum += x[k - 1];
        y[k - 1] = (sum - (double)k * x[k]) / sqrt((double)k * (double)(k + 1));
    }
}

dive_moments dive_moments_of(const double *x, size_t n)
{
    dive_moments m = { 0, 0 };
    for (size_t i = 0; i < n; i++) m.mean += x[i];
    m.mean /= (double)n;
    for (size_t i = 0; i < n; i++) m.var += (x[i] - m.mean) * (x[i] - m.mean);
    m.var /= (double)n;
    return m;
}

void dive_normalize_rows(const double *x, size_t n, size_t H, double eps, double *y)
{
    for (size_t i = 0; i < n; i++) {
        const dive_moments m = dive_moments_of(x + i * H, H);
        for (size_t j = 0; j < H; j++) y[i * H + j] = (x[i * H + j] - m.mean) / sqrt(m.var + eps);
    }
}

double dive_tanh_slope(double s)
{
    enum { STEPS = 4000 };
    const double h = 24.0 / STEPS;
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        const double z = -12 + i * h, tanhx = tanh(s * z), density = exp(-z * z / 2) / sqrt(2 * 3.14159265358979324);
        sum += (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2) * (1 - tanhx * tanhx) * density;
    }
    return sum * h / 3;
}

double dive_exponent(const double *x, const double *y, size_t n)
{
    double mx = 0, my = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < n; i++) mx += log(x[i]) / (double)n, my += log(y[i]) / (double)n;
    for (size_t i = 0; i < n; i++) xx += pow(log(x[i]) - mx, 2), xy += (log(x[i]) - mx) * (log(y[i]) - my);
    return xx > 0 ? xy / xx : (double)NAN;
}
