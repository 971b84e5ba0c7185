/* examples/broken/frame.h - what the programs of this folder share: main, which reads the flags and makes the tape.
 *
 * A program NAME.c defines train. It ends with the include of answers/NAME.h, which defines find. answers/NAME.c is the program without its fault, which
 * --fixed runs: it defines FIXED, so that both fit into one executable file. */
#ifndef BROKEN_FRAME_H
#define BROKEN_FRAME_H
#include "gradus.h"

/* Do what the program is for, and print the numbers that show whether it worked. An error stays on t. */
void train(gr_tape *t);
void train_fixed(gr_tape *t);

/* What --find runs: the tool that shows the fault. */
void find(gr_tape *t);
void find_fixed(gr_tape *t);

#ifdef FIXED
#define train train_fixed
#define find find_fixed
#endif
#endif
