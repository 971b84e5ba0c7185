# ds alone.
s/^        if (dx).*//
