# dy for g in the first term.
s/rstd \* (g -/rstd * (dy[r * N + i] -/
