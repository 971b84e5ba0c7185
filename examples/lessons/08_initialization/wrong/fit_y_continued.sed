# y is set to 0 once.
s/double sum = 0;/double sum = 0, y = 0;/; s/^            double y = 0;//
