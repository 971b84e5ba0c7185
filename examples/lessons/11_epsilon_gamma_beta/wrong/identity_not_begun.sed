# TODO 1 only.
/gamma\[i\] = sqrt/d
