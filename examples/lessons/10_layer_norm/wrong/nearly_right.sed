# sqrtf for sqrt.
s/sqrt(var + eps)/sqrtf(var + eps)/
