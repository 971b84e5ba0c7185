# k is counted in the loop.
s/^    ++\*k;//; s/^        m\[i\] = /        ++*k;\n&/
