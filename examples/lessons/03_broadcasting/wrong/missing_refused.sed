# Ranks must be equal.
s/^    to->rank = .*/    if (a.rank != b.rank) return false;\n    to->rank = a.rank;/
