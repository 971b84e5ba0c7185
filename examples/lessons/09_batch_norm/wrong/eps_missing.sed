# No eps.
s|sqrt(var + eps)|sqrt(var)|
