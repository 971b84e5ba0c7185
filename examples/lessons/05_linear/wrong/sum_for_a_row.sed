# One sum for each row.
/^gr_tensor \*my_linear/,/^}/{
s/^    for (size_t r = 0; r < rows; r++)$/&  {\n        gr_real sum = 0;/
s/^ *gr_real sum = b.*//; s/= sum;/= sum + b->data[o];/; s/^        }$/        } }/
}
