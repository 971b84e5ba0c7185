# gamma = sigma.
/my_identity.*beta)$/,/^}/s/sqrt(var + eps)/sqrt(var)/
