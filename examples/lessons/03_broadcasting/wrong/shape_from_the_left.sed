# The first axes are compared.
s/a.dim\[a.rank - k\]/a.dim[k - 1]/
s/b.dim\[b.rank - k\]/b.dim[k - 1]/
s/to->dim\[to->rank - k\]/to->dim[k - 1]/
