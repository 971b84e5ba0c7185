# h is the whole distance.
s/(f(x + h) - f(x - h)) \/ (2 \* h)/(f(x + h \/ 2) - f(x - h \/ 2)) \/ h/
