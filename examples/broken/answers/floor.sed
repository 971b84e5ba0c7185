# Both draws use the stream (seed, "normal") from its beginning, so the noise is x / 2. Each use of random numbers needs a stream of its own.
s/draw(uint64_t seed, double std, gr_real \*to)/draw(uint64_t seed, const char *name, double std, gr_real *to)/
s/gr_stream_new(seed, "normal")/gr_stream_new(seed, name)/
s/draw(seed, 1, x)/draw(seed, "x", 1, x)/
s/draw(seed, 0.5, noise)/draw(seed, "noise", 0.5, noise)/
