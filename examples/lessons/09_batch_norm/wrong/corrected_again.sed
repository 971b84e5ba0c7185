# The variance of rows values is corrected.
s/s.training ? 0 : run->var\[c\];/s.training ? 0 : run->var[c] * rows \/ (rows - 1);/
