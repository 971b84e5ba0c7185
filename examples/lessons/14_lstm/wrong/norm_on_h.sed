# LN(h).
/^void my_step(.*)$/,/^}/{
s/^    if (norm) layer_norm(H, c, n);//
s/^}/    if (norm) {\n        layer_norm(H, h, n);\n        for (int j = 0; j < H; j++) h[j] = n[j];\n    }\n}/
}
