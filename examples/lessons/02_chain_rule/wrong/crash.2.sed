# A crash in the longer lists alone.
s/int i = n - 1; i >= 0/int i = n > 40 ? 100000000 : n - 1; i >= 0/
