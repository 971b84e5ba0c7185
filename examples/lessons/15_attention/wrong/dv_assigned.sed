# = for +=.
s/dv\[j \* d + c\] +=/dv[j * d + c] =/
