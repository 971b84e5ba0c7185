# dx alone.
s/^        if (ds).*//
