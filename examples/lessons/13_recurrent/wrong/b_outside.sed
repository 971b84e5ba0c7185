# A parenthesis too early.
s/ + p->b);/) + p->b;/
