# A mean for each channel.
s/return n \* C + c;/return c;/
