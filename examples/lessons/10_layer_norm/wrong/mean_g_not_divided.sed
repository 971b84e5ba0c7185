# One of the two.
s/mean_g += g \/ N/mean_g += g/
