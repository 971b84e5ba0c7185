# The bracket is forgotten.
s/rstd \* (g - mean_g - xhat \* mean_gx)/rstd * g - mean_g - xhat * mean_gx/
