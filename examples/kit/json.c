/* examples/kit/json.c - texts and numbers in JSON, HTML and SVG. */
#include "examples/kit/json.h"
#include <math.h>
#include <string.h>

long kit_utf8(const char *text, size_t *n)
{
    static const long least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *const s = (const unsigned char *)text;
    const size_t bytes = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    long code = bytes > 1 ? s[0] & (0x7f >> bytes) : s[0];
    *n = 1;
    for (size_t i = 1; i < bytes; i++) {
        if (s[i] >> 6 != 2) return -1;
        code = code << 6 | (s[i] & 63);
    }
    if (bytes == 0 || code < least[bytes] || code > 0x10ffff || code >> 11 == 27) return -1;
    *n = bytes;
    return code;
}

void kit_json_text(FILE *out, const char *text)
{
    if (!text) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (size_t n; *text; text += n) {
        const long c = kit_utf8(text, &n);
        if (c == '"' || c == '\\') fprintf(out, "\\%c", (char)c);
        else if (c < 0) fprintf(out, "\\u%04x", (unsigned char)*text);
        else if (c > 0xffff) fprintf(out, "\\u%04lx\\u%04lx", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
        else if (c < 0x20 || c > 0x7e || c == '<') fprintf(out, "\\u%04lx", c);
        else fputc((int)c, out);
    }
    fputc('"', out);
}

void kit_json_number(FILE *out, double v, int digits)
{
    if (!isfinite(v)) fputs("null", out);
    else if (v == floor(v) && fabs(v) < 0x1p53) fprintf(out, "%.0f", v);
    else fprintf(out, "%.*g", digits, v);
}

void kit_json_rounded(FILE *out, double v, double step)
{
    char text[32];
    const double places = -floor(log10(step));
    if (!isfinite(v) || !(places >= 0 && places <= 12) || fabs(v) > 1e12) {
        kit_json_number(out, v, 4);
        return;
    }
    size_t n = (size_t)snprintf(text, sizeof text, "%.*f", (int)places, v);
    if (strchr(text, '.')) {
        while (text[n - 1] == '0') n--;
        if (text[n - 1] == '.') n--;
    }
    text[n] = 0;
    fputs(strcmp(text, "-0") ? text : "0", out);
}

void kit_markup(FILE *out, const char *text)
{
    for (size_t n; text && *text; text += n) {
        const long c = kit_utf8(text, &n);
        if (c == '&') fputs("&amp;", out);
        else if (c == '<') fputs("&lt;", out);
        else if (c == '>') fputs("&gt;", out);
        else if (c == '"') fputs("&quot;", out);
        else if (c < 0 || (c < 0x20 && c != '\t' && c != '\n') || c == 0xfffe || c == 0xffff) fputs("\xef\xbf\xbd", out);
        else fwrite(text, 1, n, out);
    }
}
