# As on the page, where dh is 1.
/^void my_step_backward(/,/^}/s/dn\[j\] = dh\[j\] \* /dn[j] = /
