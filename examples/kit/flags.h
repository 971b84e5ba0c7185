/* examples/kit/flags.h - a program's command line, from one table: what is allowed, the defaults, --help and the messages. */
#ifndef KIT_FLAGS_H
#define KIT_FLAGS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What value points to: */
typedef enum {
    KIT_SWITCH, /* bool: false until the flag is there */
    KIT_TEXT,   /* const char *: NULL until it is there */
    KIT_COUNT,  /* uint64_t from low to high */
    KIT_NUMBER, /* double from low to high */
    KIT_CHOICE, /* int: the index of a word of takes, "none|layer" */
} kit_kind;

typedef struct {
    const char *name;  /* "hidden", typed --hidden 128 or --hidden=128 */
    kit_kind kind;
    void *value;       /* holds the default */
    const char *takes; /* in --help: "FILE", "N"; of a choice its words; of a switch NULL */
    const char *help;
    double low, high;  /* both 0: any count, any finite number */
} kit_flag;

typedef struct {
    const char *name, *about; /* the program's name and what --help says of it */
    const kit_flag *flag;
    size_t n;
} kit_flags;

enum { KIT_GO_ON = -1 };

/* Fill the values from argv. Returns KIT_GO_ON, or the exit code to end with: 0 when --help is among it, which prints the table to out,
 * or 3 when it cannot be written; 2 after one line on err that names the flag, the value and what is allowed. The last of several wins. */
int kit_flags_parse(const kit_flags *flags, int argc, char **argv, FILE *out, FILE *err);

/* The word that a choice stands at, copied into word. */
const char *kit_flags_choice(const kit_flag *f, char *word, size_t bytes);

#endif
