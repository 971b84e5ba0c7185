# The first axis is the fastest.
s/index = i % large.dim\[large.rank - k\], size = k <= small.rank ? small.dim\[small.rank - k\] : 1/index = i % large.dim[k - 1], size = k <= large.rank - small.rank ? 1 : small.dim[k - 1 - (large.rank - small.rank)]/
s/i \/= large.dim\[large.rank - k\]/i \/= large.dim[k - 1]/
