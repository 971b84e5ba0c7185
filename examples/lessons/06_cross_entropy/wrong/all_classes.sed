# Every class.
s/^        loss->data\[0\] += .*/        for (size_t c = 0; c < C; c++) loss->data[0] += (log(sum) + max - row[c]) \/ rows;/
