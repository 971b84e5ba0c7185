# Sums that begin at 0 and are then assigned.
s/double dh = 0;/double dh = 0;\n    grad->w = grad->u = grad->b = 0;/
