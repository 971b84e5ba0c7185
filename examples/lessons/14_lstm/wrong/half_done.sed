# TODO 2 is left.
/^void my_step_backward(/,/^}/s/^    double n\[MOST\], dn/    if (H) return;\n&/
