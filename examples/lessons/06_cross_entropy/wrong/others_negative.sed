# -p for the others.
s/+= g \* (/+= (target ? g : -g) * (/
