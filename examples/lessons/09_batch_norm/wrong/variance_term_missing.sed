# x also moves the variance: forgotten.
s| - xhat \* sum_x / rows||
