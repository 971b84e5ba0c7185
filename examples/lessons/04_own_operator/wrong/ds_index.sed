# i for both.
s/ds\[0\] -=/ds[i] -=/
