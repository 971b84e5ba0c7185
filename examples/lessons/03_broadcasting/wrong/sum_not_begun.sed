# TODO 3 is left.
s/^    for (size_t i = 0; i < len; i++) .*//
