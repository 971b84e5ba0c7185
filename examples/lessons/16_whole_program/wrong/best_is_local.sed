# A variable of the loop.
s/^    while/    double best = 1000;\n&/; s/loss < r->best/loss < best/; s/r->best = loss/best = loss/
