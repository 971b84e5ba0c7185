# gamma is the mean.
s/gamma\[i\] = \(.*\), beta\[i\] = mean/beta[i] = \1, gamma[i] = mean/
