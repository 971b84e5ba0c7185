# Backward keeps something in value.
s/const double g = list\[i\].grad, y = list\[i\].value;/const double g = list[i].grad, y = list[i].value;\n        list[i].value = g;/
