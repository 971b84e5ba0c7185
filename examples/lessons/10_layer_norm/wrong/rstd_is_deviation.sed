# The root, not divided.
s/1 \/ sqrt(var + eps)/sqrt(var + eps)/
