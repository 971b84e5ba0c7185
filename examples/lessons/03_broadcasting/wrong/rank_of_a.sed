# The rank of a.
s/^    to->rank = .*/    to->rank = a.rank;/
