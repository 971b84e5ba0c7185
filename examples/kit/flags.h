/* examples/kit/flags.h - a program's command line. One table gives the allowed values, the defaults, --help and the error messages. */
#ifndef KIT_FLAGS_H
#define KIT_FLAGS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The type of a flag, and the type that its `value` points to. */
typedef enum {
    KIT_SWITCH, /* bool: true when the flag is given */
    KIT_TEXT,   /* const char *: NULL unless the flag is given */
    KIT_COUNT,  /* uint64_t from low to high */
    KIT_NUMBER, /* double from low to high */
    KIT_CHOICE, /* int: the index of a word in takes, "none|layer" */
    KIT_SHORT,  /* const char *const[], which NULL ends: the flags and values that it is short for; flags after it replace them */
} kit_kind;

typedef struct {
    const char *name;  /* "hidden"; the user writes --hidden 128 or --hidden=128 */
    kit_kind kind;
    void *value;       /* holds the default before parsing */
    const char *takes; /* the value's name in --help: "FILE", "N"; the words of a choice; NULL for a switch */
    const char *help;
    double low, high;  /* both 0 mean any count or any finite number */
} kit_flag;

typedef struct {
    const char *name, *about; /* the program's name, and the line about it in --help */
    const kit_flag *flag;
    size_t n;
} kit_flags;

enum { KIT_GO_ON = -1 };

/* Fill the values from argv. If a flag is given twice, the last one wins. Returns KIT_GO_ON, or the exit code that the program ends with:
 *     0   --help was given, and the table is printed to out
 *     2   a flag or value is wrong; one line on err names the flag, the value and what is allowed
 *     3   --help was given, but out cannot be written */
int kit_flags_parse(const kit_flags *flags, int argc, char **argv, FILE *out, FILE *err);

/* Copy the word that a choice has as its value into `word`, and return it. */
const char *kit_flags_choice(const kit_flag *f, char *word, size_t bytes);

#endif
