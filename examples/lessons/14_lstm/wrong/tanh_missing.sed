# h = o c.
s/\* tanh(n\[j\]);/* n[j];/
