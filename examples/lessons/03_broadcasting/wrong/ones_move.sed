# The size of an axis is not asked for.
s/if (size != 1) at/if (k <= small.rank) at/
