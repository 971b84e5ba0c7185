# The scale in all three.
s/dv\[j \* d + c\] += p\[i \* T + j\] \* dy\[i \* d + c\]/& \/ sqrt(d)/
