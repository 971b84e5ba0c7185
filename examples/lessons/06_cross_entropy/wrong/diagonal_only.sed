# The chain rule through p of the target, with its own logit alone.
s/^            dx\[r/            if (target > 0) dx[r/
