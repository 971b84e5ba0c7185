# += as for all gradients.
/^void my_step_backward(/,/^}/s/^\( *\)\(da\[[^=]*\|dc_prev\[j\] \)= /\1\2+= /
