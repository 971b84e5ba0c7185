# A switch without a break after ADD.
s/= list\[a\].value + list\[b\].value;/= list[a].value * list[b].value;/
