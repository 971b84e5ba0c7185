# x / xhat.
s|gamma\[i\] = sqrt(var + eps), beta\[i\] = mean;|gamma[i] = x[i] / ((x[i] - mean) / sqrt(var + eps)), beta[i] = 0;|
