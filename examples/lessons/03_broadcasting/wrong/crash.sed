# An index beyond the end.
s/dx\[my_index(large, i, small)\]/dx[my_index(large, i, small) + 1000000000]/
