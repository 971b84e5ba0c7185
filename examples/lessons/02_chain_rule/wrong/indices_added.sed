# a and b are taken for values.
s/list\[a\].value + list\[b\].value/a + b/
