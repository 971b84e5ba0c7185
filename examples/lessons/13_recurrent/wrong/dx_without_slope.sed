# dh for da.
s/dx\[t\] += da/dx[t] += dh/
