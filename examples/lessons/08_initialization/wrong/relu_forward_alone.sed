# The 2 in forward alone.
s/(relu ? 2 : 1)/(relu \&\& !backward ? 2 : 1)/
