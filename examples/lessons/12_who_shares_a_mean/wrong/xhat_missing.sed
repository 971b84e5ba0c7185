# The mean alone.
s/ - xhat \* mean_gx/ - mean_gx/
