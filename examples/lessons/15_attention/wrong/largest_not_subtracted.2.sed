# The largest of all keys, hidden ones too.
/^void my_attention(.*)$/,/^}/s/^        for (int j = 0; j <= i; j++) p.*/        for (int j = i + 1; j < T; j++) {\n            double s = 0;\n            for (int c = 0; c < d; c++) s += q[i * d + c] * k[j * d + c];\n            largest = fmax(largest, s \/ sqrt(d));\n        }\n&/
