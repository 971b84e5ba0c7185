# k is counted in a copy.
s/^    ++\*k;/    int one = *k + 1;/; s/, \*k)/, one)/g
