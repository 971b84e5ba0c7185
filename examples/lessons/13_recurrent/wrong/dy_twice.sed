# dh begins with dy[T], and the loop adds it again.
s/double dh = 0;/double dh = dy[T];/
