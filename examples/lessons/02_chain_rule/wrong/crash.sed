# An index beyond the end.
s/const int a = list\[i\].a, b/const int a = list[i].a + 100000000, b/
