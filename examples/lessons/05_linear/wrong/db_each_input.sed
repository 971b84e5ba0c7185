# The line is in the inner loop.
s/^            if (db) db\[o\] += g;//
s/^                if (dw) dw/                if (db) db[o] += g;\n&/
