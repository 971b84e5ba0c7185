# One of the two.
s/g \* xhat \/ N/g * xhat/
