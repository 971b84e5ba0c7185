# Parentheses are missing.
s/rstd \* (g - xhat \* mean_gx)/rstd * g - xhat * mean_gx/
