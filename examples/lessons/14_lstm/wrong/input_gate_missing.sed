# i is forgotten.
/^void my_step(/,/^}/s/sigmoid(a\[j\]) \* //
