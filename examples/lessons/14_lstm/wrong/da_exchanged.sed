# The blocks of i and f.
/^void my_step_backward(/,/^}/{ s/da\[j\] =/da[H + j ] =/; s/da\[H + j\] =/da[j] =/; }
