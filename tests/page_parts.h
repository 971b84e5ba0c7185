/* tests/page_parts.h - what the files of tests/page.h share: a page is a table of names, whose definitions are trees of nodes. */
#ifndef GR_PAGE_PARTS_H
#define GR_PAGE_PARTS_H
#include "tests/page.h"
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 1 << 14, NAMES = 256, RANK = 3, NAME = 24, CASES = 8, DEPTH = 200, LATER = 64, MEMOS = 1 << 12 };
typedef enum { NUMBER, NAMED, ADD, SUB, MUL, DIV, POW, NEG, CALL, SUM, MAX, SLOPE, EQUAL, AT_MOST, LIST } page_kind;
typedef struct {
    page_kind kind;
    int a, b;               /* operands; of a LIST the first element, whose `next` is the second */
    int next;
    double value;           /* of a NUMBER */
    int digits;             /* behind the point of a NUMBER of which only the first digits are given, or -1 */
    int name, rank;         /* of NAMED, and its subscripts: letters are indices, digits are values, and { is the value of the node in `at` */
    char sub[RANK + 1];     /* of SUM and MAX: the index */
    int at[RANK];
    double (*f)(double), (*slope)(double);
    bool own;               /* of a SLOPE: D, of one definition alone */
} page_node;

/* A name may be defined in parts, such as h_0 and h_t. A letter of `index` stands for the values of that index, and a digit for itself. */
typedef struct { int tree; char index[RANK + 1]; } page_case;
typedef struct {
    char name[NAME];
    int cases;
    page_case of[CASES];
} page_definition;

typedef struct { double v, d; } page_dual;

/* The elements of names that were computed last: [0] values, [1] with derivatives. They count while the stamp is that of the page. */
typedef struct { int name, at[2 * RANK], stamp; page_dual y; } page_memo;

struct page {
    page_node node[NODES];
    page_definition known[NAMES];
    int nodes, names, line, last; /* last: the side that a line with = goes on from */
    int later[LATER][3], laters;  /* the line and the sides of each definition in this paragraph, to be compared at its end */
    const char *at;               /* the parser is here */
    int low[26], high[26], now[26];
    bool declared[26];
    int seed, seed_at[RANK];      /* derivatives are with respect to this name, or -1 */
    int depth;                    /* for D: how many definitions deep the evaluation is, from 1 on; otherwise 0 */
    int nested;                   /* how many definitions deep it is, at most DEPTH */
    page_memo memo[2][MEMOS];
    int stamp[2];
    size_t equations;
    uint32_t vary;                /* 0, or the state of the random numbers */
    char error[512];
};

/* The first error stays. */
__attribute__((format(printf, 2, 3))) void page_wrong(page *p, const char *format, ...);
int page_make(page *p, page_node e);                              /* its number */
int page_name(page *p, const char *text, size_t n);               /* the number of a name, which it enters when it is new */
void page_spaces(page *p);
bool page_takes(page *p, const char *token);                      /* goes on behind the token, if it comes next */
void page_needs(page *p, const char *token);
int page_parse(page *p);                                          /* an expression, up to what cannot belong to one */

/* The sizes of the axes of an expression that is a vector or a matrix, and how many there are. */
int page_sizes(page *p, int at, int *size);
/* The element of node `at` at these axes, and its derivative with respect to the seed. */
page_dual page_eval(page *p, int at, const int *axes, int rank);

#endif
