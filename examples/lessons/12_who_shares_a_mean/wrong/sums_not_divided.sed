# A sum for the mean.
s|\* rstd / N;|* rstd;|
