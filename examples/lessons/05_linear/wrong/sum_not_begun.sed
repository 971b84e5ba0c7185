# One sum for all.
/^gr_tensor \*my_linear/,/^}/{
s/^    for (size_t r = 0; r < rows; r++)$/    gr_real sum = 0;\n&/
s/^ *gr_real sum = b.*//; s/= sum;/= sum + b->data[o];/
}
