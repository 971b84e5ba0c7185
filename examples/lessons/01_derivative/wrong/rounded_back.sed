# What was added is subtracted again.
s/w\[i\] = before + h/w[i] += h/
s/w\[i\] = before - h/w[i] -= 2 * h/
s/^        w\[i\] = before;/        w[i] += h;/
