# y only.
/run->mean\[c\] = /d; /run->var\[c\] = /d
