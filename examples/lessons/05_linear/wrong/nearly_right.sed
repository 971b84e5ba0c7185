# A sum in float.
s/gr_real sum = b/float sum = b/
