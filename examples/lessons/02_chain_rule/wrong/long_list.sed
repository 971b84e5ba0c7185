# Room for 64 nodes.
s/int i = n - 1; i >= 0/int i = n > 64 ? 63 : n - 1; i >= 0/
