# The number of rows for the length of a row.
s|\* rstd / N;|* rstd / rows;|
