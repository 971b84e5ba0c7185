# Plus.
s/ - xhat \* mean_gx/ + xhat * mean_gx/
