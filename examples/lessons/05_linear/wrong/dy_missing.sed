# The slope of y alone.
s/+= g \* x/+= x/
