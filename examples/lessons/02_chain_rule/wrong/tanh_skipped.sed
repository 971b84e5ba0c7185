# TANH is left for later.
s/list\[i\].value = tanh(list\[a\].value)/list[i].value = list[a].value/
