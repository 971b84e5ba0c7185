# The first axes are compared.
s/k <= small.rank ? small.dim\[small.rank - k\] : 1/large.rank - k < small.rank ? small.dim[large.rank - k] : 1/
