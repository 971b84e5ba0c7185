# = for +=, in the loop over rows.
s/if (dgamma) dgamma\[c\] += sum_x;//
s/sum += dy\[r \* C + c\], sum_x/if (dgamma) dgamma[c] = dy[r * C + c] * xhat;\n            &/
