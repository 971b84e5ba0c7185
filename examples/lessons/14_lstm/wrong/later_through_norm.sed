# The norm is taken for a part of the cell.
s/^    if (norm) layer_norm_backward/    for (int j = 0; norm \&\& j < H; j++) dn[j] += dc[j], dc[j] = 0;\n&/
