# RMS as a constant.
s/ - xhat \* mean_gx//
