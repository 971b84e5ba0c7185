# = for +=, in the loop over rows.
s/if (dbeta) dbeta\[c\] += sum;//
s/sum += dy\[r \* C + c\], sum_x/if (dbeta) dbeta[c] = dy[r * C + c];\n            &/
