# TODO 1 and 2 only.
/w\[k\] \*= factor/d
