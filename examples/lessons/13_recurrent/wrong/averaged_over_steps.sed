# A mean in place of the sum.
s/^\( *grad->.*\);/\1 \/ T;/
