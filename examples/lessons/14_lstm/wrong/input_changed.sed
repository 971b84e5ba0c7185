# dc_later is used for the sum.
s/if (!norm) dc\[j\] += dn\[j\];/dc[j] += norm ? 0 : dn[j], ((double *)dc_later)[j] += dn[j];/
