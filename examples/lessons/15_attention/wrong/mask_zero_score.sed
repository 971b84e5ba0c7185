# A hidden score is 0.
/^void my_attention(.*)$/,/^}/{
s/j <= i; j++/j < T; j++/
s/j <= i ? p\[i \* T + j\] \/ sum : 0/p[i * T + j] \/ sum/
s/^ *p\[i \* T + j\] = s \/ sqrt(d)/            if (j > i) s = 0;\n&/
}
