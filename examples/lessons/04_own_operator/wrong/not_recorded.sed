# y is returned as it is.
s/^    return gr_record(.*/    return y;/
