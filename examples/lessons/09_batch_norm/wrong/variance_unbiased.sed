# One variance for both uses, the unbiased one.
s|- mean) / rows;|- mean) / (rows - 1);|
s|m \* var \* rows / (rows - 1)|m * var|
