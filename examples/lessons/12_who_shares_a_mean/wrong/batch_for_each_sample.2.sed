# c without the remainder.
s|c = i / L % C|c = i / L|
