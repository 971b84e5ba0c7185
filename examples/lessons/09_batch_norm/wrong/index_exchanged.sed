# The matrix is read as [C, rows].
s/\[r \* C + c\]/[r + c * rows]/g
