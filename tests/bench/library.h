/* tests/bench/library.h - the functions that peers/ours.py calls through ctypes. */
#ifndef BENCH_LIBRARY_H
#define BENCH_LIBRARY_H
#include "tests/bench/bench.h"

/* The cells are numbered from 0. bench_describe returns the JSON object of a cell, valid until the next call. */
GR_API int bench_count(void);
GR_API const char *bench_describe(int i);

/* bench_open, bench_run, bench_close, bench_peak, bench_of_peak and bench_of_bandwidth of bench.h. bench_message is "" while all is well. */
GR_API bench_work *bench_start(int i, int threads);
GR_API bool bench_times(bench_work *w, size_t n, double *seconds);
GR_API void bench_stop(bench_work *w);
GR_API double bench_flop_rate(int threads);
GR_API double bench_reached_peak(const bench_work *w, double seconds);
GR_API double bench_reached_bandwidth(const bench_work *w, double seconds);
GR_API const char *bench_message(const bench_work *w);

GR_API double bench_loss(const bench_work *w); /* of the last run */
GR_API const char *bench_isa(const bench_work *w);
GR_API int bench_real_bytes(void);

/* Look at array i of a kind: 'p' parameters, 'b' buffers, 'i' inputs, 'y' the result of the last run, 'd' what backward starts from, 'g' the gradient of
 * leaf i. Results and gradients are valid until the next run. False when there is no such array. */
GR_API bool bench_look(bench_work *w, char what, int i, bench_array *out);
#endif
