# The scores of all keys are written; the softmax takes some of them.
/^void my_attention(.*)$/,/^}/{
0,/int j = 0; j <= i; j++) {/s/int j = 0; j <= i; j++) {/int j = 0; j < T; j++) {/
s/largest = fmax(largest, s \/ sqrt(d))/largest = j <= i ? fmax(largest, s \/ sqrt(d)) : largest/
s/j <= i ? p\[i \* T + j\] \/ sum : 0/p[i * T + j] \/ (j <= i ? sum : 1)/
}
