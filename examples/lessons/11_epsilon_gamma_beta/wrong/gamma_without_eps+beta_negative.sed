# Two mistakes at once.
/my_identity.*beta)$/,/^}/s/sqrt(var + eps)/sqrt(var)/; s/beta\[i\] = mean/beta[i] = -mean/
