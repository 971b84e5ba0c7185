# The sum starts at 0.
s/sum = b->data\[o\]/sum = 0/
