# Two mistakes at once.
s/g \* w\[o \* I + i\]/g * w[i * O + o]/; s/dx\[r \* I + i\] +=/dx[r * I + i] =/
