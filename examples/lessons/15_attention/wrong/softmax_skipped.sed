# ds is dp.
s/p\[i \* T + j\] \* (dp - mean)/dp/
