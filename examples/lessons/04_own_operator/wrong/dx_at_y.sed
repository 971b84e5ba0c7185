# y in place of x.
s/dx\[i\] += dy\[i\] \* s \/ (v \* v)/dx[i] += dy[i] * s \/ ((s + fabs(n->out[0]->data[i])) * (s + fabs(n->out[0]->data[i])))/
