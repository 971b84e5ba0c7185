# The first row alone.
s/^            dx\[r/            if (r == 0) dx[r/
