# Sums for means.
s|sum / rows - xhat \* sum_x / rows|sum - xhat * sum_x|
