# 2 * h without brackets.
s/ \/ (2 \* h);/ \/ 2 * h;/
