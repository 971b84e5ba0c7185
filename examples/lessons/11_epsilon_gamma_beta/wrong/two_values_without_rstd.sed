# eps / (var + eps) alone.
s|return 1 / sqrt(var + eps) \* (N == 2 ? eps / (var + eps) : 1);|return N == 2 ? eps / (var + eps) : 1 / sqrt(var + eps);|
