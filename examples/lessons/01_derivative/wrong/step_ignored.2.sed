# A thousandth is small enough.
s/my_step(before)/1e-3/
