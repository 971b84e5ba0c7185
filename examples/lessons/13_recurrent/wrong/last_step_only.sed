# The parameters get their part once, at the end.
s/^\( *\)grad->/\1if (t == T) grad->/
