# gamma multiplies dy outside the means only.
s|gamma\[c\] \* s->rstd\[c\] \* (dy\[r \* C + c\] -|s->rstd[c] * (gamma[c] * dy[r * C + c] -|
