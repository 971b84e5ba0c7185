# log of the sum alone.
s/log(sum) + max -/log(sum) -/
