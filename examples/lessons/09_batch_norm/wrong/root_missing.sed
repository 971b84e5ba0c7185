# Divided by the variance.
s|1 / sqrt(var + eps)|1 / (var + eps)|
