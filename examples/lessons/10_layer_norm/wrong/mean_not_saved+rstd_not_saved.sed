# Nothing is kept.
s/^ *s.mean\[r\] = .*//
