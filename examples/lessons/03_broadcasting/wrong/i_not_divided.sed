# The index is not taken out of i.
s/^        i \/= large.*//
