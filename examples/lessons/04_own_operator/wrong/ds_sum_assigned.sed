# The sum is right, and then assigned.
s/if (ds) ds\[0\] -= \(.*\);/if (ds) ds[0] = (i ? ds[0] : 0) - \1;/
