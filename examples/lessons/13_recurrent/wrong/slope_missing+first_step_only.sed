# Two mistakes at once.
s/dh \* (1 - h\[t\] \* h\[t\])/dh/; s/grad->\([wub]\) +=/grad->\1 =/
