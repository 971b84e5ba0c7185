# The distance in the large tensor.
s/step \*= size/step *= large.dim[large.rank - k]/
