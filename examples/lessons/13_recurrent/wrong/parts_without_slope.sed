# dh for da.
s/\(grad->[wub] +=\) da/\1 dh/
