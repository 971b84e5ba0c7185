# One gradient too many is set to 0.
s/i < n; i++) list/i <= n; i++) list/
