# Both gradients are added first.
/^void my_step_backward(/,/^}/{ s/dc\[j\] = dc_later\[j\]/dc[j] = 0/; s/dn\[j\] = dh\[j\]/dn[j] = (dh[j] + dc_later[j])/; }
