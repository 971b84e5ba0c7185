# Everything in one loop.
/^void my_step(/,/^}/{
s/for (int j = 0; j < H; j++) n\[j\] = c\[j\] = \(.*\)/for (int j = 0; j < H; j++) {\n        n[j] = c[j] = \1/
s/^    for (int j = 0; j < H; j++) h\(.*\)/        h\1\n    }/
}
