# = for +=.
s/dk\[j \* d + c\] +=/dk[j * d + c] =/
