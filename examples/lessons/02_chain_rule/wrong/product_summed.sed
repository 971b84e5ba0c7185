# A line copied and not changed.
s/= list\[a\].value \* list\[b\].value;/= list[a].value + list[b].value;/
