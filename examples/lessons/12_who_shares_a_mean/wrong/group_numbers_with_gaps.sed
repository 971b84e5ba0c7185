# As in InstanceNorm.
s/n \* groups + c/n * C + c/
