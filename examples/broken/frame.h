/* examples/broken/frame.h - what the programs of this folder share: main, which reads the flags and makes the tape.
 *
 * A program NAME.c defines train. It ends with the include of answers/NAME.h, which defines find. The Makefile compiles it twice: as it stands, and
 * after the edits of answers/NAME.sed, which repair it. --fixed runs the second copy. */
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
