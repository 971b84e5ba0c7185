# Row and column of p, after p is there.
/^void my_attention(.*)$/,/^}/{
s/^        for (int c = 0; c < d; c++) {$/    }\n    for (int i = 0; i < T; i++) {\n&/
s/int j = 0; j <= i; j++) y/int j = 0; j < T; j++) y/
s/+= p\[i \* T + j\] \* v/+= p[j * T + i] * v/
}
