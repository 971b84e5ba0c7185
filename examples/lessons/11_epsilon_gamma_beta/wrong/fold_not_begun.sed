# TODO 1 and 2 only.
/b\[o\] += w/d; /\*= gamma/d
