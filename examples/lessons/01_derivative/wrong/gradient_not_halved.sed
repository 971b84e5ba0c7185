# The step is h, so divide by h.
s/below) \/ (2 \* h)/below) \/ h/
