# The bias is inside the loop over the inputs.
s/sum = b->data\[o\]/sum = 0/; s/\(sum += x->data.*\);/\1 + b->data[o];/
