# A sum in float.
s/double sum = 0;/float sum = 0;/
