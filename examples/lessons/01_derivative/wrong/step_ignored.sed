# The number of the page for every weight.
s/my_step(before)/1e-5/
