# dy is used as the place for the sums.
s/double dh = 0;/double dh = 0;\n    ((double *)dy)[1] = 0;/
