# The zeros are not counted.
s/double sum = 0;/double sum = 0, count = 0;/; s/sum += y \* y;/sum += y * y, count += !relu || y > 0;/
s/(double)(rows \* out)/count/
