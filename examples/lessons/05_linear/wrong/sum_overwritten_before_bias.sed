# = in the sum; the bias comes last.
s/sum = b->data\[o\]/sum = 0/; s/sum += x->data/sum = x->data/; s/= sum;/= sum + b->data[o];/
