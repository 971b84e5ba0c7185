# A size as a number.
s|c / (C / groups)|c / 3|
