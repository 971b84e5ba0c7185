# Xavier.
s|(double)(backward ? out : in)|(double)(in + out) / 2|
