# The sizes are written, and the rank is not.
s/^    to->rank = \(.*\);/    const int rank = \1;/
s/to->rank/rank/
