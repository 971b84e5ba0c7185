# eps is in the variance already.
s|m \* var \* rows / (rows - 1)|m * (var * rows / (rows - 1) + eps)|
