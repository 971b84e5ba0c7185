# The sum of the batch in place of its mean, and the variance is right.
s/m \* mean;/m * mean * rows;/
