# = for +=.
s/dq\[i \* d + c\] +=/dq[i * d + c] =/
