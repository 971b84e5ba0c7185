# Both ways.
s/if (!norm) dc\[j\] += dn/dc[j] += dn/
