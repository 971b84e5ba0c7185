/* examples/mpi/ranks.h - the processes of an MPI job, called ranks, share the shards of a batch. The sum of all shards has the same bits for every number of
 * ranks, because one tree over the shards gives the order of all additions:
 *     0 + 1, 2 + 3, 4 + 5, ..., then these sums in pairs, and so on; a sum without a partner waits for the next round.
 * A rank has consecutive shards that form one subtree of it, so the number of shards of a rank is a power of 2, unless there is only one rank.
 *
 *     each rank:  for its shards r.first .. r.first + r.count - 1: fill ranks_next(&r), then ranks_add(&r)
 *     together:   gr_real *sum = ranks_sum(&r);
 *
 * MPI_Allreduce promises no order of additions, and gives other bits with some of its algorithms. Only ranks.c calls MPI.
 *
 * ranks_code, ranks_sum, ranks_agree, ranks_total, ranks_most and ranks_wait return when every rank has called them. So a rank may leave a loop only for a reason that
 * all ranks know: an error of its own is not one. It tells the others by a number in the vector that is summed. */
#ifndef RANKS_H
#define RANKS_H
#include "core/tensor.h"

enum { RANKS_DEPTH = 32 };
typedef struct {
    int rank, ranks;             /* the number of this process, 0 .. ranks - 1; how many there are */
    size_t first, count;         /* its shards */
    size_t len, spare_len;       /* the length of a vector; of spare */
    gr_real *sum[RANKS_DEPTH];   /* a stack of sums of 2^k shards, k falling */
    size_t depth, room, added;   /* how many there are; the most there can be; shards added so far */
    gr_real *spare;              /* what other ranks send */
} ranks;

/* Call this first in main. MPI takes its own arguments out of argv. */
ranks ranks_start(int *argc, char ***argv);
/* Give each rank its shards, and allocate vectors of len numbers. Fails if the shards cannot be shared or memory runs out: the error is on t. */
bool ranks_share(gr_tape *t, ranks *r, size_t shards, size_t len);
/* Free the vectors; t may be in error. */
void ranks_free(gr_tape *t, ranks *r);
/* Call this last. */
void ranks_end(void);

/* Where the vector of this rank's next shard goes: len numbers. ranks_add adds it to the tree. */
gr_real *ranks_next(ranks *r);
void ranks_add(ranks *r);
/* The sum over all shards of all ranks, the same on each rank, valid until ranks_next. Between ranks it takes 2 log2(ranks) messages of each rank, and
 * 2 (m - 1) more if ranks has the odd factor m. */
gr_real *ranks_sum(ranks *r);

/* Return true if no rank is in error and all have the same value. Otherwise every rank gets the error of the first rank that has one, or that
 * this rank and rank 0 have different `what`. */
bool ranks_agree(gr_tape *t, const ranks *r, const char *what, uint64_t value);
/* The largest code of all ranks. */
int ranks_code(int code);
/* Add x[0 .. n-1] over all ranks. The sum is exact in any order if only one rank has a number other than 0 at each place. */
void ranks_total(double *x, size_t n);
/* The largest x[i] of all ranks, for each i. */
void ranks_most(double *x, size_t n);
/* Wait for all ranks. */
void ranks_wait(void);

#endif
