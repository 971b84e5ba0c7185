# Four numbers for each unit.
/^void my_step(/,/^}/{ s/a\[H + j\]/a[4 * j + 1]/; s/a\[j\]/a[4 * j]/; s/a\[2 \* H + j\]/a[4 * j + 2]/; s/a\[3 \* H + j\]/a[4 * j + 3]/; }
