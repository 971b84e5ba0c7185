# One dy, as in an operator on scalars.
s/dy\[i\]/dy[0]/
