# eps beside the root.
s|1 / sqrt(var + eps)|1 / (sqrt(var) + eps)|
