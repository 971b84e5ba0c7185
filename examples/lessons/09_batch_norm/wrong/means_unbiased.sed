# rows - 1.
s|sum / rows - xhat \* sum_x / rows|sum / (rows - 1) - xhat * sum_x / (rows - 1)|
