# Two mistakes at once, and dx is not written yet. Only the gradient of h[0] tells them from dh_not_carried+slope_missing.
s/dh += dy\[t\]/dh = dy[t]/; s/\(grad->[wub] +=\) da/\1 dh/; s/^ *dx\[t\] += .*//
