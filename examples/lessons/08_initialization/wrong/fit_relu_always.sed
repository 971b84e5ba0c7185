# relu is not looked at.
s/relu \&\& y < 0/y < 0/
