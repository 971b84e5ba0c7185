# No eps.
s|sqrt(ms + eps)|sqrt(ms)|
