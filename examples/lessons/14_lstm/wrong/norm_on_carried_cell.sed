# c becomes LN(c).
/^void my_step(.*)$/,/^}/s/if (norm) layer_norm(H, c, n);/if (norm) {\n        layer_norm(H, c, n);\n        for (int j = 0; j < H; j++) c[j] = n[j];\n    }/
