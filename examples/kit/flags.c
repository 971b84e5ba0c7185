/* examples/kit/flags.c - the command line. */
#include "examples/kit/flags.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 32, HELP_AT = 29 }; /* longest name that is compared with a misspelled flag; column of the explanations */

const char *kit_flags_choice(const kit_flag *f, char *word, size_t bytes)
{
    const char *p = f->takes;
    for (int i = 0; i < *(const int *)f->value; i++) p = strchr(p, '|') + 1;
    snprintf(word, bytes, "%.*s", (int)strcspn(p, "|"), p);
    return word;
}

/* ---- --help ---- */

static void print_default(const kit_flag *f, FILE *out)
{
    char word[64];
    switch (f->kind) {
    case KIT_SWITCH: break;
    case KIT_SHORT:
        for (const char *const *part = f->value; *part; part++) fprintf(out, " %s", *part);
        break;
    case KIT_TEXT:
        if (*(const char **)f->value) fprintf(out, " (%s)", *(const char **)f->value);
        break;
    case KIT_COUNT: fprintf(out, " (%llu)", (unsigned long long)*(uint64_t *)f->value); break;
    case KIT_NUMBER: fprintf(out, " (%g)", *(double *)f->value); break;
    case KIT_CHOICE: fprintf(out, " (%s)", kit_flags_choice(f, word, sizeof word)); break;
    }
}

static void print_help(const kit_flags *flags, FILE *out)
{
    fprintf(out, "%s - %s\n\n", flags->name, flags->about);
    for (size_t i = 0; i < flags->n; i++) {
        const kit_flag *const f = &flags->flag[i];
        const int width = fprintf(out, "  --%s%s%s", f->name, f->takes ? " " : "", f->takes ? f->takes : "");
        if (width < HELP_AT) fprintf(out, "%*s%s", HELP_AT - width, "", f->help);
        else fprintf(out, "\n%*s%s", HELP_AT, "", f->help);
        print_default(f, out);
        fputc('\n', out);
    }
    fprintf(out, "  %-*s%s\n", HELP_AT - 2, "--help", "this page");
}

/* ---- The nearest known flag ---- */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* How many letters to insert, delete or change to turn a into b (Levenshtein). */
static size_t distance(const char *a, size_t m, const char *b, size_t n)
{
    size_t row[LONGEST + 1];
    if (m > LONGEST || n > LONGEST) return SIZE_MAX;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(change, 1 + least(row[j], row[j - 1]));
        }
    }
    return row[n];
}

static int unknown(const kit_flags *flags, const char *name, size_t length, FILE *err)
{
    const char *nearest = "help";
    size_t best = distance(name, length, "help", 4);
    for (size_t i = 0; i < flags->n; i++) {
        const char *const known = flags->flag[i].name;
        const size_t d = distance(name, length, known, strlen(known));
        if (d < best) best = d, nearest = known;
    }
    fprintf(err, "%s: unknown flag --%.*s; ", flags->name, (int)length, name);
    if (best <= 1 + length / 3) fprintf(err, "did you mean --%s? ", nearest);
    fprintf(err, "--help lists all\n");
    return 2;
}

/* ---- Values ---- */

static void print_allowed(const kit_flag *f, FILE *err)
{
    const bool any = !(f->low < f->high);
    if (f->kind == KIT_TEXT) fprintf(err, "%s", f->takes);
    if (f->kind == KIT_CHOICE) fprintf(err, "one of %s", f->takes);
    if (f->kind == KIT_COUNT) fprintf(err, "a whole number");
    if (f->kind == KIT_NUMBER) fprintf(err, "a number");
    if (f->kind == KIT_COUNT || f->kind == KIT_NUMBER) {
        if (!any) fprintf(err, " from %.15g to %.15g", f->low, f->high);
        else if (f->kind == KIT_COUNT) fprintf(err, " from 0 to %llu", (unsigned long long)UINT64_MAX);
    }
}

static bool within(const kit_flag *f, double v) { return !(f->low < f->high) || (v >= f->low && v <= f->high); }

/* Store value in f. Returns false when f does not accept it. */
static bool take(const kit_flag *f, const char *value)
{
    char *end;
    errno = 0;
    if (f->kind == KIT_COUNT) {
        const unsigned long long v = strtoull(value, &end, 10);
        if (value[0] < '0' || value[0] > '9' || *end || errno || !within(f, (double)v)) return false;
        *(uint64_t *)f->value = v;
    } else if (f->kind == KIT_NUMBER) {
        const double v = strtod(value, &end);
        if (end == value || strspn(value, "+-.0123456789eE") != strlen(value) || *end || !isfinite(v) || !within(f, v)) return false;
        *(double *)f->value = v;
    } else if (f->kind == KIT_CHOICE) {
        int index = 0;
        const char *p = f->takes;
        for (const size_t n = strlen(value);; p++, index++) {
            const size_t word = strcspn(p, "|");
            if (word == n && memcmp(p, value, n) == 0) break;
            p += word;
            if (!*p) return false;
        }
        *(int *)f->value = index;
    } else {
        if (!*value) return false; /* an empty path comes from a script's unset variable */
        *(const char **)f->value = value;
    }
    return true;
}

static const kit_flag *find(const kit_flags *flags, const char *name, size_t length)
{
    for (size_t i = 0; i < flags->n; i++)
        if (strlen(flags->flag[i].name) == length && memcmp(flags->flag[i].name, name, length) == 0) return &flags->flag[i];
    return NULL;
}

static int wrong_value(const kit_flags *flags, const kit_flag *f, const char *value, FILE *err)
{
    fprintf(err, "%s: --%s needs ", flags->name, f->name);
    print_allowed(f, err);
    if (value) fprintf(err, "; got \"%s\"\n", value);
    else fprintf(err, " after it\n");
    return 2;
}

/* Fill the values from words, which NULL ends. Returns KIT_GO_ON or 2. */
static int parse(const kit_flags *flags, const char *const *word, FILE *err)
{
    int code = KIT_GO_ON;
    for (; *word && code == KIT_GO_ON; word++) {
        if (strncmp(*word, "--", 2) != 0 || !(*word)[2]) {
            fprintf(err, "%s: \"%s\" is not a flag: flags begin with --, and --help lists them\n", flags->name, *word);
            return 2;
        }
        const char *const name = *word + 2;
        const size_t length = strcspn(name, "=");
        const kit_flag *const f = find(flags, name, length);
        if (!f) return unknown(flags, name, length, err);

        const char *value = name[length] ? name + length + 1 : NULL;
        if (f->kind == KIT_SWITCH || f->kind == KIT_SHORT) {
            if (value) {
                fprintf(err, "%s: --%s takes no value; got \"%s\"\n", flags->name, f->name, value);
                return 2;
            }
            if (f->kind == KIT_SWITCH) *(bool *)f->value = true;
            else code = parse(flags, f->value, err);
            continue;
        }
        if (!value && word[1] && strncmp(word[1], "--", 2) != 0) value = *++word;
        if (!value || !take(f, value)) return wrong_value(flags, f, value, err);
    }
    return code;
}

int kit_flags_parse(const kit_flags *flags, int argc, char **argv, FILE *out, FILE *err)
{
    errno = 0;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) {
            print_help(flags, out);
            if (fflush(out) == 0 && !ferror(out)) return 0;
            fprintf(err, "%s: --help cannot be written: %s\n", flags->name, strerror(errno ? errno : EIO));
            return 3;
        }
    return argc > 0 ? parse(flags, (const char *const *)argv + 1, err) : KIT_GO_ON;
}
