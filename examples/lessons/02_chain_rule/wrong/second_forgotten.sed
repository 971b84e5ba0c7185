# Only a gets something.
s/, list\[b\].grad += .*;/;/
