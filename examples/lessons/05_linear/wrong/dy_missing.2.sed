# The slope of y alone.
s/+= g \* w/+= w/
